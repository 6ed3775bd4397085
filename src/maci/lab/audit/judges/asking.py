"""The judges of an audit, as `--judges` or `--panel` name them, and the calls to them within a ceiling.

A call that does not fit the ceiling is not sent, and a reply in the cache is not paid for again. A judge whose calls are independent
of each other (``stateless``: language models behind one prompt per argument) is asked about many arguments at once. Any other is asked
one after the other, batch by batch: only then does order mean something.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from maci.agents.agent import Judge
from maci.agents.judges.crit import CritScore, JudgeAbstained, ScoreRequest
from maci.config import Config, load
from maci.errors import BudgetError, ConfigError, EvidenceError, is_fatal
from maci.lab import side_by_side
from maci.lab.audit.judges.items import Docket
from maci.llm.budget import Ledger, spend
from maci.llm.catalogue import no_price
from maci.llm.usage import Usage
from maci.seating import choose
from maci.seating.models import Models, added_judge, open_judge
from maci.seating.seating import PanelChoice
from maci.seating.spec import JudgeSpec, PanelSpec, is_model, is_plugin, is_reader, judges_of, names


@dataclass(frozen=True, slots=True)
class JudgeBench:
    """The judges, and the settings they judge under."""

    spec: PanelSpec
    """Without agents."""
    config: Config

    @property
    def judges(self) -> tuple[JudgeSpec, ...]:
        """Each with a name of its own."""
        return self.spec.judges or ()

    @property
    def paid(self) -> bool:
        """Whether they may cost something: anybody but a reader is among them."""
        return self.spec.paid

    @property
    def asks_models(self) -> bool:
        """Whether a language model is among them."""
        return bool(self.spec.seated)


def settle(choice: PanelChoice) -> JudgeBench:
    """The judges of a choice; the reader judges where none are named."""
    panel = choose(choice.panel, None, choice.judges)
    if isinstance(panel, str) and panel != "readers":
        raise ConfigError(f"--panel {panel}: its judges say what the script says; name judges with --judges")
    spec = PanelSpec() if isinstance(panel, str) else panel
    judges = judges_of([JudgeSpec(model="reader")]) if spec.judges is None else spec.judges
    if not judges:
        raise ConfigError("--judges none: there is nobody to audit; name models, or `reader`")
    _, named = names((), judges)
    config = load(choice.profile, file=choice.config, sets=choice.sets, given=choice.given, base=spec.settings)
    return JudgeBench(PanelSpec(name=spec.name, judges=named, models=spec.models), config)


def bench_of(bench: JudgeBench, models: Models | None) -> Callable[[Docket], Sequence[Judge]]:
    """Docket → its judges: models are the same for all, readers those who know the batch's evidence."""
    opened = {seat.name: added_judge(seat) for seat in bench.judges if is_plugin(seat.model)}
    if models is not None:
        opened |= {s.name: open_judge(s, models, bench.config) for s in bench.judges if is_model(s.model)}
    if bench.config.budget.usd is not None and models is not None:
        for name in bench.spec.seated:
            if models.model(name).price is None:
                raise no_price(name)

    def seats(batch: Docket) -> Sequence[Judge]:
        readers = {}
        if any(is_reader(seat.model) for seat in bench.judges):
            readers = {judge.name: judge for judge in batch.readers()}
            if not readers:
                raise EvidenceError(
                    "the reader judges score what is cited, and these arguments cite nothing: add `spans` to the file, or name "
                    "models with --judges"
                )
        return [readers[seat.name] if is_reader(seat.model) else opened[seat.name] for seat in bench.judges]

    return seats


AT_ONCE = 32
"""Calls under way at once, of one judge; the models' own limits come on top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One question to one judge."""

    judge: int
    item: int
    probe: str
    """``plain``, a name of :data:`~maci.lab.audit.judges.items.PROBES`, or ``again`` with a sample."""
    sample: int = 0
    seat: Judge
    request: ScoreRequest


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A score, or why there is none."""

    score: CritScore | None
    why: str = ""


@dataclass(slots=True)
class JudgeReplies:
    """What came of it."""

    answers: dict[int, JudgeReply] = field(default_factory=dict)
    """By the number of the ask; one that the budget did not allow has none."""
    usage: Usage = field(default_factory=Usage)
    short: str = ""
    """What did not fit the ceiling, once something did not."""

    def scores(self, asks: Sequence[JudgeCall]) -> Iterator[tuple[JudgeCall, float]]:
        """The questions that were answered with a score, and its composite."""
        for number, answer in self.answers.items():
            if answer.score is not None:
                yield asks[number], answer.score.composite

    def ended(self, planned: int, what: str) -> tuple[str, ...]:
        """The note of a report where the ceiling ended the work."""
        note = f"The ceiling came first: {len(self.answers):,} of {planned:,} {what} ({self.short})."
        return (note,) if self.short else ()


async def ask_all(
    asks: Sequence[JudgeCall], ledger: Ledger, told: Callable[[JudgeReplies], object] = lambda asked: None
) -> JudgeReplies:
    """Put every question, in order of importance; raises what no further call can mend, such as a wrong key."""
    asked = JudgeReplies()
    room = asyncio.Condition()
    out = 0

    async def one(number: int, ask: JudgeCall) -> None:
        nonlocal out
        call = ask.seat.prepare(ask.request)
        async with room:
            await room.wait_for(lambda: asked.short or not out or ledger.lacks(call.bound) is None)
            if not asked.short and ledger.lacks(call.bound) is not None:
                asked.short = f"{ask.seat.name} {ledger.refusal(call.bound)}"
            if asked.short:
                room.notify_all()
                return
            purse = spend(ledger, call.bound)
            out += 1
        try:
            with purse:
                asked.answers[number] = JudgeReply(await call.make(purse))
        except BudgetError as error:
            asked.short = str(error)
        except JudgeAbstained as error:
            asked.answers[number] = JudgeReply(None, str(error) or "it abstained")
        except Exception as error:
            if is_fatal(error):
                raise
            asked.answers[number] = JudgeReply(None, f"{type(error).__name__}: {error}")
        finally:
            asked.usage = asked.usage + purse.total()
            async with room:
                out -= 1
                room.notify_all()
        told(asked)

    async def lane(waiting: Iterator[tuple[int, JudgeCall]]) -> None:
        for number, ask in waiting:
            if asked.short:
                return
            await one(number, ask)

    lanes = []
    for judge in dict.fromkeys(ask.judge for ask in asks):
        own = [(number, ask) for number, ask in enumerate(asks) if ask.judge == judge]
        lanes += [iter(own)] * (AT_ONCE if own[0][1].seat.stateless else 1)
    await side_by_side(lane, lanes, len(lanes))
    return asked
