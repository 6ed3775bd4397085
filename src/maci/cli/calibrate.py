"""``maci calibrate``."""

from __future__ import annotations

import asyncio
import json as jsonlib
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from maci.calibrate import Calibration, Outcome, calibrate, conformalise, observe, to_toml
from maci.case.case import Case, parse_case
from maci.config import Config, build, load, parameters, unplanned
from maci.debate import debate
from maci.errors import InputError
from maci.evidence.corpus import Corpus
from maci.evidence.encode import load_encoder
from maci.evidence.knowledge import builtin_spans, builtin_tone
from maci.evidence.source import document_spans
from maci.panel.readers import ReaderPanel, remembering
from maci.record.events import Event
from maci.run import opening

__all__ = ["read_cases", "run"]

ENOUGH = 20
"""Cases that must be left to learn from before some are held out."""


def read_cases(path: Path) -> Iterator[Case]:
    """Cases of a JSONL file, one a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
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
    known = [case for case in read_cases(cases) if case.gold is not None]
    if not known:
        raise InputError(f"{cases}: no case has a `gold` answer, and calibration needs them")
    config = load(sets=sets)
    scale = all(case.outcomes.kind == "ordered" for case in known)
    spans = Corpus.open(corpus).spans if corpus else builtin_tone() if scale else builtin_spans()
    extra = [span for case in known for span in document_spans(case)]
    panel = ReaderPanel((*extra, *spans), remembering(load_encoder(config.evidence.encoder), corpus))

    async def play(case: Case, config: Config) -> list[Event]:
        table = panel.table(case, seed=seed)
        return [event async for event in debate(opening(case, table, unplanned(config), seed=seed), table)]

    teaching, held = _split(known, held_out, seed)
    found: list[Outcome] = []
    failed: list[str] = []
    screen = Console(stderr=True)
    with Progress(console=screen, disable=json or quiet or not screen.is_terminal, transient=True) as bar:

        def teach(some: list[Case]) -> None:
            for case in bar.track(some, description="debating the development cases"):
                outcome = observe(asyncio.run(play(case, config)))
                if outcome is None:
                    failed.append(case.id or case.question)
                else:
                    found.append(outcome)

        teach(teaching)
        if held and len(found) < ENOUGH:  # too many failed: those held out are needed
            teach(held)
            held = []
        learnt = calibrate(found)
        if held:
            own = {row.key: row.value for row in parameters(config) if row.value != row.default}
            applied = build(config.profile, {**learnt.settings, **own})
            tried = bar.track(held, description="debating those held out, for prediction sets")
            learnt = conformalise(learnt, found, [asyncio.run(play(case, applied)) for case in tried])
    out.write_text(to_toml(learnt, cases.name), encoding="utf-8")
    if json:
        summary = {
            "n": learnt.n, "held_out": learnt.held, "failed": failed, "accuracy": learnt.accuracy,
            "ece_before": learnt.ece_before,
        }  # fmt: skip
        typer.echo(
            jsonlib.dumps(
                {**summary, "ece_after": learnt.ece_after, "settings": dict(learnt.settings), "out": str(out)}
            )
        )
        return
    if failed:
        typer.echo(f"{len(failed)} cases without an answer were left out: {', '.join(failed[:5])}", err=True)
    if not quiet:
        typer.echo(
            f"{out}: from {learnt.n} cases, accuracy {learnt.accuracy:.3f}, T = {learnt.settings['calibration.temperature']:.3f}, "
            f"calibration error {learnt.ece_before:.3f} → {learnt.ece_after:.3f} (in-sample)"
        )
        typer.echo(_sets(learnt, len(known), held_out))
        typer.echo(f"Use it with: maci debate CASE --config {out}")


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
        return f"No prediction sets: of {known} cases none can be held out; give at least {least}"
    limits = str(learnt.settings["calibration.conformal"])
    if not limits:
        return f"No prediction sets: the {learnt.held} cases held out are too few, or their truth was not named"
    most = limits.split(",")[-1].split("=")[0]
    return f"Prediction sets from {learnt.held} cases held out, of a coverage up to {most} (`--set answer.coverage=…`)"
