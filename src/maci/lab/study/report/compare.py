"""The reference against every other method on the cases that both answered, and what that says in plain words.

:func:`ablation_table` says what each part of the controller is worth, :func:`members_table` what the panel adds to its members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from maci.calibration.stats import FDR, Estimate, Significance, benjamini_hochberg, estimate, mcnemar, wilcoxon
from maci.lab.study.metrics import ScoredAnswer, per_case
from maci.lab.study.report.arena import USUAL, Arena, Entrant, Place
from maci.lab.study.report.estimates import Estimates
from maci.lab.study.report.tables import (
    PAPER_ABLATIONS,
    PAPER_NEWS_ABLATIONS,
    PAPER_NOTE,
    PAPER_PAIRS,
    line_of,
    printed_line,
    table,
)
from maci.render.markup import signed
from maci.render.report import Cell, Column, Kind, Line, ReportTable, number, show, show_value, text

FEW = 30
"""Below so many cases a difference is not looked for in the headline."""
WIDE = 0.10
"""Nor where the interval reaches further to each side."""
DISCORDANT = 6
"""So many cases must differ, all in one direction, for an exact McNemar test to reach 0.05: 2 / 2⁶ = 0.03."""

Verdict = Literal["beat", "no significant difference from", "lost to", "cannot be compared with"]
ALIKE: Verdict = "no significant difference from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Reference less other, on the answers to the same cases under the same seeds."""

    arena: str
    reference: str
    other: str
    debates: bool
    """The other debates too."""
    ablation: bool
    member: bool
    """One of several of which the best on dev is compared too."""
    cases: int
    accuracy: Estimate
    """Difference of Acc@1."""
    brier: Estimate
    ece: Estimate
    mcnemar: Significance
    """On right and wrong, by case."""
    wilcoxon: Significance
    """On the Brier scores, by case: whether one gives the truth more."""
    p: float = float("nan")
    """McNemar's, adjusted over all tests of the study."""
    p_brier: float = float("nan")
    tokens: float | None = None
    """Reference's over the other's, on these cases; ``None`` where the other's are not known."""
    ours: float = float("nan")
    """Acc@1 of the reference on these cases."""
    theirs: float = float("nan")
    same_as: str | None = None
    """Of the best on dev: the member it is under every seed, so that it is no test of its own."""

    @property
    def verdict(self) -> Verdict:
        """Beat or lost only where the interval leaves out 0 and the adjusted p is below q."""
        if not self.cases:
            return "cannot be compared with"
        if self.p < FDR and self.accuracy.clear:
            return "beat" if self.accuracy.value > 0 else "lost to"
        return ALIKE

    @property
    def probabilities(self) -> Literal["better", "worse", ""]:
        """Of the reference, by Brier and the same rule; empty where no difference is shown."""
        if self.p_brier < FDR and self.brier.clear:
            return "better" if self.brier.value < 0 else "worse"
        return ""

    @property
    def half(self) -> float:
        """Half the width of the interval of the accuracies' difference."""
        return (self.accuracy.high - self.accuracy.low) / 2

    @property
    def blind(self) -> float:
        """Below about this a difference cannot be seen: the interval's half width, and six cases, all for one side (McNemar)."""
        return max(self.half, DISCORDANT / self.cases)

    @property
    def few(self) -> bool:
        """Too few cases to tell much."""
        return self.cases < FEW or self.half > WIDE


def compare_all(arena: Arena, estimates: Estimates) -> list[Comparison]:
    """Every other method of an arena; p-values not yet adjusted."""
    return [_compare(arena, other, estimates) for other in arena.entrants if other.name != arena.reference]


def _compare(arena: Arena, other: Entrant, estimates: Estimates) -> Comparison:
    home = arena.home
    shared: list[Place] = sorted(
        place
        for place in home.answers.keys() & other.answers.keys()
        if home.answers[place].scored.correct is not None and other.answers[place].scored.correct is not None
    )
    a, b = ([e.answers[place].scored for place in shared] for e in (home, other))
    cases = [place.case for place in shared]
    ours, theirs = (sum(e.answers[place].tokens for place in shared) for e in (home, other))
    return Comparison(
        arena=arena.key,
        reference=home.name,
        other=other.name,
        debates=other.debates,
        ablation=other.ablation,
        member=other.member and any(e.best and e.use == other.use for e in arena.entrants),
        cases=len(set(cases)),
        accuracy=estimates.difference("acc1", a, b, cases),
        brier=estimates.difference("brier", a, b, cases),
        ece=estimates.difference("ece", a, b, cases),
        mcnemar=mcnemar(per_case("acc1", a), per_case("acc1", b), groups=cases),
        wilcoxon=wilcoxon(per_case("brier", a), per_case("brier", b), groups=cases),
        tokens=ours / theirs if theirs else None,
        ours=_accuracy(a),
        theirs=_accuracy(b),
        same_as=next((e.name for e in arena.entrants if other.best and e.member and e.answers == other.answers), None),
    )


