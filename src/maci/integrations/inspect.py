"""Inspect (extra ``inspect``): MACI and every method of a study as solvers on Inspect's own models, CRIT as a scorer, Brier and ECE.

``inspect eval task.py --solver maci/majority_vote -S n=5 --model openai/gpt-4o-mini``. The entry point registers the solvers
under the names of :mod:`maci.lab.methods`. Agents and judges are models of Inspect, so that its keys, limits, cache and log are in
force; the method's own ceilings (``budget.tokens``) are kept as in a debate.

A sample's choices are the outcomes; without choices the question is open. ``metadata["evidence"]`` (a list of texts) may be cited.
The belief, the cost and the path of the transcript are in the sample's metadata under ``maci``.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ResponseSchema,
    get_model,
)
from inspect_ai.model import Model as InspectModel
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema, LimitExceededError

from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.agents.judges.crit import JudgeAbstained, ScoreRequest
from maci.calibration.temperature import ece as calibration_error
from maci.cases.case import Case, Document, parse_case
from maci.cases.labels import canonical
from maci.config import Config
from maci.errors import BeliefError, InputError, Interrupted, ModelError
from maci.evidence.encode import load_encoder
from maci.evidence.span import Span
from maci.lab.methods import build, entries
from maci.lab.methods.maci import changed
from maci.lab.methods.method import Bench, Method, MethodAnswer
from maci.lab.study.metrics import losses
from maci.llm.catalogue import family, price_of
from maci.llm.client import Client
from maci.llm.model import Provider, Reply, Request
from maci.llm.offline import check_here
from maci.llm.usage import Usage
from maci.seating.models import ModelPanel, open_judge
from maci.seating.shelf import Sources
from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec, is_reader

_OF_THIS_MACHINE = frozenset(
    {"hf", "llama-cpp-python", "mockllm", "none", "ollama", "sglang", "transformer_lens", "vllm"}
)
"""Inspect's providers that run a model here, or ask a server here, unless they are given an address."""
_ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
SEATS = 3
"""How often the task's model sits at the table where no agents are named."""


class InspectProvider(Provider):
    """A model of Inspect's as one API. Inspect retries, limits and caches; errors it gives up on are the client's to report."""

    parallel = 1000  # Inspect's max_connections is the limit

    def __init__(self, model: InspectModel) -> None:
        self.name, self.origin = str(model), "inspect"
        self.identity = {"api": "inspect", "model": self.name}
        self._model = model
        self.limit: LimitExceededError | None = None
        """A limit of the sample that was reached: the sample ends with it, whatever the debate makes of the lost turn."""

    @property
    def structured(self) -> bool:
        """Not promised: whether a schema is enforced depends on Inspect's provider."""
        return False

    async def send(self, request: Request) -> Reply:
        """One call of ``generate``."""
        address = getattr(self._model.api, "base_url", None)
        if address or self.name.partition("/")[0] not in _OF_THIS_MACHINE:  # Inspect would try again and again
            check_here(address or self.name)
        messages = [cast(ChatMessage, _ROLES[message.role](content=message.content)) for message in request.messages]
        try:
            output = await self._model.generate(messages, config=_config(request))
        except LimitExceededError as error:
            self.limit = error
            raise ModelError(f"{self.name}: {error}") from error
        except ModelError:
            raise
        except Exception as error:
            raise Interrupted(f"{self.name}: {type(error).__name__}: {error}") from error
        if output.error:
            raise Interrupted(f"{self.name}: {output.error}")
        return Reply(
            text=output.completion,
            usage=_usage(output, messages),
            truncated=output.stop_reason in ("max_tokens", "model_length"),
            model=output.model,
        )

    async def aclose(self) -> None:
        """Inspect closes its models."""


def _config(request: Request) -> GenerateConfig:
    schema = request.schema
    form = (
        None
        if schema is None
        else ResponseSchema(name=schema.name, json_schema=JSONSchema.model_validate(dict(schema.json)))
    )
    return GenerateConfig(
        max_tokens=request.max_tokens, temperature=request.temperature, seed=request.seed, response_schema=form
    )


