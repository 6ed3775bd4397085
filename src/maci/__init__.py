"""MACI: several models debate a case under two dials and end with a calibrated belief, inside a budget.

The names below are the public door; each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maci.agents.agent import Agent, FunctionAgent, FunctionJudge, Judge, ScriptedAgent
    from maci.agents.anchor import TurnRequest
    from maci.agents.argument import Argument, Turn
    from maci.agents.judges.crit import CritScore, JudgeAbstained, ScoreRequest
    from maci.cases.case import Case, Document, load_case
    from maci.cases.outcomes import OutcomeSpace
    from maci.config import Config
    from maci.config import load as load_config
    from maci.controller.decisions import Finished
    from maci.controller.events import Event
    from maci.debating.api import arun, run, stream
    from maci.debating.loop import debate
    from maci.debating.result import DebateResult
    from maci.errors import MaciError
    from maci.evidence.encode import Encoder, load_encoder
    from maci.evidence.span import CaseEvidence, Citation, Span
    from maci.llm.usage import Usage
    from maci.record.replay import replay
    from maci.record.transcript import Transcript, read
    from maci.seating.table import Table, opening

__version__ = "1.0.0rc1"

_DOORS = {
    "Agent": "maci.agents.agent",
    "Argument": "maci.agents.argument",
    "Case": "maci.cases.case",
    "CaseEvidence": "maci.evidence.span",
    "Citation": "maci.evidence.span",
    "Config": "maci.config",
    "CritScore": "maci.agents.judges.crit",
    "DebateResult": "maci.debating.result",
    "Document": "maci.cases.case",
    "Encoder": "maci.evidence.encode",
    "Event": "maci.controller.events",
    "Finished": "maci.controller.decisions",
    "FunctionAgent": "maci.agents.agent",
    "FunctionJudge": "maci.agents.agent",
    "Judge": "maci.agents.agent",
    "JudgeAbstained": "maci.agents.judges.crit",
    "MaciError": "maci.errors",
    "OutcomeSpace": "maci.cases.outcomes",
    "ScoreRequest": "maci.agents.judges.crit",
    "ScriptedAgent": "maci.agents.agent",
    "Span": "maci.evidence.span",
    "Table": "maci.seating.table",
    "Transcript": "maci.record.transcript",
    "Turn": "maci.agents.argument",
    "TurnRequest": "maci.agents.anchor",
    "Usage": "maci.llm.usage",
    "arun": "maci.debating.api",
    "debate": "maci.debating.loop",
    "load_case": "maci.cases.case",
    "load_config": "maci.config:load",
    "load_encoder": "maci.evidence.encode",
    "opening": "maci.seating.table",
    "read": "maci.record.transcript",
    "replay": "maci.record.replay",
    "run": "maci.debating.api",
    "stream": "maci.debating.api",
}

__all__ = [
    "Agent",
    "Argument",
    "Case",
    "CaseEvidence",
    "Citation",
    "Config",
    "CritScore",
    "DebateResult",
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
    "arun",
    "debate",
    "load_case",
    "load_config",
    "load_encoder",
    "opening",
    "read",
    "replay",
    "run",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _DOORS:
        raise AttributeError(f"module 'maci' has no attribute {name!r}")
    module, _, attribute = _DOORS[name].partition(":")
    value = getattr(import_module(module), attribute or name)
    globals()[name] = value
    return value
