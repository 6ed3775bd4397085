"""``maci replay``."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from maci.belief import temper
from maci.cli.show import locate
from maci.config import load, parameters
from maci.controller.requests import wants
from maci.controller.state import State
from maci.errors import TranscriptError
from maci.record.replay import replay, replay_with
from maci.record.transcript import Recording, read
from maci.story.words import plural

__all__ = ["run"]


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
        typer.echo(f"{result.answer} after {plural(result.rounds, 'round')} ({result.stop_reason})")


def _other(recording: Recording, profile: str | None, config: Path | None, sets: Sequence[str], *, json: bool) -> None:
    events = recording.events
    before = replay(events)
    after = replay_with(events, load(profile, file=config, sets=sets, environ={}))

    def row(name: str, state_of: str) -> dict[str, object]:
        state = before.state if state_of == "recorded" else after.state
        mixture = state.mixture
        answer = None if mixture is None else state.labels[int(mixture.argmax())]
        p = None if mixture is None else float(temper(mixture, state.config.calibration.temperature).max())
        reason = state.finished.stop_reason if state.finished else None
        return {"rules": name, "stop_reason": reason, "rounds": len(state.history), "answer": answer, "p": p}

    rows = [row("recorded", "recorded"), row("other", "other")]
    if json:
        typer.echo(jsonlib.dumps({"off_policy": True, "decided": after.decided, "rules": rows}, ensure_ascii=False))
        return
    for item in rows:
        p, rounds = item["p"], item["rounds"]
        assert isinstance(rounds, int)
        stop = item["stop_reason"] or _lacking(after.state)
        typer.echo(
            f"{item['rules']:<9} {stop:<36} after {plural(rounds, 'round')}   {item['answer']} "
            + (f"p = {p:.3f}" if isinstance(p, float) else "")
        )
    before_, after_ = (dict(_flat(state)) for state in (before.state, after.state))
    if blind := [key for key in before_ if key in _BLIND and before_[key] != after_[key]]:
        typer.echo(f"Cannot be judged from a record, and was ignored: {', '.join(blind)}")
    typer.echo(
        "Off-policy: the agents spoke under the recorded dials and gates; under the other rules they would have been told "
        "something else."
    )


_BLIND = {
    "evidence.encoder", "evidence.k_ret", "evidence.context_tokens", "agents.order", "agents.temperature",
    "crit.judge_temperature", "budget.tokens", "budget.seconds",
}  # fmt: skip
"""Settings that act before or outside what a record holds."""


def _flat(state: State) -> Iterator[tuple[str, object]]:
    return ((row.key, row.value) for row in parameters(state.config))


def _lacking(state: State) -> str:
    """Why the other rules came to no end on this record."""
    want = next(wants(state), None)
    if want is not None and want.kind == "score":
        return f"the record lacks a score by {want.who}"
    return "would have gone on past the record"
