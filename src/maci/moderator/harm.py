r"""Harm that a debate can do, seen in one round: who goes along, who will not listen, what is only said again.

An agent *conforms* when its leading outcome becomes the one that most of the others led with, and nothing new was shown to it for
that outcome. It is *stubborn* when it stays alone against them although something new was shown. A debate *collapses* when it
grows sure while no new evidence was admitted, and its consensus is *hollow* when disagreement fell while neither the shared
evidence nor its quality rose:

.. math::
   D^{(0)} - D^{(t)} \ge \epsilon_{fall},\qquad O^{(t)} - O^{(0)} < \epsilon_{rise},\qquad Q^{(t)} - Q^{(1)} < \epsilon_{rise}

Outcomes are numbers here (their place among the labels); ``None`` is an agent that leads with nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TypeVar

_WORD = re.compile(r"\w+")
_Outcome = TypeVar("_Outcome", int, str)


def majority(leads: Mapping[str, _Outcome | None], besides: str) -> _Outcome | None:
    """What more than half of the other agents lead with.

    >>> majority({"x": 0, "y": 1, "z": 1}, "x"), majority({"x": 0, "y": 1, "z": 2}, "x") is None
    (1, True)
    """
    others = [held for agent, held in leads.items() if agent != besides]
    return next((y for y in set(others) if y is not None and 2 * others.count(y) > len(others)), None)


def conformed(
    before: Mapping[str, int | None], after: Mapping[str, int | None], shown: Mapping[str, AbstractSet[int]]
) -> dict[str, tuple[int, int]]:
    """Who went over to the former majority's outcome with nothing new shown for it: agent → (from, to).

    ``shown`` are the outcomes for which an agent has met new evidence.

    >>> conformed({"x": 0, "y": 1, "z": 1}, {"x": 1, "y": 1, "z": 1}, {"x": set()})
    {'x': (0, 1)}
    >>> conformed({"x": 0, "y": 1, "z": 1}, {"x": 1, "y": 1, "z": 1}, {"x": {1}})
    {}
    """
    found = {}
    for agent, now in after.items():
        was = before.get(agent)
        if was is None or now is None or was == now:
            continue
        if now == majority(before, agent) and now not in shown.get(agent, ()):
            found[agent] = (was, now)
    return found


def stubborn(
    before: Mapping[str, int | None],
    after: Mapping[str, int | None],
    shown: Mapping[str, AbstractSet[int]],
    shift: Mapping[str, float],
    still: float,
) -> dict[str, tuple[int, int]]:
    """Who stayed against the majority although something new was shown for it, with nothing new of its own: agent → (holds, against).

    ``shift`` is how far each belief moved (TV); up to ``still`` it did not.

    >>> stubborn({"x": 0, "y": 1, "z": 1}, {"x": 0, "y": 1, "z": 1}, {"x": {1}}, {"x": 0.0}, 0.02)
    {'x': (0, 1)}
    """
    found = {}
    for agent, now in after.items():
        against = majority(before, agent)
        if now is None or now != before.get(agent) or against is None or against == now:
            continue
        new = shown.get(agent, frozenset())
        if against in new and now not in new and shift.get(agent, 1.0) <= still:
            found[agent] = (now, against)
    return found


def collapsed(gain: float, new_spans: int, least: float) -> bool:
    """Whether the mixture grew much surer (Î) while no span was admitted that had not been before."""
    return gain >= least and new_spans == 0


def hollow(
    d: tuple[float | None, float | None],
    o: tuple[float | None, float | None],
    q: tuple[float | None, float | None],
    *,
    fall: float,
    rise: float,
) -> bool:
    """Whether disagreement fell and neither shared evidence nor its quality rose; (before, after) of each.

    What is undefined afterwards has not risen; what was undefined before has, if it is above 0 now.

    >>> hollow((0.8, 0.1), (0.2, 0.2), (None, None), fall=0.1, rise=0.02)
    True
    >>> hollow((0.8, 0.1), (0.2, 0.6), (None, None), fall=0.1, rise=0.02)
    False
    """

    def rose(before: float | None, after: float | None) -> bool:
        return after is not None and (after > 0 if before is None else after - before >= rise)

    before, after = d
    if before is None or after is None or before - after < fall:
        return False
    return not rose(*o) and not rose(*q)


def words(text: str) -> frozenset[str]:
    """The words of a sentence, whatever their case and order."""
    return frozenset(_WORD.findall(text.casefold()))


def same_words(a: AbstractSet[str], b: AbstractSet[str]) -> float:
    """How much two sentences are the same: Jaccard of their words, 1 where neither has any.

    >>> same_words(words("It is dengue."), words("it is DENGUE")), same_words(words("a b"), words("b c"))
    (1.0, 0.3333333333333333)
    """
    return len(a & b) / len(a | b) if a or b else 1.0
