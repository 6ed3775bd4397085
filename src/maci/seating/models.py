"""Panels of language models, of readers, or of both, over the same evidence.

:class:`ReaderPanel` is the embedded panel: three readers who hold different evidence, and three reader judges. Offline, deterministic,
no key, no download: what a plain install debates with. :class:`ModelPanel` seats models, and readers among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from maci.agents.agent import Agent, Judge
from maci.agents.reader.families import FAMILIES, Family
from maci.agents.reader.reader import Conduct, Reader
from maci.cases.case import Case
from maci.config import Config
from maci.errors import ConfigError
from maci.evidence.encode import Encoder
from maci.evidence.span import Span
from maci.llm.catalogue import no_price
from maci.seating.shelf import Bookcase, Shelf, Sources
from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec, is_reader, judges_of, names
from maci.seating.table import Table

if TYPE_CHECKING:
    from maci.llm.client import Client


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
    ) -> None:
        self._books = Bookcase(spans if isinstance(spans, Sources) else Sources(corpus=tuple(spans)), encoder)
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
        self._books = Bookcase(sources, encoder)

    def settle(self, case: Case) -> PanelSpec:
        """The panel with judges and names; the reader judges where none were named and there is something for them to read."""
        judges = self._spec.judges
        if not self._config.crit.enabled:
            judges = ()
        elif judges is None:
            if not self._books.knows(case):
                raise ConfigError(
                    "no judges were named, and no evidence names or is labelled with an outcome, which the reader judges need: "
                    "name judges (--judges provider/model,…) of another family than the debaters, or debate without (--judges none)"
                )
            judges = judges_of([JudgeSpec(model="reader")])
        agents, judges = names(self._spec.agents, judges)
        return self._spec.model_copy(update={"agents": agents, "judges": judges})

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """The table for one case."""
        spec = self.settle(case)
        self._check_prices(spec)
        shelf = self._books.whole(case, for_readers=spec.reads)
        families = _families(spec.agents)
        readers: dict[str, Any] = (
            {reader.name: reader for reader in deal(shelf, families, seed=seed)} if families else {}
        )
        if any(is_reader(seat.model) for seat in spec.judges or ()):
            readers |= {judge.name: judge for judge in shelf.judges}
        agents: list[Agent] = [
            readers[s.name] if is_reader(s.model) else self._debater(s, shelf.encoder) for s in spec.agents
        ]
        judges: list[Judge] = [
            readers[s.name] if is_reader(s.model) else open_judge(s, self._models, self._config)
            for s in spec.judges or ()
        ]
        held = shelf.library.spans if families else ()
        return Table(
            agents=agents,
            judges=judges,
            evidence=shelf.evidence(case, held),
            encoder=shelf.encoder,
            proposer=shelf,
            spec=spec.record(),
        )

    def _check_prices(self, spec: PanelSpec) -> None:
        """A ceiling in dollars can only be kept where prices are known."""
        for name in spec.seated if self._config.budget.usd is not None else ():
            if self._models.model(name).price is None:
                raise no_price(name)

    def _debater(self, seat: AgentSpec, encoder: Encoder) -> Agent:
        own, model = self._config.agents, self._models.model(seat.model)
        if seat.belief == "pieces":
            from maci.agents.weigher import Weigher

            return Weigher(seat.name, model, encoder, arguments=own.arguments)
        from maci.agents.debater import Debater

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
        )


def open_judge(seat: JudgeSpec, models: Models, config: Config) -> Judge:
    """A language model as a judge, as it sits in debates."""
    from maci.agents.judges.llm import LlmJudge

    own = config.crit
    return LlmJudge(
        seat.name,
        models.model(seat.model),
        temperature=own.judge_temperature if seat.temperature is None else seat.temperature,
        max_tokens=seat.max_tokens or own.max_tokens,
    )
