"""Panels of language models, of readers, or of both, over the same evidence.

:class:`ReaderPanel` is the embedded panel: three readers who hold different evidence, and three reader judges. Offline, deterministic,
no key, no download: what a plain install debates with. :class:`ModelPanel` seats models, and readers among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from maci.agents.agent import Agent, Judge
from maci.agents.reader import FAMILIES, Conduct, Family, Reader
from maci.cases.case import Case
from maci.config import Config, plugins
from maci.errors import ConfigError
from maci.evidence.encode import Encoder
from maci.evidence.span import Span
from maci.llm.catalogue import no_price
from maci.seating.shelf import Bookcase, Shelf, Sources
from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec, is_model, is_plugin, is_reader, judges_of, names
from maci.seating.table import Table

if TYPE_CHECKING:
    from maci.agents.judges.interpreter import Comparer, Interpreter
    from maci.agents.writer import Writer
    from maci.llm.client import Client
    from maci.llm.reasoning import Reasoning


READERS_JUDGE = (
    "caution: no judges were named (--judges) and no model of another family is configured, so the three reader judges scored: they "
    "compare words and numbers and do not understand an argument"
)
READERS_MATCH = (
    "the readers compare words and do not reason: they know a case only by the words it shares with their texts"
)
"""What every result of theirs says."""
NOBODY_JUDGES = (
    "caution: no judges were named (--judges), no model of another family is configured, and there is no evidence that reader judges "
    "could compare arguments with: no argument was scored"
)


def deal(
    shelf: Shelf, families: Sequence[Family], *, seed: int = 0, conduct: Conduct | None = None
) -> tuple[Reader, ...]:
    """Readers with their hands dealt from one shelf."""
    hands = shelf.library.deal(len(families), seed)
    return tuple(Reader(f, shelf.library, hand, conduct) for f, hand in zip(families, hands, strict=True))


class ReaderPanel:
    """Sets the table for many cases over the same evidence; what depends on the outcomes alone is made once."""

    def __init__(
        self,
        spans: Sequence[Span] | Sources,
        encoder: Encoder,
        *,
        families: Sequence[Family] = FAMILIES,
        conduct: Conduct | None = None,
        adapt: bool = True,
    ) -> None:
        sources = spans if isinstance(spans, Sources) else Sources(corpus=tuple(spans))
        self._books = Bookcase(sources, encoder, adapt=adapt)
        self._families, self._conduct = families, conduct

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """Readers with their hands dealt, judges, and evidence to verify citations against."""
        shelf = self._books.about(case)
        return Table(
            agents=deal(shelf, self._families, seed=seed, conduct=self._conduct),
            judges=shelf.judges,
            evidence=shelf.evidence(case, held=shelf.library.spans),
            encoder=shelf.encoder,
            proposer=shelf,
            notes=(READERS_MATCH, *self._books.left_out(case)),
            unfit=shelf.unfit(case),
        )


class Models(Protocol):
    """Where models are had from; :class:`maci.llm.models.House` is one."""

    def model(self, name: str) -> Client:
        """The model of this name."""


def _families(seats: Sequence[AgentSpec]) -> list[Family]:
    """The readers at the table, in one order whatever the seats': each kind once, then those who sit there again."""
    place = {family.name: i for i, family in enumerate(FAMILIES)}
    found = []
    for seat in seats:
        if is_reader(seat.model):
            i = place[seat.model.partition("/")[2]]
            number = int(seat.name.partition("#")[2] or 1)
            found.append((number, i, cast(Family, replace(cast(Any, FAMILIES[i]), name=seat.name))))
    return [family for _, _, family in sorted(found, key=lambda entry: entry[:2])]


