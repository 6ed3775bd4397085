"""Sets the table for a case: the one way for debate, ask, batch, calibrate, study and web.

Cases with the same documents share what is made of them, which makes many cases cheap; no case is ever given the documents of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from maci.agents.agent import FunctionJudge, ScriptedAgent
from maci.agents.argument import Argument, Inquiry, Kind, Subkind, Turn
from maci.agents.judges.crit import JudgeAbstained, ScoreRequest
from maci.agents.library import Latest
from maci.cases.case import Case, Document, is_file, label_text
from maci.config import Config
from maci.errors import ConfigError
from maci.evidence.encode import Encoder
from maci.evidence.span import CaseEvidence, Citation, Retrieval, Span
from maci.files.parse import load, read
from maci.llm.keys import without_credentials
from maci.seating.models import ModelPanel, Models, ReaderPanel
from maci.seating.shelf import Sources, evidence_for
from maci.seating.spec import PanelSpec
from maci.seating.table import Table

_KEPT = 8
"""Cases' own evidence that is kept laid out."""


class Tables:
    """The tables of one panel, for one case or for many."""

    def __init__(
        self,
        panel: PanelSpec | str,
        encoder: Encoder,
        config: Config | None = None,
        models: Models | None = None,
        *,
        shared: Sources | None = None,
        source: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """``models``: where those of a :class:`PanelSpec` are had from. ``shared``: what every case may read beside its own documents.

        ``source``: who answers what the plan asks (:mod:`maci.acquisition.sources`), ``headers``: what an endpoint is sent with it.
        """
        self._panel, self._encoder, self._models = panel, encoder, models
        self._config, self._shared = config or Config(), shared or Sources()
        self._source, self._headers = source, headers
        self._made: Latest[tuple[tuple[Document, ...], bool], ReaderPanel | ModelPanel] = Latest(_KEPT)

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """The table for a case; it says itself which panel sits there."""
        table = self._seat(case, seed)
        if isinstance(self._panel, str):
            table = replace(table, panel=self._panel)
        else:
            table = replace(table, panel=self._panel.name or "--agents")
        return _with_source(table, self._source, case, self._config, self._headers)

    def sources(self, case: Case) -> Sources:
        """What there is to read for a case."""
        return evidence_for(case, self._shared)

    def _seat(self, case: Case, seed: int) -> Table:
        if isinstance(self._panel, str) and self._panel != "readers":
            return script_of(self._panel, case).table(case, self._encoder)
        key = (case.evidence, case.outcomes.kind == "ordered")
        if key not in self._made:
            self._made[key] = self._over(self.sources(case))
        return self._made[key].table(case, seed=seed)

    def _over(self, sources: Sources) -> ReaderPanel | ModelPanel:
        if isinstance(self._panel, str):
            return ReaderPanel(sources, self._encoder, adapt=self._config.evidence.adapt)
        assert self._models is not None
        return ModelPanel(self._panel, sources, self._encoder, self._models, self._config)


def _with_source(
    table: Table, name: str | None, case: Case, config: Config, headers: Mapping[str, str] | None
) -> Table:
    """The table with somebody who answers; asked for and not named is refused before anything is written."""
    if name is None:
        if config.plan.acquire:
            raise ConfigError(
                f"--acquire {config.plan.acquire} needs somebody to ask: --source hidden, corpus:PATH, ask, http://… or "
                "python:module:function"
            )
        return table
    if not config.plan.acquire:
        raise ConfigError(
            f"--source {without_credentials(name)} is asked nothing: say how often it may be asked, as in --acquire 3"
        )
    if not config.plan.enabled:
        raise ConfigError(f"--source {without_credentials(name)} answers what the plan asks, and plan.enabled is false")
    from maci.acquisition.sources import load_source

    return replace(table, source=load_source(name, case, table.encoder, headers))


# --- scripts ----------------------------------------------------------------------------------------------------------------

_PAPER = Path(__file__).parents[1] / "agents" / "builtin" / "paper.yaml"


_Label = Annotated[str, BeforeValidator(label_text)]


class _Scripted(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _ScriptedCitation(_Scripted):
    span: str
    quote: str


class _ScriptedArgument(_Scripted):
    claim: str
    reasons: tuple[str, ...] = ()
    opposing: tuple[str, ...] = ()
    outcome: _Label | None = None
    against: bool = False
    answers: tuple[str, ...] = ()
    """Ids of earlier arguments it responds to: round, seat and number, such as 1B2."""
    cite: tuple[str | _ScriptedCitation, ...] = ()
    crit: float = Field(0.8, ge=0, le=1)
    """What the scripted judges give it."""

    def argument(self) -> Argument:
        cited = tuple(Citation(c) if isinstance(c, str) else Citation(c.span, c.quote) for c in self.cite)
        return Argument(**self.model_dump(exclude={"cite", "crit"}), citations=cited)


class _ScriptedRequest(_Scripted):
    text: str
    kind: Kind | None = None
    subkind: Subkind | None = None
    positive: tuple[_Label, ...] = ()
    """Outcomes that a positive result favours."""
    negative: tuple[_Label, ...] = ()

    def inquiry(self) -> Inquiry:
        sides = {**dict.fromkeys(self.positive, True), **dict.fromkeys(self.negative, False)}
        return Inquiry(text=self.text, kind=self.kind, subkind=self.subkind, expected=sides)


class _ScriptedTurn(_Scripted):
    belief: dict[_Label, float]
    arguments: tuple[_ScriptedArgument, ...] = ()
    requests: tuple[_ScriptedRequest, ...] = ()
    """What it would like to know next."""

    def turn(self) -> Turn:
        said = tuple(argument.argument() for argument in self.arguments)
        return Turn(belief=self.belief, arguments=said, requests=tuple(r.inquiry() for r in self.requests))


class _ScriptedAgent(_Scripted):
    name: str
    family: str
    turns: tuple[_ScriptedTurn, ...] = Field(min_length=1)


class _ScriptedJudge(_Scripted):
    name: str
    family: str
    offset: float = 0.0
    """Added to every score: a strict or a lenient judge."""


class _ScriptedSpan(_Scripted):
    id: str
    text: str
    source: str = "script"


class Script(_Scripted):
    """A scripted panel as its file writes it: the turns printed in the paper, or turns of your own.

    Scripts, not models: they are for trying the controller, and say so.
    """

    kind: Literal["scripted"] = "scripted"
    evidence: tuple[_ScriptedSpan, ...] = ()
    agents: tuple[_ScriptedAgent, ...]
    judges: tuple[_ScriptedJudge, ...] = ()

    def table(self, case: Case, encoder: Encoder) -> Table:
        """A table of scripted agents and judges."""
        spans = tuple(Span(item.id, item.text, item.source) for item in self.evidence)
        return Table(
            agents=[ScriptedAgent(a.name, [turn.turn() for turn in a.turns], family=a.family) for a in self.agents],
            judges=[
                FunctionJudge(judge.name, partial(self._score, judge), family=judge.family) for judge in self.judges
            ],
            evidence=CaseEvidence(case, lambda query, k, max_tokens: Retrieval(spans[:k])),
            encoder=encoder,
        )

    def _score(self, judge: _ScriptedJudge, request: ScoreRequest) -> float:
        given = {said.claim: said.crit for agent in self.agents for turn in agent.turns for said in turn.arguments}
        if request.argument.claim not in given:
            raise JudgeAbstained("the script has no score for this claim")
        return min(1.0, max(0.0, given[request.argument.claim] + judge.offset))


def script_of(panel: str, case: Case) -> Script:
    """The script that a panel is: the paper's for its two cases, or a file's."""
    if panel == "paper":
        scripts: Mapping[str, Any] = load(_PAPER.read_text(encoding="utf-8"), "YAML")
        if case.id not in scripts:
            raise ConfigError(
                f"the panel `paper` plays only the cases {', '.join(scripts)}; this case is {case.id or 'not one of them'}"
            )
        where, data = f"panel paper, {case.id}", scripts[case.id]
    elif is_file(panel):
        where, data = panel, read(Path(panel))
    else:
        raise ConfigError(f"unknown panel {panel!r}: choose readers, paper, or a YAML file with a script")
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
