"""``maci replay``."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from pathlib import Path

import typer

from maci.cli.show import locate
from maci.errors import TranscriptError
from maci.record.replay import replay
from maci.record.transcript import Recording, read
from maci.record.whatif import CAUTION, other_rules, otherwise
from maci.story.words import plural


def run(path: Path, *, profile: str | None, config: Path | None, sets: Sequence[str], json: bool, quiet: bool) -> None:
    """Recompute a record, or fold it under other settings."""
    path = locate(path)
    recording = read(path)
    if profile or config or sets:
        _other(recording, profile, config, sets, json=json)
        return
    done = replay(recording.events)
    if not done.complete or recording.torn:
        torn = f", and a line of {recording.torn} bytes is cut short" if recording.torn else ""
        raise TranscriptError(
            f"{path} is not complete: after {len(recording.events)} events {done.where()}{torn}. All {done.compared} decisions up "
            f"to there are right; continue it with: maci debate --resume --out {path.parent}"
        )
    assert done.state.finished is not None
    if json:
        typer.echo(jsonlib.dumps({"ok": True, "events": len(recording.events), "decisions": done.compared}))
    elif not quiet:
        result = done.state.finished
        typer.echo(
            f"{path}: chain of {len(recording.events)} events intact, {done.compared} decisions recomputed, all equal"
        )
        typer.echo(f"{result.answer or 'no answer'} after {plural(result.rounds, 'round')} ({result.stop_reason})")


def _other(recording: Recording, profile: str | None, config: Path | None, sets: Sequence[str], *, json: bool) -> None:
    found = otherwise(recording.events, other_rules(recording.opened.config, profile, file=config, sets=sets))
    both = (found.recorded, found.other)
    if json:
        keys = ("rules", "stop_reason", "rounds", "answer", "p")
        rows = [{key: getattr(row, key) for key in keys} for row in both]
        typer.echo(
            jsonlib.dumps(
                {"off_policy": True, "decided": found.decided, "rules": rows, "remark": found.remark},
                ensure_ascii=False,
            )
        )
        return
    for row in both:
        typer.echo(
            f"{row.rules:<9} {row.stop_reason or row.lacking:<36} after {plural(row.rounds, 'round')}   {row.answer or 'no answer'} "
            + (f"p = {row.p:.3f}" if row.p is not None else "")
        )
    if found.ignored:
        typer.echo(f"Cannot be judged from a record, and was ignored: {', '.join(found.ignored)}")
    if found.remark:
        typer.echo(found.remark)
    typer.echo(CAUTION)
