"""``maci audit contentiousness``."""

from __future__ import annotations

import hashlib
import json as jsonlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from maci.calibration.stats.estimate import as_json
from maci.cli.audit import DialOptions, DialReport
from maci.cli.options import OutputOptions
from maci.cli.output import columns, interruptible, publish
from maci.cli.show import locate
from maci.cli.terminal import ProgressBars
from maci.controller.decisions import Finished
from maci.controller.events import Event
from maci.controller.inputs import Opened
from maci.errors import CheckFailed, InputError
from maci.lab.audit import write_blind
from maci.lab.audit.contentiousness.debates import DialPlan, Sitting, Spoken, held, play, recorded, topics_of
from maci.lab.audit.contentiousness.patterns import patterns, table
from maci.lab.audit.contentiousness.people import FIELDS, Summaries, blind, guesses, read_guesses, summarise
from maci.lab.audit.contentiousness.report import build_report, record
from maci.lab.audit.contentiousness.verdict import findings, judge
from maci.paths import save, writing
from maci.record.transcript import read
from maci.render.html import to_html
from maci.render.text import on_screen, to_markdown
from maci.seating.seating import PanelChoice, checked_house, seat_case
from maci.seating.spec import JudgeSpec, PanelSpec, is_model, is_reader, judges_of, names
from maci.seating.table import Table
from maci.story import Story
from maci.story.words import plural

_AT_ONCE = 8
"""Rows of debates side by side where models answer over a network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialAudit:
    """What was asked for."""

    choice: PanelChoice
    dial: DialOptions
    report: DialReport
    output: OutputOptions
    tokens: int | None


def run(options: DialAudit) -> None:
    """Hold the debates that are not there yet, then say what they show; or read one transcript."""
    if options.report.transcript is not None:
        _show_patterns(options.report.transcript, json=options.output.json)
        return
    panel, _ = options.choice.settled()
    if isinstance(panel, str) and panel != "readers":
        raise InputError(f"--panel {panel} plays a script, which no dial can move: name readers or models")
    plan = _plan(options, panel)
    _check(options, panel)
    folder = options.report.out / "debates"
    _enter(options, plan, panel)
    _hold(options, plan, panel, folder)
    _report(options, plan, panel, folder)


def _check(options: DialAudit, panel: PanelSpec | str) -> None:
    """What is asked for besides can be done, before any debate is held."""
    asked = {
        "--export": options.report.export,
        "--import": options.report.import_,
        "--self-summaries": options.report.self_summaries,
    }
    given = [name for name, value in asked.items() if value is not None]
    if given and not speaking(panel):
        raise InputError(
            f"{given[0]}: no language model debates here: readers' sentences were written for them, so there is nothing to guess or "
            "describe; name models with --agents or --panel"
        )
    if options.report.import_ is not None and not options.report.import_.is_file():
        raise InputError(f"--import {options.report.import_}: there is no such file")
    if options.report.self_summaries is not None:
        judges_of([JudgeSpec(model=options.report.self_summaries)], "--self-summaries")


def _report(options: DialAudit, plan: DialPlan, panel: PanelSpec | str, folder: Path) -> None:
    """Measure what was held, write it down and say it."""
    debates = [held(sitting, Story.of(events)) for sitting, events in recorded(folder, plan.sittings)]
    found = findings(debates, plan.levels, np.random.default_rng(options.choice.seed))
    verdict = judge(found)
    name = panel if isinstance(panel, str) else panel.name or ", ".join(seat.model for seat in panel.agents)
    spoken = [turn for debate in debates if debate.whole for turn in debate.spoken if turn.sitting.words == "stance"]
    extra = _others(options, plan, panel, spoken)
    made = build_report(found, verdict, name)
    save(options.report.out / "report.md", to_markdown(made))
    page = save(options.report.out / "report.html", to_html(made))
    shown = on_screen(build_report(found, verdict, name, full=not options.output.quiet), plain=options.output.plain)
    lines = [shown.rstrip("\n"), *_lines(extra), f"\nwritten: {page}, report.md; debates in {folder}"]
    publish({**record(found, verdict), "panel": name, "page": str(page), **extra}, lines, json=options.output.json)
    if options.report.strict and not verdict.good:
        raise CheckFailed(verdict.says)


def _others(options: DialAudit, plan: DialPlan, panel: PanelSpec | str, spoken: Sequence[Spoken]) -> dict[str, Any]:
    """What was asked for besides: a blind file for people, their guesses, agents' own words."""
    extra: dict[str, Any] = {}
    if (options.report.export or options.report.import_ or options.report.self_summaries) and not spoken:
        raise InputError(
            "no debate went through all its rounds with a model's turn in it: there is nothing to guess or describe"
        )
    if options.report.export is not None:
        write_blind(blind(spoken, options.choice.seed), FIELDS, options.report.export)
        extra["exported"] = {
            "path": str(options.report.export),
            "items": len(spoken),
            "guess": f"1 to {len(plan.levels)}",
        }
    if options.report.import_ is not None:
        given = read_guesses(options.report.import_, len(plan.levels))
        extra["people"] = as_json(guesses(spoken, plan.levels, given, np.random.default_rng(options.choice.seed)))
    if options.report.self_summaries is not None:
        assert isinstance(panel, PanelSpec)
        extra["self_summaries"] = as_json(_summarised(options, plan, panel, spoken, options.report.self_summaries))
    return extra


