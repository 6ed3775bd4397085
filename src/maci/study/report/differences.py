"""The reference less every other method."""

from __future__ import annotations

from collections.abc import Sequence

from maci.page.chart import Chart, Point, Series
from maci.study.report.arena import Arena
from maci.study.report.compare import Comparison
from maci.study.report.estimates import ALIKE
from maci.study.report.lines import widened
from maci.study.report.model import Column, Line, Table, count, estimate, number, text
from maci.study.statistics import FDR

__all__ = ["difference_table"]


def difference_table(arena: Arena, found: Sequence[Comparison], tests: int) -> tuple[Table, Chart]:
    """The reference less each other method."""
    columns = (
        Column(
            key="verdict", title=f"{arena.reference} …", about="beat or lost: interval without 0 and adjusted p < 0.05"
        ),
        Column(key="cases", title="cases", about="that both answered"),
        Column(key="acc1_difference", title="Δ Acc@1, points", about="reference less other"),
        Column(key="p_mcnemar", title="p", about="McNemar on right and wrong, by case; not adjusted"),
        Column(key="p_mcnemar_adjusted", title="p adjusted", about="Benjamini–Hochberg over all tests of this study"),
        Column(key="brier_difference", title="Δ Brier", about="reference less other; below 0 the reference is better"),
        Column(
            key="p_wilcoxon",
            title="p (Brier)",
            about="Wilcoxon signed ranks on the Brier scores, by case; not adjusted",
        ),
        Column(key="p_wilcoxon_adjusted", title="p (Brier) adjusted", about="of the same family"),
        Column(key="ece_difference", title="Δ ECE", about="reference less other"),
        Column(key="token_ratio", title="tokens", about="reference's tokens over the other's"),
    )
    lines = tuple(
        Line(
            name=c.other,
            cells=(
                text(c.verdict),
                count(c.cases),
                estimate(c.accuracy, "points"),
                number(c.mcnemar.p, "p"),
                number(c.p, "p"),
                estimate(c.brier, "signed"),
                number(c.wilcoxon.p, "p"),
                number(c.p_brier, "p"),
                estimate(c.ece, "signed"),
                number(c.tokens, "ratio"),
            ),
        )
        for c in found
    )
    notes = (
        "The rule: a method beat or lost to another where the 95 % interval of the difference leaves out 0 and the adjusted p is "
        f"below {FDR:g}. Where either is missing the two cannot be told apart, which does not mean that they are equal.",
        f"The family of tests is the study's: McNemar and Wilcoxon for each other method on each data set, and on all together where "
        f"there are several; {tests} tests, adjusted together (Benjamini–Hochberg). Studies beside it have families of their own.",
        *(f"{c.other} is {c.same_as} under every seed: one test, not two." for c in found if c.same_as),
        "Paired differences with 95 % percentile intervals, cases resampled whole.",
        *_alike(found),
        *widened("Δ ECE", [(c.other, c.ece.how) for c in found]),
    )
    marks: dict[bool, list[Point]] = {True: [], False: []}
    for i, c in enumerate(found):
        if c.cases:
            d = c.accuracy
            mark = Point(x=d.value, y=float(i), low=d.low, high=d.high, n=d.n, label=c.other)
            marks[c.verdict != "cannot be told from"].append(mark)
    chart = Chart(
        key="forest",
        kind="forest",
        title=f"{arena.reference} minus each other method",
        about="Differences of accuracy in points with 95 % intervals; to the right of 0 the reference is better. Coloured: beat or "
        "lost after adjusting for all tests of the study; grey: no difference shown.",
        x="Δ Acc@1, points",
        y="",
        series=tuple(
            Series(name=name, points=tuple(marks[clear]), reference=clear)
            for name, clear in (("beat or lost", True), ("no difference shown", False))
        ),
    )
    return Table(
        key="differences", title="Differences", first="against", columns=columns, lines=lines, notes=notes
    ), chart


def _alike(found: Sequence[Comparison]) -> tuple[str, ...]:
    """The footnote to differences that resampling cannot tell the uncertainty of."""
    names = [c.other for c in found if c.accuracy.how == ALIKE]
    if not names:
        return ()
    return (
        f"Δ Acc@1 against {', '.join(names)} was the same in every case: its interval is what other cases might differ by (Wilson's "
        "bound on the share of such cases).",
    )
