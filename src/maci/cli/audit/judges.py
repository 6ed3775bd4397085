"""``maci audit judges``."""

from __future__ import annotations

import asyncio
import csv
import json as jsonlib
import math
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from maci import __version__
from maci.calibration.stats.estimate import as_json
from maci.cli.audit import JudgeQuestions, JudgeReport
from maci.cli.files import make_folder, writing
from maci.cli.options import OutputOptions
from maci.cli.progress import Progress
from maci.config import Budget, full_key
from maci.controller.inputs import Seat
from maci.errors import BudgetError, CheckFailed, EnvironmentError_, InputError
from maci.evidence.encode import load_encoder
from maci.lab.audit.judges import convarg, human, report
from maci.lab.audit.judges.asking import Asked, Bench, bench_of, settle
from maci.lab.audit.judges.audit import Done, Plan, audit, planned, rated
from maci.lab.audit.judges.human import Agreement, against_people
from maci.lab.audit.judges.items import Batch, builtin, draw, gather
from maci.lab.audit.judges.probes import PROBES, panel_mean
from maci.llm.budget import Ledger
from maci.llm.usage import Bound
from maci.render.html import to_html
from maci.render.markdown import to_markdown
from maci.render.text import on_screen
from maci.seating.seating import PanelChoice, check_models, open_house
from maci.seating.spec import is_reader
from maci.story.words import plural

if TYPE_CHECKING:
    from maci.llm.models import House


CEILING = 2_000_000
"""Tokens, where a language model judges and no ceiling is given."""
_READERS = (
    "Reader judges compare cited texts with the case: they read neither the wording of an argument nor who made it, so padding and "
    "names cannot move them, and they say the same whenever they are asked."
)
_ALONE = "Language models are asked each argument in a call of its own: a batch has no order for them, and 0 there proves nothing."


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAudit:
    """What was asked for."""

    choice: PanelChoice
    asked: JudgeQuestions
    report: JudgeReport
    output: OutputOptions


def run(options: JudgeAudit) -> None:
    """Audit; exits 0 once run, 1 with --strict where the verdict is bad."""
    _check(options)
    bench = settle(options.choice)
    screen = Progress(plain=options.output.plain, silent=options.output.silent)
    try:
        if options.asked.human is not None:
            _compare(options, bench, screen)
        else:
            _audit(options, bench, screen)
    except KeyboardInterrupt:
        screen.close()
        again = "maci " + shlex.join(sys.argv[1:]) if sys.argv[1:2] == ["audit"] else "the same command"
        kept = "" if options.choice.no_cache else " Replies that came are kept; go on with: " + again
        typer.echo(f"\ninterrupted.{kept if bench.paid else ''}", err=True)
        raise typer.Exit(130) from None
    finally:
        screen.close()


def _check(options: JudgeAudit) -> None:
    if options.asked.human is not None and options.asked.human not in convarg.SETS:
        raise InputError(f"--human {options.asked.human}: the sets with people's choices are {', '.join(convarg.SETS)}")
    if options.asked.human is not None and (options.asked.arguments or options.asked.export or options.asked.import_):
        raise InputError("--human brings its own arguments: leave out --arguments, --export and --import")
    if options.asked.import_ is not None and not options.asked.import_.is_file():
        raise InputError(f"--import {options.asked.import_}: there is no such file")
    _probes(options)


def _probes(options: JudgeAudit) -> tuple[str, ...]:
    if options.asked.probes == "all":
        return tuple(PROBES)
    chosen = tuple(name.strip() for name in options.asked.probes.split(",") if name.strip() and name.strip() != "none")
    if unknown := [name for name in chosen if name not in PROBES]:
        raise InputError(f"--probes {unknown[0]}: choose from {', '.join(PROBES)}, `all` or `none`")
    return chosen


def _batches(options: JudgeAudit, bench: Bench, screen: Progress) -> list[Batch]:
    encoder = load_encoder(bench.config.evidence.encoder, offline=options.choice.offline)
    if options.asked.arguments:
        found = gather(options.asked.arguments, encoder)
    else:
        debates = max(2, math.ceil(options.asked.n / 3))
        what = "debates of the readers"
        found = builtin(debates, encoder, seed=options.choice.seed, told=lambda done, of: screen.at(what, done, of))
    return draw(found, options.asked.n, options.choice.seed)