def _accuracy(scored: Sequence[ScoredAnswer]) -> float:
    return float(np.mean(per_case("acc1", scored))) if scored else float("nan")


def adjusted(found: Sequence[Comparison]) -> list[Comparison]:
    """All tests of a study as one family: two for each comparison. The best on dev that is one member throughout shares its test."""
    own = [c for c in found if c.same_as is None]
    m = len(own)
    raw = np.array([c.mcnemar.p for c in own] + [c.wilcoxon.p for c in own], dtype=float)
    p = benjamini_hochberg(raw).tolist()
    by = {(c.arena, c.other): (p[i], p[m + i]) for i, c in enumerate(own)}
    at = [by[c.arena, c.same_as or c.other] for c in found]
    return [replace(c, p=a, p_brier=b) for c, (a, b) in zip(found, at, strict=True)]


def in_words(c: Comparison) -> str:
    """One sentence; never more than the numbers say."""
    if not c.cases:
        return f"{c.reference} cannot be compared with {c.other}: there is no case that both answered."
    difference = estimate(c.accuracy, "points")
    interval = show(difference).partition(" ")[2]
    tokens = "" if c.tokens is None else f", at {show(number(c.tokens, 'ratio'))} the tokens"
    on = f"On these {c.cases} cases"
    if c.verdict == ALIKE:
        said = (
            f"{on} {c.reference} shows {ALIKE} {c.other} ({show_value(difference)} points {interval}, {_p(c.p)}){tokens}."
            f"{_half_shown(c)}"
        )
    else:
        size = Cell(value=abs(c.accuracy.value), low=c.accuracy.low, high=c.accuracy.high, kind="share")
        said = f"{on} {c.reference} {c.verdict} {c.other} by {show_value(size)} points {interval}, {_p(c.p)}{tokens}."
    if c.probabilities:
        said += f" Its probabilities are {c.probabilities}: Brier {show(estimate(c.brier, 'signed'))}, {_p(c.p_brier)}."
    return said


def _half_shown(c: Comparison) -> str:
    """Where interval and test disagree."""
    if c.accuracy.clear and not c.p < FDR:
        return f" The interval leaves out 0, but p, adjusted for all tests of the study, is not below {FDR:g}."
    if c.p < FDR and not c.accuracy.clear:
        return f" p is below {FDR:g}, but the interval does not leave out 0."
    return ""


def _p(p: float) -> str:
    written = show(number(p, "p"))
    return f"adjusted p {written}" if written.startswith("<") else f"adjusted p = {written}"


def worth_it(arena: Arena, found: Sequence[Comparison]) -> str:
    """Was the reference worth it here? Against what does without debate: a clear gain over all of it, or the same for fewer tokens.

    A reference that debates stands for debate; of one that does not, it is also said how the debates did against it.
    """
    where, debates = arena.title, arena.home.debates
    after = ("" if debates else _against_debates(found)) + _not_run(arena)
    baselines = [c for c in found if not c.debates and not c.member and c.cases]
    if not baselines:
        what, other = ("debate", "") if debates else (arena.reference, "other ")
        none = f"no {other}method without debate was run on the same cases"
        return f"Not known on {where}: {none}, so whether {what} was worth it cannot be said.{after}"
    lost = [c for c in baselines if c.verdict == "lost to"]
    beaten = [c for c in baselines if c.verdict == "beat"]
    open_ = [c for c in baselines if c.verdict == ALIKE]
    cheaper = [c for c in open_ if c.tokens is None or c.tokens >= 1]
    main = min(lost or cheaper or beaten or open_, key=lambda c: (c.accuracy.value, c.other))
    at = f"{where} ({main.cases} cases)"
    if lost:
        head = f"Did not pay on {at}"
    elif main in open_ and main.few:
        head = f"Not shown to pay on {where}, {_too_few(main)}"
    elif cheaper:
        head = f"Not shown to pay on {at}"
    elif beaten:
        head = f"Paid on {at}"
    else:
        head = f"Saved tokens on {at}, no more"
    joint = "." if head.endswith("seen") else ":"
    beat = f" {main.reference} beat {_names(beaten)}." if beaten and beaten != [main] else ""
    if main in beaten and open_:
        beat += f" It shows {ALIKE} {_names(open_)}, for fewer tokens."
    few = f" With {main.cases} cases, how large it is stays uncertain." if main.few and main not in open_ else ""
    return f"{head}{joint} {_scores(main, few)}{beat}{_cheapest(open_, main)}{_better(found, main)}{after}"


