"""Who sits at the table, resolved: every agent and judge with its model, name and manner, and where the models are.

A :class:`PanelSpec` is what ``--agents``, ``--judges`` and a named panel come to. It is written into the transcript's first
line, so that a broken debate can be resumed without the file it came from. There is no key in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from maci.errors import ConfigError, TranscriptError
from maci.llm.models import ModelOptions, StrictOptions
from maci.llm.reasoning import Reasoning, split_level

if TYPE_CHECKING:
    from maci.controller.inputs import Opened

READER_AGENTS = ("lexical", "semantic", "bayesian")
READER_JUDGES = ("letters", "words", "phrases")
READER = "reader"
PLUGIN = "plugin"
"""Before the name of an agent or judge that an installed package adds."""


class JudgeSpec(StrictOptions):
    """One judge."""

    name: str = Field(default="", description="as it is called in the record; the model's name if left out")
    model: str = Field(description="provider/model, reader/letters, reader/words, reader/phrases, or plugin/NAME")
    temperature: float | None = Field(default=None, ge=0, le=2, description="crit.judge_temperature if left out")
    max_tokens: int | None = Field(
        default=None, ge=16, le=1_000_000, description="most tokens of a reply; thinking comes on top"
    )
    reasoning: Reasoning | None = Field(
        default=None,
        description="how much it thinks before it answers; as the model's entry says if left out, else a judge is asked not to",
    )


class AgentSpec(JudgeSpec):
    """One debater."""

    model: str = Field(description="provider/model, reader/lexical, reader/semantic, reader/bayesian, or plugin/NAME")
    temperature: float | None = Field(default=None, ge=0, le=2, description="agents.temperature if left out")
    persona: str = Field(default="", description="who it is told to be")
    belief: Literal["auto", "verbalised", "sampled", "logprobs", "pieces"] = Field(
        default="auto",
        description="how its probabilities are read: as it states them, from several draws, from log-probabilities, or from those of "
        "every piece of evidence read on its own (it then quotes pieces instead of writing arguments); `auto`: from "
        "log-probabilities for a model on this machine that knows the outcomes, else as it states them",
    )
    draws: int = Field(default=5, ge=2, le=100, description="draws of `belief: sampled`")


class PanelSpec(StrictOptions):
    """A panel of models, readers or both."""

    name: str = ""
    agents: tuple[AgentSpec, ...] = ()
    judges: tuple[JudgeSpec, ...] | None = None
    """``None``: not said, and no model of another family is configured; the reader judges where there is evidence to compare
    with, else nobody. Empty: no judges, the CRIT-free controller.
    """
    models: Mapping[str, ModelOptions] = {}
    """What the user says of the models at the table."""
    found_judges: bool = False
    """The judges were not named; they are a configured model of another family than the debaters'."""
    settings: Mapping[str, Any] = {}
    """The panel's own defaults, below a config file and flags."""

    @property
    def seated(self) -> tuple[str, ...]:
        """The language models at the table, each once."""
        seats = (*self.agents, *(self.judges or ()))
        return tuple(dict.fromkeys(seat.model for seat in seats if is_model(seat.model)))

    @property
    def paid(self) -> bool:
        """Whether a debate may cost something, and is held to ceilings: anybody but a reader is seated."""
        return any(not is_reader(seat.model) for seat in (*self.agents, *(self.judges or ())))

    @property
    def reads(self) -> bool:
        """Whether a reader is seated."""
        return any(is_reader(seat.model) for seat in (*self.agents, *(self.judges or ())))

    def options(self, model: str) -> ModelOptions:
        """What is said of a model, or of all its provider's."""
        return self.models.get(model) or self.models.get(model.partition("/")[0]) or ModelOptions()

    def field(self, model: str) -> str:
        """Where a person named it: the panel, the agents or the judges."""
        return "panel" if self.name else "agents" if any(seat.model == model for seat in self.agents) else "judges"

    def record(self) -> dict[str, Any]:
        """As it goes into a transcript."""
        mentioned = {*self.seated, *(model.partition("/")[0] for model in self.seated)}
        seated = self.model_copy(update={"models": {m: s for m, s in self.models.items() if m in mentioned}})
        return seated.model_dump(mode="json", exclude_defaults=True, exclude={"settings"})


def recorded_panel(opened: Opened) -> PanelSpec | str:
    """Who sat at a recorded table: its panel, or the name of one without models."""
    try:
        return opened.panel if opened.table is None else PanelSpec.model_validate(opened.table)
    except ValidationError as error:
        raise TranscriptError(f"the record names a panel that cannot be read: {error.errors()[0]['msg']}") from error


