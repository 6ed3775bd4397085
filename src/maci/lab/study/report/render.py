"""A study in the formats of people and of other programs: its report, and its rows.

The report by the house's renderers, as CSV with one row per method and metric, as JSON with everything. Rows as JSON lines with all
parts, CSV and Parquet with one flat line for each.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from maci.calibration.stats import as_json
from maci.errors import InputError, installed
from maci.lab.datasets import load_own
from maci.lab.datasets.files import digest
from maci.lab.study.report.compare import ALIKE
from maci.lab.study.study import Meta, Row
from maci.paths import writing
from maci.render.html import to_html
from maci.render.report import Cell, Column, Kind, Line, Report, ReportTable, Section, columns, text
from maci.render.text import to_latex, to_markdown, to_text

MORE = (
    "More tables (equal compute, ablations, members, evidence quality, groups, rounds, flips, signals, contentiousness, raters and "
    "articles, judges' agreement, reliability, calibration): --full, --format md, "
    "or --format html --out report.html with charts."
)
_FIRST: Mapping[str, frozenset[str]] = {
    "main": frozenset({"n", "acc1", "ece", "ece_calibrated", "brier", "tokens", "rounds", "unscored"}),
    "differences": frozenset(
        {"verdict", "cases", "acc1_difference", "p_mcnemar_adjusted", "brier_difference", "token_ratio"}
    ),
    **{key: frozenset() for key in ("overview", "free", "variants", "distances", "trends")},
    **{key: frozenset() for key in ("missing", "failure_counts", "failures")},
}
"""Tables of the short form, with the columns that stay; all of them where none is named."""


def brief(report: Report) -> Report:
    """What one reads first."""
    sections = tuple(replace(s, verdicts=_beside(s), tables=_first(s.tables)) for s in report.sections)
    return replace(report, sections=sections, tables=_first(report.tables))


def _first(tables: Sequence[ReportTable]) -> tuple[ReportTable, ...]:
    kept = [(table, _FIRST[table.key]) for table in tables if table.key in _FIRST]
    return tuple(
        table.only([i for i, c in enumerate(table.columns) if c.key in named or not named]) for table, named in kept
    )


def _beside(section: Section) -> tuple[str, ...]:
    """Sentences that the table of differences does not say: it has a line for each of the first."""
    compared = next((len(t.lines) for t in section.tables if t.key == "differences"), 0)
    return section.verdicts[compared:]


def on_terminal(report: Report, *, width: int = 120, plain: bool = True, full: bool = False) -> str:
    """What one reads first, or with ``full`` all tables, all columns, all sentences."""
    last = "" if full or not report.sections else MORE
    return to_text(report if full else brief(report), width=width, plain=plain, last=last)


def for_page(report: Report) -> Report:
    """What a page shows at first: the answer, a line for each method, accuracy and tokens. The rest is folded below."""
    study, n = f"{report.title}: ", 1 + len(report.sections)
    sections = tuple(
        replace(
            s,
            title=s.title.removeprefix(study),
            verdicts=(one.replace(study, ""),),
            charts=tuple(replace(c, key="differences") if c.key == "forest" else c for c in s.charts),
            tables=tuple(replace(t, folded=i > 0) for i, t in enumerate((*methods(s), *s.tables, *_sentences(s)))),
        )
        for s, one in zip(report.sections, report.verdict[1:n], strict=True)
    )
    tables = tuple(replace(table, folded=table.key not in ("missing", "failure_counts")) for table in report.tables)
    return replace(
        report, verdict=(report.verdict[0], *report.verdict[n:]), sections=sections, tables=tables, tabs=True
    )


_TONES: Mapping[str, tuple[Kind, str]] = {
    "beat": ("good", "{} better"),
    ALIKE: ("soft", "not significant"),
    "lost to": ("bad", "{} worse"),
    "cannot be compared with": ("soft", "no case in common"),
}


def methods(section: Section) -> Iterator[ReportTable]:
    """A line for each method, the most accurate first: figures of the main table beside those of the differences."""
    tables = {table.key: table for table in section.tables}
    if "main" not in tables:
        return
    main, differences = tables["main"], tables.get("differences")
    compared = {line.name for line in differences.lines} if differences else set()
    ours = [line for line in main.lines if line.source != "paper"]
    home = next((line.name for line in ours if line.source == "reference"), "")
    first, *rest = (
        Column(key="acc1", title="Acc@1 %", better="more", about="share of cases whose true outcome leads", drawn=True),
        Column(key="tokens", title="Tokens", better="less", about="per case, agents and judges"),
        Column(key="brier", title="Brier", better="less", about="error of the probabilities, 0 to 2"),
    )
    beside = (
        Column(
            key="acc1_difference",
            title=f"{home} minus it, points",
            about="right of 0: the reference is better",
            drawn=True,
        ),
        Column(key="p_mcnemar_adjusted", title="p", about="McNemar, adjusted for all tests of the study"),
        Column(key="verdict", title="difference", about="significant: interval without 0 and adjusted p < 0.05"),
    )

    def cells(name: str) -> Iterator[Cell]:
        yield main.cell(name, first.key)
        for column in beside:
            if differences is None or name not in compared:
                yield text("reference" if name == home and column.key == "verdict" else "")
                continue
            cell = differences.cell(name, column.key)
            tone, words = _TONES.get(str(cell.value), ("soft", "")) if column.key == "verdict" else ("soft", "")
            yield Cell(value=words.format(home), kind=tone) if words else cell
        for column in rest:
            yield replace(main.cell(name, column.key), low=None, high=None)

    def merit(line: Line) -> float:
        value = main.cell(line.name, "acc1").value
        return -value if isinstance(value, float) else 1.0

    lines = [replace(line, cells=tuple(cells(line.name))) for line in sorted(ours, key=merit)]
    yield ReportTable(
        key="methods",
        title=f"{len(lines)} methods, the most accurate first",
        columns=(first, *beside, *rest),
        lines=tuple(lines),
        notes=("Bars: 95 % intervals, all on one scale. Every figure with its definition is in the tables below.",),
    )


def _sentences(section: Section) -> tuple[ReportTable, ...]:
    """Every comparison as a sentence, for those who want to read it so."""
    lines = tuple(Line(name=str(i), cells=(text(one),)) for i, one in enumerate(section.verdicts, 1))
    table = ReportTable(
        key="sentences", title="Every comparison in words", first="#", columns=columns("comparison"), lines=lines
    )
    return (table,) if lines else ()


CSV_COLUMNS = ("section", "method", "metric", "value", "low", "high", "n")
_METHOD_TABLES = (
    "main",
    "ordered",
    "differences",
    "compute",
    "quality",
    "agreement",
    "rounds",
    "flips",
    "distances",
    "mitigation",
    "groups",
    "trends",
    "crit",
)
"""Tables whose lines are methods; a metric that two of them have is taken from the first."""


def to_csv(report: Report) -> str:
    """One row per section, method and metric; shares from 0 to 1, tokens as they are. No lines of the paper's, no names of runs.

    What dev taught about agents comes last, an agent where other rows have a method.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for section in report.sections:
        rows: dict[str, dict[str, list[Any]]] = {}
        for table in sorted(section.tables, key=lambda t: [*_METHOD_TABLES, t.key].index(t.key)):
            for line in table.lines if table.key in _METHOD_TABLES else ():
                for column, cell in zip(table.columns, line.cells, strict=True):
                    if line.source == "paper" or cell.value in ("", "ended"):
                        continue
                    metric = column.key if column.key != "n" or table.key == "main" else f"{table.key}_n"
                    figures = [*map(_plain, (cell.value, cell.low, cell.high)), "" if cell.n is None else cell.n]
                    rows.setdefault(line.name, {}).setdefault(metric, [section.title, line.name, metric, *figures])
        for some in rows.values():
            writer.writerows(some.values())
    for table in report.tables:
        if table.key == "lessons":
            writer.writerows(row for line in table.lines for row in _lesson(table, line))
    return out.getvalue()


