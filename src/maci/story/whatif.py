"""A record folded again: what other rules would have made of it, and its plan with another size or other utilities.

Both are the fold's own replay. They look among the inputs only for where to cut the record and for what its last survey found;
what is said about it to people is the story's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from maci.acquisition.gain import Stakes, Utilities, utilities_of
from maci.acquisition.plan import AcquisitionPlan, leaderless
from maci.acquisition.proposals import Surveyor
from maci.agents.library import Library
from maci.config import QUICKER, Config, load, parameters
from maci.controller.acquiring import plan_for, residual
from maci.controller.ending import unfit
from maci.controller.events import Event
from maci.controller.inputs import Acquired, Surveyed
from maci.controller.reading import calibrated
from maci.controller.requests import wants
from maci.controller.state import State
from maci.errors import InputError
from maci.evidence.encode import load_encoder
from maci.record.replay import replay, replay_with
from maci.story.result import plan_of
from maci.story.words import as_sentence, plural

CAUTION = (
    "Only the rules change here: the agents spoke under the recorded dials and gates, and under others they would have been "
    "told something else (off-policy)."
)
_BLIND = {
    "evidence.encoder", "evidence.adapt", "evidence.k_ret", "evidence.context_tokens", "agents.order", "agents.temperature",
    "crit.judge_temperature", "crit.together", "budget.hedge", "budget.tokens", "budget.seconds",
}  # fmt: skip
"""Settings that act before or outside what a record holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """What one set of rules came to."""

    rules: str
    stop_reason: str | None
    rounds: int
    answer: str | None
    """The best guess where ``withheld``; ``None`` where word statistics cannot decide the case."""
    p: float | None
    withheld: bool = False
    lacking: str = ""
    """Why there is no end, where there is none."""
    admitted: tuple[str, ...] = ()
    """Ids of the arguments that were admitted."""

    @property
    def said(self) -> str:
        """The answer in words."""
        if not self.withheld:
            return self.answer or "no answer"
        return "withheld" if self.answer is None else f"withheld (best guess: {self.answer})"


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
    """Where the record continues after what both rows are about."""

    @property
    def flips(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Arguments that only the other rules admit, and those that only the recorded ones did, of the rounds that both played."""
        both = min(self.recorded.rounds, self.other.rounds)
        first, other = ([id for id in row.admitted if round_of(id) <= both] for row in (self.recorded, self.other))
        return tuple(id for id in other if id not in first), tuple(id for id in first if id not in other)


def round_of(id: str) -> int:
    """The round in which an argument was made.

    >>> round_of("12B1")
    12
    """
    return int(re.match(r"\d+", id)[0])  # type: ignore[index]


def other_rules(
    recorded: Config, profile: str | None = None, *, file: Path | None = None, sets: Sequence[str] = ()
) -> Config:
    """The rules of a record with something changed: what was set for it stays set, unless it is named again."""
    pairs = zip(parameters(recorded), parameters(load(recorded.profile, environ={})), strict=True)
    own = {mine.key: mine.value for mine, theirs in pairs if mine.value != theirs.value}
    chosen = profile or (recorded.profile if file is None else None)
    if chosen == "paper":  # how a record was shortened is no rule that another could follow
        own = {key: value for key, value in own.items() if key not in QUICKER}
    return load(chosen, file=file, sets=sets, base=own, environ={})


def otherwise(events: Sequence[Event], config: Config) -> Otherwise:
    """Fold a record under its own rules and under others: to the end, or to the first stop where it asked something there.

    Nobody knows what other rules would have asked, so what was answered later counts for neither.
    """
    before, remarks = replay(events).state, [as_sentence(note) for note in config.notes]
    first = next((n for n, event in enumerate(events) if isinstance(event, Acquired)), None)
    if first is not None:
        events, remarks = events[:first], [*remarks, _later(before)]
        before = replay_with(events, before.config)
    after = replay_with(events, config)
    pairs = zip(parameters(before.config), parameters(after.config), strict=True)
    blind = tuple(mine.key for mine, theirs in pairs if mine.key in _BLIND and mine.value != theirs.value)
    return Otherwise(
        _row("recorded", before), _row("other", after), after.finished is not None, blind, " ".join(remarks)
    )


def _later(state: State) -> str:
    end = _row("recorded", state)
    p = "" if end.p is None else f", {end.said} p = {end.p:.3f}"
    return (
        "Both up to the first stop: the debate asked questions there and went on with the answers "
        f"(after {plural(end.rounds, 'round')}{p})."
    )


def _row(name: str, state: State) -> Ruled:
    mixture = None if unfit(state) else state.mixture
    return Ruled(
        rules=name,
        stop_reason=state.finished.stop_reason if state.finished else None,
        rounds=len(state.history),
        answer=None if mixture is None else state.labels[int(mixture.argmax())],
        p=None if mixture is None else float(calibrated(state).max()),
        withheld=state.finished is not None and state.finished.abstained is not None,
        lacking="" if state.finished else _lacking(state),
        admitted=tuple(each.id for each in state.record if not each.fact),
    )


def _lacking(state: State) -> str:
    """Why the rules came to no end on this record."""
    want = next(wants(state), None)
    if want is not None and want.kind == "score":
        return f"the record lacks a score by {want.who}"
    return "would have gone on past the record"


def replan(
    events: Sequence[Event],
    *,
    size: int | None = None,
    stakes: Stakes | None = None,
    where: str = "utilities",
    bits: bool = False,
) -> tuple[AcquisitionPlan, State]:
    """The plan of a debate; what could be found out is what its last survey found, or what the spans on record show.

    Ranked by value under ``stakes`` (of the file ``where``), or under the recorded ones; by bits where there are none, or where
    ``bits`` asks for it.
    """
    state = replay(events).state
    if state.mixture is None:
        raise InputError("there is no belief on record yet: a plan needs at least the openings of a debate")
    if size is None and stakes is None and not bits and state.planned is not None and state.finished is not None:
        return _shown(plan_of(state.planned), state), state
    last = next((event for event in reversed(events) if isinstance(event, Surveyed)), None)
    found = last or _surveyor(state).survey(residual(state))
    plan = plan_for(state, found.candidates, size=size, utilities=None if bits else utilities_for(state, stakes, where))
    notes = (plan.note, "" if last is None else last.note)
    plan = replace(plan, considered=found.considered, note=" ".join(filter(None, notes)))
    return _shown(plan, state), state


def _shown(plan: AcquisitionPlan, state: State) -> AcquisitionPlan:
    """The plan as people see it: where the answer is withheld, without what says who leads."""
    return replace(plan, items=leaderless(plan.items)) if unfit(state) else plan


def utilities_for(state: State, stakes: Stakes | None, where: str = "utilities") -> Utilities | None:
    """What actions are worth under the outcomes of a debate: as given here, else as recorded."""
    p = calibrated(state)
    if stakes is None:
        return state.utilities(len(p))
    return utilities_of(stakes, state.labels[: len(p)], state.opened.case.outcomes, where=where)


def _surveyor(state: State) -> Surveyor:
    """For a debate that looked for nothing: what its own spans show."""
    encoder = load_encoder()
    spans = [span for span in state.spans.values() if span.label or span.source]
    aliases = state.opened.case.outcomes.aliases
    library = Library(spans, state.labels, encoder, aliases) if spans else None
    return Surveyor(library if library is not None and library.spans else None, encoder, aliases)
