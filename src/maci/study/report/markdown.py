"""The report as Markdown."""

from __future__ import annotations

from maci.page.markdown import escape
from maci.study.report.model import Report, Section, Table, show

__all__ = ["to_markdown"]


def to_markdown(report: Report) -> str:
    """GitHub's dialect; the reference in bold, the paper's lines in italics."""
    parts = [f"# {escape(report.title)}", *(f"**{escape(line)}**" for line in report.verdict[:1])]
    parts.append("\n".join(f"- {escape(line)}" for line in report.verdict[1:]))
    parts += [f"> {escape(note)}" for note in report.notes]
    parts += [part for section in report.sections for part in _section(section)]
    if report.tables:
        parts.append("## All data sets")
        parts += [part for table in report.tables for part in _table(table)]
    parts.append("## What this rests on")
    parts.append("\n".join(f"- {escape(name)}: {escape(what)}" for name, what in report.facts))
    if report.glossary:
        parts += ["## Signs", "\n".join(f"- {escape(sign)}: {escape(what)}" for sign, what in report.glossary)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section) -> list[str]:
    parts = [f"## {escape(section.title)}", "\n".join(f"- {escape(note)}" for note in section.notes)]
    parts.append("\n".join(f"- {escape(line)}" for line in section.verdicts))
    return parts + [part for table in section.tables for part in _table(table)]


def _table(table: Table) -> list[str]:
    arrows = {"more": " ↑", "less": " ↓", "": ""}
    head = [table.first, *(column.title + arrows[column.better] for column in table.columns)]
    lines = ["| " + " | ".join(map(escape, head)) + " |", "|---|" + "---:|" * len(table.columns)]
    for line in table.lines:
        mark = {"reference": "**", "paper": "*"}.get(line.source, "")
        name = f"{mark}{escape(line.name)}{mark}"
        lines.append("| " + " | ".join([name, *(escape(show(cell)) for cell in line.cells)]) + " |")
    return [f"### {escape(table.title)}", "\n".join(lines), "\n".join(f"- {escape(note)}" for note in table.notes)]