def _lesson(table: ReportTable, line: Line) -> list[list[Any]]:
    """What was learnt of an agent, in the columns of methods."""
    cells = {column.key: cell for column, cell in zip(table.columns, line.cells, strict=True)}
    who = f"agent {line.name} (seed {cells['seed'].value})"
    keys = [key for key in cells if key.startswith("agent_")]
    return [[cells["data"].value, who, key, _plain(cells[key].value), "", "", cells[key].n] for key in keys]


def _plain(value: float | str | None) -> Any:
    return "" if value is None else round(value, 10) if isinstance(value, float) else value


def to_json(report: Report) -> str:
    """Every table with its cells, every chart with its points; undefined is null."""
    return json.dumps(as_json(report, 12), ensure_ascii=False, indent=1) + "\n"


_BY_NAME: Mapping[str, Callable[[Report], str]] = {
    "text": on_terminal,
    "md": to_markdown,
    "latex": to_latex,
    "html": lambda report: to_html(for_page(report)),
    "csv": to_csv,
    "json": to_json,
}
FORMATS = tuple(_BY_NAME)


def render(report: Report, format: str, *, full: bool = False) -> str:
    """The document, ending in a line break. Text is what one reads first, or with ``full`` everything, as all other formats."""
    if format not in _BY_NAME:
        raise InputError(f"--format {format}: choose one of {', '.join(FORMATS)}")
    return on_terminal(report, full=full) if format == "text" else _BY_NAME[format](report)