def _summarised(
    options: DialAudit, plan: DialPlan, panel: PanelSpec, spoken: Sequence[Spoken], aggregator: str
) -> Summaries:
    import asyncio

    agents, _ = names(panel.agents, ())
    asked = panel.model_copy(update={"judges": judges_of([JudgeSpec(model=aggregator)], "--self-summaries")})
    house = checked_house(asked, options.choice)

    async def work() -> Summaries:
        async with house:
            models = {seat.name: house.model(seat.model) for seat in agents if is_model(seat.model)}
            return await summarise(spoken, plan.levels, models, house.model(aggregator), seed=options.choice.seed)

    return asyncio.run(work())


def _lines(extra: Mapping[str, Any]) -> Iterator[str]:
    """What was asked for besides, in words."""
    if exported := extra.get("exported"):
        yield (
            f"\n{plural(exported['items'], 'turn')} for people: {exported['path']}; column `guess`: {exported['guess']}, 1 is the most "
            "cooperative; then the same command with --import FILE"
        )
    if people := extra.get("people"):
        yield (
            f"\nPeople: {people['n']} guesses ({people['empty']} left open, {people['unknown']} unknown); "
            f"right {_said(people['right'])}, "
            f"by chance {people['chance']:.2f}; ρ with CL {_said(people['rho'])}; AUC {_said(people['auc'])}"
        )
    if summed := extra.get("self_summaries"):
        rho = "undefined" if summed["rho"] is None else f"{summed['rho']:.2f}"
        yield f"\nAgents on their own manner, summed up blind by {summed['by']}; ρ of its judgement with CL {rho}:"
        for manner in summed["manners"]:
            yield (
                f"  CL {manner['level']:g}: confrontational {manner['confrontational']:.0f} of 100. {manner['tone']} "
                f"Stresses: {manner['emphasis']} Phrases: {manner['patterns']}"
            )


def _said(found: Mapping[str, Any]) -> str:
    return "undefined" if found["value"] is None else f"{found['value']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"


def _show_patterns(path: Path, *, json: bool) -> None:
    """The observable patterns of one debate, by round."""
    file = locate(path)
    if path.is_dir() and not file.exists() and (below := sorted(path.glob("*/transcript.jsonl"))):
        several = plural(len(below), "debate")
        raise InputError(f"--transcript {path}: it is a folder of {several}; name one, such as {below[0].parent}")
    found = patterns(Story.of(read(file).events))
    if not found:
        raise InputError(f"{path}: no round was closed, there is nothing to see yet")
    rows = table(found)
    note = "\nCounted by lists of words (docs/audits.md): compare rounds, or debates of one kind."
    lines = (*columns(rows, right=range(1, len(rows[0]))), note)
    publish({"transcript": str(path), "rounds": as_json(found)}, lines, json=json)


