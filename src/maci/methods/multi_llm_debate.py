"""Debate with three interventions (Estornell & Liu 2024, *Multi-LLM Debate: Framework, Principals, and Interventions*).

quality pruning          of the last answers, those nearest to the question in meaning go on
diversity pruning        of these, the ones least alike go on, so that an echo does not count twice
misconception refutation agents are told to look for errors in what they hear: here, contentiousness 0.7

Distances are between embeddings of what was argued. The source refutes by rewriting an answer with a model of its own; ours
argues against it in the next turn. The source votes in the end; here the last beliefs are pooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from maci.case.case import Case
from maci.methods.method import Answer, Bench
from maci.methods.session import Session, Voice
from maci.methods.sharing import share

__all__ = ["MultiLlmDebate"]

_REFUTING = 0.7


@dataclass(frozen=True, slots=True)
class MultiLlmDebate:
    """R rounds in which only chosen answers are heard."""

    rounds: int = 3
    quality: int = 3
    """Answers kept for their nearness to the question."""
    diversity: int = 2
    """Of those, answers kept for being unlike each other."""
    name: str = "multi_llm_debate"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """M × (R + 1) calls."""
        session = Session(case, bench, seed)

        def choose(voices: Mapping[str, Voice]) -> Sequence[Voice]:
            return self._prune(session, tuple(voices.values()))

        voices, course = await share(session, session.agents, rounds=self.rounds, cl=_REFUTING, choose=choose)
        belief = session.pool(voices.values()) if voices else None
        return session.answer(belief, "all rounds", rounds=max(0, len(course) - 1), course=course)

    def _prune(self, session: Session, voices: Sequence[Voice]) -> Sequence[Voice]:
        if len(voices) <= self.diversity:
            return voices
        texts = [" ".join((a.claim + " " + " ".join(a.reasons)) for a in v.arguments) or v.lead for v in voices]
        rows = session.table.encoder.encode([session.case.query, *texts]).astype(np.float64)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        near = np.argsort(-(rows[1:] @ rows[0]), kind="stable")[: self.quality]
        alike = rows[1:] @ rows[1:].T
        keep = min(
            combinations(sorted(near.tolist()), min(self.diversity, len(near))),
            key=lambda chosen: sum(alike[i, j] for i, j in combinations(chosen, 2)),
        )
        return [voices[i] for i in keep]