def _too_few(c: Comparison) -> str:
    if c.blind >= 1:
        return f"too few cases to tell: with {c.cases} cases no difference at all can be seen"
    return (
        f"too few cases to tell: with {c.cases} cases differences below about {100 * c.blind:.0f} points cannot be seen"
    )


def _scores(c: Comparison, few: str) -> str:
    """Both accuracies, their difference, and what it cost."""
    digits = 0 if c.half >= 0.02 else 1  # tables have more
    theirs, ours, size = (f"{100 * x:.{digits}f}" for x in (c.theirs, c.ours, abs(c.accuracy.value)))
    low, high = (signed(100 * x, digits) for x in (c.accuracy.low, c.accuracy.high))
    gap = f"{size} points [{low}, {high}], {_p(c.p)}"
    said = (
        f"no significant difference ({gap}).{_half_shown(c)}" if c.verdict == ALIKE else f"a difference of {gap}.{few}"
    )
    cost = (
        f" What {c.other} used was not recorded."
        if c.tokens is None
        else f" {c.reference} used {'as many' if 0.995 <= c.tokens < 1.005 else f'{_times(c.tokens)} the'} tokens."
    )
    return f"{c.other} scored {theirs} %, {c.reference} {ours} %; {said}{cost}"


def _times(ratio: float) -> str:
    """Two figures.

    >>> _times(6.583), _times(31.2), _times(0.011)
    ('6.6 ×', '31 ×', '0.011 ×')
    """
    return f"{ratio:.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×" if ratio < 1 else f"{ratio:.1f} ×"


def _cheapest(found: Sequence[Comparison], main: Comparison) -> str:
    """Of those that do not differ significantly from the reference, where there are several."""
    known = [c for c in found if c.tokens is not None]
    if len(found) < 2 or not known:
        return ""
    c = max(known, key=lambda c: (c.tokens or 0.0, c.other))
    more = "" if c is main else f": {c.reference} used {_times(c.tokens or 0.0)} its tokens"
    return f" Of {len(found)} methods with {ALIKE} {c.reference}, {c.other} is the cheapest{more}."


def _better(found: Sequence[Comparison], main: Comparison) -> str:
    """Everybody without debate who is better in something, members of a panel too."""
    some = [c for c in found if not c.debates and c.cases and c.same_as is None]
    right = [c for c in some if c.verdict == "lost to"]
    surer = [c for c in some if c.probabilities == "worse"]
    said = f" More often right without debate: {_names(right)}." if right and right != [main] else ""
    return said + (f" Better probabilities without debate (Brier): {_names(surer)}." if surer else "")


def _not_run(arena: Arena) -> str:
    there = {e.use for e in arena.entrants if e.answers}
    gone = [use for use in USUAL if use not in there]
    return f" Usual baselines that were not run: {', '.join(gone)}." if gone else ""


def _against_debates(found: Sequence[Comparison]) -> str:
    """How a reference without debate did against those that debate."""
    some = [c for c in found if c.debates and not c.member and c.cases]
    verbs: dict[Verdict, str] = {"beat": "beat", ALIKE: f"shows {ALIKE}", "lost to": "lost to"}
    said = [f"{verb} {_names(by)}" for v, verb in verbs.items() if (by := [c for c in some if c.verdict == v])]
    return f" Against debate, it {', '.join(said)}." if said else ""


def _names(found: Sequence[Comparison], most: int = 5) -> str:
    """Which they are; how many, where they are many."""
    return ", ".join(c.other for c in found) if len(found) <= most else f"{len(found)} other methods"


def ablation_table(arena: Arena, found: Sequence[Comparison], main: ReportTable) -> ReportTable | None:
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
    printed = {"G1": PAPER_ABLATIONS, "G2": PAPER_NEWS_ABLATIONS}.get(arena.paper, {})
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
    notes = (PAPER_NOTE,) if any(line.source == "paper" for line in lines) else ()
    return table("ablations", "Ablations", columns, lines, *notes, first="Variant")


_ABLATED = {
    "beat": "the part helps",
    "lost to": "better without it",
    ALIKE: "no significant difference",
}


def members_table(arena: Arena, found: Sequence[Comparison], main: ReportTable) -> ReportTable | None:
    """The panel against each of its members alone; the paper's pairs below."""
    singles = [e for e in arena.entrants if e.use == "single"]
    if not singles or arena.home.use in ("single", "self_consistency"):  # of one agent, no panel
        return None
    printed = PAPER_PAIRS if arena.paper == "G1" and arena.home.debates else ()
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
        *(PAPER_NOTE,) if printed else (),
        "A pair is a panel of two: run one study for each pair and give all folders to see them side by side.",
    )
