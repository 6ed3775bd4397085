"""A report as a LaTeX document with booktabs; pdfLaTeX, XeLaTeX and LuaLaTeX can set it."""

from __future__ import annotations

from maci.render.report import Report, Table, show

_HEAD = r"""\documentclass[10pt]{article}
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
_SIGNS = {
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
_PER_TABLE = 6
"""Columns beside the names that fit the page; wider tables go on in further ones."""


def escape(value: str) -> str:
    r"""Text that TeX sets as it is; a sign without a command becomes its number, never an error.

    >>> print(escape("50 % of a_b & {c} → 中"))
    50 \% of a\_b \& \{c\} $\rightarrow$ {[}U+4E2D{]}
    """
    return "".join(map(_sign, " ".join(value.split())))


def _sign(c: str) -> str:
    if c in _SIGNS:
        return _SIGNS[c]
    if c == "[" or c == "]":  # after \\ a bracket would be read as a length
        return f"{{{c}}}"
    if c.isascii() and c.isprintable():
        return c
    if "\u00a1" <= c <= "\u00ff" and c.isalpha():  # Latin-1 letters: T1 has them
        return c
    return f"{{[}}U+{ord(c):04X}{{]}}"


def to_latex(report: Report) -> str:
    """A document of its own; tables can be taken out of it as they are."""
    parts = [_HEAD, rf"\section*{{{escape(report.title)}}}"]
    parts += [rf"\textbf{{{escape(line)}}}\par" for line in report.verdict[:1]]
    parts += [_list(report.verdict[1:]), _list(report.notes)]
    for section in report.sections:
        parts += [rf"\section*{{{escape(section.title)}}}", _list(section.notes), _list(section.verdicts)]
        parts += [_table(table) for table in section.tables]
    if report.tables:
        parts += [r"\section*{All data sets}", *map(_table, report.tables)]
    parts += [r"\section*{What this rests on}", _list([f"{name}: {what}" for name, what in report.facts])]
    if report.glossary:
        parts += [r"\section*{Signs}", _list([f"{sign}: {what}" for sign, what in report.glossary])]
    return "\n".join(part for part in parts if part) + "\n\\end{document}\n"


def _list(lines: tuple[str, ...] | list[str]) -> str:
    items = "\n".join(rf"\item {escape(line)}" for line in lines)
    return f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}" if lines else ""


def _table(table: Table) -> str:
    step = len(table.columns) if any(map(table.wordy, range(len(table.columns)))) else _PER_TABLE
    cuts = range(0, max(1, len(table.columns)), step)
    tabulars = (_tabular(table.only(range(first, min(first + step, len(table.columns))))) for first in cuts)
    return "\n".join([rf"\subsection*{{{escape(table.title)}}}", *tabulars, _list(table.notes)])


def _tabular(table: Table) -> str:
    wide = r">{\raggedright\arraybackslash}p{%dmm}"
    shape = wide % 55 + "".join(wide % 70 if table.wordy(i) else "r" for i in range(len(table.columns)))
    marks = {"reference": r"\textbf{%s}", "paper": r"\textit{%s}"}
    rows = [
        [marks.get(line.source, "%s") % escape(line.name), *(escape(show(c)) for c in line.cells)]
        for line in table.lines
    ]
    head = [escape(name) for name in (table.first, *(column.head for column in table.columns))]
    body = [" & ".join(cells) + r" \\" for cells in (head, *rows)]
    top = [rf"\begin{{longtable}}{{{shape}}}", r"\toprule", body[0], r"\midrule", r"\endhead"]
    return "\n".join([*top, *body[1:], r"\bottomrule", r"\end{longtable}"])
