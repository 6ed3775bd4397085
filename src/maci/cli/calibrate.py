"""``maci calibrate``."""

from __future__ import annotations

import asyncio
import json as jsonlib
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import typer
from rich.progress import track

from maci.calibrate import Calibration, Outcome, calibrate, conformalise, observe, to_toml
from maci.case.case import Case, parse_case
from maci.cli.lines import Out
from maci.cli.writable import check_file
from maci.config import Config, build, load, parameters, unplanned
from maci.debate import debate
from maci.errors import EnvironmentError_, InputError
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
_EVERY = 30.0
"""Seconds between two lines where there is no terminal."""


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
    read = list(read_cases(cases))
    if not read:
        raise InputError(f"{cases} has no cases: write one JSON object a line, with `question`, `outcomes` and `gold`")
    known = [case for case in read if case.gold is not None]
    if not known:
        raise InputError(f"{cases}: no case has a `gold` answer, and calibration needs them")
    check_file(out)
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

    def teach(some: list[Case]) -> None:
        for case in _track(some, "debating the development cases", silent=json or quiet):
            outcome = observe(asyncio.run(play(case, config)))
            if outcome is None:
                failed.append(case.id or case.question)
            else:
                found.append(outcome)

    try:
        teach(teaching)
        if held and len(found) < ENOUGH:  # too many failed: those held out are needed
            teach(held)
            held = []
        learnt = calibrate(found)
        if held:
            own = {row.key: row.value for row in parameters(config) if row.value != row.default}
            applied = build(config.profile, {**learnt.settings, **own})
            tried = _track(held, "debating those held out, for prediction sets", silent=json or quiet)
            learnt = conformalise(learnt, found, [asyncio.run(play(case, applied)) for case in tried])
    except KeyboardInterrupt:
        typer.echo(f"\ninterrupted; nothing was kept, and {out} is as it was: the same command starts anew", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError as error:
        raise EnvironmentError_(
            "nobody reads the output any more; nothing was kept: the same command starts anew"
        ) from error
    _write(out, to_toml(learnt, cases.name))
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


def _track(cases: Sequence[Case], doing: str, *, silent: bool) -> Iterator[Case]:
    """Each case; how far it is on standard error: a bar on a terminal, a line now and then elsewhere."""
    screen, total = Out(stderr=True, highlight=False), len(cases)
    if silent or screen.is_terminal:
        yield from track(cases, doing, console=screen, disable=silent, transient=True)
        return
    said, tenth = time.monotonic(), max(1, total // 10)
    for done, case in enumerate(cases, 1):
        yield case
        if done % tenth == 0 or time.monotonic() - said >= _EVERY:
            said = time.monotonic()
            screen.print(f"{doing}: {done}/{total}", markup=False, soft_wrap=True)


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
