"""What is scored, and the probes: ways to ask a judge again about the same argument.

The arguments are those of the user's debates, of a file, or of debates that the embedded readers hold on built-in cases. A probe
changes one thing that should not matter, and nothing else.

| probe | what is changed |
|---|---|
| ``turned`` | the order of the cited pieces and of the reasons |
| ``padded`` | every reason is made longer by words that say nothing new |
| ``signed`` | the argument carries its author's name and model family, which judges are never shown in a debate |
| ``batch`` | nothing but the turn: the debate's arguments are asked backwards |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from maci.agents.agent import Judge
from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.agents.judges.crit import ScoreRequest
from maci.agents.judges.reader import reader_judges
from maci.cases.case import Case, builtin_cases
from maci.config import Config
from maci.controller.acquiring import question
from maci.controller.events import Event
from maci.controller.requests import call_seed
from maci.controller.state import check_citations
from maci.debating.loop import debate
from maci.errors import EvidenceError, InputError, TranscriptError
from maci.evidence.encode import Encoder
from maci.evidence.span import CASE, Span
from maci.files.parse import opened, read_lines
from maci.record.replay import replay
from maci.record.transcript import Recording, read
from maci.seating.models import ReaderPanel
from maci.seating.shelf import Bookcase, Sources, evidence_for
from maci.seating.table import opening
from maci.story import Story


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One argument as a judge is given it, and what the judge is not told."""

    id: str
    debate: str
    case: str
    """Arguments about one case hang together."""
    agent: str
    family: str
    """The model family of the agent; empty where nobody knows."""
    request: ScoreRequest

    @property
    def words(self) -> int:
        """Its length."""
        argument = self.request.argument
        return len(" ".join((argument.claim, *argument.reasons, *argument.opposing)).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Docket:
    """The arguments of one debate, and the reader judges who know its evidence."""

    items: tuple[Subject, ...]
    readers: Callable[[], Sequence[Judge]]


class _Cited(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(min_length=1)
    label: str | None = None
    source: str = ""


class ArgumentLine(BaseModel):
    """A line of an arguments file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1)
    context: str = ""
    claim: str = Field(min_length=1)
    reasons: tuple[str, ...] = ()
    opposing: tuple[str, ...] = ()
    outcome: str | None = Field(default=None, description="the outcome it speaks for")
    against: bool = Field(default=False, description="it speaks against that outcome")
    spans: tuple[_Cited | str, ...] = Field(
        default=(), description="the evidence it cites: texts, or text with a label"
    )
    unverified: int = Field(default=0, ge=0, description="citations that did not stand")
    id: str = ""
    debate: str = Field(default="", description="arguments of one debate have the same; needed for judge swaps")
    case: str = Field(
        default="", description="arguments about one case have the same; those of one question and context if left out"
    )
    agent: str = Field(default="", description="who made it; judges are not told")
    family: str = Field(default="", description="the model family of who made it; judges are not told")


def of_debate(events: Sequence[Event], name: str, readers: Callable[[], Sequence[Judge]] | None = None) -> Docket:
    """The arguments of a recorded debate that judges would score: all after the openings, each wording once."""
    state = replay(events).state
    first, asked = state.opened, question(state)
    families = {seat.name: seat.family for seat in first.agents}
    met: set[tuple[str, Argument]] = set()
    items = []
    for said in Story.of(events).said.values():
        if said.round == 0 or (said.agent, said.argument) in met:
            continue
        met.add((said.agent, said.argument))
        checked = check_citations(said.argument, state)
        request = ScoreRequest(
            question=asked,
            argument=said.argument,
            spans=tuple(state.spans[i] for i in dict.fromkeys(c.span for c in checked if c.verified)),
            unverified=sum(not c.verified for c in checked),
            seed=call_seed(first.seed, said.round, "audit", said.id),
        )
        items.append(
            Subject(id=f"{name}/{said.id}", debate=name, case=first.case.id or first.case.question, agent=said.agent,
                 family=families[said.agent], request=request)
        )  # fmt: skip
    known = tuple(span for span in state.spans.values() if span.source != CASE)
    return Docket(items=tuple(items), readers=readers or (lambda: reader_judges(known)))


def builtin(
    debates: int,
    encoder: Encoder,
    *,
    seed: int = 0,
    told: Callable[[int, int], object] = lambda done, of: None,
) -> list[Docket]:
    """Debates of the embedded readers on built-in cases, one each: offline, and the same for the same seed."""
    cases = {name: case for name, case in builtin_cases().items() if not name.startswith("paper-")}
    names = sorted(cases, key=lambda name: Random(f"{seed}/{name}").random())[:debates]
    panels: dict[str, ReaderPanel] = {}

    async def play(case: Case, name: str) -> Docket:
        if case.outcomes.kind not in panels:
            sources = evidence_for(case, Sources())
            panels[case.outcomes.kind] = ReaderPanel(Sources(background=sources.background), encoder)
        table = panels[case.outcomes.kind].table(case, seed=seed)
        events = [event async for event in debate(opening(case, table, Config(), seed=seed), table)]
        return of_debate(events, name, lambda: table.judges)

    found = []
    for number, name in enumerate(names, 1):
        found.append(asyncio.run(play(cases[name], name)))
        told(number, len(names))
    return found


def gather(paths: Sequence[Path], encoder: Encoder) -> list[Docket]:
    """Arguments of transcripts (files, or folders with any number of them below) and of files with one argument a line."""
    batches: list[Docket] = []
    names: dict[str, int] = {}
    for path in paths:
        if not path.exists():
            raise InputError(f"--arguments {path}: there is no such file or folder")
        files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise InputError(f"--arguments {path}: no transcript.jsonl in it or below")
        for file in files:
            if _is_transcript(file):
                short = file.parent.name if file.name == "transcript.jsonl" else file.stem
                names[short] = names.get(short, 0) + 1
                name = short if names[short] == 1 else f"{short}#{names[short]}"
                recording = read(file)
                batches.append(of_debate(recording.events, name, _readers(recording, encoder)))
            elif not path.is_dir():
                batches += _from_lines(file)
    if not any(batch.items for batch in batches):
        raise InputError(
            f"--arguments {', '.join(map(str, paths))}: no arguments after the openings; give transcripts of debates that had a round"
        )
    return batches


def _is_transcript(file: Path) -> bool:
    with opened(file) as body:
        return body.read(9) == b'{"hash":"'


def _readers(recording: Recording, encoder: Encoder) -> Callable[[], Sequence[Judge]] | None:
    """The reader judges of a recorded debate, with the evidence they had then; ``None`` where it cannot be had any more."""
    case, corpus = recording.opened.case, recording.opened.corpus
    try:
        shelf = Bookcase(evidence_for(case, Sources.of_corpus(Path(corpus) if corpus else None)), encoder).about(case)
    except (EvidenceError, InputError, TranscriptError):
        return None
    return lambda: shelf.judges


def _from_lines(file: Path) -> list[Docket]:
    lines = [(n, _line(data, f"{file}, line {n}")) for n, data in read_lines(file)]
    if not lines:
        raise InputError(f"--arguments {file}: it holds no arguments")
    library: dict[str, Span] = {}
    debates: dict[str, list[Subject]] = {}
    for n, line in lines:
        spans = tuple(
            Span.of(piece) if isinstance(piece, str) else Span.of(piece.text, piece.source, label=piece.label)
            for piece in line.spans
        )
        library |= {span.id: span for span in spans}
        identity = line.id or f"{file.stem}/{n}"
        request = ScoreRequest(
            question=Question(line.question, line.context, "closed", ()),
            argument=Argument(
                claim=line.claim, reasons=line.reasons, opposing=line.opposing, outcome=line.outcome, against=line.against
            ),
            spans=spans, unverified=line.unverified, seed=call_seed("audit", identity),
        )  # fmt: skip
        name = line.debate or line.case or identity
        case = line.case or f"{line.question}\n{line.context}"
        debates.setdefault(name, []).append(
            Subject(id=identity, debate=name, case=case, agent=line.agent, family=line.family, request=request)
        )
    readers = reader_judges(tuple(library.values())) if library else ()
    return [Docket(items=tuple(items), readers=lambda: readers) for items in debates.values()]


def _line(data: Any, where: str) -> ArgumentLine:
    try:
        return ArgumentLine.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        keys = f"; a line may have {', '.join(ArgumentLine.model_fields)}" if first["type"] == "extra_forbidden" else ""
        raise InputError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}{keys}") from error


def draw(batches: Sequence[Docket], n: int, seed: int = 0) -> list[Docket]:
    """At most n arguments, the same number of every debate and agent as far as there are that many; drawn by seed.

    One argument of each agent of every debate comes before a second of any: winners can then be told everywhere.
    """
    queues: list[list[Subject]] = []
    for batch in batches:
        for agent in dict.fromkeys(item.agent for item in batch.items):
            own = [item for item in batch.items if item.agent == agent]
            Random(f"{seed}/{batch.items[0].debate}/{agent}").shuffle(own)
            queues.append(own)
    in_turn = dict.fromkeys(item.id for layer in zip_longest(*queues) for item in layer if item is not None)
    chosen = set(list(in_turn)[:n])
    kept = [Docket(items=tuple(i for i in b.items if i.id in chosen), readers=b.readers) for b in batches]
    return [batch for batch in kept if batch.items]


_PADDING = (
    "This is a point that deserves to be considered with care, and it has been looked at from more than one side before being "
    "put forward here.",
    "It should be kept in mind when everything that has been said is taken together, as it plays its part in the whole.",
)


def turned(item: Subject) -> ScoreRequest | None:
    """Pieces and reasons in the reverse order; ``None`` where there is only one of each."""
    argument, spans = item.request.argument, item.request.spans
    if max(len(spans), len(argument.reasons), len(argument.opposing)) < 2:
        return None
    other = replace(
        argument,
        reasons=argument.reasons[::-1],
        opposing=argument.opposing[::-1],
        citations=argument.citations[::-1],
    )
    return replace(item.request, argument=other, spans=spans[::-1])


def padded(item: Subject) -> ScoreRequest:
    """The same argument with about 45 words more, none of which says anything about the case."""
    argument = item.request.argument
    if argument.reasons:
        first, *rest = argument.reasons
        longer = replace(argument, reasons=(" ".join((first, *_PADDING)), *rest))
    else:
        longer = replace(argument, claim=" ".join((argument.claim, *_PADDING)))
    return replace(item.request, argument=longer)


def signed(item: Subject) -> ScoreRequest | None:
    """The argument under its author's name; ``None`` where nobody knows who made it."""
    if not item.agent:
        return None
    who = f"{item.agent}, a model of the family {item.family}" if item.family else item.agent
    argument: Argument = replace(item.request.argument, claim=f"[By {who}.] {item.request.argument.claim}")
    return replace(item.request, argument=argument)


def again(item: Subject, sample: int) -> ScoreRequest:
    """The same once more: another draw of a judge that draws."""
    return replace(item.request, sample=sample, seed=call_seed(item.request.seed, "again", sample))


PROBES: Mapping[str, Callable[[Subject], ScoreRequest | None]] = MappingProxyType(
    {"turned": turned, "padded": padded, "signed": signed, "batch": lambda item: item.request}
)
"""Name → the request, or ``None`` where the probe does not apply."""
