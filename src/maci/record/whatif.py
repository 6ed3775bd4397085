"""What other rules would have made of a record, in rows for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from maci.config import Config, load, parameters
from maci.controller.events import Event
from maci.controller.inputs import Acquired
from maci.controller.reading import calibrated
from maci.controller.requests import wants
from maci.controller.state import State
from maci.record.replay import replay, replay_with

CAUTION = (
    "Off-policy: the agents spoke under the recorded dials and gates; under the other rules they would have been told "
    "something else."
)
_BLIND = {
    "evidence.encoder", "evidence.k_ret", "evidence.context_tokens", "agents.order", "agents.temperature",
    "crit.judge_temperature", "budget.tokens", "budget.seconds",
}  # fmt: skip
"""Settings that act before or outside what a record holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """What one set of rules came to."""

    rules: str
    stop_reason: str | None
    rounds: int
    answer: str | None
    p: float | None
    lacking: str = ""
    """Why there is no end, where there is none."""


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The record beside what other rules would have made of it."""

    recorded: Ruled
    other: Ruled
    decided: bool
    """False: the record ends before the other rules would have stopped."""
    ignored: tuple[str, ...]
    """Settings that differ and cannot be judged from a record."""
    remark: str = ""
    """Where the record goes on after what both rows are about."""


def other_rules(
    recorded: Config, profile: str | None = None, *, file: Path | None = None, sets: Sequence[str] = ()
) -> Config:
    """The rules of a record with something changed: what was set for it stays set, unless it is named again."""
    usual = load(recorded.profile, environ={})
    pairs = zip(parameters(recorded), parameters(usual), strict=True)
    own = {mine.key: mine.value for mine, theirs in pairs if mine.value != theirs.value}
    chosen = profile or (recorded.profile if file is None else None)
    return load(chosen, file=file, sets=sets, base=own, environ={})


def otherwise(events: Sequence[Event], config: Config) -> Otherwise:
    """Fold a record under its own rules and under others: to the end, or to the first stop where it asked something there.

    Nobody knows what other rules would have asked, so what was answered later counts for neither.
    """
    before, remark = replay(events).state, ""
    first = next((n for n, event in enumerate(events) if isinstance(event, Acquired)), None)
    if first is not None:
        events, remark = events[:first], _later(before)
        before = replay_with(events, before.config).state
    after = replay_with(events, config)
    mine, theirs = (dict(_flat(state)) for state in (before, after.state))
    blind = tuple(key for key in mine if key in _BLIND and mine[key] != theirs[key])
    return Otherwise(_row("recorded", before), _row("other", after.state), after.decided, blind, remark)


def _later(state: State) -> str:
    end = _row("recorded", state)
    p = "" if end.p is None else f", {end.answer} p = {end.p:.3f}"
    rounds = f"{end.rounds} round" + ("" if end.rounds == 1 else "s")
    return (
        f"Both up to the first stop: the debate asked questions there and went on with the answers (after {rounds}{p})."
    )


def _row(name: str, state: State) -> Ruled:
    mixture = state.mixture
    return Ruled(
        rules=name,
        stop_reason=state.finished.stop_reason if state.finished else None,
        rounds=len(state.history),
        answer=None if mixture is None else state.labels[int(mixture.argmax())],
        p=None if mixture is None else float(calibrated(state).max()),
        lacking="" if state.finished else _lacking(state),
    )


def _flat(state: State) -> Iterator[tuple[str, object]]:
    return ((row.key, row.value) for row in parameters(state.config))


def _lacking(state: State) -> str:
    """Why the rules came to no end on this record."""
    want = next(wants(state), None)
    if want is not None and want.kind == "score":
        return f"the record lacks a score by {want.who}"
    return "would have gone on past the record"
