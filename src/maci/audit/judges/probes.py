"""Ways to ask a judge again about the same argument: what should not matter is changed, and nothing else.

| probe | what is changed |
|---|---|
| ``turned`` | the order of the cited pieces and of the reasons |
| ``padded`` | every reason is made longer by words that say nothing new |
| ``signed`` | the argument carries its author's name and model family, which judges are never shown in a debate |
| ``batch`` | nothing but the turn: the batch is asked backwards |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from maci.agents.argument import Argument
from maci.audit.judges.items import Item
from maci.controller.requests import call_seed
from maci.judge.crit import ScoreRequest

__all__ = ["PROBES", "again", "padded", "signed", "turned"]

_PADDING = (
    "This is a point that deserves to be considered with care, and it has been looked at from more than one side before being "
    "put forward here.",
    "It should be kept in mind when everything that has been said is taken together, as it plays its part in the whole.",
)


def turned(item: Item) -> ScoreRequest | None:
    """Pieces and reasons in the reverse order; ``None`` where there is only one of each."""
    argument, spans = item.request.argument, item.request.spans
    if max(len(spans), len(argument.reasons), len(argument.opposing)) < 2:
        return None
    other = replace(
        argument,
        reasons=argument.reasons[::-1],
        opposing=argument.opposing[::-1],
        citations=argument.citations[::-1],
    )
    return replace(item.request, argument=other, spans=spans[::-1])


def padded(item: Item) -> ScoreRequest:
    """The same argument with about 45 words more, none of which says anything about the case."""
    argument = item.request.argument
    if argument.reasons:
        first, *rest = argument.reasons
        longer = replace(argument, reasons=(" ".join((first, *_PADDING)), *rest))
    else:
        longer = replace(argument, claim=" ".join((argument.claim, *_PADDING)))
    return replace(item.request, argument=longer)


def signed(item: Item) -> ScoreRequest | None:
    """The argument under its author's name; ``None`` where nobody knows who made it."""
    if not item.agent:
        return None
    who = f"{item.agent}, a model of the family {item.family}" if item.family else item.agent
    argument: Argument = replace(item.request.argument, claim=f"[By {who}.] {item.request.argument.claim}")
    return replace(item.request, argument=argument)


def again(item: Item, sample: int) -> ScoreRequest:
    """The same once more: another draw of a judge that draws."""
    return replace(item.request, sample=sample, seed=call_seed(item.request.seed, "again", sample))


PROBES: Mapping[str, Callable[[Item], ScoreRequest | None]] = MappingProxyType(
    {"turned": turned, "padded": padded, "signed": signed, "batch": lambda item: item.request}
)
"""Name → the request, or ``None`` where the probe does not apply."""
