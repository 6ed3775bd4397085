"""Parts that the tables of a report share, and the tables of what parts of MACI are worth.

Tables share a glossary for those who have not read the paper, the line of a method, the line of a figure from the paper, and
footnotes. :func:`ablation_table` is about the parts of the controller, :func:`members_table` about the members of the panel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from maci.calibration.stats import estimate
from maci.lab.study.report import paper
from maci.lab.study.report.arena import Arena, Entrant
from maci.lab.study.report.compare import ALIKE, Comparison
from maci.lab.study.report.estimates import WIDENED
from maci.render.report import Cell, Column, Kind, Line, Table, number, text

GLOSSARY = (
    ("Acc@1, Acc@3", "share of cases whose true outcome leads, or is among the first three"),
    ("Brier, NLL", "how far the probabilities are from the truth; less is better, and 0 is certainty of the truth"),
    ("ECE", "calibration error: how far confidence and share of right answers lie apart"),
    ("ECE if calibrated", "what chance alone would give a method whose probabilities are right, with as many cases"),
    ("T, ε", "calibration learnt on dev: T above 1 softens probabilities, ε mixes in the uniform ones"),
    (
        "Q, Q₀",
        "evidence quality: how well admitted evidence fits the case; Q₀ is that of what was retrieved before round 1",
    ),
    ("D", "disagreement: Jensen–Shannon divergence of the agents' beliefs, 0 (alike) to 1"),
    ("Î", "information gain of a round: by how much the panel's uncertainty fell, as a share of the largest possible"),
    ("O", "overlap: share of the evidence cited that agents cited in common"),
    ("CRIT", "the judges' score of the arguments, 0 to 1"),
    (
        "AURC",
        "area under the risk–coverage curve: mean share of errors among the surest answers, over how many are given",
    ),
    (
        "S",
        "support of an outcome: admitted evidence for it, each span once, at the best CRIT of an argument that cites it",
    ),
    ("CL", "contentiousness asked of the agents, 0 to 1"),
)


def line_of(arena: Arena, entrant: Entrant, cells: Sequence[Cell]) -> Line:
    """A method's line; the reference's is marked."""
    home = entrant.name == arena.reference
    return Line(name=entrant.name, cells=tuple(cells), source="reference" if home else "ours")


def by_method(
    arena: Arena, cells: Callable[[Entrant], Sequence[Cell] | None], entrants: Sequence[Entrant] | None = None
) -> list[Line]:
    """A line for each method that has cells."""
    chosen = arena.entrants if entrants is None else entrants
    return [line_of(arena, e, found) for e in chosen if (found := cells(e)) is not None]


def table(
    key: str,
    title: str,
    columns: Sequence[Column],
    lines: Sequence[Line],
    *notes: str,
    first: str = "Method",
    folded: bool = False,
) -> Table:
    """A table; one without lines is left out of the report."""
    return Table(
        key=key, title=title, first=first, columns=tuple(columns), lines=tuple(lines), notes=notes, folded=folded
    )


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


def ablation_table(arena: Arena, found: Sequence[Comparison], main: Table) -> Table | None:
    """What each part of the controller is worth: the drop without it."""
    some = [c for c in found if c.ablation]
    if not some:
        return None
    columns = (
        Column(key="acc1", title="Acc@1 %", better="more"),
        Column(
            key="drop",
            title="drop, points",
            about="Acc@1 of the reference less that of the variant; above 0 the part helps",
        ),
        Column(key="p_mcnemar_adjusted", title="p adjusted"),
        Column(key="ece", title="ECE", better="less"),
        Column(key="ece_rise", title="ECE rise", about="of the variant over the reference; above 0 the part helps"),
        Column(key="verdict", title="verdict"),
    )
    kinds: dict[str, Kind] = {"acc1": "share", "drop": "points", "ece": "number", "ece_rise": "signed"}
    uses = {e.name: e.use for e in arena.entrants}
    printed = {"G1": paper.ABLATIONS, "G2": paper.NEWS_ABLATIONS}.get(arena.paper, {})
    blank, accuracy, error = text(""), main.cell(arena.reference, "acc1"), main.cell(arena.reference, "ece")
    lines = [line_of(arena, arena.home, (accuracy, blank, blank, error, blank, blank))]
    for c in some:
        e = c.ece
        figures = (
            main.cell(c.other, "acc1"),
            estimate(c.accuracy, "points"),
            number(c.p, "p"),
            main.cell(c.other, "ece"),
            Cell(value=-e.value, low=-e.high, high=-e.low, n=e.n, kind="signed", how=e.how)
            if c.cases
            else Cell(kind="signed", n=e.n),
            text(_ABLATED.get(c.verdict, c.verdict)),
        )
        lines.append(Line(name=c.other, cells=figures))
        if uses[c.other] in printed:
            lines.append(printed_line(printed[uses[c.other]], columns, kinds))
    notes = (paper.NOTE,) if any(line.source == "paper" for line in lines) else ()
    return table("ablations", "Ablations", columns, lines, *notes, first="Variant")


_ABLATED = {
    "beat": "the part helps",
    "lost to": "better without it",
    ALIKE: "no significant difference",
}


def members_table(arena: Arena, found: Sequence[Comparison], main: Table) -> Table | None:
    """The panel against each of its members alone; the paper's pairs below."""
    singles = [e for e in arena.entrants if e.use == "single"]
    if not singles or arena.home.use in ("single", "self_consistency"):  # of one agent, no panel
        return None
    printed = paper.PAIRS if arena.paper == "G1" and arena.home.debates else ()
    columns = (
        Column(key="acc1", title="Acc@1 %", better="more"),
        Column(key="acc3", title="Acc@3 %", better="more"),
        Column(key="mrr", title="MRR", better="more"),
        Column(key="acc1_difference", title=f"{arena.reference} less it, points"),
        Column(key="p_mcnemar_adjusted", title="p adjusted"),
    )
    by = {c.other: c for c in found}
    lines = []
    for e in [*singles, arena.home]:
        c = by.get(e.name)
        cells = [main.cell(e.name, key) for key in ("acc1", "acc3", "mrr")]
        cells += [text(""), text("")] if c is None else [estimate(c.accuracy, "points"), number(c.p, "p")]
        lines.append(line_of(arena, e, cells))
    kinds: dict[str, Kind] = {"acc1": "share", "acc3": "share"}
    lines += [printed_line(pair, columns, kinds) for pair in printed]
    return table(
        "pairs",
        "The panel and its members",
        columns,
        lines,
        *(paper.NOTE,) if printed else (),
        "A pair is a panel of two: run one study for each pair and give all folders to see them side by side.",
    )
