"""What tables of methods have in common: a method's answers in order, its line, a line of the paper's, footnotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maci.study.report import paper
from maci.study.report.arena import Answered, Arena, Case, Entrant
from maci.study.report.estimates import WIDENED
from maci.study.report.model import Cell, Column, Kind, Line, number, text

__all__ = ["answers_of", "line_of", "printed_line", "widened"]


def answers_of(entrant: Entrant) -> tuple[list[Answered], list[Case]]:
    """Its answers and their cases."""
    places = sorted(entrant.answers)
    return [entrant.answers[p] for p in places], [p.case for p in places]


def line_of(arena: Arena, entrant: Entrant, cells: Sequence[Cell]) -> Line:
    """A method's line; the reference's is marked."""
    home = entrant.name == arena.reference
    return Line(name=entrant.name, cells=tuple(cells), source="reference" if home else "ours")


def printed_line(printed: paper.Printed, columns: Sequence[Column], kinds: Mapping[str, Kind]) -> Line:
    """A line of the paper's, under the columns it has figures for."""
    cells = []
    for column in columns:
        figure = printed.figures.get(column.key)
        cells.append(text(figure) if isinstance(figure, str) else number(figure, kinds.get(column.key, "number")))
    return Line(name=f"paper: {printed.name}", cells=tuple(cells), source="paper")


def widened(what: str, cells: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The footnote to intervals that do not come from resampling alone."""
    names = [name for name, how in cells if how.endswith(WIDENED)]
    if not names:
        return ()
    return (
        f"{what} of {', '.join(names)}: resampling adds to this error, so its interval left out the value itself and is widened to it.",
    )
