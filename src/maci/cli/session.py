"""One debate on the terminal, of ``maci debate`` and ``maci ask``: start or resume it, watch it, print the result."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from maci.acquisition.gain import written
from maci.calibration.development import suggestion
from maci.calibration.schedules import Schedules, report, task_name, terms
from maci.cases.case import Case, is_question, load_case, parse_case, redact
from maci.cli.options import CaseOptions, OutputOptions, RunOptions
from maci.cli.output import echo, interruptible, publish
from maci.cli.view import DebateView
from maci.config import LEARNED, load, parameters
from maci.controller.decisions import Finished
from maci.controller.events import Event, ended, tree
from maci.controller.inputs import Opened
from maci.debating.estimate import CostEstimate, estimate, totals
from maci.debating.loop import debate
from maci.errors import BudgetError, EnvironmentError_, InputError, MaciError
from maci.llm.keys import without_credentials
from maci.llm.usage import dollars
from maci.paths import RUNS, run_dir, slug
from maci.record.transcript import Transcript, read, remove_empty
from maci.render.markup import visible_json
from maci.seating import choose
from maci.seating.project import with_project
from maci.seating.seating import (
    ASKING,
    PanelChoice,
    Seated,
    recorded_corpus,
    recorded_source,
    reseat,
    seat_case,
    unpriced,
)
from maci.seating.spec import PanelSpec, recorded_panel
from maci.seating.table import unnamed
from maci.story.result import result_of
from maci.story.words import as_sentence, plural

_NAMING = (
    'Name them with --outcomes "a,b,c", or as `outcomes:` in a case file; on the web page under Possible outcomes.'
)
_KEPT = "what was answered so far comes from the response cache and costs nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateSession:
    """A debate, and the form in which it is told."""

    case: CaseOptions
    choice: PanelChoice
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
        if self.options.resume:
            raise InputError("--dry-run estimates a new debate: leave out --resume")
        found = asyncio.run(estimate(self._given(), with_project(self.choice)))
        publish(asdict(found), _estimated(found, ask=self.ask), json=self.output.json)

    def _start(self) -> None:
        given, choice = self._given(), with_project(self.choice)
        if self.ask:
            choice = replace(choice, given={**choice.given, **ASKING})
        seated = begin(seat_case(given, choice), self.task)
        case = seated.opened.case
        if not self.output.quiet and (remark := unnamed(seated.opened)):
            echo(f"Note: {remark} {_NAMING}", err=True)
        folder = self.options.out or run_dir(slug(case.id or case.question))
        self._play(seated, Transcript.create(folder / "transcript.jsonl"))

    def _resume(self) -> None:
        if self.options.out is None:
            raise InputError("--resume needs --out, the folder of the broken debate")
        path = self.options.out / "transcript.jsonl"
        if path.is_file() and remove_empty(path):
            if self.case.case is None and self.case.question is None:
                raise InputError(
                    f"{path} broke off before anything was recorded: start again with the command you began with"
                )
            self._start()
            return
        transcript, recording = Transcript.resume(path)
        with ExitStack() as stack:
            stack.callback(transcript.close)
            if recording.torn:
                sys.stderr.write(
                    f"the last line was cut short by a crash ({recording.torn} bytes); going on from the line before\n"
                )
            if not recording.opened.panel:
                raise InputError(
                    f"{transcript.path} was not made by `maci debate`: continue it from Python, debate(…, recorded=…)"
                )
            opened, known = recording.opened, self.case.case is not None or self.case.question is not None
            case = redact(self._given(), opened.case.redacted) if known else None
            check_same(opened, case, self.choice, self.task)
            if recording.finished:
                self._finished(recording.events, transcript.path)
                return
            seated = reseat(opened, replace(self.choice, trust_record=self.options.trust_record))
            stack.pop_all()
        self._play(seated, transcript, recording.events)

    def _print(self, path: Path, view: DebateView) -> None:
        """The result, and an error where it is not what was asked for."""
        result, priced = view.story.result, not unpriced(view.story.opened)
        assert result is not None
        if self.output.json:
            typer.echo(visible_json(result_of(view.story, path, priced=priced).model_dump_json()))
        else:
            said_elsewhere = result.stop_reason == "error" or result.answer is None
            hints = list[str]()
            if result.stop_reason == "budget" and result.answer is not None:
                kept = "what was answered so far is asked again" if self.choice.no_cache else _KEPT
                hints.append(
                    f"To go further: the same command with a larger --budget-tokens or --budget-usd, and another --out; {kept}."
                )
            given = result.answered is not None
            learnable = given and not self.output.quiet and not view.story.calibrated
            if learnable and (hint := self._hint(view.story.opened)):
                hints.append(hint)
            view.result(result, path, why=not said_elsewhere, priced=priced, brief=self.output.quiet, hints=hints)
        _judge(result, view.story.replies[0])

    def _hint(self, opened: Opened) -> str | None:
        """Where a calibration could be learnt from."""
        file = Path(self.case.case or "")
        return suggestion(opened, RUNS, (Path(), file.parent) if file.is_file() else (Path(),))

    def _finished(self, recorded: Sequence[Event], path: Path) -> None:
        """``--resume`` of a debate that is over: say so, and how it ended. Needs no key and asks nobody."""
        result = ended(recorded)
        assert result is not None
        if result.stop_reason == "error":
            when = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
            raise InputError(
                f"there is nothing to resume: the debate in {path.parent} ended on {when:%Y-%m-%d at %H:%M} with an error, and its "
                f"record is closed. What it said then: {_once(result.detail)}. Once that is mended, start again with the command you "
                f"began with and another --out; {_KEPT if not self.choice.no_cache else 'without --no-cache, ' + _KEPT}"
            )
        view = DebateView(plain=self.output.plain, silent=True)
        for event in recorded:
            view.show(event)
        if not self.output.json:
            echo(
                f"This debate is finished: nothing was asked. This is its result; `maci show {path.parent}` prints all of it."
            )
        self._print(path, view)

    def _play(self, seated: Seated, transcript: Transcript, recorded: Sequence[Event] = ()) -> None:
        view = DebateView(
            plain=self.output.plain, silent=self.output.silent, explain=self.explain, rounds=self.options.verbose
        )

        async def play() -> None:
            async with seated.house or nullcontext():
                async for event in debate(seated.opened, seated.table, record=transcript, recorded=recorded):
                    view.show(event)
                    if isinstance(event, Opened):
                        for note in (*seated.notes, *map(as_sentence, event.notes)):
                            view.note(note)
            if view.story.result is None:
                raise EnvironmentError_(f"the debate broke off; continue with: {again}")

        command = "ask" if seated.opened.config.triage.enabled else "debate"
        source, cache = self.choice.source, self.choice.cache
        words = ["maci", command, "--resume", "--out", str(transcript.path.parent)]
        words += [] if source is None else ["--source", without_credentials(source)]  # a record is not trusted with one
        words += [word for each in self.choice.source_headers for word in ("--source-header", each)]
        words += ["--no-cache"] if self.choice.no_cache else [] if cache is None else ["--cache", str(cache)]
        again = shlex.join(words)
        with interruptible(f"nothing that was recorded is lost. Continue with: {again}"):
            with transcript, closing(view):
                for event in recorded:
                    view.show(event)
                view.begin()
                asyncio.run(play())
            keep(seated.opened, transcript.path)
        self._print(transcript.path, view)

    def _given(self) -> Case:
        given, question = self.case, self.case.question
        if question is not None and given.case is not None:
            raise InputError("give a CASE or --question, not both")
        if question is None and given.case is not None and is_question(given.case):
            question = given.case
        if question is not None:
            data = {"question": question, "context": given.context, "outcomes": given.outcomes or "open"}
            return parse_case(data, "--question")
        if given.case is None:
            raise InputError("what shall be debated? Give a CASE (`maci cases` lists built-in ones) or --question")
        return load_case(given.case)


def _judge(result: Finished, kept: int) -> None:
    """Turn a result that is not what was asked for into an error; ``kept``: replies from the response cache."""
    detail = _once(result.detail)
    if kept and result.stop_reason == "error":
        detail += f". {plural(kept, 'reply')} came from the response cache: add --no-cache to ask the models again"
    if result.answer is None:
        if result.stop_reason == "budget":
            raise BudgetError(f"no answer: {detail}; raise --budget-tokens or --budget-usd (--dry-run estimates)")
        raise EnvironmentError_(f"no answer: {detail}")
    if result.stop_reason == "error":
        raise EnvironmentError_(f"the debate ended in an error, the answer is that of its last whole round: {detail}")


def _once(detail: str) -> str:
    """An agent is often called what its model is."""
    return re.sub(r"(\S+): (?=\1\b)", "", detail)


def _estimated(found: CostEstimate, *, ask: bool) -> Iterator[str]:
    """``--dry-run``: what it would cost, as text."""
    yield "Nothing was sent. At the table:"
    for part, seats in (("agent", found.agents), ("judge", found.judges)):
        for seat in seats:
            model = f" ({seat.model})" if seat.model not in ("", seat.name) else ""
            yield f"  {part} {seat.name}{model}, family {seat.family}"
    if not found.judges:
        yield "  no judges (CRIT-free)"
    yield f"Evidence: {plural(found.spans, 'piece')}, about {found.evidence_tokens:,} tokens"
    yield "Openings (at most: what is set aside before the call goes out):"
    for opening in found.openings:
        most = f"; at most {opening.most}" if opening.most.tokens else ""
        over = ", more than the ceiling: it may get no answer" if opening.agent in found.beyond else ""
        yield f"  {opening.agent}: {opening.expected}{most}{over}"
    yield "Expected:"
    for row in found.rounds:
        name = "openings" if row.round == 0 else f"round {row.round}"
        yield f"  {name:<9} {row.calls:>3} {'call ' if row.calls == 1 else 'calls'}  {row.expected}; so far {row.so_far}"
    if found.recommendation.tokens:
        yield f"  recommendation at the end, 1 call  {found.recommendation}"
    yield from _verdict(found)
    if found.unpriced:
        yield (
            f'No price is known for {", ".join(found.unpriced)}: give `price` under [models."NAME"] in maci.toml, or under models '
            "in a panels file"
        )
    yield "Assumed: " + "; ".join(found.assumptions)
    if ask:
        yield "This is a whole debate; `maci ask` spends less wherever it stops at one agent or at the vote."


def _verdict(found: CostEstimate) -> Iterator[str]:
    least, last = totals(found)
    yield f"In all: {least.so_far} if it ends after {plural(least.round, 'round')}, {last.so_far} after {last.round}"
    ceiling = f"{found.ceiling.tokens:,} tokens" + (
        "" if found.ceiling.usd is None else f", {dollars(found.ceiling.usd)}"
    )
    if found.rounds_within is None:
        yield f"The ceiling ({ceiling}) does not reach for one opening: raise --budget-tokens or --budget-usd"
    elif found.rounds_within == 0:
        yield f"The ceiling ({ceiling}) reaches for openings only; the debate then ends with their mixture"
    elif found.rounds_within < last.round:
        rounds = plural(found.rounds_within, "round")
        yield f"The ceiling ({ceiling}) reaches for about {rounds}; the debate then ends with its best answer"
    else:
        yield f"The ceiling ({ceiling}) reaches for all of it"


_OPTIONS = {
    "budget.tokens": "--budget-tokens",
    "budget.usd": "--budget-usd",
    "answer.risk": "--risk",
    "answer.force": "--force",
    "plan.acquire": "--acquire",
    "triage.worth": "--worth",
}
"""Settings that have an option of their own."""


def check_same(opened: Opened, case: Case | None, choice: PanelChoice, task: str | None = None) -> None:
    """Raise where an option that was given with ``--resume`` says something else than the record."""
    other = [*_case(opened, case), *_settings(opened, choice), *_panel(opened, choice), *_others(opened, choice, task)]
    if other:
        raise InputError(
            f"--resume continues what is on record, and this differs from it: {'; '.join(other)}. "
            "Leave that out, or start anew with another --out"
        )


def _case(opened: Opened, case: Case | None) -> Iterator[str]:
    if case is None:
        return
    recorded, given = tree(opened)["case"], tree(replace(opened, case=case))["case"]
    if keys := [key for key in recorded if recorded[key] != given.get(key)]:
        yield f"CASE (its {', '.join(keys)})"


def _settings(opened: Opened, choice: PanelChoice) -> Iterator[str]:
    if choice.profile is not None and choice.profile != opened.config.profile:
        yield f"--profile {choice.profile} (recorded: {opened.config.profile})"
        return
    if not choice.sets and not choice.given and choice.config is None:
        return
    recorded = {row.key: row.value for row in parameters(opened.config)}
    given = load(choice.profile, file=choice.config, environ={}, sets=choice.sets, given=choice.given, base=recorded)
    for row in parameters(given):
        if row.value != recorded[row.key]:
            name = _OPTIONS.get(row.key, f"--set {row.key}")
            yield f"{name} {_said(row.value)} (recorded: {_said(recorded[row.key])})"


def _panel(opened: Opened, choice: PanelChoice) -> Iterator[str]:
    if choice.panel is None and choice.agents is None and choice.judges is None:
        return
    panel = choose(choice.panel, choice.agents, choice.judges)
    if not isinstance(panel, PanelSpec):
        if opened.table is not None or panel != opened.panel:
            yield f"--panel {panel} (recorded: {opened.panel})"
        return
    found = recorded_panel(opened)
    recorded = PanelSpec() if isinstance(found, str) else found
    agents, judges = ([seat.model for seat in seats or ()] for seats in (recorded.agents, recorded.judges))
    if (panel.name or "--agents") != opened.panel:
        yield f"--panel {panel.name}" if panel.name else f"--agents {choice.agents} (recorded: --panel {opened.panel})"
    elif [seat.model for seat in panel.agents] != agents:
        yield f"--agents {choice.agents} (recorded: {','.join(agents)})"
    if panel.judges is not None and [seat.model for seat in panel.judges] != judges:
        yield f"--judges {choice.judges} (recorded: {','.join(judges) or 'none'})"


def _others(opened: Opened, choice: PanelChoice, task: str | None) -> Iterator[str]:
    options = (
        ("--corpus", choice.corpus and recorded_corpus(choice.corpus, opened), opened.corpus),
        ("--seed", choice.seed or None, opened.seed),
        ("--source", choice.source and recorded_source(choice.source, opened), opened.source),
        ("--task", task, None if opened.learned is None else opened.learned.task),
    )
    for option, given, recorded in options:
        if given is not None and given != recorded:
            yield f"{option} {given} (recorded: {_said(recorded)})"
    if choice.stakes is not None and choice.stakes != opened.stakes:
        stakes = "none" if opened.stakes is None else ", ".join(written(opened.stakes).splitlines())
        yield f"--utilities {choice.stakes_from} (recorded: {stakes})"


def _said(value: Any) -> str:
    return "none" if value in (None, "") else f"{value:g}" if isinstance(value, float) else str(value)


def begin(seated: Seated, task: str | None) -> Seated:
    """The table with what the task's debates have taught so far; unchanged where the schedule does not learn."""
    config = seated.opened.config
    schedule = config.dials.schedule
    if schedule not in LEARNED:
        if task is not None:
            raise InputError(f"--task {task!r} names what a schedule learned, and {schedule!r} learns nothing: "
                             "add --set schedule=ucb or linucb, or leave --task out")  # fmt: skip
        return seated
    name = task_name(seated.opened) if task is None else task
    if not name.strip():
        raise InputError("--task is empty: give what was learned a name")
    with Schedules() as known:
        learned = known.snapshot(name, terms(config), contexts=schedule == "linucb")
    rests = f"{learned.debates} debates" if learned.debates else "nothing yet"
    note = f"The schedule {schedule} starts from what {name!r} has learned: {rests} (`maci scheduler show`)."
    return replace(seated, opened=replace(seated.opened, learned=learned), notes=(*seated.notes, note))


def keep(opened: Opened, transcript: Path) -> None:
    """Enter what a finished debate taught. Its result stands even where that cannot be written."""
    if opened.learned is None or opened.config.dials.schedule not in LEARNED:
        return
    try:
        with Schedules() as known:
            known.enter(report(read(transcript).events))
    except MaciError as error:
        echo(f"{error}\nThe result stands. Enter it later: maci scheduler learn {transcript.parent}", err=True)
