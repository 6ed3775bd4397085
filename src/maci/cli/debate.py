"""``maci debate``."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import typer

from maci.cases.case import Case, load_case, parse_case
from maci.cli.learned import begin, keep
from maci.cli.resuming import check_same
from maci.cli.seating import ASKING, reseat, seat_case
from maci.cli.view import View
from maci.controller.decisions import Finished
from maci.controller.events import Event
from maci.controller.inputs import Opened
from maci.debating.loop import debate
from maci.errors import BudgetError, EnvironmentError_, InputError
from maci.paths import run_dir, slug
from maci.record.transcript import Transcript
from maci.seating.seating import Choice, Seated, unpriced
from maci.seating.unnamed import unnamed
from maci.story.result import result_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command's options as given."""

    case: str | None
    question: str | None
    outcomes: str | None
    context: str
    choice: Choice
    out: Path | None
    resume: bool
    dry_run: bool
    json: bool
    plain: bool
    quiet: bool
    ask: bool = False
    """Only as far as it pays: `maci ask`."""
    explain: bool = False
    task: str | None = None
    """Whose state a schedule that learns starts from and adds to."""


def run(options: Options) -> None:
    """Start or resume, watch, and print the result; or only estimate what it would cost."""
    if options.dry_run:
        from maci.cli.estimate import run as estimate

        if options.resume:
            raise InputError("--dry-run estimates a new debate: leave out --resume")
        estimate(_case(options), options.choice, json=options.json)
        if options.ask and not options.json:
            typer.echo("This is a whole debate; `maci ask` spends less wherever it stops at one agent or at the vote.")
        return
    recorded: Sequence[Event] = ()
    if options.resume:
        transcript, recorded, opened = _reopen(options)
        if isinstance(recorded[-1], Finished):
            transcript.close()
            _finished(recorded, transcript.path, options)
            return
        try:
            seated = reseat(opened, options.choice)
        except BaseException:
            transcript.close()
            raise
    else:
        case = _case(options)
        choice = options.choice
        if options.ask:
            choice = replace(choice, sets=(*choice.sets, *ASKING))
        seated = begin(seat_case(case, choice), options.task)
        if not options.quiet and (remark := unnamed(seated.opened)):
            typer.echo(f"Note: {remark} {_NAMING}", err=True)
        transcript = Transcript.create(_folder(options, case) / "transcript.jsonl")
    view = View(plain=options.plain, silent=options.json or options.quiet, explain=options.explain)
    events = _play(seated, transcript, recorded, view, options.choice)
    _print(events, transcript.path, seated.opened, view, options)
    _judge(events[-1])


def _print(events: Sequence[Event], path: Path, opened: Opened, view: View, options: Options) -> None:
    result, priced = events[-1], not unpriced(opened)
    assert isinstance(result, Finished)
    if options.json:
        typer.echo(result_of(view.story, path, priced=priced).model_dump_json())
        return
    said_elsewhere = result.stop_reason == "error" or result.answer is None
    view.result(result, path, why=not said_elsewhere, priced=priced)
    if result.stop_reason == "budget" and result.answer is not None:
        kept = "what was answered so far is asked again" if options.choice.no_cache else _KEPT
        view.note(
            f"To go further: the same command with a larger --budget-tokens or --budget-usd, and another --out; {kept}."
        )


_NAMING = (
    'Name them with --outcomes "a,b,c", or as `outcomes:` in a case file; on the web page under Possible outcomes.'
)
_KEPT = "what was answered so far comes from the response cache and costs nothing"


def _finished(recorded: Sequence[Event], path: Path, options: Options) -> None:
    """``--resume`` of a debate that is over: say so, and how it ended. Needs no key and asks nobody."""
    result, opened = recorded[-1], recorded[0]
    assert isinstance(result, Finished) and isinstance(opened, Opened)
    if result.stop_reason == "error":
        when = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        raise InputError(
            f"there is nothing to resume: the debate in {path.parent} ended on {when:%Y-%m-%d at %H:%M} with an error, and its "
            f"record is closed. What it said then: {_once(result.detail)}. Once that is mended, start again with the command you "
            f"began with and another --out; {_KEPT if not options.choice.no_cache else 'without --no-cache, ' + _KEPT}"
        )
    view = View(plain=options.plain, silent=True)
    for event in recorded:
        view.show(event)
    if not options.json:
        typer.echo(
            f"This debate is finished: nothing was asked. This is its result; `maci show {path.parent}` prints all of it."
        )
    _print(recorded, path, opened, view, options)
    _judge(result)


def _play(seated: Seated, transcript: Transcript, recorded: Sequence[Event], view: View, choice: Choice) -> list[Event]:
    async def play() -> list[Event]:
        events = list(recorded)
        try:
            async for event in debate(seated.opened, seated.table, record=transcript, recorded=recorded):
                events.append(event)
                view.show(event)
                if isinstance(event, Opened):
                    for note in seated.notes:
                        view.note(note)
        finally:
            if seated.house is not None:
                await seated.house.aclose()
        if not isinstance(events[-1], Finished):
            raise EnvironmentError_(f"the debate broke off; go on with: {again}")
        return events

    command = "ask" if seated.opened.config.triage.enabled else "debate"
    again = f"maci {command} --resume --out {shlex.quote(str(transcript.path.parent))}"
    if choice.no_cache or choice.cache is not None:
        again += " --no-cache" if choice.no_cache else f" --cache {shlex.quote(str(choice.cache))}"
    try:
        with transcript, closing(view):
            for event in recorded:
                view.show(event)
            view.begin()
            result = asyncio.run(play())
        keep(seated.opened, transcript.path)
        return result
    except KeyboardInterrupt:
        typer.echo(f"\ninterrupted; nothing that was recorded is lost. Go on with: {again}", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError as error:
        raise EnvironmentError_(f"nobody reads the output any more; go on with: {again}") from error


def _judge(result: Event) -> None:
    """Turn a result that is not what was asked for into an error."""
    assert isinstance(result, Finished)
    detail = _once(result.detail)
    if result.answer is None:
        if result.stop_reason == "budget":
            raise BudgetError(f"no answer: {detail}; raise --budget-tokens or --budget-usd (--dry-run estimates)")
        raise EnvironmentError_(f"no answer: {detail}")
    if result.stop_reason == "error":
        raise EnvironmentError_(f"the debate ended in an error, the answer is that of its last whole round: {detail}")


def _once(detail: str) -> str:
    """An agent is often called what its model is."""
    return re.sub(r"(\S+): (?=\1\b)", "", detail)


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
    return run_dir(slug(case.id or case.question))


def _reopen(options: Options) -> tuple[Transcript, Sequence[Event], Opened]:
    if options.out is None:
        raise InputError("--resume needs --out, the folder of the broken debate")
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
    try:
        case = _case(options) if options.case is not None or options.question is not None else None
        check_same(recording.opened, case, options.choice, options.task)
    except BaseException:
        transcript.close()
        raise
    return transcript, recording.events, recording.opened
