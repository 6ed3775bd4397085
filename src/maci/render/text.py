"""A report as text: on a terminal (:func:`to_text`), as Markdown (:func:`to_markdown`) and as LaTeX (:func:`to_latex`).

On a terminal wide tables are cut into as many as fit, each with the names, and sentences in them are wrapped. In Markdown what comes
from outside is text and cannot become markup. The LaTeX has booktabs; pdfLaTeX, XeLaTeX and LuaLaTeX can set it.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from maci.render.markup import clean
from maci.render.report import Report, ReportTable, show

MOST = 20
"""Lines of a list that are shown; HTML and JSON have all."""
_STYLES = {"reference": "bold", "paper": "dim italic", "baseline": "dim", "ours": ""}
_TONES = {"good": "green", "warn": "yellow", "bad": "bold red", "soft": "dim"}
_SENTENCE = 32
"""Columns that a column of sentences is sure to have."""
_MARKUP = re.compile(r"[\\`*|~]|(?<!\w)_|_(?!\w)|\](?=\()|^[#>+-]")
_HTML = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_TEX_HEAD = r"""\documentclass[10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage[a4paper,landscape,margin=15mm]{geometry}
\usepackage{booktabs,longtable,array}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\setlength{\tabcolsep}{4pt}
\begin{document}
\footnotesize
"""
_TEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "–": "--",
    "—": "---",
    "−": r"$-$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "∝": r"$\propto$",
    "→": r"$\rightarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "…": r"\ldots{}",
    "Δ": r"$\Delta$",
    "Σ": r"$\Sigma$",
    "τ": r"$\tau$",
    "θ": r"$\theta$",
    "ε": r"$\varepsilon$",
    "′": r"$'$",
    "₀": r"$_0$",
    "𝒴": r"$\mathcal{Y}$",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "\u00a0": "~",
}
_TEX_COLUMNS = 6
"""Columns beside the names that fit the page; wider tables go on in further ones."""


def to_text(report: Report, *, width: int = 120, plain: bool = True, last: str = "") -> str:
    """Lines of at most ``width`` columns; ``plain``: no colour and no boxes; ``last``: what stands below everything."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=max(60, width),
        force_terminal=not plain,
        no_color=plain,
        color_system=None if plain else "standard",
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    console.print(_text(report.title, style="bold"))
    for i, line in enumerate(report.verdict):
        first = _text(line, style=_TONES.get(report.tone, "bold"))
        console.print(Padding(_text(line), (0, 0, 0, 2)) if i else first)
    _bullets(console, report.notes)
    for section in report.sections:
        console.print()
        console.print(_text(section.title, style="bold underline"))
        _bullets(console, section.notes)
        if section.verdicts:
            console.print()
        _bullets(console, section.verdicts)
        for table in section.tables:
            _table(console, table, plain)
    for table in report.tables:
        _table(console, table, plain)
    for name, pairs in (("Signs", report.glossary), ("", report.facts)):
        if pairs:
            console.print(_text(f"\n{name}" if name else "", style="bold"))
        for sign, what in pairs:
            console.print(_text(f"{sign}: {what}", style="dim"))
    if last:
        console.print(_text(f"\n{last}"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def screen(*, plain: bool) -> tuple[int, bool]:
    """How wide standard output is, and whether it is to be ``plain``: without colour anywhere but on a terminal."""
    terminal = sys.stdout.isatty()
    return Console().width if terminal else 120, plain or not terminal


def _text(words: str, style: str = "") -> Text:
    """Words of anybody, without what would move the cursor."""
    return Text(clean(words), style=style)


def on_screen(report: Report, *, plain: bool) -> str:
    """A report for standard output as it is."""
    width, plain = screen(plain=plain)
    return to_text(report, width=width, plain=plain)


def _bullets(console: Console, lines: Sequence[str]) -> None:
    for line in lines:
        grid = Grid.grid(padding=(0, 1))
        grid.add_row("·", _text(" ".join(line.split())))
        console.print(grid)


def _table(console: Console, table: ReportTable, plain: bool) -> None:
    console.print()
    console.print(_text(table.title, style="bold"))
    shown = replace(table, lines=table.lines[:MOST]) if table.folded else table
    for number, columns in enumerate(_cut(shown, console.width)):
        if number:
            console.print()
        grid = Grid(box=None if plain else box.SIMPLE_HEAD, pad_edge=False, header_style="" if plain else "bold")
        grid.add_column(_text(table.first), overflow="fold")
        for i in columns:
            grid.add_column(
                _text(table.columns[i].head), justify="left" if shown.wordy(i) else "right", overflow="fold"
            )
        for line in shown.lines:
            style = "" if plain else _STYLES[line.source]
            cells = [_text(show(cell), style=_TONES.get(cell.kind, "")) for cell in (line.cells[i] for i in columns)]
            grid.add_row(_text(line.name), *cells, style=style)
        console.print(grid)
    if len(shown.lines) < len(table.lines):
        console.print(_text(f"… and {len(table.lines) - len(shown.lines)} more: --format html or json has all of them"))
    _bullets(console, table.notes)


def _cut(table: ReportTable, width: int) -> Iterator[list[int]]:
    """Columns that fit beside the names, in order."""
    name = max([cell_len(table.first), *(cell_len(line.name) for line in table.lines)])
    room = width - min(name, width // 3) - 1
    row: list[int] = []
    used = 0
    for i, column in enumerate(table.columns):
        widest = max([cell_len(column.head), *(cell_len(show(line.cells[i])) for line in table.lines)]) + 2
        needed = min(widest, _SENTENCE) if table.wordy(i) else widest
        if row and used + needed > room:
            yield row
            row, used = [], 0
        row.append(i)
        used += needed
    if row:
        yield row


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
    parts += [_dashes(report.verdict[1:]), *(f"> {escape(note)}" for note in report.notes)]
    for section in report.sections:
        parts += [f"## {escape(section.title)}", _dashes(section.notes), _dashes(section.verdicts)]
        parts += [part for one in section.tables for part in _piped(one)]
    if report.tables:
        parts.append("## All data sets")
        parts += [part for one in report.tables for part in _piped(one)]
    for title, pairs in (("What this rests on", report.facts), ("Signs", report.glossary)):
        if pairs:
            parts += [f"## {title}", _dashes([f"{name}: {what}" for name, what in pairs])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _dashes(lines: Sequence[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


def _piped(found: ReportTable) -> list[str]:
    head = [found.first, *(column.head for column in found.columns)]
    lines = ["| " + " | ".join(map(escape, head)) + " |", "|---|" + "---:|" * len(found.columns)]
    for line in found.lines:
        mark = {"reference": "**", "paper": "*"}.get(line.source, "")
        name = f"{mark}{escape(line.name)}{mark}"
        lines.append("| " + " | ".join([name, *(escape(show(cell)) for cell in line.cells)]) + " |")
    return [f"### {escape(found.title)}", "\n".join(lines), _dashes(found.notes)]


def tex(value: str) -> str:
    r"""Text that TeX sets as it is; a sign without a command becomes its number, never an error.

    >>> print(tex("50 % of a_b & {c} → 中"))
    50 \% of a\_b \& \{c\} $\rightarrow$ {[}U+4E2D{]}
    """
    return "".join(map(_tex_sign, " ".join(value.split())))


def _tex_sign(c: str) -> str:
    if c in _TEX_SIGNS:
        return _TEX_SIGNS[c]
    if c == "[" or c == "]":  # after \\ a bracket would be read as a length
        return f"{{{c}}}"
    if c.isascii() and c.isprintable():
        return c
    if "\u00a1" <= c <= "\u00ff" and c.isalpha():  # Latin-1 letters: T1 has them
        return c
    return f"{{[}}U+{ord(c):04X}{{]}}"


def to_latex(report: Report) -> str:
    """A document of its own; tables can be taken out of it as they are."""
    parts = [_TEX_HEAD, rf"\section*{{{tex(report.title)}}}"]
    parts += [rf"\textbf{{{tex(line)}}}\par" for line in report.verdict[:1]]
    parts += [_items(report.verdict[1:]), _items(report.notes)]
    for section in report.sections:
        parts += [rf"\section*{{{tex(section.title)}}}", _items(section.notes), _items(section.verdicts)]
        parts += [_longtables(table) for table in section.tables]
    if report.tables:
        parts += [r"\section*{All data sets}", *map(_longtables, report.tables)]
    parts += [r"\section*{What this rests on}", _items([f"{name}: {what}" for name, what in report.facts])]
    if report.glossary:
        parts += [r"\section*{Signs}", _items([f"{sign}: {what}" for sign, what in report.glossary])]
    return "\n".join(part for part in parts if part) + "\n\\end{document}\n"


def _items(lines: tuple[str, ...] | list[str]) -> str:
    items = "\n".join(rf"\item {tex(line)}" for line in lines)
    return f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}" if lines else ""


def _longtables(table: ReportTable) -> str:
    step = len(table.columns) if any(map(table.wordy, range(len(table.columns)))) else _TEX_COLUMNS
    cuts = range(0, max(1, len(table.columns)), step)
    tabulars = (_tabular(table.only(range(first, min(first + step, len(table.columns))))) for first in cuts)
    return "\n".join([rf"\subsection*{{{tex(table.title)}}}", *tabulars, _items(table.notes)])


def _tabular(table: ReportTable) -> str:
    wide = r">{\raggedright\arraybackslash}p{%dmm}"
    shape = wide % 55 + "".join(wide % 70 if table.wordy(i) else "r" for i in range(len(table.columns)))
    marks = {"reference": r"\textbf{%s}", "paper": r"\textit{%s}"}
    rows = [
        [marks.get(line.source, "%s") % tex(line.name), *(tex(show(c)) for c in line.cells)] for line in table.lines
    ]
    head = [tex(name) for name in (table.first, *(column.head for column in table.columns))]
    body = [" & ".join(cells) + r" \\" for cells in (head, *rows)]
    top = [rf"\begin{{longtable}}{{{shape}}}", r"\toprule", body[0], r"\midrule", r"\endhead"]
    return "\n".join([*top, *body[1:], r"\bottomrule", r"\end{longtable}"])