def _usage(output: ModelOutput, messages: Sequence[ChatMessage]) -> Usage:
    """What Inspect counted; four characters a token where the model does not say."""
    used = output.usage
    if used is None or not used.total_tokens:
        return Usage(prompt=sum(len(m.text) for m in messages) // 4 + 1, generated=len(output.completion) // 4 + 1)
    read = used.input_tokens_cache_read or 0
    written = used.input_tokens_cache_write or 0
    return Usage(
        prompt=used.input_tokens + read + written,
        cached=read,
        generated=used.output_tokens,
        thought=used.reasoning_tokens or 0,
    )


class InspectModels:
    """Models by Inspect's names, each opened once."""

    def __init__(self) -> None:
        self._open: dict[str, Client] = {}

    def add(self, model: InspectModel) -> str:
        """The name of a model that is at hand."""
        name = str(model)
        if name not in self._open:
            self._open[name] = Client(
                InspectProvider(model), family=family(name), price=price_of(name), retries=0, timeout=None
            )
        return name

    def model(self, name: str) -> Client:
        """The model of this name."""
        return self._open[name if name in self._open else self.add(get_model(name))]

    def check_limits(self) -> None:
        """Raise the limit of the sample that a call ran into."""
        for client in self._open.values():
            reached = cast(InspectProvider, client.provider).limit
            if reached is not None:
                raise reached


def _role(role: str) -> InspectModel | None:
    """The model that the task gives this role, if it gives it."""
    found = get_model(role=role)
    return found if found.role == role else None


def _panel(models: InspectModels, agents: Sequence[str] | str | None, judges: Sequence[str] | str | None) -> PanelSpec:
    seats = _list(agents) or [models.add(get_model())] * SEATS
    if judges is None:
        judge = _role("judge")
        judging = None if judge is None else [models.add(judge)]
    else:
        judging = _list(judges)
    return PanelSpec(
        agents=tuple(AgentSpec(model=name) for name in seats),
        judges=None if judging is None else tuple(JudgeSpec(model=name) for name in judging),
    )


def _list(names: Sequence[str] | str | None) -> list[str]:
    given = names.split(",") if isinstance(names, str) else list(names or ())
    return [name.strip() for name in given if name.strip()]


def case_of(state: TaskState) -> Case:
    """A sample as a case: its choices are the outcomes."""
    choices = [choice.value for choice in state.choices]
    repeated = [choice for n, choice in enumerate(choices) if choice in choices[:n]]
    if repeated:
        raise InputError(f"sample {state.sample_id}: the choice {repeated[0]!r} is given twice; outcomes must differ")
    metadata = state.metadata or {}
    data = {
        "question": state.input_text,
        "outcomes": choices or list(metadata.get("outcomes", ())) or "open",
        "context": str(metadata.get("context", "")),
    }
    evidence = tuple(Document(str(text)) for text in metadata.get("evidence", ()))
    return replace(parse_case(data, f"sample {state.sample_id}"), evidence=evidence)


@dataclass(frozen=True, slots=True)
class _Seating:
    """What a solver keeps between samples: its models belong to one event loop."""

    loop: asyncio.AbstractEventLoop
    models: InspectModels


def method_solver(
    method: Method,
    agents: Sequence[str] | str | None = None,
    judges: Sequence[str] | str | None = None,
    *,
    settings: dict[str, Any] | None = None,
    seed: int = 0,
    record: str | None = None,
) -> Solver:
    """A method of a study as a solver.

    ``agents`` and ``judges`` are Inspect's names of models. Without agents the task's model sits down three times; without judges the
    model of the role ``judge`` scores, or the reader judges where there is evidence. ``settings`` are MACI's, by their keys.
    ``record`` is the folder of the transcripts: ``maci`` in Inspect's log folder unless given.
    """
    config = changed(Config(), settings or {})
    kept: list[_Seating] = []

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 (as Inspect calls it)
        loop = asyncio.get_running_loop()
        if not kept or kept[0].loop is not loop:
            kept[:] = [_Seating(loop, InspectModels())]
        models, case = kept[0].models, case_of(state)
        spec = _panel(models, agents, judges)
        encoder = await asyncio.to_thread(load_encoder, config.evidence.encoder)
        folder = Path(record or Path(os.environ.get("INSPECT_LOG_DIR") or "logs") / "maci") / state.uuid
        bench = Bench(panel=ModelPanel(spec, Sources(), encoder, models, config), config=config, record=folder)
        answer = await method.answer(case, bench, seed + state.epoch - 1)
        models.check_limits()
        if answer.belief is None:  # a failure is no answer: the sample ends with an error, and Inspect counts it as one
            raise ModelError(f"{method.name} gave no answer: {answer.reason}")
        _told(state, method.name, answer, folder / "transcript.jsonl")
        return state

    return cast(Solver, solve)


def _told(state: TaskState, name: str, answer: MethodAnswer, path: Path) -> None:
    """Put an answer where Inspect's scorers and its log look for it."""
    belief = {label: round(float(p), 6) for label, p in (answer.belief or {}).items()}
    lead = max(belief, key=lambda label: belief[label])
    found = {
        "method": name,
        "answer": lead,
        "belief": belief,
        "reason": answer.reason,
        "rounds": answer.rounds,
        "calls": answer.calls + answer.judge_calls,
        "tokens": answer.usage.tokens + answer.judge_usage.tokens,
        "transcript": str(path) if path.is_file() else None,
    }
    state.metadata = {**(state.metadata or {}), "maci": found}
    transcript().info(found, source="maci")
    text = lead
    for n, choice in enumerate(state.choices):
        state.choices.mark_choice(n, choice.value == lead)
        if choice.value == lead:
            text = f"ANSWER: {chr(ord('A') + n)}"
    state.output = ModelOutput.from_content(model=str(state.model), content=text)
    state.messages.append(ChatMessageAssistant(content=text, source="generate"))
    state.completed = True


def _registered(use: str, about: str) -> Callable[..., Solver]:
    def made(
        agents: Sequence[str] | str | None = None,
        judges: Sequence[str] | str | None = None,
        settings: dict[str, Any] | None = None,
        seed: int = 0,
        record: str | None = None,
        **options: Any,
    ) -> Solver:
        return method_solver(build(use, options), agents, judges, settings=settings, seed=seed, record=record)

    made.__name__ = made.__qualname__ = use
    made.__doc__ = f"{about[0].upper()}{about[1:]}."
    return cast(Callable[..., Solver], solver(name=use)(made))


SOLVERS = {entry.name: _registered(entry.name, entry.about) for entry in entries()}
"""Name → solver, for every method that a study can run: ``SOLVERS["majority_vote"](n=5)``."""


# --- scoring ------------------------------------------------------------------------------------------------------------------


@metric
def brier() -> Metric:
    """The mean of Σ_y (p_y − 1[y = target])², from 0 to 2; nan where no sample has a belief."""

    def value(scores: list[SampleScore]) -> float:
        found = [_belief(each) for each in scores]
        known = [losses(belief, gold)["brier"] for belief, gold in filter(None, found)]
        return math.fsum(known) / len(known) if known else math.nan

    return cast(Metric, value)


@metric
def ece() -> Metric:
    """Expected calibration error in 15 bins of equal width; nan where no sample has a belief."""

    def value(scores: list[SampleScore]) -> float:
        known = list(filter(None, map(_belief, scores)))
        labels = [list(belief) for belief, _ in known]
        rows = [np.array([belief[label] for label in names]) for (belief, _), names in zip(known, labels, strict=True)]
        # a target nobody named is none of the labels: never right
        gold = [
            names.index(target) if target in names else -1 for (_, target), names in zip(known, labels, strict=True)
        ]
        return calibration_error(rows, gold)

    return cast(Metric, value)


def _belief(sample: SampleScore) -> tuple[dict[str, float], str] | None:
    found = sample.score.metadata or {}
    return (found["belief"], found["target"]) if found.get("belief") else None


@scorer(metrics=[accuracy(), stderr(), brier(), ece()])
def belief() -> Scorer:
    """Whether the most probable outcome is the target, with Brier score and ECE of the whole belief."""

    async def score(state: TaskState, target: Target) -> Score:
        found = (state.metadata or {}).get("maci")
        if found is None:
            raise InputError("the scorer `belief` needs a solver of MACI's: plain answers come without probabilities")
        case, gold = case_of(state), target.text
        place = ord(gold) - ord("A") if len(gold) == 1 else -1
        if 0 <= place < len(state.choices):
            gold = state.choices[place].value
        try:  # noqa: SIM105
            gold = canonical(gold, case.outcomes, tuple(found["belief"]))
        except BeliefError:
            pass  # nobody named it: every answer is wrong
        return Score(
            value=CORRECT if found["answer"] == gold else INCORRECT,
            answer=found["answer"],
            explanation=f"{found['reason']}; transcript: {found['transcript'] or 'none'}",
            metadata={"belief": found["belief"], "target": gold, "transcript": found["transcript"]},
        )

    return cast(Scorer, score)


@scorer(metrics=[mean(), stderr()])
def crit(judge: str | None = None) -> Scorer:
    """How well an answer is argued (CRIT Γ, from 0 to 1), whatever solver gave it.

    ``judge`` is a model by Inspect's name; else the model of the role ``judge``, or the task's. It sees the question, the answer and
    ``metadata["evidence"]``. Without evidence nothing supports the answer and that part of the score is 0. A judge that abstains leaves
    the sample unscored (nan).
    """

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (as Inspect calls it)
        models, case = InspectModels(), case_of(state)
        name = judge or models.add(get_model(role="judge"))
        if is_reader(name):
            raise InputError(f"judge is {name!r}: CRIT in Inspect needs a model of Inspect's")
        seat = open_judge(JudgeSpec(name=name, model=name), models, Config())
        labels = () if case.outcomes.kind == "open" else case.outcomes.labels
        text = state.output.completion.strip()
        if not text:
            return Score(value=math.nan, explanation="there is no answer to score")
        found = (state.metadata or {}).get("maci", {}).get("answer")
        request = ScoreRequest(
            question=Question(case.question, case.context, case.outcomes.kind, labels),
            argument=Argument(claim=found or text, reasons=() if found else (text,), outcome=found),
            spans=tuple(Span.of(document.text, document.source, 0) for document in case.evidence),
        )
        try:
            given = await seat.prepare(request).within()
        except (JudgeAbstained, ModelError) as error:
            models.check_limits()
            return Score(value=math.nan, explanation=f"{name} gave no score: {error}")
        parts = {"evidence": given.evidence, "logic": given.logic, "relevance": given.relevance}
        return Score(value=given.composite, explanation=given.justification, metadata={**parts, "judge": name})

    return cast(Scorer, score)