def speaking(panel: PanelSpec | str) -> bool:
    """Whether a language model debates: only such have wording of their own."""
    return isinstance(panel, PanelSpec) and not all(is_reader(seat.model) for seat in panel.agents)


def _plan(options: DialAudit, panel: PanelSpec | str) -> DialPlan:
    try:
        levels = tuple(float(part) for part in options.dial.levels.split(","))
    except ValueError as error:
        raise InputError(
            f"--levels {options.dial.levels}: write numbers between the commas, such as 0.9,0.5,0.1"
        ) from error
    return DialPlan(
        topics=topics_of(options.dial.topics or ()),
        levels=tuple(sorted(levels, reverse=True)),
        seeds=options.dial.seeds,
        rounds=options.dial.rounds,
        placebo=options.dial.placebo and speaking(panel),
        tokens=options.tokens,
        first_seed=options.choice.seed,
    )


def _enter(options: DialAudit, plan: DialPlan, panel: PanelSpec | str) -> None:
    """Make the folder, or see that what is in it was held under the same rules."""
    target, identity = options.report.out / "audit.json", _identity(options, plan, panel)
    try:
        with writing(target):
            known = jsonlib.loads(target.read_text(encoding="utf-8")) if target.exists() else identity
    except ValueError as error:
        raise InputError(f"{target} cannot be read: {error}; name another folder with --out") from error
    if different := [key for key in identity if known.get(key) != identity[key]]:
        raise InputError(
            f"{options.report.out} holds an audit with other {' and '.join(different)}: name another folder with --out, or "
            "repeat that audit's options; topics, seeds and levels may be added"
        )
    save(target, jsonlib.dumps(identity, indent=1) + "\n")


def _identity(options: DialAudit, plan: DialPlan, panel: PanelSpec | str) -> dict[str, Any]:
    """What all debates of one audit have in common."""
    _, config = options.choice.settled()
    return {
        "panel": panel if isinstance(panel, str) else panel.record(),
        "settings": hashlib.sha256(config.model_dump_json(exclude_defaults=True).encode()).hexdigest()[:16],
        "rounds": plan.rounds,
        "tokens": plan.share,
    }


def _hold(options: DialAudit, plan: DialPlan, panel: PanelSpec | str, folder: Path) -> None:
    import asyncio

    house = checked_house(panel, options.choice) if isinstance(panel, PanelSpec) else None
    local = isinstance(panel, PanelSpec) and any(name.startswith("local/") for name in panel.seated)

    def seat(sitting: Sitting) -> tuple[Opened, Table]:
        choice = replace(options.choice, given={**options.choice.given, **plan.settings(sitting)}, seed=sitting.seed)
        seated = seat_case(plan.topics[sitting.topic], choice, models=house)
        return seated.opened, seated.table

    sittings = plan.sittings
    over: set[str] = set()
    with ProgressBars(plain=options.output.plain, silent=options.output.silent) as progress:

        def watch(sitting: Sitting, event: Event) -> None:
            name = f"{sitting.topic}, seed {sitting.seed}, CL {sitting.level:g}"
            name += ", placebo" if sitting.words == "placebo" else ""
            line = ""
            if isinstance(event, Finished):
                over.add(name)
                line = f"{len(over)}/{len(sittings)} {name}: {plural(event.rounds, 'round')}, {event.stop_reason}"
            progress.at("debates", len(over), len(sittings), beside=name, line=line)

        async def hold() -> None:
            async with house or nullcontext():
                await play(sittings, seat, folder, at_once=_AT_ONCE if house and not local else 1, watch=watch)

        with interruptible("nothing is lost: the same command continues"):
            asyncio.run(hold())
