"""``maci calibrate``."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from maci.calibration import profile
from maci.calibration.profile import ENOUGH, Outcome, TaskCalibration, conformalise, to_toml
from maci.cases.case import Case, read_cases
from maci.cli.options import Corpus, Json, PanelOptions, Quiet, ReplyOptions, Seed, Sets, SettingsOptions  # fmt: skip
from maci.cli.output import interruptible, publish
from maci.cli.progress import ProgressBars
from maci.cli.seating import chosen
from maci.config import Config, build, parameters
from maci.controller.events import Event
from maci.debating.loop import debate
from maci.errors import EvidenceError, InputError
from maci.paths import check_file, save
from maci.seating.seating import Seating
from maci.story import Story

_UNPLANNED = {"plan.enabled": False, "plan.acquire": 0}
"""Only the answers are looked at."""


def calibrate(
    cases: Annotated[
        Path, typer.Argument(help="Development cases with gold, one JSON object a line.", metavar="CASES.jsonl")
    ],
    out: Annotated[Path, typer.Option(help="Where to write the settings.", dir_okay=False)] = Path("calibration.toml"),
    corpus: Corpus = None,
    held_out: Annotated[
        float,
        typer.Option(help="Share of the cases that only prediction sets are learnt from; 0: none.", min=0, max=0.9),
    ] = 0.33,
    sets: Sets = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn thresholds, the temperature of reported probabilities, and prediction sets from cases with known answers."""
    known = _known(cases)
    check_file(out)
    settings, silent = SettingsOptions(sets=sets), json or quiet
    choice = chosen(PanelOptions(), settings, ReplyOptions(), _UNPLANNED, seed=seed, quiet=silent, corpus=corpus)
    teaching, held = _split(known, held_out, seed)
    with (
        interruptible(f"nothing was kept, and {out} is as it was: the same command starts anew"),
        ProgressBars(silent=silent) as progress,
    ):
        learnt, failed = _learn(teaching, held, Seating(choice), progress)
    save(out, to_toml(learnt, cases.name))
    if failed and not json:
        names = ", ".join(name for name, _ in failed[:5])
        typer.echo(f"{len(failed)} cases without an answer were left out: {names}", err=True)
    record = {
        "n": learnt.n, "held_out": learnt.held, "failed": [name for name, _ in failed], "accuracy": learnt.accuracy,
        "ece_before": learnt.ece_before, "ece_after": learnt.ece_after, "settings": dict(learnt.settings), "out": str(out),
    }  # fmt: skip
    lines = [
        f"{out}: from {learnt.n} cases, accuracy {learnt.accuracy:.3f}, T = {learnt.settings['calibration.temperature']:.3f}, "
        f"calibration error {learnt.ece_before:.3f} → {learnt.ece_after:.3f} (in-sample)",
        _sets(learnt, len(known), held_out),
        f"Use it with: maci debate CASE --config {out}",
    ]
    publish(record, [] if quiet else lines, json=json)


def _learn(
    teaching: list[Case], held: list[Case], seating: Seating, progress: ProgressBars
) -> tuple[TaskCalibration, list[tuple[str, str]]]:
    """What the cases teach, and those without an answer, each with the reason; those held out are debated under what was learnt."""
    found: list[Outcome] = []
    failed: list[tuple[str, str]] = []

    async def play(case: Case, config: Config) -> list[Event]:
        seated = seating.seat(case)
        return [event async for event in debate(replace(seated.opened, config=config), seated.table)]

    def teach(some: list[Case]) -> None:
        for case in progress.each(some, "development cases debated"):
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
        for case in progress.each(held, "held-out cases debated"):
            with suppress(EvidenceError):
                tried.append(Story.of(asyncio.run(play(case, applied))))
        learnt = conformalise(learnt, found, tried)
    return learnt, failed


def _known(cases: Path) -> list[Case]:
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


def _split(known: list[Case], share: float, seed: int) -> tuple[list[Case], list[Case]]:
    """Cases to learn from, and cases held out, drawn by the seed; too few are all learnt from."""
    aside = round(share * len(known))
    if aside < 1 or len(known) - aside < ENOUGH:
        return known, []
    order = np.random.default_rng(seed).permutation(len(known)).tolist()
    return [known[i] for i in sorted(order[aside:])], [known[i] for i in sorted(order[:aside])]


def _sets(learnt: TaskCalibration, known: int, share: float) -> str:
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