Texts = Mapping[tuple[str, str], str]
"""(Data, item) → what the case said."""

ROW_FORMATS = ("jsonl", "csv", "parquet")
_COLUMNS: Mapping[str, Literal["string", "int64", "float64", "json"]] = {
    **dict.fromkeys(("data", "part", "item", "method", "gold", "group", "status", "reason", "answer"), "string"),
    **dict.fromkeys(("seed", "correct", "calls", "judge_calls", "rounds", "tokens", "judge_tokens"), "int64"),
    **dict.fromkeys(("confidence", "agreement", "q0", "d0", "usd", "judge_usd", "seconds"), "float64"),
    **dict.fromkeys((f"{who}{part}" for who in ("", "judge_") for part in ("prompt", "cached", "generated")), "int64"),
    **dict.fromkeys(("belief", "raters", "positions", "course", "extra"), "json"),
    "context": "string",
}
"""Of CSV and Parquet, with their types; nested parts are written as JSON, and the text of the case comes last."""


def _derived(row: Row, texts: Texts) -> dict[str, Any]:
    """What can be said of a row in a word: who was named, whether that is right, what it cost."""
    belief = row.belief
    answer = max(belief, key=lambda y: belief[y]) if belief else None
    return {
        "answer": answer,
        "confidence": belief[answer] if belief and answer is not None else None,
        "correct": None if answer is None or row.gold is None else answer == row.gold,
        "tokens": row.usage.tokens,
        "judge_tokens": row.judge_usage.tokens,
        "context": texts.get((row.data, row.item)),
    }


def flat(row: Row, texts: Texts | None = None) -> dict[str, Any]:
    """A row as one line of a table: what was spent by its parts, nested parts as JSON, what is not known empty."""
    spent = {
        f"{who}{part}": getattr(usage, part)
        for who, usage in (("", row.usage), ("judge_", row.judge_usage))
        for part in ("prompt", "cached", "generated", "usd")
    }
    line = {**row.model_dump(mode="json", exclude={"usage", "judge_usage"}), **spent, **_derived(row, texts or {})}
    line["correct"] = None if line["correct"] is None else int(line["correct"])
    for name, kind in _COLUMNS.items():
        if kind == "json" and line[name] is not None:
            line[name] = json.dumps(line[name], ensure_ascii=False)
    return {name: line[name] for name in _COLUMNS}


def texts_of(meta: Meta) -> tuple[dict[tuple[str, str], str], tuple[str, ...]]:
    """What the cases of a study's own files said, and why that is not known of some. Texts of public sets stay where they are."""
    found: dict[tuple[str, str], str] = {}
    missing = []
    for entry in meta.spec.data:
        if entry.file is None:
            continue
        known = meta.identity.get("files", {}).get(entry.name, {}).get(entry.file.name)
        whole = {"per_label": 0}  # evidence was a case with another seed
        try:
            if known is not None and digest(entry.file) != known:
                raise InputError(f"{entry.file} has changed since the study began")
            task = load_own(entry.file, columns={**entry.map, **whole}, **{**entry.options, **whole})
        except InputError as error:
            missing.append(f"the texts of {entry.name} are left out: {error}")
            continue
        for item in (*task.dev, *task.test):
            found[(entry.name, item.id)] = item.case.context or item.case.question
    return found, tuple(missing)


def export(rows: Iterable[Row], format: str, path: Path, texts: Texts | None = None) -> int:
    """Write rows as ``jsonl``, ``csv`` or ``parquet``, with the texts of their cases where given; how many they were."""
    if format not in ROW_FORMATS:
        raise InputError(f"--format {format!r}: choose one of {', '.join(ROW_FORMATS)}")
    with writing(path, "choose another --to"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if format == "parquet":
            return _to_parquet(rows, path, texts)
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, _COLUMNS)
            if format == "csv":
                table.writeheader()
            n = 0
            for n, row in enumerate(rows, 1):  # noqa: B007 - they are counted
                if format == "csv":
                    table.writerow(flat(row, texts))
                else:
                    line = {**row.model_dump(mode="json"), **_derived(row, texts or {})}
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
            return n


def _to_parquet(rows: Iterable[Row], path: Path, texts: Texts | None) -> int:
    pa, parquet = (installed(name, "eval", "Parquet") for name in ("pyarrow", "pyarrow.parquet"))
    kinds = {name: "string" if kind == "json" else kind for name, kind in _COLUMNS.items()}
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in kinds.items()])
    n, left = 0, iter(rows)
    with parquet.ParquetWriter(path, schema) as file:
        while batch := [flat(row, texts) for row in islice(left, 5000)]:
            file.write_table(pa.Table.from_pylist(batch, schema=schema))
            n += len(batch)
    return n
