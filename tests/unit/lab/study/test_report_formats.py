"""The same report in six formats: each can be read by what reads such files, and none computes anything."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from maci.calibration.stats import Estimate, estimate
from maci.cli.app import app
from maci.lab.study.learning import DevLesson
from maci.lab.study.report import FORMATS, ReportSettings, build_report, for_page, render
from maci.lab.study.report.gather import join
from maci.lab.study.report.render import CSV_COLUMNS, on_terminal
from maci.lab.study.store import SqliteStore
from maci.lab.study.study import PlannedMethod
from maci.llm.usage import Usage
from maci.render.report import Cell, Chart, Point, Series, number, show
from maci.render.svg import draw
from maci.render.text import tex
from page_helpers import Reader, check_page
from report_helpers import answers, belief, meta_of, study

NASTY = 'a_b & 50% {x} <script>alert(1)</script> | $^~\\ "中" [y](http://z)'


@pytest.fixture(scope="module")
def report():
    def course(last: str) -> dict:
        steps = [{"belief": belief("b"), "q": 0.4, "d": 0.5}, {"belief": belief(last), "q": 0.6, "d": 0.1, "cl": 0.9}]
        return {"course": steps, "q0": 0.3}

    rows = answers("maci", "+++++-x", **course("a")) + answers(NASTY, "++--+-+", usage=Usage(prompt=300))
    rows += answers("no_q_gate", "++-++-+") + answers("majority_vote", "++-+--+", agreement=0.5)
    made = study(
        rows,
        ["majority_vote", PlannedMethod(name=NASTY, use="average", of=NASTY), "maci", "no_q_gate"],
        notes={"toy": (NASTY,)},
        planned=answers("maci", "+" * 9),
    )
    return build_report(made, ReportSettings(resamples=100))


def figures(report) -> list[str]:
    return [
        show(c)
        for s in report.sections
        for t in s.tables
        for line in t.lines
        for c in line.cells
        if isinstance(c.value, float)
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_the_same_twice_and_ends_in_a_line_break(report, format):
    written = render(report, format)
    assert written == render(report, format)
    assert written.endswith("\n")
    assert len(written) > 500


@pytest.mark.parametrize("format", ["text", "md"])
def test_every_figure_is_in_the_text(report, format):
    # names of anything may be folded; figures are not
    written = " ".join(render(report, format, full=True).split())
    assert all(figure in written for figure in figures(report))


# how figures are written


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        (estimate(Estimate(0.8123, 0.79, 0.83, 900, ""), "share"), "81.2 [79.0, 83.0]"),
        (estimate(Estimate(0.8123, 0.6, 0.95, 20, ""), "share"), "81 [60, 95]"),
        (estimate(Estimate(-0.0312, -0.05, 0.0004, 9, ""), "points"), "−3.1 [−5.0, 0.0]"),
        (estimate(Estimate(0.5, 0.5, 0.5, 3, ""), "number"), "0.500 [0.500, 0.500]"),
        (estimate(Estimate(float("nan"), float("nan"), float("nan"), 0, "")), "–"),
        (number(float("nan")), "–"),
        (number(18_400, "tokens"), "18.4k"),
        (number(0.0004, "p"), "< 0.001"),
        (number(0.25, "ratio"), "0.25 ×"),
        (Cell(value=12, kind="count"), "12"),
    ],
)
def test_digits_follow_the_width_of_the_interval(cell, written):
    assert show(cell) == written


# the page


def test_a_page_shows_a_line_for_each_method_and_folds_the_rest(report):
    page = for_page(report)
    first, *rest = page.sections[0].tables
    assert first.key == "methods" and not first.folded and all(table.folded for table in rest)
    assert [t.key for t in rest] == [*(t.key for t in report.sections[0].tables), "sentences"]  # nothing is lost
    accuracy = [line.cells[0].value for line in first.lines]
    assert accuracy == sorted(accuracy, reverse=True) and len(accuracy) == 4
    assert page.sections[0].verdicts == (report.verdict[1].replace("made: ", ""),)
    words = {line.name: line.cells[3].value for line in first.lines}
    assert words["maci"] == "reference" and words["majority_vote"] == "not significant"
    main = next(t for t in rest if t.key == "main")
    assert first.cell("maci", "acc1") == main.cell("maci", "acc1")


def test_what_is_folded_becomes_elements_when_it_is_opened_and_is_no_text_of_a_script(report):
    written = render(report, "html")
    inside = re.findall(r"<noscript>(.*?)</noscript>", written, re.S)
    assert len(inside) == len(for_page(report).sections[0].tables) - 1 + sum(
        table.folded for table in for_page(report).tables
    )
    assert all("<noscript" not in part and "<script" not in part for part in inside)
    check_page(written)


# LaTeX


def test_latex_escapes_what_tex_would_read():
    assert tex("50 % of a_b & {c} #1 ~ ^ \\ $") == (
        r"50 \% of a\_b \& \{c\} \#1 \textasciitilde{} \textasciicircum{} \textbackslash{} \$"
    )
    assert tex("[é] → 中") == r"{[}é{]} $\rightarrow$ {[}U+4E2D{]}"


def test_latex_is_balanced_and_every_row_has_its_columns(report):
    written = render(report, "latex")
    assert all(ord(c) < 256 for c in written)
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", written):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []
    bare = re.sub(r"\\[\\{}$&%#_]", "", written.replace(r"\\", ""))
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    tables = re.findall(r"\\begin\{longtable\}\{([^\n]*)\}\n(.*?)\\end\{longtable\}", written, re.S)
    assert len(tables) > 10
    for shape, body in tables:
        columns = len(re.findall(r"[rlc]|p\{", re.sub(r">\{[^}]*\}", "", shape)))
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {columns - 1}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(report, tmp_path):
    (tmp_path / "report.tex").write_text(render(report, "latex"), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]


# HTML


def test_html_is_well_formed_and_asks_for_nothing(report):
    written = render(report, "html")
    page = Reader()
    page.feed(written)
    assert page.open == []
    for tag, attrs in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed"}
        assert not {"src", "onclick", "onload", "style"} & set(attrs)
        if tag == "a":
            assert attrs["href"].startswith("#")
    css = re.search(r"<style>(.*?)</style>", written, re.S)[1]
    assert "url(" not in css and "@import" not in css
    assert "prefers-color-scheme: dark" in css
    assert [tag for tag, _ in page.tags].count("script") == 1


def test_html_says_names_as_they_are(report):
    written = render(report, "html")
    assert "<script>alert" not in written
    assert "a_b &amp; 50% {x} &lt;script&gt;alert(1)&lt;/script&gt;" in written


def test_html_can_be_read_without_seeing(report):
    page = Reader()
    page.feed(render(report, "html"))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    pictures = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("aria-hidden") != "true"]
    assert len(pictures) >= 6
    for attrs in pictures:
        assert attrs["role"] == "img"
        assert all(id in ids for id in attrs["aria-labelledby"].split())
    links = [attrs["href"][1:] for tag, attrs in page.tags if tag == "a"]
    assert links and all(link in ids for link in links)
    heads = [attrs for tag, attrs in page.tags if tag == "th"]
    assert all(attrs["scope"] in {"row", "col"} for attrs in heads)


def test_charts_are_drawn_within_their_frame():
    points = tuple(Point(x=10.0**i, y=0.1 * i, low=0.1 * i - 0.05, high=0.1 * i + 0.05, n=9) for i in range(2, 9))
    series = tuple(Series(name=f"method {i}", points=(p,), reference=i == 0) for i, p in enumerate(points))
    drawn = draw(Chart(key="k", kind="scatter", title="t", about="a", x="x", y="y", series=series), "c")
    root = ElementTree.fromstring(drawn)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    assert len(circles) == 7
    assert all(0 < float(e.attrib["cx"]) < width and 0 < float(e.attrib["cy"]) < height for e in circles)
    # more tokens further right, more accurate further up, on a log scale in equal steps
    xs, ys = ([float(e.attrib[k]) for e in circles] for k in ("cx", "cy"))
    assert xs == sorted(xs) and ys == sorted(ys, reverse=True)
    assert {round(b - a, 0) for a, b in pairwise(xs)} == {round(xs[1] - xs[0], 0)}


# CSV and JSON


def test_csv_has_one_row_per_method_and_metric_and_no_run_ids(report):
    written = render(report, "csv")
    rows = list(csv.DictReader(io.StringIO(written)))
    assert tuple(rows[0]) == CSV_COLUMNS
    keys = [(r["section"], r["method"], r["metric"]) for r in rows]
    assert len(keys) == len(set(keys))
    own = {r["metric"]: r for r in rows if r["method"] == "maci"}
    assert float(own["acc1"]["value"]) == pytest.approx(5 / 6)
    assert int(own["acc1"]["n"]) == 6
    assert float(own["acc1"]["low"]) <= 5 / 6 <= float(own["acc1"]["high"])
    assert {"acc3", "mrr", "ece", "brier", "nll", "tokens", "calls", "judge_calls", "rounds", "usd", "seconds"} <= set(
        own
    )
    assert not any(r["method"].startswith("paper") for r in rows)
    assert "made0" not in written and "0123456789" not in written


def test_what_dev_taught_is_in_every_format():
    rows = answers("maci", "+-") + answers("average", "++")
    lesson = DevLesson(
        settings={"calibration.agents": {"x": 1.375}, "reliability.prior": {"x": 1.625, "y": 0.375}},
        n=38,
        items=40,
        weights="logit(10)",
    )
    plan = meta_of(rows, ["average", "maci"]).model_copy(update={"learnt": {"toy": {7: lesson}}})
    made = build_report(join([("folder", plan, rows)]), ReportSettings(resamples=100))
    for format in ("text", "md", "latex", "html"):
        written = render(made, format, full=True)
        assert all(part in written for part in ("Agents, as dev taught", "1.375", "1.625", "0.375", "logit(10)")), (
            format
        )
        assert "U+" not in written  # a sign that LaTeX has no command for
    [found] = [t for t in json.loads(render(made, "json"))["tables"] if t["key"] == "lessons"]
    assert [line["name"] for line in found["lines"]] == ["x", "y"]
    rows_ = list(csv.DictReader(io.StringIO(render(made, "csv"))))
    own = [
        (r["section"], r["method"], r["metric"], r["value"], r["n"]) for r in rows_ if r["method"].startswith("agent ")
    ]
    assert own[:3] == [
        ("made: toy", "agent x (seed 7)", "agent_temperature", "1.375", "38"),
        ("made: toy", "agent x (seed 7)", "agent_doubt", "0.0", "38"),
        ("made: toy", "agent x (seed 7)", "agent_weight", "1.625", "38"),
    ]
    assert len(own) == 6


def test_json_has_every_table_and_every_point(report):
    found = json.loads(render(report, "json"), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert found["verdict"] == list(report.verdict)
    [section] = found["sections"]
    assert [t["key"] for t in section["tables"]] == [t.key for t in report.sections[0].tables]
    assert {c["kind"] for c in section["charts"]} == {"scatter", "forest", "lines", "reliability"}
    line = next(x for x in section["tables"][0]["lines"] if x["name"] == "maci")
    assert line["cells"][1]["value"] == pytest.approx(5 / 6)
    assert [t["key"] for t in found["tables"]] == ["missing", "failure_counts", "failures", "calibrations"]


# text and Markdown


def test_text_fits_the_width_and_plain_has_no_colour(report):
    for width in (80, 120):
        for full in (False, True):
            written = on_terminal(report, width=width, full=full)
            assert max(map(len, written.splitlines())) <= width
            assert "\x1b" not in written and "─" not in written
    assert "\x1b[" in on_terminal(report, width=120, plain=False)


def test_text_begins_with_what_one_reads_first(report):
    short, full = (on_terminal(report, full=full) for full in (False, True))
    for title in (
        "Main results",
        "Differences",
        "made: answers that failed, counted",
        "made: answers that are missing",
    ):
        assert f"\n{title}\n" in short and f"\n{title}\n" in full
    for title in ("Ablations", "At equal compute", "Calibration learnt on dev"):
        assert f"\n{title}\n" in full and f"\n{title}\n" not in short
    assert "Acc@3 % ↑" in full and "Acc@3 % ↑" not in short
    assert "On these 6 cases maci" in full and "On these 6 cases maci" not in short
    assert "--format md" in short.splitlines()[-1] + short.splitlines()[-2] and "--format md" not in full
    assert "\nThe rule: " in short.replace("· ", "")


def test_parts_of_a_table_stand_apart(report):
    lines = on_terminal(report, width=80, full=True).splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("Method ")]
    assert len(heads) > 5
    titles = {t.title for t in (*report.sections[0].tables, *report.tables)}
    assert all(lines[i - 1] == "" or lines[i - 1] in titles for i in heads)


@pytest.mark.parametrize("format", ["text", "md", "latex", "html", "json"])
def test_signs_are_explained(report, format):
    written = render(report, format)
    assert "ECE if calibrated" in written and "what chance alone would give" in " ".join(written.split())
    assert "U+" not in written[written.rindex("Acc@1, Acc@3") :]


def test_markdown_tables_have_as_many_cells_as_columns(report):
    lines = render(report, "md").splitlines()
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.startswith("|"):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    for block in filter(None, blocks):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block}) == 1
    assert any("&lt;script>" in line for line in lines)
    assert not any("<script>" in line for line in lines)


# the command


@pytest.fixture
def folder(tmp_path):
    rows = answers("maci", "+++-x") + answers("average", "++--+")
    out = tmp_path / "made"
    with SqliteStore(out / "results.sqlite") as store:
        store.begin(meta_of(rows, ["average", "maci"]))
        for row in rows:
            store.put(row)
    return out


def call(*args: object):
    return CliRunner().invoke(app, ["study", "report", *map(str, args), "--resamples", "50"])


def test_the_command_prints_every_format(folder):
    for format in FORMATS:
        result = call(folder, "--format", format)
        assert result.exit_code == 0, result.output
        assert "maci" in result.stdout
    assert json.loads(call(folder, "--json").stdout)["title"] == "made"
    assert call(folder).stdout.startswith("made\nWas debate worth it here? Not shown.\n")


def test_the_command_writes_a_file_byte_for_byte_the_same_twice(folder, tmp_path):
    paths = [tmp_path / "deep" / name for name in ("one.html", "two.html")]
    for path in paths:
        assert call(folder, "--format", "html", "--out", path).exit_code == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--format", "pdf"], "--format pdf: choose one of text, md, latex, html, csv, json"),
        (["--reference", "nobody"], "reference is 'nobody': made has average, maci"),
    ],
)
def test_wrong_use_is_named(folder, args, said):
    result = call(folder, *args)
    assert result.exit_code != 0
    assert said in str(result.exception)


def test_a_folder_without_results_is_named(tmp_path):
    assert "no results at" in str(call(tmp_path / "nothing").exception)


def test_a_folder_of_studies_lists_them_with_the_command(folder):
    said = str(call(folder.parent).exception)
    assert "holds some" in said and f"maci study report {folder}" in said


def test_a_folder_cannot_be_the_file(folder, tmp_path):
    assert "is a folder: name a file in it" in str(call(folder, "--format", "md", "--out", tmp_path).exception)
