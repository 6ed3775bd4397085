"""``maci calibrate``."""

from __future__ import annotations

import asyncio
import json as jsonlib
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import typer

from maci.calibration.profile import ENOUGH, Calibration, Outcome, calibrate, conformalise, observe, to_toml
from maci.cases.case import Case, parse_case
from maci.cli.progress import Progress
from maci.cli.seating import seating_of
from maci.cli.writable import check_file
from maci.config import Config, build, parameters
from maci.controller.events import Event
from maci.debating.loop import debate
from maci.errors import EnvironmentError_, EvidenceError, InputError
from maci.seating.seating import Choice

_UNPLANNED = ("plan.enabled=false", "plan.acquire=0")
"""Only the answers are looked at."""


def read_cases(path: Path) -> Iterator[Case]:
    """Cases of a JSONL file, one a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read {path}: it is not UTF-8 text; save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                data = jsonlib.loads(line)
            except ValueError as error:
                raise InputError(f"{path}, line {number}: not JSON: {error}") from error
            yield parse_case(data, f"{path}, line {number}")


def run(
    cases: Path,
    *,
    out: Path,
    corpus: Path | None,
    sets: list[str],
    held_out: float,
    seed: int,
    json: bool,
    quiet: bool,
) -> None:
    """Debate every case of a development split and write what it teaches.

    A share of them is held out: debated under what the others taught, they give the thresholds of prediction sets.
    """
    known = _known(cases)
    check_file(out)
    seating = seating_of(Choice(corpus=corpus, sets=(*sets, *_UNPLANNED), seed=seed, quiet=quiet))
    config = seating.config

    async def play(case: Case, config: Config) -> list[Event]:
        seated = seating.seat(case)
        return [event async for event in debate(replace(seated.opened, config=config), seated.table)]

    teaching, held = _split(known, held_out, seed)
    found: list[Outcome] = []
    failed: list[tuple[str, str]] = []

    def teach(some: list[Case]) -> None:
        for case in progress.each(some, "development cases debated"):
            why = "no answer, or nobody named the `gold`"
            try:
                outcome = observe(asyncio.run(play(case, config)))
            except EvidenceError as error:  # nothing to read about its outcomes: as in a batch, its own affair
                outcome, why = None, str(error)
            if outcome is None:
                failed.append((case.id or case.question, why))
            else:
                found.append(outcome)

    progress = Progress(silent=json or quiet)
    try:
        teach(teaching)
        if held and len(found) < ENOUGH:  # too many failed: those held out are needed
            teach(held)
            held = []
        if len(found) < ENOUGH:
            raise InputError(
                f"calibration needs at least {ENOUGH} debates that come to an answer, and {len(found)} of {len(known)} did: mend or "
                f"add cases. The first that did not: {': '.join(failed[0])}"
            )
        learnt = calibrate(found)
        if held:
            own = {row.key: row.value for row in parameters(config) if row.value != row.default}
            applied = build(config.profile, {**learnt.settings, **own})
            tried: list[list[Event]] = []
            for case in progress.each(held, "held-out cases debated"):
                with suppress(EvidenceError):
                    tried.append(asyncio.run(play(case, applied)))
            learnt = conformalise(learnt, found, tried)
    except KeyboardInterrupt:
        typer.echo(f"\ninterrupted; nothing was kept, and {out} is as it was: the same command starts anew", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError as error:
        raise EnvironmentError_(
            "nobody reads the output any more; nothing was kept: the same command starts anew"
        ) from error
    finally:
        progress.close()
    _write(out, to_toml(learnt, cases.name))
    if json:
        _print_json(learnt, failed, out)
        return
    if failed:
        typer.echo(
            f"{len(failed)} cases without an answer were left out: {', '.join(name for name, _ in failed[:5])}",
            err=True,
        )
    if not quiet:
        typer.echo(
            f"{out}: from {learnt.n} cases, accuracy {learnt.accuracy:.3f}, T = {learnt.settings['calibration.temperature']:.3f}, "
            f"calibration error {learnt.ece_before:.3f} → {learnt.ece_after:.3f} (in-sample)"
        )
        typer.echo(_sets(learnt, len(known), held_out))
        typer.echo(f"Use it with: maci debate CASE --config {out}")


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


def _print_json(learnt: Calibration, failed: Sequence[tuple[str, str]], out: Path) -> None:
    found = {
        "n": learnt.n, "held_out": learnt.held, "failed": [name for name, _ in failed], "accuracy": learnt.accuracy,
        "ece_before": learnt.ece_before, "ece_after": learnt.ece_after, "settings": dict(learnt.settings), "out": str(out),
    }  # fmt: skip
    typer.echo(jsonlib.dumps(found))


def _write(out: Path, text: str) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentError_(f"cannot write {out}: {error.strerror}") from error


def _split(known: list[Case], share: float, seed: int) -> tuple[list[Case], list[Case]]:
    """Cases to learn from, and cases held out, drawn by the seed; too few are all learnt from."""
    aside = round(share * len(known))
    if aside < 1 or len(known) - aside < ENOUGH:
        return known, []
    order = np.random.default_rng(seed).permutation(len(known)).tolist()
    return [known[i] for i in sorted(order[aside:])], [known[i] for i in sorted(order[:aside])]


def _sets(learnt: Calibration, known: int, share: float) -> str:
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
