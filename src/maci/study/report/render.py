"""A report in one of its formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from maci.errors import InputError
from maci.study.report.html import to_html
from maci.study.report.latex import to_latex
from maci.study.report.markdown import to_markdown
from maci.study.report.model import Report
from maci.study.report.records import to_csv, to_json
from maci.study.report.terminal import to_text

__all__ = ["FORMATS", "render"]

_BY_NAME: Mapping[str, Callable[[Report], str]] = {
    "text": to_text,
    "md": to_markdown,
    "latex": to_latex,
    "html": to_html,
    "csv": to_csv,
    "json": to_json,
}
FORMATS = tuple(_BY_NAME)


def render(report: Report, format: str, *, full: bool = False) -> str:
    """The document, ending in a line break. Text is what one reads first, or with ``full`` everything, as all other formats."""
    if format not in _BY_NAME:
        raise InputError(f"--format {format}: choose one of {', '.join(FORMATS)}")
    return to_text(report, full=full) if format == "text" else _BY_NAME[format](report)
