"""MACI: several models debate a case under two dials and end with a calibrated belief, inside a budget.

The names below are the public door; each is imported when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from maci._version import __version__

if TYPE_CHECKING:
    from maci.agents.agent import Agent
    from maci.agents.anchor import TurnRequest
    from maci.agents.argument import Argument, Turn, Usage
    from maci.agents.fake import FunctionAgent, ScriptedAgent
    from maci.calls import Table
    from maci.case.case import Case, Document, load_case
    from maci.case.outcomes import OutcomeSpace
    from maci.config import Config
    from maci.config import load as load_config
    from maci.controller.decisions import Finished
    from maci.debate import debate
    from maci.errors import MaciError
    from maci.evidence.citation import Citation
    from maci.evidence.encode import Encoder, load_encoder
    from maci.evidence.source import CaseEvidence
    from maci.evidence.span import Span
    from maci.judge.crit import CritScore, Judge, JudgeAbstained, ScoreRequest
    from maci.judge.fake import FunctionJudge
    from maci.record.events import Event
    from maci.record.replay import replay
    from maci.record.transcript import Transcript, read
    from maci.run import opening, run

_DOORS = {
    "Agent": "maci.agents.agent",
    "Argument": "maci.agents.argument",
    "Case": "maci.case.case",
    "CaseEvidence": "maci.evidence.source",
    "Citation": "maci.evidence.citation",
    "Config": "maci.config",
    "CritScore": "maci.judge.crit",
    "Document": "maci.case.case",
    "Encoder": "maci.evidence.encode",
    "Event": "maci.record.events",
    "Finished": "maci.controller.decisions",
    "FunctionAgent": "maci.agents.fake",
    "FunctionJudge": "maci.judge.fake",
    "Judge": "maci.judge.crit",
    "JudgeAbstained": "maci.judge.crit",
    "MaciError": "maci.errors",
    "OutcomeSpace": "maci.case.outcomes",
    "ScoreRequest": "maci.judge.crit",
    "ScriptedAgent": "maci.agents.fake",
    "Span": "maci.evidence.span",
    "Table": "maci.calls",
    "Transcript": "maci.record.transcript",
    "Turn": "maci.agents.argument",
    "TurnRequest": "maci.agents.anchor",
    "Usage": "maci.agents.argument",
    "debate": "maci.debate",
    "load_case": "maci.case.case",
    "load_config": "maci.config:load",
    "load_encoder": "maci.evidence.encode",
    "opening": "maci.run",
    "read": "maci.record.transcript",
    "replay": "maci.record.replay",
    "run": "maci.run",
}

__all__ = [
    "Agent",
    "Argument",
    "Case",
    "CaseEvidence",
    "Citation",
    "Config",
    "CritScore",
    "Document",
    "Encoder",
    "Event",
    "Finished",
    "FunctionAgent",
    "FunctionJudge",
    "Judge",
    "JudgeAbstained",
    "MaciError",
    "OutcomeSpace",
    "ScoreRequest",
    "ScriptedAgent",
    "Span",
    "Table",
    "Transcript",
    "Turn",
    "TurnRequest",
    "Usage",
    "__version__",
    "debate",
    "load_case",
    "load_config",
    "load_encoder",
    "opening",
    "read",
    "replay",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _DOORS:
        raise AttributeError(f"module 'maci' has no attribute {name!r}")
    module, _, attribute = _DOORS[name].partition(":")
    value = getattr(import_module(module), attribute or name)
    globals()[name] = value
    return value


class _Package(ModuleType):
    """Keeps ``maci.debate`` and ``maci.run`` the functions they are listed as, although modules of those names hold them."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _DOORS and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
