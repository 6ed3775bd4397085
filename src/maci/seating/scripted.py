"""Scripted panels: the turns printed in the paper, or turns of your own from a YAML file.

Scripts, not models: they are for trying the controller, and say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from maci.agents.argument import Argument, Inquiry, Kind, Subkind, Turn
from maci.agents.fake import FunctionJudge, ScriptedAgent
from maci.agents.judges.crit import JudgeAbstained, ScoreRequest
from maci.cases.case import Case, label_text
from maci.errors import ConfigError
from maci.evidence.encode import Encoder
from maci.evidence.source import CaseEvidence, Retrieval
from maci.evidence.span import Citation, Span
from maci.files.data import load
from maci.files.parse import read
from maci.seating.table import Table

_PAPER = Path(__file__).parents[1] / "agents" / "builtin" / "paper.yaml"


_Label = Annotated[str, BeforeValidator(label_text)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Argument(_Part):
    claim: str
    reasons: tuple[str, ...] = ()
    opposing: tuple[str, ...] = ()
    outcome: _Label | None = None
    against: bool = False
    cite: tuple[str, ...] = ()
    crit: float = Field(0.8, ge=0, le=1)
    """What the scripted judges give it."""


class _Request(_Part):
    text: str
    kind: Kind | None = None
    subkind: Subkind | None = None
    positive: tuple[_Label, ...] = ()
    """Outcomes that a positive result favours."""
    negative: tuple[_Label, ...] = ()


class _Turn(_Part):
    belief: dict[_Label, float]
    arguments: tuple[_Argument, ...] = ()
    requests: tuple[_Request, ...] = ()
    """What it would like to know next."""


class _Agent(_Part):
    name: str
    family: str
    turns: tuple[_Turn, ...] = Field(min_length=1)


class _Judge(_Part):
    name: str
    family: str
    offset: float = 0.0
    """Added to every score: a strict or a lenient judge."""


class _Evidence(_Part):
    id: str
    text: str
    source: str = "script"


class Script(_Part):
    """A scripted panel as its file writes it."""

    kind: Literal["scripted"] = "scripted"
    evidence: tuple[_Evidence, ...] = ()
    agents: tuple[_Agent, ...]
    judges: tuple[_Judge, ...] = ()


def scripted_table(script: Script, case: Case, encoder: Encoder) -> Table:
    """A table of scripted agents and judges."""
    given = {a.claim: a.crit for agent in script.agents for turn in agent.turns for a in turn.arguments}
    spans = [Span(item.id, item.text, item.source) for item in script.evidence]
    return Table(
        agents=[
            ScriptedAgent(agent.name, [_turn(turn) for turn in agent.turns], family=agent.family)
            for agent in script.agents
        ],
        judges=[_judge(judge, given) for judge in script.judges],
        evidence=CaseEvidence(case, lambda query, k, max_tokens: Retrieval(tuple(spans[:k]))),
        encoder=encoder,
    )


def _turn(turn: _Turn) -> Turn:
    return Turn(
        belief=turn.belief,
        arguments=tuple(
            Argument(
                claim=a.claim,
                reasons=a.reasons,
                opposing=a.opposing,
                outcome=a.outcome,
                against=a.against,
                citations=tuple(Citation(i) for i in a.cite),
            )
            for a in turn.arguments
        ),
        requests=tuple(
            Inquiry(
                text=r.text,
                kind=r.kind,
                subkind=r.subkind,
                expected={**dict.fromkeys(r.positive, True), **dict.fromkeys(r.negative, False)},
            )
            for r in turn.requests
        ),
    )


def _judge(judge: _Judge, given: Mapping[str, float]) -> FunctionJudge:
    def score(request: ScoreRequest) -> float:
        if request.argument.claim not in given:
            raise JudgeAbstained("the script has no score for this claim")
        return min(1.0, max(0.0, given[request.argument.claim] + judge.offset))

    return FunctionJudge(judge.name, score, family=judge.family)


def _read(data: Any, where: str) -> Script:
    if isinstance(data, Mapping) and data.keys() & {"panels", "models"}:
        raise ConfigError(
            f"{where} is a panels file, not a script: set MACI_PANELS={where} and name one of its panels with --panel"
        )
    try:
        return Script.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "script"
        raise ConfigError(f"{where}: {key}: {first['msg'].lower()}") from error


def paper_table(case: Case, encoder: Encoder) -> Table:
    """The turns printed in the paper."""
    scripts: Mapping[str, Any] = load(_PAPER.read_text(encoding="utf-8"), "YAML")
    if case.id not in scripts:
        played = ", ".join(scripts)
        raise ConfigError(
            f"the panel `paper` plays only the cases {played}; this case is {case.id or 'not one of them'}"
        )
    return scripted_table(_read(scripts[case.id], f"panel paper, {case.id}"), case, encoder)


def file_table(path: Path, case: Case, encoder: Encoder) -> Table:
    """The turns of a script file."""
    return scripted_table(_read(read(path), str(path)), case, encoder)
