"""Debate with fixed adversarial roles (Liang et al. 2024, *Encouraging Divergent Thinking in LLMs through Multi-Agent Debate*).

An affirmative and a negative side argue tit for tat at full contentiousness, in turns; after each round a moderator who has heard
both may end the debate, and in the end answers. Differences: the source tells the negative side to disagree with whatever
was said, where these agents are as contentious as they can be but hold the outcome their evidence leads to; its moderator says in
words whether a solution was found, ours has found one when both sides lead with it or when it is at least 90 % sure itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from maci.cases.case import Case
from maci.lab.methods.method import Answer, Bench, Method
from maci.lab.methods.session import Session, Voice

_ADVERSARIAL, _MODERATE = 1.0, 0.1


@dataclass(frozen=True, slots=True)
class Mad(Method):
    """Two sides and a moderator: the first three agents; with two at the table the first also moderates."""

    rounds: int = 5
    sure: float = 0.9
    name: str = "mad"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """Two calls a round and one of the moderator."""
        session = Session(case, bench, seed)
        sides, moderator = session.agents[:2], session.agents[2 % len(session.agents)]
        voices: dict[str, Voice] = {}
        ruling = next(iter(await session.hear(session.opening(moderator))), None)
        record, course = session.said((), 1), []
        for round in range(1, self.rounds + 1):
            for side in sides:
                asked = (
                    session.opening(side)
                    if round == 1
                    else session.turn(
                        side, round, record=record, own=voices.get(side.name), others=voices, cl=_ADVERSARIAL
                    )
                )
                for voice in await session.hear(asked):
                    voices[side.name] = voice
                    record = (*record, *session.said([voice], round))
            asked = session.turn(
                moderator, round + 1, record=record, own=ruling, others=voices, cl=_MODERATE, sample=round
            )
            ruling = next(iter(await session.hear(asked)), ruling)
            if ruling is None or session.short is not None:
                break
            course.append(session.step({**voices, moderator.name: ruling}, cl=_ADVERSARIAL))
            agree = len({voice.lead for voice in voices.values()}) == 1 and len(voices) == 2
            if agree or ruling.belief[ruling.lead] >= self.sure:
                reason = "both sides agree" if agree else "the moderator is sure"
                return session.answer(session.pool([ruling]), reason, rounds=round, course=course)
        belief = None if ruling is None else session.pool([ruling])
        return session.answer(belief, "the last round", rounds=len(course), course=course)
