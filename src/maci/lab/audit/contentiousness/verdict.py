"""The verdict of an audit of the dial: does it move these agents? The measurements in plain words, with advice.

:func:`findings` measures the debates; :func:`judge` answers three questions:

1. Does the wording differ between levels? (AUC above the placebo's)
2. Do beliefs differ more at high contentiousness? (ρ of CL with D of round 1 above 0)
3. Is less evidence shared there? (ρ of CL with O of the last round below 0)

ρ is the mean within topics × seeds, not the paper's over all debates. *Moves* needs an interval that excludes no effect and, since
intervals from few debates are too narrow, p < 0.05 when levels are exchanged within topics × seeds. The first question is skipped for
readers: their sentences were written for them, one set for each level, so that telling them apart would prove nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

import numpy as np

from maci.calibration.stats import RESAMPLES, Estimate
from maci.lab.audit.contentiousness.debates import HeldDebate
from maci.lab.audit.contentiousness.trends import Trend, trends
from maci.lab.audit.contentiousness.wording import Wording, beyond, measure
from maci.story.words import plural

FEW = 8
"""With fewer topics × seeds a bootstrap over them is not to be trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was measured."""

    levels: tuple[float, ...]
    """From high to low."""
    held: int
    """Debates on record, placebo included."""
    left_out: int
    """Of them: not finished, or ended early; they are in no figure."""
    silent: int
    """Turns that failed."""
    topics: tuple[str, ...]
    blocks: int
    """Topics × seeds."""
    rounds: int
    speak: bool
    """Whether a language model debated; else there is no wording to measure."""
    wording: Wording | None
    placebo: Wording | None
    beyond: Estimate | None
    """AUC less the placebo's."""
    trends: Mapping[str, Trend]
    placebo_trends: Mapping[str, Trend]