def _ledger(options: JudgeAudit, bench: Bench) -> Ledger:
    """The ceilings of the whole audit: those given, and for language models never none."""
    budget = bench.config.budget
    named = "budget.tokens" in options.choice.given or any(
        full_key(entry.partition("=")[0].strip()) == "budget.tokens" for entry in options.choice.sets
    )
    given = named or budget.tokens != Budget().tokens
    tokens = budget.tokens if given else CEILING if bench.paid else None
    return Ledger(tokens, budget.usd)


def _audit(options: JudgeAudit, bench: Bench, screen: Progress) -> None:
    plan = Plan(
        probes=_probes(options), probed=options.asked.probed, repeats=options.asked.repeats, seed=options.choice.seed,
        resamples=options.report.resamples,
    )  # fmt: skip
    batches = _batches(options, bench, screen)
    items = [item for batch in batches for item in batch.items]
    if options.asked.export is not None:
        human.exported(items, options.asked.export)
        filled = "fill in `score`: any numbers, one scale for all, more is better; then --import it"
        screen.say(f"{plural(len(items), 'argument')} for people, blind: {options.asked.export} ({filled})")
    people = None if options.asked.import_ is None else human.imported(options.asked.import_, items)
    make_folder(options.report.out)
    notes = []
    if any(is_reader(seat.model) for seat in bench.judges):
        notes.append(_READERS)
    if bench.paid:
        notes.append(_ALONE)
    ledger = _ledger(options, bench)

    async def ask() -> Done | None:
        house = open_house(bench.spec, options.choice) if bench.paid else None
        try:
            seats = _seats(bench, house, options)
            if options.report.dry_run:
                _estimate(batches, seats, plan, ledger, options)
                return None
            told = _telling(screen, "scores")
            return await audit(batches, seats, plan, ledger=ledger, notes=notes, told=told)
        finally:
            if house is not None:
                await house.aclose()

    done = asyncio.run(ask())
    if done is None:
        return
    if not done.asked.answers:
        raise BudgetError(f"no score fits the ceiling: {done.asked.short}; raise --budget-tokens or --budget-usd")
    _finish(done, people, options)


def _telling(screen: Progress, what: str) -> Any:
    def told(asked: Asked, of: int) -> None:
        screen.at(what, len(asked.answers), of)

    return told


def _seats(bench: Bench, house: House | None, options: JudgeAudit) -> Any:
    if house is not None and not options.report.dry_run:
        check_models(bench.spec, house, options.choice.fetch)
    return bench_of(bench, house)


def _estimate(batches: Sequence[Batch], seats: Any, plan: Plan, ledger: Ledger, options: JudgeAudit) -> None:
    """The most it can cost, and nothing sent."""
    asks, _, _ = planned(batches, seats, plan)
    most = Bound()
    for ask in asks:
        most = most.plus(ask.seat.prepare(ask.request).bound)
    if options.output.json:
        found = {
            "calls": len(asks),
            "tokens_at_most": most.tokens,
            "usd_at_most": most.usd,
            "ceiling_tokens": ledger.tokens,
        }
        typer.echo(jsonlib.dumps(found))
        return
    price = f", ${most.usd:.2f}" if most.usd else ""
    ceiling = "no ceiling" if ledger.tokens is None else f"the ceiling is {ledger.tokens:,} (--budget-tokens)"
    typer.echo(f"{len(asks):,} scores, at most {most.tokens:,} tokens{price}; {ceiling}. Nothing was sent.")


