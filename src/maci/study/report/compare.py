"""The reference against every other method on the cases that both answered, and what that says in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from maci.study.metrics import per_case
from maci.study.report.arena import Arena, Entrant, Place
from maci.study.report.estimates import Estimates
from maci.study.report.model import Cell, estimate, number, show, show_value
from maci.study.statistics import FDR, Interval, Significance, benjamini_hochberg, mcnemar, wilcoxon

__all__ = ["Comparison", "Verdict", "adjusted", "compare_all", "in_words", "worth_it"]

Verdict = Literal["beat", "tied with", "lost to", "cannot be compared with"]


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
    accuracy: Interval
    """Difference of Acc@1."""
    brier: Interval
    ece: Interval
    mcnemar: Significance
    """On right and wrong, by case."""
    wilcoxon: Significance
    """On the Brier scores, by case: whether one gives the truth more."""
    p: float = float("nan")
    """McNemar's, adjusted over all tests of the report."""
    p_brier: float = float("nan")
    tokens: float | None = None
    """Reference's over the other's, on these cases; ``None`` where the other's are not known."""

    @property
    def verdict(self) -> Verdict:
        """Beat or lost only where the interval leaves out 0 and the adjusted p is below q."""
        if not self.cases:
            return "cannot be compared with"
        if self.p < FDR and (self.accuracy.low > 0 or self.accuracy.high < 0):
            return "beat" if self.accuracy.value > 0 else "lost to"
        return "tied with"


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
    )


def adjusted(found: Sequence[Comparison]) -> list[Comparison]:
    """All tests of a report as one family: two for each comparison."""
    m = len(found)
    raw = np.array([c.mcnemar.p for c in found] + [c.wilcoxon.p for c in found], dtype=float)
    p = benjamini_hochberg(raw).tolist()
    return [replace(c, p=p[i], p_brier=p[m + i]) for i, c in enumerate(found)]


def in_words(c: Comparison) -> str:
    """One sentence; never more than the numbers say."""
    if not c.cases:
        return f"{c.reference} cannot be compared with {c.other}: there is no case that both answered."
    difference = estimate(c.accuracy, "points")
    size = Cell(value=abs(c.accuracy.value), low=c.accuracy.low, high=c.accuracy.high, kind="share")
    interval = show(difference).partition(" ")[2]
    tokens = "" if c.tokens is None else f", at {show(number(c.tokens, 'ratio'))} the tokens"
    head = f"On these {c.cases} cases {c.reference} {c.verdict} {c.other}"
    if c.verdict == "tied with":
        said = f"{head} ({show_value(difference)} points {interval}, {_p(c.p)}){tokens}."
    else:
        said = f"{head} by {show_value(size)} points {interval}, {_p(c.p)}{tokens}."
    if c.p_brier < FDR and (c.brier.low > 0 or c.brier.high < 0):
        better = "better" if c.brier.value < 0 else "worse"
        said += f" Its probabilities are {better}: Brier {show(estimate(c.brier, 'signed'))}, {_p(c.p_brier)}."
    return said


def _p(p: float) -> str:
    written = show(number(p, "p"))
    return f"adjusted p {written}" if written.startswith("<") else f"adjusted p = {written}"


def worth_it(arena: Arena, found: Sequence[Comparison]) -> str:
    """Was the reference worth it here? Against what does without debate: a clear gain over all of it, or the same for fewer tokens.

    A reference that debates stands for debate; of one that does not, it is also said how the debates did against it.
    """
    where, debates = arena.title, arena.home.debates
    after = "" if debates else _against_debates(found)
    baselines = [c for c in found if not c.debates and not c.member and c.cases]
    if not baselines:
        what, other = ("debate", "") if debates else (arena.reference, "other ")
        none = f"no {other}method without debate was run on the same cases"
        return f"{where}: {none}, so whether {what} was worth it is not known.{after}"
    lost = [c for c in baselines if c.verdict == "lost to"]
    beaten = [c for c in baselines if c.verdict == "beat"]
    tied = [c for c in baselines if c.verdict == "tied with"]
    cheaper = [c for c in tied if c.tokens is None or c.tokens >= 1]
    dearer = [c for c in tied if c.tokens is not None and c.tokens < 1]
    if lost:
        worst = min(lost, key=lambda c: c.accuracy.value)
        return f"{where}: no. {in_words(worst)}{after}"
    if cheaper:
        c = min(cheaper, key=lambda c: (c.accuracy.value, c.other))
        cost = (
            "at a cost that was not recorded"
            if c.tokens is None
            else f"for {'fewer' if c.tokens > 1 else 'as many'} tokens"
        )
        does = f"does without {'debate' if debates else 'it'} {cost}"
        others = f" It beat {_names(beaten)}." if beaten else ""
        return f"{where}: not shown. {c.other} {does}, and the difference may be chance. {in_words(c)}{others}{after}"
    if dearer and not beaten:
        return (
            f"{where}: it saved tokens, no more: as right as {_names(dearer)}, within chance, for fewer tokens.{after}"
        )
    saved = f", and tied with {_names(dearer)} for fewer tokens" if dearer else ""
    return f"{where}: yes. {arena.reference} beat {_names(beaten)}{saved}.{after}"


def _against_debates(found: Sequence[Comparison]) -> str:
    """How a reference without debate did against those that debate."""
    some = [c for c in found if c.debates and not c.member and c.cases]
    said = [
        f"{v} {_names(by)}" for v in ("beat", "tied with", "lost to") if (by := [c for c in some if c.verdict == v])
    ]
    return f" Against debate, it {', '.join(said)}." if said else ""


def _names(found: Sequence[Comparison]) -> str:
    return ", ".join(c.other for c in found)