class ModelPanel:
    """Sets the table a :class:`~maci.seating.spec.PanelSpec` describes, for many cases over the same evidence."""

    def __init__(self, spec: PanelSpec, sources: Sources, encoder: Encoder, models: Models, config: Config) -> None:
        self._spec, self._models, self._config = spec, models, config
        self._books = Bookcase(sources, encoder, adapt=config.evidence.adapt)

    def settle(self, case: Case) -> PanelSpec:
        """The panel with judges and names; where no judge was named or found, the reader judges if there is something to compare."""
        judges = self._spec.judges
        if not self._config.crit.enabled:
            judges = ()
        elif judges is None:
            judges = judges_of([JudgeSpec(model="reader")]) if self._books.readable(case) else ()
        agents, judges = names(self._spec.agents, judges)
        return self._spec.model_copy(update={"agents": agents, "judges": judges})

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """The table for one case."""
        spec = self.settle(case)
        self._check_prices(spec)
        families = _families(spec.agents)
        shelf = self._books.whole(case, for_readers=bool(families))
        readers: dict[str, Any] = (
            {reader.name: reader for reader in deal(shelf, families, seed=seed)} if families else {}
        )
        if any(is_reader(seat.model) for seat in spec.judges or ()):
            if not shelf.spans:
                self._books.about(case)  # says what is lacking
            readers |= {judge.name: judge for judge in shelf.judges}
        agents: list[Agent] = [
            readers[s.name] if is_reader(s.model) else self._debater(s, shelf.encoder) for s in spec.agents
        ]
        judges: list[Judge] = [
            readers[s.name]
            if is_reader(s.model)
            else added_judge(s)
            if is_plugin(s.model)
            else open_judge(s, self._models, self._config)
            for s in spec.judges or ()
        ]
        held, only = shelf.library.spans if families else (), len(families) == len(spec.agents)
        comparer, interpreter = self._helpers(spec)
        return Table(
            agents=agents,
            judges=judges,
            evidence=shelf.evidence(case, held),
            encoder=shelf.encoder,
            proposer=shelf,
            comparer=comparer,
            interpreter=interpreter,
            writer=self._writer(spec),
            spec=spec.record(),
            notes=(*([READERS_MATCH] if only else []), *self._notes(spec)),
            unfit=shelf.unfit(case) if only else "",
            unjudged=self._config.crit.enabled and not judges,
        )

    def _helpers(self, spec: PanelSpec) -> tuple[Comparer | None, Interpreter | None]:
        """Who compares names and who reads answers: the first judge's model, or the first debater's where only readers judge.

        Nobody where only readers sit.
        """
        models = [seat.model for seat in (*(spec.judges or ()), *spec.agents) if is_model(seat.model)]
        if not models:
            return None, None
        from maci.agents.judges.interpreter import Comparer, Interpreter

        model = calm(self._models.model(models[0]))
        return Comparer(f"names:{models[0]}", model), Interpreter(f"answers:{models[0]}", model)

    def _writer(self, spec: PanelSpec) -> Writer | None:
        """The first model that argues in its own words, or the first that judges; nobody where none does either."""
        argues = [seat.model for seat in spec.agents if is_model(seat.model) and seat.belief != "pieces"]
        models = [*argues, *(seat.model for seat in spec.judges or () if is_model(seat.model))]
        if not models:
            return None
        from maci.agents.writer import Writer

        return Writer(f"recommendation:{models[0]}", calm(self._models.model(models[0])))

    def _notes(self, spec: PanelSpec) -> tuple[str, ...]:
        """What a result should say of judges whom nobody named."""
        if self._spec.judges is not None or not self._config.crit.enabled or not spec.seated:
            return ()
        return (READERS_JUDGE if spec.judges else NOBODY_JUDGES,)

    def _check_prices(self, spec: PanelSpec) -> None:
        """A ceiling in dollars can only be kept where prices are known."""
        for name in spec.seated if self._config.budget.usd is not None else ():
            if self._models.model(name).price is None:
                raise no_price(name)

    def _debater(self, seat: AgentSpec, encoder: Encoder) -> Agent:
        if is_plugin(seat.model):
            agent: Agent = _added("agents", Agent, seat)
            return agent
        own, model = self._config.agents, self._models.model(seat.model).at(seat.reasoning)
        model = model.hedged(self._config.budget.hedge)
        if seat.belief == "pieces":
            from maci.agents.weigher import Weigher

            return Weigher(seat.name, model, encoder, arguments=own.arguments)
        from maci.agents.debater import Debater
        from maci.agents.prompt import BRIEF, FULL

        brief = seat.model.startswith("local/") if own.replies == "auto" else own.replies == "brief"
        return Debater(
            seat.name,
            model,
            persona=seat.persona,
            belief=seat.belief,
            draws=seat.draws,
            temperature=own.temperature if seat.temperature is None else seat.temperature,
            max_tokens=seat.max_tokens or own.max_tokens,
            arguments=own.arguments,
            words=own.tone,
            reasons=own.think_first,
            length=BRIEF if brief else FULL,
        )


def calm(model: Client, level: Reasoning | None = None) -> Client:
    """A model for work whose form has the steps of its reasoning in it: without a ``level`` it is asked not to think before it."""
    return model.at(level or model.reasoning or "none")


def _added(kind: str, protocol: type, seat: JudgeSpec) -> Any:
    """Who an installed package seats."""
    found = plugins.need(kind, seat.model.partition("/")[2])(seat.name)
    if not isinstance(found, protocol) or getattr(found, "name", None) != seat.name:
        raise ConfigError(
            f"the plugin {seat.model!r} does not seat a `maci.{protocol.__name__}` named {seat.name!r}: "
            "update or uninstall its package"
        )
    return found


def added_judge(seat: JudgeSpec) -> Judge:
    """A judge that an installed package adds."""
    judge: Judge = _added("judges", Judge, seat)
    return judge


def open_judge(seat: JudgeSpec, models: Models, config: Config) -> Judge:
    """A language model as a judge, as it sits in debates."""
    from maci.agents.judges.llm import LlmJudge

    own = config.crit
    return LlmJudge(
        seat.name,
        calm(models.model(seat.model), seat.reasoning).hedged(config.budget.hedge),
        temperature=own.judge_temperature if seat.temperature is None else seat.temperature,
        max_tokens=seat.max_tokens or own.max_tokens,
    )
