"""``maci calibrate``."""

from __future__ import annotations

import asyncio
import json as jsonlib
from collections.abc import Iterator
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import Progress

from maci.calibrate import Outcome, calibrate, observe, to_toml
from maci.case.case import Case, parse_case
from maci.config import load, unplanned
from maci.debate import debate
from maci.errors import InputError
from maci.evidence.corpus import Corpus
from maci.evidence.encode import load_encoder
from maci.evidence.knowledge import builtin_spans, builtin_tone
from maci.evidence.source import document_spans
from maci.panel.readers import ReaderPanel, remembering
from maci.run import opening

__all__ = ["read_cases", "run"]


def read_cases(path: Path) -> Iterator[Case]:
    """Cases of a JSONL file, one a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                data = jsonlib.loads(line)
            except ValueError as error:
                raise InputError(f"{path}, line {number}: not JSON: {error}") from error
            yield parse_case(data, f"{path}, line {number}")


def run(cases: Path, *, out: Path, corpus: Path | None, sets: list[str], seed: int, json: bool, quiet: bool) -> None:
    """Debate every case of a development split and write what it teaches."""
    known = [case for case in read_cases(cases) if case.gold is not None]
    if not known:
        raise InputError(f"{cases}: no case has a `gold` answer, and calibration needs them")
    config = load(sets=sets)
    scale = all(case.outcomes.kind == "ordered" for case in known)
    spans = Corpus.open(corpus).spans if corpus else builtin_tone() if scale else builtin_spans()
    extra = [span for case in known for span in document_spans(case)]
    panel = ReaderPanel((*extra, *spans), remembering(load_encoder(config.evidence.encoder), corpus))

    async def play(case: Case) -> Outcome | None:
        table = panel.table(case, seed=seed)
        return observe([event async for event in debate(opening(case, table, unplanned(config), seed=seed), table)])

    found: list[Outcome] = []
    failed: list[str] = []
    screen = Console(stderr=True)
    with Progress(console=screen, disable=json or quiet or not screen.is_terminal, transient=True) as bar:
        for case in bar.track(known, description="debating the development cases"):
            outcome = asyncio.run(play(case))
            if outcome is None:
                failed.append(case.id or case.question)
            else:
                found.append(outcome)
    learnt = calibrate(found)
    out.write_text(to_toml(learnt, cases.name), encoding="utf-8")
    if json:
        summary = {"n": learnt.n, "failed": failed, "accuracy": learnt.accuracy, "ece_before": learnt.ece_before}
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
        typer.echo(f"Use it with: maci debate CASE --config {out}")