def findings(
    debates: Sequence[HeldDebate], levels: Sequence[float], rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> Findings:
    """Measure wording, beliefs and evidence over the debates that went through all their rounds."""
    levels = tuple(sorted(levels, reverse=True))
    whole = [held for held in debates if held.whole]
    dial = [held for held in whole if held.sitting.words == "stance"]
    control = [held for held in whole if held.sitting.words == "placebo"]
    wording, placebo = (
        measure([turn for held in some for turn in held.spoken], levels, rng, resamples=resamples)
        for some in (dial, control)
    )
    return Findings(
        levels=levels,
        held=len(debates),
        left_out=len(debates) - len(whole),
        silent=sum(held.silent for held in debates),
        topics=tuple(dict.fromkeys(held.sitting.topic for held in dial)),
        blocks=len({held.sitting.block for held in dial}),
        rounds=max((held.planned for held in debates), default=0),
        speak=any(held.spoken for held in debates),
        wording=wording,
        placebo=placebo,
        beyond=beyond(wording, placebo, rng, resamples=resamples) if wording and placebo else None,
        trends=trends(dial, levels, rng, resamples=resamples) if dial else {},
        placebo_trends=trends(control, levels, rng, resamples=resamples) if control else {},
    )


Name = Literal["wording", "disagreement", "shared evidence"]
Answer = Literal["moves", "moves the wrong way", "no effect shown", "withheld"]
Overall = Literal["moves", "moves in part", "does not move"]


@dataclass(frozen=True, slots=True)
class Aspect:
    """One question and its answer."""

    name: Name
    answer: Answer
    why: str
    """The figures behind it, in words."""


@dataclass(frozen=True, slots=True)
class DialVerdict:
    """The whole answer."""

    overall: Overall
    says: str
    aspects: tuple[Aspect, ...]
    advice: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether something moves, and nothing the wrong way."""
        wrong = any(aspect.answer == "moves the wrong way" for aspect in self.aspects)
        return self.overall != "does not move" and not wrong


def figure(interval: Estimate | None, digits: int = 2) -> str:
    """A number with its interval as a person reads it.

    >>> nan = float("nan")
    >>> figure(Estimate(0.512, 0.4, 0.6, 10, "percentile")), figure(None), figure(Estimate(1.0, nan, nan, 1, "one debate"))
    ('0.51 [0.40, 0.60]', 'undefined', '1.00')
    """
    if interval is None or isnan(interval.value):
        return "undefined"
    value, low, high = (f"{x + 0.0:.{digits}f}" for x in (interval.value, interval.low, interval.high))
    return value if isnan(interval.low) else f"{value} [{low}, {high}]"


def judge(found: Findings) -> DialVerdict:
    """The verdict on what was found."""
    aspects = (
        _wording(found),
        _signal(found, "disagreement", "disagreement in round 1", found.trends.get("d"), 1),
        _signal(found, "shared evidence", "shared evidence in the last round", found.trends.get("o"), -1),
    )
    moved = [aspect.name for aspect in aspects if aspect.answer == "moves"]
    asked = [aspect for aspect in aspects if aspect.answer != "withheld"]
    overall: Overall = "does not move" if not moved else "moves" if len(moved) == len(asked) else "moves in part"
    return DialVerdict(overall, _says(aspects), aspects, _advice(found, aspects), _warnings(found, aspects))


def _wording(found: Findings) -> Aspect:
    if not found.speak:
        return Aspect(
            "wording",
            "withheld",
            "no language model debates here: readers fill in sentences that were written for each level, so a classifier would "
            "only recognise those; no AUC is given",
        )
    if found.wording is None:
        return Aspect("wording", "no effect shown", "there are not two topics with turns at every level")
    told = found.wording.auc.low > 0.5 and _unlikely(found.wording.p)
    auc = (
        f"a classifier that never saw the topic tells the levels apart with AUC {figure(found.wording.auc)} "
        f"({_chance(found.wording.p)})"
    )
    if found.placebo is None or found.beyond is None:
        answer: Answer = "moves" if told else "no effect shown"
        return Aspect("wording", answer, f"{auc}; 0.5 is guessing; there was no placebo to compare with")
    answer = "moves" if told and found.beyond.low > 0 else "no effect shown"
    why = f"{auc}, under the placebo {figure(found.placebo.auc)}: {figure(found.beyond)} more"
    return Aspect("wording", answer, why)


def _signal(found: Findings, name: Name, what: str, trend: Trend | None, meant: int) -> Aspect:
    """Whether ρ lies, with its interval, on the side it is meant to."""
    if trend is None or isnan(trend.within.value):
        return Aspect(name, "no effect shown", f"{what} is undefined, or never varies with CL")
    low, high = sorted((meant * trend.within.low, meant * trend.within.high))
    answer: Answer = "no effect shown"
    if not isnan(trend.within.low) and _unlikely(trend.p):
        answer = "moves" if low > 0 else "moves the wrong way" if high < 0 else "no effect shown"
    alone = "; intervals are undefined with one debate per level" if isnan(trend.within.low) else ""
    why = (
        f"{what} follows CL with ρ {figure(trend.within)} within a topic and seed ({_chance(trend.p)}{alone}); "
        f"from CL {found.levels[-1]:g} to {found.levels[0]:g} it changes by {figure(trend.step)} "
        f"(means {trend.means[-1].value:.2f} and {trend.means[0].value:.2f})"
    )
    return Aspect(name, answer, why)


def _unlikely(p: float | None) -> bool:
    return p is not None and p < 0.05


def _chance(p: float | None) -> str:
    return "p undefined" if p is None else f"p {'<' if p < 0.001 else '='} {max(p, 0.001):.3f}"


_MOVED = {
    "wording": "how they write",
    "disagreement": "how far their beliefs part",
    "shared evidence": "how much evidence they share",
}


def _says(aspects: Sequence[Aspect]) -> str:
    moved, rest, wrong = (
        [_MOVED[aspect.name] for aspect in aspects if aspect.answer == answer]
        for answer in ("moves", "no effect shown", "moves the wrong way")
    )
    if not moved and not wrong:
        return "The dial was not shown to move these agents: no effect of CL on " + _list(rest, "or") + "."
    parts = []
    if moved:
        parts.append("The dial moves " + _list(moved, "and"))
    if wrong:
        parts.append(("it moves " if moved else "The dial moves ") + _list(wrong, "and") + " the wrong way")
    if rest:
        parts.append("an effect on " + _list(rest, "or") + " was not shown")
    return "; ".join(parts) + "."


def _list(names: Sequence[str], last: str) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" {last} {names[-1]}"


def _advice(found: Findings, aspects: Sequence[Aspect]) -> tuple[str, ...]:
    wording, disagreement, evidence = (aspect.answer for aspect in aspects)
    advice = {
        "This model hardly hears the tone it is told: do not read anything into CL with it; a schedule costs nothing but does "
        "nothing. Try a larger model, or put the tone into its persona.": (
            wording == "no effect shown" and found.speak and found.blocks >= FEW
        ),
        "It changes its manner, not its mind: CL will not make it explore. Give agents different evidence "
        "(--set agents.evidence=split) or different models.": wording == "moves" and disagreement != "moves",
        "CL works against its purpose here: hold it (--set schedule=fixed) and look at the debates.": (
            "moves the wrong way" in (disagreement, evidence)
        ),
        f"Hold more debates: --seeds {max(2, -(-FEW // max(1, len(found.topics))))} or more --topics.": (
            found.blocks < FEW
        ),
    }
    return tuple(text for text, applies in advice.items() if applies)


def _warnings(found: Findings, aspects: Sequence[Aspect]) -> tuple[str, ...]:
    few = "no interval can be had from one" if found.blocks == 1 else "intervals from so few are too narrow"
    placebo, length = found.placebo, found.wording.alone.get("length") if found.wording else None
    warnings = {
        f"Only {plural(found.blocks, 'pair')} of topic and seed: {few}, take this as a first look.": found.blocks < FEW,
        f"{found.left_out} of {found.held} debates ended early or are not over; they are in no figure.": found.left_out,
        f"{found.silent} turns failed and are missing.": found.silent,
        "Under the placebo the levels are told apart too: something other than the stance differs between them.": (
            placebo is not None and placebo.auc.low > 0.5
        ),
        f"Length alone tells levels apart with AUC {figure(length)}: part of the effect is saying more or less.": (
            length is not None and length.low > 0.5 and aspects[0].answer == "moves"
        ),
    }
    return tuple(text for text, applies in warnings.items() if applies)
