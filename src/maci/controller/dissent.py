r"""Support, and the minority report.

The support of an outcome is its admitted evidence, each span once, at the best score of an argument that cites it for the outcome:

.. math::
   S(y) = \sum_{e \in \mathcal{E}_y} \max_{i \in \psi_y,\; e \in i} \mathrm{CRIT}_i

A span counts 1 where nothing was judged. Arguments without verified citations support nothing, and a text that is about one outcome
supports no other: who argues that one outcome fits and another does not cites both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import shorten

from maci.controller.caution import Dissent, Ground
from maci.controller.state import State
from maci.controller.stopping import StopReason
from maci.moderator.harm import lead

__all__ = ["dissent", "support"]

_MOST = 4
"""Spans that are named in a sentence, before format 5."""
QUOTED = 5
"""The first transcript format in which they are quoted."""
_WORDS = 90
"""Letters of such a quotation."""


def support(grounds: Iterable[Ground], outcome: str) -> float:
    """S(y).

    >>> e12, e2 = frozenset({"e1", "e2"}), frozenset({"e2"})
    >>> a = Ground(agent="x", round=1, outcome="cat", spans=e12, backing=e12, crit=0.5)
    >>> b = Ground(agent="y", round=2, outcome="cat", spans=e2, backing=e2, crit=0.8)
    >>> support([a, b], "cat"), support([a, b], "dog")
    (1.3, 0.0)
    """
    best: dict[str, float] = {}
    for ground in grounds:
        if ground.outcome == outcome:
            score = 1.0 if ground.crit is None else ground.crit
            for span in ground.backing:
                best[span] = max(best.get(span, 0.0), score)
    return sum(sorted(best.values()), 0.0)


def dissent(state: State, answer: str, p: Mapping[str, float], reason: StopReason) -> Dissent | None:
    """The best-supported outcome other than the answer: somebody leads with it, or admitted arguments speak for it.

    After an impasse there is one in any case: the most probable other outcome, if nothing better.
    """
    grounds = state.memory.grounds
    held: dict[str, list[str]] = {}
    for agent, belief in state.beliefs.items():
        if (top := lead(belief)) is not None:
            held.setdefault(state.labels[top], []).append(agent)
    spoken = {g.outcome for g in grounds.values() if g.outcome is not None}
    rivals = [y for y in p if y != answer and (y in held or y in spoken)]
    if not rivals and reason == "impasse":
        rivals = [y for y in p if y != answer and p[y] > 0]
    if not rivals:
        return None
    supports = {y: support(grounds.values(), y) for y in (*rivals, answer)}
    outcome = max(rivals, key=lambda y: (supports[y], len(held.get(y, ())), p[y]))
    own = sorted((i for i, g in grounds.items() if g.outcome == outcome), key=lambda i: state.merit[i], reverse=True)
    spans = tuple(dict.fromkeys(span for i in own for span in sorted(grounds[i].backing)))
    for_answer = {span for g in grounds.values() if g.outcome == answer for span in g.backing}
    scores = [c for i in own if (c := grounds[i].crit) is not None]
    return Dissent(
        outcome=outcome,
        probability=p[outcome],
        holders=tuple(held.get(outcome, ())),
        arguments=tuple(own),
        spans=spans,
        crit=sum(scores) / len(scores) if scores else None,
        support=supports[outcome],
        answer_support=supports[answer],
        unanswered=tuple(span for span in spans if span not in for_answer),
        contested=tuple(span for span in spans if span in for_answer),
        decides=_decides(answer, outcome, spans, for_answer, state),
    )


def _decides(answer: str, outcome: str, spans: tuple[str, ...], for_answer: set[str], state: State) -> tuple[str, ...]:
    """What evidence would decide between the two."""
    quoted = state.opened.format >= QUOTED
    said = []
    if alone := [span for span in spans if span not in for_answer]:
        said.append(f"Whether {answer} also explains {_list(alone, state)}: no admitted argument for it does.")
    if both := [span for span in spans if span in for_answer]:
        said.append(
            f"Which of the two is favoured by {_list(both, state)}: both sides cite it."
            if quoted
            else f"For which of the two {_list(both, state)} speaks: both sides cite it."
        )
    if not spans:
        said.append(f"Any evidence for {outcome}: no admitted argument cites some.")
    if not for_answer:
        said.append(f"Any evidence for {answer}: no admitted argument cites some.")
    said.append(f"A finding to be expected under one of {answer} and {outcome} and not under the other (`maci plan`).")
    return tuple(said)


def _list(spans: list[str], state: State) -> str:
    if state.opened.format < QUOTED:
        more = f" and {len(spans) - _MOST} more" if len(spans) > _MOST else ""
        return ", ".join(spans[:_MOST]) + more
    more = f" and {len(spans) - 1} more" if len(spans) > 1 else ""
    text = shorten(state.spans[spans[0]].text, _WORDS, placeholder=" …") if spans[0] in state.spans else ""
    return (f"“{text}” ({spans[0]})" if text else spans[0]) + more
