"""Markdown without surprises, what comes from outside being text there too; and a report in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from maci.render.markup import clean
from maci.render.report import Report, Table, show

_MARKUP = re.compile(r"[\\`*|~]|(?<!\w)_|_(?!\w)|\](?=\()|^[#>+-]")
_HTML = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?\w+;)")


def escape(value: str) -> str:
    r"""No markup from names, and one line.

    >>> print(escape("a|b_c <i> [x](y) *z*"))
    a\|b_c &lt;i> [x\](y) \*z\*
    """
    flat = _MARKUP.sub(lambda found: "\\" + found[0], " ".join(clean(value).split()))
    return _HTML.sub(lambda found: "&lt;" if found[0] == "<" else "&amp;", flat)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    r"""A table in GitHub's dialect; the first ``words`` columns are text, the others figures.

    >>> print(table(["a", "b"], [["x|y", "1"]]))
    | a | b |
    |---|---:|
    | x\|y | 1 |
    """
    lines = ["| " + " | ".join(map(escape, head)) + " |", "|" + "---|" * words + "---:|" * (len(head) - words)]
    return "\n".join([*lines, *("| " + " | ".join(map(escape, row)) + " |" for row in rows)])


def to_markdown(report: Report) -> str:
    """A report in GitHub's dialect; the reference in bold, the paper's lines in italics."""
    parts = [f"# {escape(report.title)}", *(f"**{escape(line)}**" for line in report.verdict[:1])]
    parts += [_list(report.verdict[1:]), *(f"> {escape(note)}" for note in report.notes)]
    for section in report.sections:
        parts += [f"## {escape(section.title)}", _list(section.notes), _list(section.verdicts)]
        parts += [part for one in section.tables for part in _table(one)]
    if report.tables:
        parts.append("## All data sets")
        parts += [part for one in report.tables for part in _table(one)]
    for title, pairs in (("What this rests on", report.facts), ("Signs", report.glossary)):
        if pairs:
            parts += [f"## {title}", _list([f"{name}: {what}" for name, what in pairs])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


def _table(found: Table) -> list[str]:
    head = [found.first, *(column.head for column in found.columns)]
    lines = ["| " + " | ".join(map(escape, head)) + " |", "|---|" + "---:|" * len(found.columns)]
    for line in found.lines:
        mark = {"reference": "**", "paper": "*"}.get(line.source, "")
        name = f"{mark}{escape(line.name)}{mark}"
        lines.append("| " + " | ".join([name, *(escape(show(cell)) for cell in line.cells)]) + " |")
    return [f"### {escape(found.title)}", "\n".join(lines), _list(found.notes)]
