"""``maci report``: where it writes, what it refuses, and folders of several debates."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from helpers import script, seat, settings, turn, write
from maci.cli.app import app
from page_helpers import check_page


@pytest.fixture
def run(tmp_path):
    def make(name: str = "run"):
        folder = tmp_path / name
        table = seat([script("first", turn(0.8, 0.1, 0.1)), script("second", turn(0.2, 0.7, 0.1), turn(0.7, 0.2, 0.1))])
        write(folder / "transcript.jsonl", table, settings("max_rounds=2"))
        return folder

    return make


def call(*args: object):
    return CliRunner().invoke(app, ["report", *map(str, args)])


def test_a_report_is_written_beside_its_transcript(run):
    folder = run()
    for given in (folder, folder / "transcript.jsonl"):
        done = call(given)
        assert done.exit_code == 0, done.output
        assert "report.html" in done.stderr and done.stdout == ""
    page = check_page((folder / "report.html").read_text())
    assert "computed again from the inputs, none differs" in page.text
    assert sorted(f.name for f in folder.iterdir()) == ["report.html", "transcript.jsonl"]


def test_markdown_goes_to_standard_output_unless_a_file_is_named(run, tmp_path):
    folder = run()
    printed = call(folder, "--format", "md")
    assert printed.stdout.startswith("# test\n") and not (folder / "report.md").exists()
    call(folder, "--format", "md", "--out", tmp_path / "deep" / "note.md")
    assert (tmp_path / "deep" / "note.md").read_text() == printed.stdout


def test_a_folder_of_debates_becomes_an_index_that_links_to_their_reports(run, tmp_path):
    for name in ("a b", "c/d#1"):
        run(name)
    done = call(tmp_path)
    assert done.exit_code == 0, done.output
    page = check_page((tmp_path / "index.html").read_text())
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a" and not attrs["href"].startswith("#")]
    assert links == ["./a%20b/report.html", "./c/d%231/report.html"]
    assert (tmp_path / "a b" / "report.html").exists() and (tmp_path / "c" / "d#1" / "report.html").exists()
    assert "2 debates, 2 finished." in page.text


def test_with_out_an_index_keeps_its_reports_beside_it(run, tmp_path):
    run("x/one")
    run("x/two")
    out = tmp_path / "site" / "all.html"
    done = json.loads(call(tmp_path / "x", "--out", out, "--json").stdout)
    assert done == {
        "written": [str(out), *(str(out.parent / f"all-{n}.html") for n in ("1-one", "2-two"))],
        "failed": {},
    }
    assert not (tmp_path / "x" / "one" / "report.html").exists()


def test_a_record_that_cannot_be_read_is_named_and_the_others_are_reported(run, tmp_path):
    run("good")
    bad = run("bad") / "transcript.jsonl"
    bad.write_bytes(bad.read_bytes().replace(b'"round":1', b'"round":9', 1))
    done = call(tmp_path)
    assert "1 of 2 transcripts cannot be read" in str(done.exception)
    page = check_page((tmp_path / "index.html").read_text())
    assert "the chain is broken here" in page.text and "2 debates, 1 finished." in page.text


def test_an_unfinished_debate_is_reported_with_the_command_that_goes_on(run):
    folder = run()
    lines = (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "transcript.jsonl").write_bytes(b"".join(lines[:-2]))
    assert call(folder).exit_code == 0
    text = check_page((folder / "report.html").read_text()).text
    assert "Not finished" in text and f"maci debate --resume --out {folder}" in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--format", "pdf"], "--format pdf: choose one of html, md"),
        (["--out", "x.jsonl"], "would look like a transcript"),
    ],
)
def test_wrong_use_is_named(run, args, said):
    assert said in str(call(run(), *args).exception)


def test_a_folder_without_debates_is_named(tmp_path):
    assert "holds no transcript.jsonl" in str(call(tmp_path).exception)
    assert "cannot read the transcript" in str(call(tmp_path / "nothing").exception)
