"""Everything an audit of the dial measured, from the debates that were held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maci.audit.contentiousness.sample import Held
from maci.audit.contentiousness.trends import Trend, trends
from maci.audit.contentiousness.wording import Wording, beyond, measure
from maci.study.statistics import RESAMPLES, Interval

__all__ = ["Findings", "findings"]

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
    beyond: Interval | None
    """AUC less the placebo's."""
    trends: Mapping[str, Trend]
    placebo_trends: Mapping[str, Trend]


def findings(
    debates: Sequence[Held], levels: Sequence[float], rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> Findings:
    """Measure wording, beliefs and evidence over the debates that went through all their rounds."""
    levels = tuple(sorted(levels, reverse=True))
    whole = [held for held in debates if held.whole]
    dial = [held for held in whole if held.sitting.words == "stance"]
    control = [held for held in whole if held.sitting.words == "placebo"]
    spoken = [turn for held in dial for turn in held.spoken]
    wording = measure(spoken, levels, rng, resamples=resamples) if spoken else None
    unmoved = [turn for held in control for turn in held.spoken]
    placebo = measure(unmoved, levels, rng, resamples=resamples) if unmoved else None
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
