"""One debate on the terminal, of ``maci debate`` and ``maci ask``: start or resume it, watch it, print the result."""

from __future__ import annotations

import asyncio
import json as jsonlib
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

import typer

from maci.cases.case import Case, load_case, parse_case
from maci.cli.options import CaseOptions, OutputOptions, RunOptions
from maci.cli.resume import check_same
from maci.cli.seating import ASKING, begin, keep
from maci.cli.view import View
from maci.controller.decisions import Finished
from maci.controller.events import Event
from maci.controller.inputs import Opened
from maci.debating.loop import debate
from maci.errors import BudgetError, EnvironmentError_, InputError
from maci.paths import run_dir, slug
from maci.record.transcript import Transcript
from maci.seating.project import with_project
from maci.seating.seating import Choice, Seated, reseat, seat_case, unpriced
from maci.seating.table import unnamed
from maci.story.result import result_of

_NAMING = (
    'Name them with --outcomes "a,b,c", or as `outcomes:` in a case file; on the web page under Possible outcomes.'
)
_KEPT = "what was answered so far comes from the response cache and costs nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A debate, and the form in which it is told."""

    case: CaseOptions
    choice: Choice
    options: RunOptions
    output: OutputOptions
    ask: bool = False
    """Only as far as it pays: `maci ask`."""
    explain: bool = False
    task: str | None = None
    """Whose state a schedule that learns starts from and adds to."""

    def hold(self) -> None:
        """Start or resume, watch, and print the result; or only estimate what it would cost."""
        if self.options.dry_run:
            self._estimate()
        elif self.options.resume:
            self._resume()
        else:
            self._start()

    def _estimate(self) -> None:
        from maci.cli.estimate import lines
        from maci.debating.estimate import estimate

        if self.options.resume:
            raise InputError("--dry-run estimates a new debate: leave out --resume")
        found = asyncio.run(estimate(self._case(), with_project(self.choice)))
        if self.output.json:
            typer.echo(jsonlib.dumps(asdict(found), ensure_ascii=False))
            return
        for line in lines(found):
            typer.echo(line)
        if self.ask:
            typer.echo("This is a whole debate; `maci ask` spends less wherever it stops at one agent or at the vote.")

    def _start(self) -> None:
        case, choice = self._case(), with_project(self.choice)
        if self.ask:
            choice = replace(choice, given={**choice.given, **ASKING})
        seated = begin(seat_case(case, choice), self.task)
        if not self.output.quiet and (remark := unnamed(seated.opened)):
            typer.echo(f"Note: {remark} {_NAMING}", err=True)
        self._play(seated, Transcript.create(self._folder(case) / "transcript.jsonl"))

    def _resume(self) -> None:
        if self.options.out is None:
            raise InputError("--resume needs --out, the folder of the broken debate")
        transcript, recording = Transcript.resume(self.options.out / "transcript.jsonl")
        with ExitStack() as stack:
            stack.callback(transcript.close)
            if recording.torn:
                sys.stderr.write(
                    f"the last line was cut short by a crash ({recording.torn} bytes); going on from the line before\n"
                )
            if not recording.opened.panel:
                raise InputError(
                    f"{transcript.path} was not made by `maci debate`: go on with it from Python, debate(…, recorded=…)"
                )
            case = self._case() if self.case.case is not None or self.case.question is not None else None
            check_same(recording.opened, case, self.choice, self.task)
            if isinstance(recording.events[-1], Finished):
                self._finished(recording.events, transcript.path)
                return
            seated = reseat(recording.opened, replace(self.choice, trust_record=self.options.trust_record))
            stack.pop_all()
        self._play(seated, transcript, recording.events)

    def _print(self, path: Path, view: View) -> None:
        """The result, and an error where it is not what was asked for."""
        result, priced = view.story.result, not unpriced(view.story.opened)
        assert result is not None
        if self.output.json:
            typer.echo(result_of(view.story, path, priced=priced).model_dump_json())
        else:
            said_elsewhere = result.stop_reason == "error" or result.answer is None
            view.result(result, path, why=not said_elsewhere, priced=priced)
            if result.stop_reason == "budget" and result.answer is not None:
                kept = "what was answered so far is asked again" if self.choice.no_cache else _KEPT
                view.note(
                    f"To go further: the same command with a larger --budget-tokens or --budget-usd, and another --out; {kept}."
                )
        _judge(result)

    def _finished(self, recorded: Sequence[Event], path: Path) -> None:
        """``--resume`` of a debate that is over: say so, and how it ended. Needs no key and asks nobody."""
        result = recorded[-1]
        assert isinstance(result, Finished)
        if result.stop_reason == "error":
            when = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
            raise InputError(
                f"there is nothing to resume: the debate in {path.parent} ended on {when:%Y-%m-%d at %H:%M} with an error, and its "
                f"record is closed. What it said then: {_once(result.detail)}. Once that is mended, start again with the command you "
                f"began with and another --out; {_KEPT if not self.choice.no_cache else 'without --no-cache, ' + _KEPT}"
            )
        view = View(plain=self.output.plain, silent=True)
        for event in recorded:
            view.show(event)
        if not self.output.json:
            typer.echo(
                f"This debate is finished: nothing was asked. This is its result; `maci show {path.parent}` prints all of it."
            )
        self._print(path, view)

    def _play(self, seated: Seated, transcript: Transcript, recorded: Sequence[Event] = ()) -> None:
        view = View(plain=self.output.plain, silent=self.output.silent, explain=self.explain)

        async def play() -> None:
            try:
                async for event in debate(seated.opened, seated.table, record=transcript, recorded=recorded):
                    view.show(event)
                    if isinstance(event, Opened):
                        for note in seated.notes:
                            view.note(note)
            finally:
                if seated.house is not None:
                    await seated.house.aclose()
            if view.story.result is None:
                raise EnvironmentError_(f"the debate broke off; go on with: {again}")

        command = "ask" if seated.opened.config.triage.enabled else "debate"
        again = f"maci {command} --resume --out {shlex.quote(str(transcript.path.parent))}"
        if self.choice.source is not None:  # a record is not trusted with one
            again += f" --source {shlex.quote(self.choice.source)}"
        if self.choice.no_cache or self.choice.cache is not None:
            again += " --no-cache" if self.choice.no_cache else f" --cache {shlex.quote(str(self.choice.cache))}"
        try:
            with transcript, closing(view):
                for event in recorded:
                    view.show(event)
                view.begin()
                asyncio.run(play())
            keep(seated.opened, transcript.path)
        except KeyboardInterrupt:
            typer.echo(f"\ninterrupted; nothing that was recorded is lost. Go on with: {again}", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError as error:
            raise EnvironmentError_(f"nobody reads the output any more; go on with: {again}") from error
        self._print(transcript.path, view)

    def _case(self) -> Case:
        given = self.case
        if given.question is not None:
            if given.case is not None:
                raise InputError("give a CASE or --question, not both")
            data = {"question": given.question, "context": given.context, "outcomes": given.outcomes or "open"}
            return parse_case(data, "--question")
        if given.case is None:
            raise InputError("what shall be debated? Give a CASE (`maci cases` lists built-in ones) or --question")
        return load_case(given.case)

    def _folder(self, case: Case) -> Path:
        if self.options.out is not None:
            return self.options.out
        return run_dir(slug(case.id or case.question))


def _judge(result: Finished) -> None:
    """Turn a result that is not what was asked for into an error."""
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
