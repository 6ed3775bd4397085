"""``maci debate``."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import typer

from maci.case.case import Case, load_case, parse_case
from maci.cli.view import View
from maci.config import load
from maci.controller.decisions import Finished
from maci.controller.inputs import Opened
from maci.debate import debate
from maci.errors import BudgetError, EnvironmentError_, InputError
from maci.evidence.encode import load_encoder
from maci.panel import build_table
from maci.record.events import Event
from maci.record.result import Result
from maci.record.transcript import Transcript
from maci.run import opening

__all__ = ["Options", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command's options as given."""

    case: str | None
    question: str | None
    outcomes: str | None
    context: str
    panel: str
    corpus: Path | None
    profile: str | None
    config: Path | None
    sets: Sequence[str]
    out: Path | None
    resume: bool
    seed: int
    json: bool
    plain: bool
    quiet: bool


def run(options: Options) -> None:
    """Start or resume, watch, and print the result."""
    if options.resume:
        transcript, recorded, opened = _reopen(options)
        encoder = load_encoder(opened.config.evidence.encoder)
        corpus = Path(opened.corpus) if opened.corpus else None
        table = build_table(opened.panel, opened.case, encoder, seed=opened.seed, corpus=corpus)
    else:
        case = _case(options)
        config = load(options.profile, file=options.config, sets=options.sets)
        encoder = load_encoder(config.evidence.encoder)
        table = build_table(options.panel, case, encoder, seed=options.seed, corpus=options.corpus)
        where = "" if options.corpus is None else str(options.corpus.resolve())
        opened = opening(case, table, config, seed=options.seed, panel=options.panel, corpus=where)
        transcript, recorded = Transcript.create(_folder(options, case) / "transcript.jsonl"), ()
    view = View(plain=options.plain, silent=options.json or options.quiet)

    async def play() -> Finished:
        last: Event | None = recorded[-1] if recorded else None
        async for last in debate(opened, table, record=transcript, recorded=recorded):
            view.show(last)
        if not isinstance(last, Finished):
            raise EnvironmentError_("the debate broke off; continue it with --resume")
        return last

    try:
        with transcript:
            for event in recorded:
                view.show(event)
            result = asyncio.run(play())
    except KeyboardInterrupt:
        again = f"maci debate --resume --out {transcript.path.parent}"
        typer.echo(f"\ninterrupted; nothing that was recorded is lost. Go on with: {again}", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError as error:
        again = f"maci debate --resume --out {transcript.path.parent}"
        raise EnvironmentError_(f"nobody reads the output any more; go on with: {again}") from error
    if options.json:
        typer.echo(Result.of(result, transcript.path).model_dump_json())
    else:
        view.result(result, transcript.path)
    if result.answer is None:
        if result.stop_reason == "budget":
            raise BudgetError(f"no answer: {result.detail}; raise --budget-tokens")
        raise EnvironmentError_(f"no answer: {result.detail}")
    if result.stop_reason == "error":
        raise EnvironmentError_(
            f"the debate ended in an error, the answer is that of its last whole round: {result.detail}"
        )


def _case(options: Options) -> Case:
    if options.question is not None:
        if options.case is not None:
            raise InputError("give a CASE or --question, not both")
        data = {"question": options.question, "context": options.context, "outcomes": options.outcomes or "open"}
        return parse_case(data, "--question")
    if options.case is None:
        raise InputError("what shall be debated? Give a CASE (`maci cases` lists built-in ones) or --question")
    return load_case(options.case)


def _folder(options: Options, case: Case) -> Path:
    if options.out is not None:
        return options.out
    name = re.sub(r"[^a-z0-9]+", "-", (case.id or case.question).casefold())[:40].strip("-") or "case"
    return Path("maci-runs") / f"{datetime.now().astimezone():%Y%m%d-%H%M%S-%f}-{name}"


def _reopen(options: Options) -> tuple[Transcript, Sequence[Event], Opened]:
    if options.out is None:
        raise InputError("--resume needs --out, the folder of the broken debate")
    if options.case or options.question or options.sets or options.profile or options.config:
        raise InputError(
            "--resume goes on with the recorded case and settings: leave out CASE, --set, --profile and --config"
        )
    transcript, recording = Transcript.resume(options.out / "transcript.jsonl")
    if recording.torn:
        sys.stderr.write(
            f"the last line was cut short by a crash ({recording.torn} bytes); going on from the line before\n"
        )
    if not recording.opened.panel:
        transcript.close()
        raise InputError(
            f"{transcript.path} was not made by `maci debate`: go on with it from Python, debate(…, recorded=…)"
        )
    return transcript, recording.events, recording.opened
