"""Replay: fold the recorded inputs again and compare every decision.

Numbers may differ by 1e-9 (another machine's arithmetic); sentences may be worded otherwise, but no warning may be missing from the
result, added or exchanged; everything else must be equal. Another version of MACI may warn of more or less, so the warnings of its
records are not compared, and the person is told so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isclose
from typing import Any, cast

from maci import __version__
from maci.config import Config, unplanned
from maci.controller.decisions import Decision, Finished
from maci.controller.events import Event, is_decision, round_of, tree
from maci.controller.fold import expected, start, step
from maci.controller.inputs import Acquired, Input, Lost, Opened, Recommended, Requested, Sent, Surveyed
from maci.controller.reading import check_made_for
from maci.controller.requests import wants
from maci.controller.state import State
from maci.errors import InputError, ReplayMismatch, said

TOLERANCE = 1e-9
PROSE = frozenset({"notes", "warnings", "detail", "why", "reason", "decides"})
"""Sentences say again what the figures beside them say; a better wording must not make an old record wrong."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A record folded again, with nothing that differs."""

    state: State
    compared: int
    """Decisions compared."""
    owed: tuple[Decision, ...]
    """Decisions that the last recorded input implies and the record does not hold yet (a crash came between)."""
    warned: bool = True
    """Whether the warnings of the result were compared, too."""

    @property
    def complete(self) -> bool:
        """Whether the record ends with a result."""
        return self.state.finished is not None and not self.owed

    def where(self) -> str:
        """Where an incomplete record ends, in words."""
        if self.owed and self.state.finished:
            return "it ends before its result was written"
        waiting = next(wants(self.state), None)
        what = f"waiting for {waiting.kind} {waiting.argument or waiting.who}".rstrip() if waiting else "between rounds"
        return f"it ends in round {self.state.round}, {what}"


def difference(recorded: Any, computed: Any, path: str = "") -> str | None:
    """The first place where two trees differ, in words, or ``None``.

    >>> difference({"d": 0.5}, {"d": 0.25})
    'd: recorded 0.5, recomputed 0.25'
    """
    if isinstance(recorded, dict) and isinstance(computed, dict) and recorded.keys() == computed.keys():
        if path.endswith("abstained"):
            return None
        keys = [key for key in recorded if key not in PROSE]
        inner = (difference(recorded[key], computed[key], f"{path}.{key}" if path else str(key)) for key in keys)
        return next((found for found in inner if found), None)
    if path == "abstained" and isinstance(recorded, str) and isinstance(computed, str):
        return None
    if isinstance(recorded, list) and isinstance(computed, list) and len(recorded) == len(computed):
        inner = (difference(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(recorded, computed, strict=True)))
        return next((found for found in inner if found), None)
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (recorded, computed))
    if numbers and isclose(recorded, computed, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        return None
    if type(recorded) is type(computed) and recorded == computed:
        return None
    return f"{path}: recorded {recorded!r}, recomputed {computed!r}"


_WHOLE = re.compile(r"(?<![\w.])\d+(?![\w.]*\d)")


def _same_warning(recorded: str, computed: str) -> bool:
    """Whether two warnings say the same, perhaps in other words: with the same first word, whole numbers and half of all words.

    >>> _same_warning("harm: 2 pieces were left out", "harm: 2 pieces are left out"), _same_warning("harm: none", "harm: 2 pieces")
    (True, False)
    """
    if recorded == computed:
        return True
    one, other = (re.findall(r"\w+", text.lower()) for text in (recorded, computed))
    if one[:1] != other[:1] or sorted(_WHOLE.findall(recorded)) != sorted(_WHOLE.findall(computed)):
        return False
    return 2 * len({*one} & {*other}) >= len({*one, *other})


def _warned(recorded: Event, computed: Decision) -> str | None:
    """What a result lacks of the warnings that its record leads to, or has too many, in words; ``None`` where it has them all."""
    if not isinstance(recorded, Finished) or not isinstance(computed, Finished):
        return None
    more = list(recorded.warnings)
    for warning in sorted(computed.warnings, key=lambda warning: warning not in more):  # the same words first
        if (same := next((w for w in more if w == warning or _same_warning(w, warning)), None)) is None:
            return f"warnings: recomputed {warning!r}, not recorded"
        more.remove(same)
    return f"warnings: recorded {more[0]!r}, not recomputed" if more else None


def _opened(events: Sequence[Event]) -> Opened:
    if not events or not isinstance(events[0], Opened):
        raise ReplayMismatch("the record does not open a debate: its first event must be `opened`")
    return events[0]


def replay(events: Sequence[Event]) -> Replayed:
    """Recompute a record; raises :class:`ReplayMismatch` at the first decision that differs."""
    with _folding("line 1"):
        state, owed, compared = start(_opened(events)), list[Decision](), 0
    warned = state.opened.version == __version__
    for line, event in enumerate(events[1:], 2):
        if is_decision(event):
            name = f"line {line} ({event.type}, round {'-' if (t := round_of(event)) is None else t})"
            if not owed:
                raise ReplayMismatch(f"{name}: recorded, but nothing recorded before it leads to it")
            computed = owed.pop(0)
            if found := difference(tree(event), tree(computed)) or (_warned(event, computed) if warned else None):
                raise ReplayMismatch(f"{name}: {found}")
            compared += 1
            continue
        if owed:
            raise ReplayMismatch(f"line {line}: {owed[0].type} should stand here, the record has {event.type}")
        with _folding(f"line {line}"):
            state, decisions = step(state, cast(Input, event))
            owed = list(decisions)
    return Replayed(state, compared, tuple(owed), warned)


def differs(events: Sequence[Event]) -> str:
    """Where a record says something else than its inputs lead to; nothing where it does not."""
    try:
        replay(events)
    except ReplayMismatch as error:
        return str(error)
    return ""


_IMPOSSIBLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    StopIteration,
    MemoryError,
)
"""What a fold meets where a record holds what no debate can: a vote of nobody, a vector of another length."""


@contextmanager
def _folding(where: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise ReplayMismatch(f"{where}: {error}") from error
    except _IMPOSSIBLE as error:
        raise ReplayMismatch(
            f"{where}: no debate can have written this ({said(error)}): the record was made or changed by hand"
        ) from error


@contextmanager
def telling(events: Sequence[Event]) -> Iterator[None]:
    """For whoever shows a record: where that fails, a record that cannot be recomputed is refused for it, with the line."""
    try:
        yield
    except _IMPOSSIBLE:
        replay(events)
        raise


def replay_with(events: Sequence[Event], config: Config) -> State:
    """Fold the recorded inputs under another config; those it has no use for are passed over.

    Off-policy: agents spoke under the recorded dials and gates, and would have spoken otherwise under others. It ends at its first
    stop: nothing is found out, and neither a plan nor a recommendation is made.
    """
    opened = _opened(events)
    other = replace(opened, config=unplanned(config), writer="")
    if config.calibration.made_for != opened.config.calibration.made_for:
        check_made_for(other)
    state = start(other)
    for event in events[1:]:
        if is_decision(event) or isinstance(event, Sent | Requested | Lost | Surveyed | Acquired | Recommended):
            continue  # what the recorded rules led to says nothing about other ones
        item = cast(Input, event)
        if expected(state, item):
            state, _ = step(state, item)
    return state