def is_reader(model: str) -> bool:
    """Whether a name stands for a reader rather than a language model."""
    return model.partition("/")[0] == READER


def is_plugin(model: str) -> bool:
    """Whether a name stands for an agent or judge of an installed package."""
    return model.partition("/")[0] == PLUGIN


def is_model(model: str) -> bool:
    """Whether a name stands for a language model."""
    return not is_reader(model) and not is_plugin(model)


def check_model(model: str, where: str, readers: Sequence[str]) -> str:
    """A model's name, if it can be one."""
    provider, slash, rest = model.partition("/")
    if provider == READER and rest in readers:
        return model
    if provider == READER:
        known = ", ".join(f"reader/{name}" for name in readers)
        raise ConfigError(f"{where} {model!r}: the readers here are {known}, or `reader` for all of them")
    if not slash or not provider or not rest:
        raise ConfigError(
            f"{where} {model!r}: a model is named provider/model, such as openai/gpt-4o-mini, local/smollm2-135m or "
            "anthropic/NAME; `reader` names the readers"
        )
    return model


_Seat = TypeVar("_Seat", bound=JudgeSpec)


def written(seat: type[_Seat], text: str) -> _Seat:
    """A seat as it is written on the command line: a model's name, with ``@reasoning=low`` where it is to think so much.

    >>> written(AgentSpec, "openai/gpt-6@reasoning=low").reasoning
    'low'
    """
    model, level = split_level(text)
    return seat(model=model) if level is None else seat(model=model, reasoning=level)


def _expand(items: Iterable[_Seat], readers: Sequence[str], where: str) -> tuple[_Seat, ...]:
    """``reader`` stands for all the readers there are; readers go by their own names, a second of a kind with a number."""
    seats: list[_Seat] = []
    met = Counter[str]()
    for item in items:
        if not is_reader(item.model):
            check_model(item.model, where, readers)
            if is_plugin(item.model) and (given := ", ".join(sorted(item.model_fields_set - {"model", "name"}))):
                raise ConfigError(f"{where}: {item.model} is a plugin, which has no settings here: leave out {given}")
            seats.append(item)
            continue
        if given := ", ".join(sorted(item.model_fields_set - {"model"})):
            raise ConfigError(f"{where}: {item.model} is a reader, who has no settings: leave out {given}")
        for name in readers if item.model == READER else [item.model.partition("/")[2]]:
            model = check_model(f"{READER}/{name}", where, readers)
            met[name] += 1
            own = name if met[name] == 1 else f"{name}#{met[name]}"
            seats.append(item.model_copy(update={"model": model, "name": own}))
    return tuple(seats)


def agents_of(items: Iterable[AgentSpec], where: str = "--agents") -> tuple[AgentSpec, ...]:
    """Debaters with `reader` spelt out.

    >>> [seat.name for seat in agents_of([AgentSpec(model="reader")])]
    ['lexical', 'semantic', 'bayesian']

    A reader who is named again holds other evidence than the first.
    """
    return _expand(items, READER_AGENTS, where)


def judges_of(items: Iterable[JudgeSpec], where: str = "--judges") -> tuple[JudgeSpec, ...]:
    """Judges with `reader` spelt out. A reader judge who is named again would only say the same again."""
    seats = _expand(items, READER_JUDGES, where)
    if again := next((seat for seat in seats if is_reader(seat.model) and "#" in seat.name), None):
        raise ConfigError(f"{where}: {again.model} is named twice, and would score alike: name it once")
    return seats


def names(
    agents: Sequence[AgentSpec], judges: Sequence[JudgeSpec]
) -> tuple[tuple[AgentSpec, ...], tuple[JudgeSpec, ...]]:
    """Everyone with a unique name: the one given, else the model's; a model listed twice gets the suffix #2, #3 …

    >>> seats, _ = names([AgentSpec(model="local/x"), AgentSpec(model="local/x")], [])
    >>> [seat.name for seat in seats]
    ['local/x', 'local/x#2']
    """
    chosen = Counter(seat.name for seat in (*agents, *judges) if seat.name)
    if repeated := next((name for name, n in chosen.items() if n > 1), None):
        raise ConfigError(f"two at the table are named {repeated!r}: give each a `name` of its own")
    taken, met = set(chosen), Counter[str]()

    def named(seat: _Seat) -> _Seat:
        if seat.name:
            return seat
        while True:
            met[seat.model] += 1
            name = seat.model if met[seat.model] == 1 else f"{seat.model}#{met[seat.model]}"
            if name not in taken:
                taken.add(name)
                return seat.model_copy(update={"name": name})

    return tuple(map(named, agents)), tuple(map(named, judges))
