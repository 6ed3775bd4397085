"""Tables that set the reference against the other methods: accuracy for its cost, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maci.calibration.stats import FDR
from maci.calibration.stats.estimate import estimate
from maci.lab.study.report.arena import Arena, Entrant
from maci.lab.study.report.compare import Comparison
from maci.lab.study.report.estimates import ALIKE, Estimates
from maci.lab.study.report.parts import by_method, table, widened
from maci.render.report import Cell, Chart, Column, Line, Point, Series, Table, count, number, text


def compute_table(arena: Arena, found: Sequence[Comparison], estimates: Estimates) -> Table:
    """Accuracy for what it cost, and of methods run at several sizes the one that costs about as much as the reference."""
    columns = (
        Column(key="tokens", title="Tokens", about="per case, all calls"),
        Column(
            key="token_ratio",
            title=f"of {arena.reference}'s",
            about="this method's tokens over the reference's, each on its own cases",
        ),
        Column(key="acc1", title="Acc@1 %", better="more"),
        Column(
            key="acc1_per_1k",
            title="right answers per 1k tokens",
            better="more",
            about="sum of right answers over sum of tokens",
        ),
        Column(
            key="nearest",
            title="equal compute",
            about="of several sizes of one method, the nearest in tokens to the reference",
        ),
        Column(key="acc1_difference", title=f"Δ of {arena.reference}, points", about="at equal compute only"),
    )
    means = {e.name: _mean_tokens(e) for e in arena.entrants}
    home = means[arena.reference]
    nearest = _nearest(arena, means)
    by = {c.other: c for c in found}

    def cells(entrant: Entrant) -> list[Cell]:
        mean, some = means[entrant.name], entrant.picked(lambda a: a.scored.correct is not None)
        right = [float(s.correct is True) for s in some.scored]
        per_token = estimates.ratio(right, [a.tokens / 1000 for a in some.answers], some.cases)
        close = nearest.get(entrant.name, "")
        at = by[entrant.name].accuracy if close == "nearest" and entrant.name in by else None
        return [
            number(mean, "tokens", len(entrant.answers)),
            number(mean / home if mean is not None and home else None, "ratio"),
            estimate(estimates.share(right, some.cases), "share"),
            estimate(per_token),
            text(close),
            text("") if at is None else estimate(at, "points"),
        ]

    notes = [
        "A vote of fewer voters cannot be worked out from kept answers: run the method at several sizes (n, rounds) to compare it at "
        "equal compute.",
    ]
    chosen = ", ".join(name for name, close in nearest.items() if close == "nearest")
    notes.append(
        f"Nearest to {arena.reference} in tokens among sizes of the same method: {chosen}."
        if chosen
        else "No method was run at several sizes, so equal compute is by right answers per 1k tokens only."
    )
    return table("compute", "At equal compute", columns, by_method(arena, cells), *notes)


def _mean_tokens(entrant: Entrant) -> float | None:
    tokens = [a.tokens for a in entrant.answers.values()]
    return sum(tokens) / len(tokens) if any(tokens) else None


def _nearest(arena: Arena, means: Mapping[str, float | None]) -> dict[str, str]:
    """Of methods with several sizes: which is nearest in tokens to the reference, as a ratio; ``other size`` for the rest."""
    home = means[arena.reference]
    found: dict[str, str] = {}
    if not home:
        return found
    families: dict[str, dict[str, float]] = {}
    for e in arena.entrants:
        mean = means[e.name]
        if e.name != arena.reference and not e.member and mean:
            families.setdefault(e.use, {})[e.name] = mean
    for sizes in families.values():
        if len(sizes) > 1:
            first = min(sizes, key=lambda name: max(sizes[name] / home, home / sizes[name]))
            found |= {name: "nearest" if name == first else "other size" for name in sizes}
    return found


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
    return table("differences", "Differences", columns, lines, *notes, first="against"), chart


def _alike(found: Sequence[Comparison]) -> tuple[str, ...]:
    """The footnote to differences that resampling cannot tell the uncertainty of."""
    names = ", ".join(c.other for c in found if c.accuracy.how == ALIKE)
    note = (
        f"Δ Acc@1 against {names} was the same in every case: its interval is what other cases might differ by (Wilson's "
        "bound on the share of such cases)."
    )
    return (note,) if names else ()
