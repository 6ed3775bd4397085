"""Debates development cases with known answers and learns from them: what :mod:`maci.calibration.profile` reads off is applied to
the cases held out.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from maci.calibration import profile
from maci.calibration.profile import ENOUGH, Outcome, TaskCalibration, conformalise
from maci.cases.case import Case, read_cases
from maci.config import Config, build, parameters
from maci.controller.events import Event
from maci.debating.loop import debate
from maci.errors import EvidenceError, InputError
from maci.seating.seating import Seating
from maci.story import Story


def learn(
    teaching: list[Case], held: list[Case], seating: Seating, each: Callable[[Sequence[Case], str], Iterable[Case]]
) -> tuple[TaskCalibration, list[tuple[str, str]]]:
    """What the cases teach, and those without an answer, each with the reason; those held out are debated under what was learnt.

    ``each`` gives the cases one after another and may count them under the given words.
    """
    found: list[Outcome] = []
    failed: list[tuple[str, str]] = []

    async def play(case: Case, config: Config) -> list[Event]:
        seated = seating.seat(case)
        return [event async for event in debate(replace(seated.opened, config=config), seated.table)]

    def teach(some: list[Case]) -> None:
        for case in each(some, "development cases debated"):
            why = "no answer, or nobody named the `gold`"
            try:
                outcome = profile.observe(asyncio.run(play(case, seating.config)))
            except EvidenceError as error:  # nothing to read about its outcomes: as in a batch, its own affair
                outcome, why = None, str(error)
            if outcome is None:
                failed.append((case.id or case.question, why))
            else:
                found.append(outcome)

    known = len(teaching) + len(held)
    teach(teaching)
    if held and len(found) < ENOUGH:  # too many failed: those held out are needed
        teach(held)
        held = []
    if len(found) < ENOUGH:
        raise InputError(
            f"calibration needs at least {ENOUGH} debates that come to an answer, and {len(found)} of {known} did: mend or "
            f"add cases. The first that did not: {': '.join(failed[0])}"
        )
    learnt = profile.calibrate(found)
    if held:
        own = {row.key: row.value for row in parameters(seating.config) if row.value != row.default}
        applied = build(seating.config.profile, {**learnt.settings, **own})
        tried: list[Story] = []
        for case in each(held, "held-out cases debated"):
            with suppress(EvidenceError):
                tried.append(Story.of(asyncio.run(play(case, applied))))
        learnt = conformalise(learnt, found, tried)
    return learnt, failed


def known_cases(cases: Path) -> list[Case]:
    """The cases with a known answer; too few are refused before anything is debated."""
    read = list(read_cases(cases))
    if not read:
        raise InputError(f"{cases} has no cases: write one JSON object a line, with `question`, `outcomes` and `gold`")
    known = [case for case in read if case.gold is not None]
    if len(known) < ENOUGH:
        raise InputError(
            f"{cases}: calibration needs at least {ENOUGH} cases with a `gold` answer, and {len(known)} of its {len(read)} have one: "
            "add cases; nothing was debated"
        )
    return known


def split(known: list[Case], share: float, seed: int) -> tuple[list[Case], list[Case]]:
    """Cases to learn from, and cases held out, drawn by the seed; too few are all learnt from."""
    aside = round(share * len(known))
    if aside < 1 or len(known) - aside < ENOUGH:
        return known, []
    order = np.random.default_rng(seed).permutation(len(known)).tolist()
    return [known[i] for i in sorted(order[aside:])], [known[i] for i in sorted(order[:aside])]


def sets_promised(learnt: TaskCalibration, known: int, share: float) -> str:
    """What is promised of prediction sets, in words."""
    if not share:
        return "No prediction sets: nothing was held out"
    if not learnt.held:
        least = math.ceil(ENOUGH / (1 - share))
        possible = 100 * (known - ENOUGH) // known / 100
        fewer = f", or a smaller share: --held-out {possible:g}" if 0 < possible < share else ""
        return f"No prediction sets: of {known} cases none can be held out; give at least {least}{fewer}"
    limits = str(learnt.settings["calibration.conformal"])
    if not limits:
        return f"No prediction sets: the {learnt.held} cases held out are too few, or their truth was not named"
    most = limits.split(",")[-1].split("=")[0]
    return f"Prediction sets from {learnt.held} cases held out, of a coverage up to {most} (`--set answer.coverage=…`)"