def _finish(done: Done, people: Any, options: JudgeAudit) -> None:
    found = done.audit
    judges = [Seat(f.name, f.family) for f in found.judges]
    place = np.full((len(judges), len(done.items)), np.nan)
    ratings = rated(done.asks, done.asked, done.items, judges, place)
    extra, agreements = [], tuple[Agreement, ...]()
    if people is not None:
        sampling = ratings.sampling(found.seed, found.resamples)
        mean = panel_mean(people)
        rows = [
            *zip((seat.name for seat in judges), ratings.plain, strict=True),
            ("mean of the judges", panel_mean(ratings.plain)),
        ]
        agreements = tuple(
            against_people(name, row, mean, sampling) for name, row in (rows if len(judges) > 1 else rows[:1])
        )
        extra = [report.people_table(agreements, human.human_alpha(people, sampling), len(people))]
    made = report.build_report(found, ratings.plain, extra)
    files = {
        "audit.html": to_html(made),
        "audit.md": to_markdown(made),
        "audit.json": jsonlib.dumps(_as_json(found, agreements), ensure_ascii=False, indent=1) + "\n",
    }
    _write(options.report.out, files)
    _scores(options.report.out / "scores.csv", done)
    if options.output.json:
        typer.echo(jsonlib.dumps({**_as_json(found, agreements), "out": str(options.report.out)}, ensure_ascii=False))
    else:
        if not options.output.quiet:
            typer.echo(
                on_screen(report.build_report(found, ratings.plain, extra, full=False), plain=options.output.plain)
            )
        typer.echo(f"{found.verdict}; written: {options.report.out / 'audit.html'}, audit.md, audit.json, scores.csv")
    if options.report.strict and found.verdict == "bad":
        bad = [f"{f.judge or 'panel'}: {f.check}" for f in found.findings if f.level == "bad"]
        raise CheckFailed(
            f"{plural(len(bad), 'check')} of the judges {'fails' if len(bad) == 1 else 'fail'}: {', '.join(bad)}"
        )


def _as_json(found: Any, people: Sequence[Agreement]) -> dict[str, Any]:
    return {**as_json(found), "people": as_json(people) or None}


def _compare(options: JudgeAudit, bench: Bench, screen: Progress) -> None:
    """Against people's choices on a public set."""
    chosen = convarg.pairs(options.asked.data, options.asked.per_topic)
    readers = [seat for seat in bench.judges if is_reader(seat.model)]
    if readers and bench.paid:
        raise InputError(
            "--human: name reader judges or models, not both; they are shown the arguments in different forms"
        )
    make_folder(options.report.out)
    ledger = _ledger(options, bench)

    async def ask() -> convarg.Comparison:
        house = open_house(bench.spec, options.choice) if bench.paid else None
        try:
            judges = None
            if house is not None:
                judges = list(_seats(bench, house, options)(Batch(items=(), readers=tuple)))
            return await convarg.compare(
                chosen, judges, ledger=ledger, seed=options.choice.seed, resamples=options.report.resamples,
                told=_telling(screen, "arguments"),
            )  # fmt: skip
        finally:
            if house is not None:
                await house.aclose()

    found = asyncio.run(ask())
    if not found.tokens and bench.paid:
        raise BudgetError("no score fits the ceiling: raise --budget-tokens or --budget-usd")
    if readers:
        found = replace(found, notes=(*found.notes, _WHY))
    made = report.compared(found, f"maci {__version__}, seed {options.choice.seed}")
    _write(
        options.report.out,
        {
            "human.html": to_html(made),
            "human.md": to_markdown(made),
            "human.json": jsonlib.dumps(as_json(found), ensure_ascii=False, indent=1) + "\n",
        },
    )
    if options.output.json:
        typer.echo(jsonlib.dumps({**as_json(found), "out": str(options.report.out)}, ensure_ascii=False))
        return
    if not options.output.quiet:
        typer.echo(on_screen(made, plain=options.output.plain))
    typer.echo(f"written: {options.report.out / 'human.html'}, human.md, human.json")
    behind = [v.judge for v in found.judges if v.less_length.high < 0]
    if options.report.strict and behind:
        raise CheckFailed(f"the longer argument is the better guess than {', '.join(behind)}")


_WHY = (
    "Reader judges measure how near a text is to the case. Here there is no case and no evidence, only a topic, so what they measure "
    "is how much an argument keeps to its topic's words; people chose by more than that."
)


def _write(out: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        with writing(out / name):
            (out / name).write_text(text, encoding="utf-8")


def _scores(file: Path, done: Done) -> None:
    """Every score as it came, so that every figure can be computed again."""
    try:
        with file.open("w", encoding="utf-8", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(
                ["judge", "argument", "probe", "sample", "composite", "evidence", "logic", "relevance", "abstained"]
            )
            for number, ask in enumerate(done.asks):
                answer = done.asked.answers.get(number)
                if answer is None:
                    continue
                s = answer.score
                figures = ["", "", "", ""] if s is None else [s.composite, s.evidence, s.logic, s.relevance]
                writer.writerow([ask.seat.name, done.items[ask.item].id, ask.probe, ask.sample, *figures, answer.why])
    except OSError as error:
        with suppress(OSError):
            file.unlink(missing_ok=True)
        raise EnvironmentError_(f"cannot write {file}: {error.strerror}; name another folder with --out") from error
