"""Triage (SPEC 6): one agent, then the vote of all, then the debate, each only while it is expected to be worth its tokens.

The rule is :mod:`maci.controller.triage`; here it is a method beside the others. An answer's reason begins with the stage it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from maci.case.case import Case
from maci.methods.maci import Maci
from maci.methods.method import Answer, Bench

__all__ = ["Ask"]


@dataclass(frozen=True, slots=True)
class Ask:
    """What `maci ask` does, under the bench's settings with some of them changed."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = "ask"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """As many calls as it takes."""
        found = await Maci({**self.settings, "triage.enabled": True}, self.name).answer(case, bench, seed)
        if found.belief is None:
            return found
        stage = "debate" if found.rounds else "vote" if len(found.course[0].beliefs) > 1 else "single"
        return replace(found, reason=f"{stage}: {found.reason}")
