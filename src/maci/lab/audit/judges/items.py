"""What is scored: arguments of the user's debates, of a file, or of debates that the embedded readers hold on built-in cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
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
from maci.evidence.source import CASE
from maci.evidence.span import Span
from maci.files.parse import read_lines
from maci.record.replay import replay
from maci.record.transcript import Recording, read
from maci.seating.models import ReaderPanel
from maci.seating.shelf import Bookcase, Sources, evidence_for
from maci.seating.table import opening
from maci.story import Story


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One argument as a judge is given it, and what the judge is not told."""

    id: str
    debate: str
    case: str
    agent: str
    family: str
    request: ScoreRequest

    @property
    def words(self) -> int:
        """Its length."""
        argument = self.request.argument
        return len(" ".join((argument.claim, *argument.reasons, *argument.opposing)).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The arguments of one debate, and the reader judges who know its evidence."""

    items: tuple[Item, ...]
    readers: Callable[[], Sequence[Judge]]


class _Piece(BaseModel):
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
    spans: tuple[_Piece | str, ...] = Field(
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


def of_debate(events: Sequence[Event], name: str, readers: Callable[[], Sequence[Judge]] | None = None) -> Batch:
    """The arguments of a recorded debate that judges would score: all after the openings, each wording once."""
    state = replay(events).state
    opened, asked = state.opened, question(state)
    families = {seat.name: seat.family for seat in opened.agents}
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
            seed=call_seed(opened.seed, said.round, "audit", said.id),
        )
        items.append(
            Item(id=f"{name}/{said.id}", debate=name, case=opened.case.id or opened.case.question, agent=said.agent,
                 family=families[said.agent], request=request)
        )  # fmt: skip
    known = tuple(span for span in state.spans.values() if span.source != CASE)
    return Batch(items=tuple(items), readers=readers or (lambda: reader_judges(known)))


def builtin(
    debates: int,
    encoder: Encoder,
    *,
    seed: int = 0,
    config: Config | None = None,
    told: Callable[[int, int], object] = lambda done, of: None,
) -> list[Batch]:
    """Debates of the embedded readers on built-in cases, one each: offline, and the same for the same seed."""
    cases = {name: case for name, case in builtin_cases().items() if not name.startswith("paper-")}
    names = sorted(cases, key=lambda name: Random(f"{seed}/{name}").random())[:debates]
    own = config or Config()
    panels: dict[str, ReaderPanel] = {}

    async def play(case: Case, name: str) -> Batch:
        if case.outcomes.kind not in panels:
            sources = evidence_for(case, Sources())
            panels[case.outcomes.kind] = ReaderPanel(Sources(background=sources.background), encoder)
        table = panels[case.outcomes.kind].table(case, seed=seed)
        events = [event async for event in debate(opening(case, table, own, seed=seed), table)]
        return of_debate(events, name, lambda: table.judges)

    found = []
    for number, name in enumerate(names, 1):
        found.append(asyncio.run(play(cases[name], name)))
        told(number, len(names))
    return found


def gather(paths: Sequence[Path], encoder: Encoder) -> list[Batch]:
    """Arguments of transcripts (files, or folders with any number of them below) and of files with one argument a line."""
    batches: list[Batch] = []
    names: dict[str, int] = {}
    for path in paths:
        if path.is_dir():
            files = sorted(path.rglob("*.jsonl"))
            if not files:
                raise InputError(f"--arguments {path}: no transcript.jsonl in it or below")
        elif path.is_file():
            files = [path]
        else:
            raise InputError(f"--arguments {path}: there is no such file or folder")
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
    try:
        with file.open("rb") as opened:
            return opened.read(9) == b'{"hash":"'
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error


def _readers(recording: Recording, encoder: Encoder) -> Callable[[], Sequence[Judge]] | None:
    """The reader judges of a recorded debate, with the evidence they had then; ``None`` where it cannot be had any more."""
    case, corpus = recording.opened.case, recording.opened.corpus
    try:
        shelf = Bookcase(evidence_for(case, Sources.of_corpus(Path(corpus) if corpus else None)), encoder).about(case)
    except (EvidenceError, InputError, TranscriptError):
        return None
    return lambda: shelf.judges


def _from_lines(file: Path) -> list[Batch]:
    lines = [(n, _line(data, f"{file}, line {n}")) for n, data in read_lines(file)]
    if not lines:
        raise InputError(f"--arguments {file}: it holds no arguments")
    library = tuple({s.id: s for _, line in lines for s in map(_span, line.spans)}.values())
    readers = reader_judges(library) if library else ()
    debates: dict[str, list[Item]] = {}
    for n, line in lines:
        spans = tuple(map(_span, line.spans))
        argument = Argument(
            claim=line.claim, reasons=line.reasons, opposing=line.opposing, outcome=line.outcome, against=line.against
        )
        identity = line.id or f"{file.stem}/{n}"
        request = ScoreRequest(
            question=Question(line.question, line.context, "closed", ()),
            argument=argument, spans=spans, unverified=line.unverified, seed=call_seed("audit", identity),
        )  # fmt: skip
        name = line.debate or line.case or identity
        case = line.case or f"{line.question}\n{line.context}"
        debates.setdefault(name, []).append(
            Item(id=identity, debate=name, case=case, agent=line.agent, family=line.family, request=request)
        )
    return [Batch(items=tuple(items), readers=lambda: readers) for items in debates.values()]


def _line(data: Any, where: str) -> ArgumentLine:
    try:
        return ArgumentLine.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        keys = f"; a line may have {', '.join(ArgumentLine.model_fields)}" if first["type"] == "extra_forbidden" else ""
        raise InputError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}{keys}") from error


def _span(piece: _Piece | str) -> Span:
    return Span.of(piece) if isinstance(piece, str) else Span.of(piece.text, piece.source, label=piece.label)


def draw(batches: Sequence[Batch], n: int, seed: int = 0) -> list[Batch]:
    """At most n arguments, the same number of every debate and agent as far as there are that many; drawn by seed.

    One argument of each agent of every debate comes before a second of any: winners can then be told everywhere.
    """
    queues: list[tuple[int, str, list[Item]]] = []
    for number, batch in enumerate(batches):
        for agent in dict.fromkeys(item.agent for item in batch.items):
            own = [item for item in batch.items if item.agent == agent]
            Random(f"{seed}/{batch.items[0].debate}/{agent}").shuffle(own)
            queues.append((number, agent, own))
    chosen: set[str] = set()
    depth = 0
    while len(chosen) < n and any(len(own) > depth for _, _, own in queues):
        for _, _, own in queues:
            if len(own) > depth and len(chosen) < n:
                chosen.add(own[depth].id)
        depth += 1
    kept = [Batch(items=tuple(i for i in b.items if i.id in chosen), readers=b.readers) for b in batches]
    return [batch for batch in kept if batch.items]
