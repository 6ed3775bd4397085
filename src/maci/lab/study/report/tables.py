"""What the tables of a report share: the glossary, the line of a method, footnotes, and the paper's own figures to stand beside ours.

The paper's are of other data and of LLM agents: nothing here is tested against them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from maci.lab.study.report.arena import Arena, Entrant
from maci.lab.study.report.estimates import WIDENED
from maci.render.report import Cell, Column, Kind, Line, ReportTable, number, text

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
) -> ReportTable:
    """A table; one without lines is left out of the report."""
    return ReportTable(
        key=key, title=title, first=first, columns=tuple(columns), lines=tuple(lines), notes=notes, folded=folded
    )


def printed_line(printed: Printed, columns: Sequence[Column], kinds: Mapping[str, Kind]) -> Line:
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


PAPER_NOTE = "Lines marked paper are the paper's own figures: other data, LLM agents. Nothing is tested against them."


@dataclass(frozen=True, slots=True)
class Printed:
    """A line of one of the paper's tables."""

    name: str
    figures: Mapping[str, float | str]


PAPER_MAIN: Mapping[str, Printed] = {
    use: Printed(
        name, {"acc1": acc, "mrr": mrr, "ece": ece, "brier_top": brier, "tokens": tokens * 1e3, "rounds": rounds}
    )
    for use, name, acc, mrr, ece, brier, tokens, rounds in (
        ("single", "Single best", 0.721, 0.802, 0.126, 0.187, 6.8, 1.0),
        ("majority_vote", "Majority vote (20)", 0.739, 0.817, 0.139, 0.196, 92.3, 1.0),
        ("self_consistency", "Self-consistency (20)", 0.747, 0.827, 0.147, 0.201, 128.6, 1.0),
        ("mad", "Liang et al.", 0.741, 0.834, 0.103, 0.173, 22.6, 3.3),
        ("maci", "MACI", 0.778, 0.856, 0.081, 0.158, 18.4, 2.7),
    )
}
"""G1, 1,500 cases, by method."""

PAPER_ABLATIONS: Mapping[str, Printed] = {
    use: Printed(name, {"acc1": acc, "drop": drop, "ece": ece, "ece_rise": rise})
    for use, name, acc, drop, ece, rise in (
        ("no_schedule_high", "No schedule (high)", 0.739, 0.039, 0.112, 0.031),
        ("no_schedule_low", "No schedule (low)", 0.718, 0.060, 0.099, 0.018),
        ("no_q_gate", "No Q gate", 0.726, 0.052, 0.121, 0.040),
        ("uniform_weights", "Uniform weights", 0.748, 0.030, 0.094, 0.013),
    )
}
"""G1."""

PAPER_PAIRS: tuple[Printed, ...] = tuple(
    Printed(name, {"acc1": acc1, "acc3": acc3, "mrr": mrr})
    for name, acc1, acc3, mrr in (
        ("GPT-4o", 0.734, 0.847, 0.781),
        ("Claude 3 Opus", 0.720, 0.832, 0.768),
        ("Gemini 1.5 Pro", 0.693, 0.825, 0.756),
        ("GPT+Claude", 0.786, 0.874, 0.823),
        ("GPT+Gemini", 0.751, 0.861, 0.807),
        ("Claude+Gemini", 0.745, 0.858, 0.798),
    )
)

PAPER_VOTES: Mapping[str, tuple[str, float]] = {
    "low": ("5–15 %", 0.698),
    "middle": ("25–40 %", 0.741),
    "high": ("60–70 %", 0.783),
}
"""20 voters: agreement and accuracy by evidence quality (Q < 0.3, between, > 0.7)."""

PAPER_NEWS: Mapping[str, Printed] = {
    use: Printed(name, {"mad": mad})
    for use, name, mad in (
        ("rater D", "D annotator", 0.84),
        ("rater R", "R annotator", 0.76),
        ("raters", "Average (D+R)", 0.51),
        ("unscheduled", "Unscheduled", 0.38),
        ("maci", "MACI", 0.12),
    )
}
"""G2, 619 articles."""

PAPER_NEWS_MAIN: Mapping[str, Printed] = {
    use: Printed(name, {"ece": ece, "brier_top": brier, "tokens": tokens * 1e3, "rounds": rounds})
    for use, name, ece, brier, tokens, rounds in (
        ("unscheduled", "Unscheduled", 0.127, 0.178, 11.7, 3.8),
        ("maci", "MACI", 0.093, 0.167, 8.2, 2.4),
    )
}
"""G2: the rest of the same table."""

PAPER_NEWS_ABLATIONS: Mapping[str, Printed] = {
    use: Printed(name, {"mad": mad, "ece": ece, "ece_rise": rise})
    for use, name, mad, ece, rise in (
        ("no_schedule_high", "No schedule (high)", 0.31, 0.134, 0.041),
        ("no_schedule_low", "No schedule (low)", 0.26, 0.118, 0.025),
        ("no_q_gate", "No Q gate", 0.29, 0.141, 0.048),
        ("uniform_weights", "Uniform weights", 0.18, 0.107, 0.014),
    )
}
"""G2; ``mad`` is the mean distance from the centre."""

PAPER_FREE = ("95–97", "73–78")
"""Acc@1 % with constrained and with free-text outcomes."""

PAPER_DISTANCES: tuple[Printed, ...] = tuple(
    Printed(name, {"distance:n": float(n), "distance:DR": dr / n, "distance:DS": ds / n, "distance:SR": sr / n})
    for name, n, dr, ds, sr in (
        ("MACI, Democrat scandals", 16, 15, 8, 11),
        ("MACI, Republican scandals", 15, 15, 9, 11),
    )
)
"""The printed totals over the articles that are printed."""
PAPER_DISTANCE_NOTE = (
    "The paper's means are its printed totals over the articles it lists: 16 and 15, where its captions say 15 and 16. It takes "
    "the two columns for votes by Democrats and Republicans, and puts its one-shot answers about 0.69 steps from MACI's."
)

PAPER_TRENDS: Mapping[float, tuple[str, str, str]] = {
    0.9: ("0.46 ± 0.04", "0.18 ± 0.03", "0.34 ± 0.05"),
    0.7: ("0.41 ± 0.04", "0.21 ± 0.03", "0.41 ± 0.05"),
    0.5: ("0.35 ± 0.03", "0.23 ± 0.03", "0.55 ± 0.04"),
    0.3: ("0.28 ± 0.03", "0.19 ± 0.03", "0.66 ± 0.04"),
    0.1: ("0.22 ± 0.03", "0.12 ± 0.02", "0.74 ± 0.04"),
}
"""CL → D in round 1, peak of Î in rounds 1–3, O in the last round."""

PAPER_CRIT: tuple[tuple[float, float, float], ...] = (
    (0.68, 0.63, 0.73),
    (0.71, 0.66, 0.76),
    (0.69, 0.64, 0.74),
    (0.02, 0.0055, 0.07),
    (0.03, 0.0103, 0.0845),
)
"""α, Pearson, Spearman, flips of the winner when a judge is swapped, with ties handled either way; with their intervals."""
