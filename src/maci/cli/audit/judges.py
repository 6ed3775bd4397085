"""``maci audit judges``."""

from __future__ import annotations

import csv
import io
import json as jsonlib
import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from maci import __version__
from maci.calibration.stats.estimate import as_json
from maci.cli.audit import JudgeQuestions, JudgeReport
from maci.cli.options import OutputOptions
from maci.cli.output import interruptible, publish, same_command
from maci.cli.terminal import ProgressBars
from maci.config import Budget, full_key
from maci.errors import BudgetError, CheckFailed, InputError
from maci.evidence.encode import load_encoder
from maci.lab.audit.judges import agreement, convarg, report
from maci.lab.audit.judges.agreement import Agreement, against_people, panel_mean
from maci.lab.audit.judges.asking import JudgeBench, bench_of, settle
from maci.lab.audit.judges.audit import AuditRun, ProbePlan, audit, planned
from maci.lab.audit.judges.items import PROBES, Docket, builtin, draw, gather
from maci.llm.budget import Ledger
from maci.llm.models import House
from maci.llm.usage import Bound
from maci.paths import check_folder, save
from maci.render.html import to_html
from maci.render.report import Report
from maci.render.text import on_screen, to_markdown
from maci.seating.seating import PanelChoice, check_models, open_house
from maci.seating.spec import is_reader
from maci.story.words import plural

CEILING = 2_000_000
"""Tokens, where others than readers judge and no ceiling is given."""
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
    kept = "replies that came are kept" if bench.asks_models and not options.choice.no_cache else "nothing was kept"
    with (
        interruptible(f"{kept}. Continue with: {same_command('audit')}"),
        ProgressBars(plain=options.output.plain, silent=options.output.silent) as screen,
    ):
        if options.asked.human is not None:
            _compare(options, bench, screen)
        else:
            _audit(options, bench, screen)


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


def _batches(options: JudgeAudit, bench: JudgeBench, screen: ProgressBars) -> list[Docket]:
    encoder = load_encoder(bench.config.evidence.encoder, offline=options.choice.offline)
    if options.asked.arguments:
        found = gather(options.asked.arguments, encoder)
    else:
        debates = max(2, math.ceil(options.asked.n / 3))
        what = "debates of the readers"
        found = builtin(debates, encoder, seed=options.choice.seed, told=lambda done, of: screen.at(what, done, of))
    return draw(found, options.asked.n, options.choice.seed)


def _ledger(options: JudgeAudit, bench: JudgeBench) -> Ledger:
    """The ceilings of the whole audit: those given, and for all but readers never none."""
    budget = bench.config.budget
    named = "budget.tokens" in options.choice.given or any(
        full_key(entry.partition("=")[0].strip()) == "budget.tokens" for entry in options.choice.sets
    )
    given = named or budget.tokens != Budget().tokens
    tokens = budget.tokens if given else CEILING if bench.paid else None
    return Ledger(tokens, budget.usd)


def _audit(options: JudgeAudit, bench: JudgeBench, screen: ProgressBars) -> None:
    import asyncio

    plan = ProbePlan(
        probes=_probes(options), probed=options.asked.probed, repeats=options.asked.repeats, seed=options.choice.seed,
        resamples=options.report.resamples,
    )  # fmt: skip
    batches = _batches(options, bench, screen)
    items = [item for batch in batches for item in batch.items]
    if options.asked.export is not None:
        agreement.exported(items, options.asked.export)
        filled = "fill in `score`: any numbers, one scale for all, more is better; then --import it"
        screen.say(f"{plural(len(items), 'argument')} for people, blind: {options.asked.export} ({filled})")
    people = None if options.asked.import_ is None else agreement.imported(options.asked.import_, items)
    check_folder(options.report.out)
    reading = any(is_reader(seat.model) for seat in bench.judges)
    notes = [note for note, applies in ((_READERS, reading), (_ALONE, bench.asks_models)) if applies]
    ledger = _ledger(options, bench)

    async def ask() -> AuditRun | None:
        house = open_house(bench.spec, options.choice) if bench.asks_models else None
        async with house or nullcontext():
            seats = _seats(bench, house, options)
            if options.report.dry_run:
                _estimate(batches, seats, plan, ledger, options)
                return None
            return await audit(
                batches, seats, plan, ledger=ledger, notes=notes,
                told=lambda asked, of: screen.at("scores", len(asked.answers), of),
            )  # fmt: skip

    done = asyncio.run(ask())
    if done is None:
        return
    if not done.asked.answers:
        raise BudgetError(f"no score fits the ceiling: {done.asked.short}; raise --budget-tokens or --budget-usd")
    _finish(done, people, options)


def _seats(bench: JudgeBench, house: House | None, options: JudgeAudit) -> Any:
    if house is not None and not options.report.dry_run:
        check_models(bench.spec, house, options.choice.fetch)
    return bench_of(bench, house)


def _estimate(batches: Sequence[Docket], seats: Any, plan: ProbePlan, ledger: Ledger, options: JudgeAudit) -> None:
    """The most it can cost, and nothing sent."""
    asks, _, _ = planned(batches, seats, plan)
    most = Bound()
    for ask in asks:
        most = most.plus(ask.seat.prepare(ask.request).bound)
    found = {
        "calls": len(asks),
        "tokens_at_most": most.tokens,
        "usd_at_most": most.usd,
        "ceiling_tokens": ledger.tokens,
    }
    price = f", ${most.usd:.2f}" if most.usd else ""
    ceiling = "no ceiling" if ledger.tokens is None else f"the ceiling is {ledger.tokens:,} (--budget-tokens)"
    line = f"{len(asks):,} scores, at most {most.tokens:,} tokens{price}; {ceiling}. Nothing was sent."
    publish(found, [line], json=options.output.json)


def _finish(done: AuditRun, people: Any, options: JudgeAudit) -> None:
    found = done.audit
    judges, ratings = found.judges, done.ratings
    extra, agreements = [], tuple[Agreement, ...]()
    if people is not None:
        sampling = ratings.sampling(found.seed, found.resamples)
        mean = panel_mean(people)
        rows = [
            *zip((judge.name for judge in judges), ratings.plain, strict=True),
            ("mean of the judges", panel_mean(ratings.plain)),
        ]
        agreements = tuple(
            against_people(name, row, mean, sampling) for name, row in (rows if len(judges) > 1 else rows[:1])
        )
        extra = [convarg.people_table(agreements, agreement.human_alpha(people, sampling), len(people))]
    made = report.build_report(found, ratings.plain, extra)
    save(options.report.out / "scores.csv", _scores(done))
    brief = report.build_report(found, ratings.plain, extra, full=False)
    record = {**as_json(found), "people": as_json(agreements) or None}
    _deliver(options, "audit", made, record, brief=brief, said=f"{found.verdict}; ", more=", scores.csv")
    if options.report.strict and found.verdict == "bad":
        bad = [f"{f.judge or 'panel'}: {f.check}" for f in found.findings if f.level == "bad"]
        raise CheckFailed(
            f"{plural(len(bad), 'check')} of the judges {'fails' if len(bad) == 1 else 'fail'}: {', '.join(bad)}"
        )


def _compare(options: JudgeAudit, bench: JudgeBench, screen: ProgressBars) -> None:
    """Against people's choices on a public set."""
    import asyncio

    chosen = convarg.pairs(options.asked.data, options.asked.per_topic)
    readers = [seat for seat in bench.judges if is_reader(seat.model)]
    if readers and bench.paid:
        raise InputError(
            "--human: name reader judges or others, not both; they are shown the arguments in different forms"
        )
    check_folder(options.report.out)
    ledger = _ledger(options, bench)

    async def ask() -> convarg.HumanComparison:
        house = open_house(bench.spec, options.choice) if bench.asks_models else None
        async with house or nullcontext():
            judges = None
            if not readers:
                judges = list(_seats(bench, house, options)(Docket(items=(), readers=tuple)))
            return await convarg.compare(
                chosen, judges, ledger=ledger, seed=options.choice.seed, resamples=options.report.resamples,
                told=lambda asked, of: screen.at("arguments", len(asked.answers), of),
            )  # fmt: skip

    found = asyncio.run(ask())
    if not found.tokens and (bench.asks_models or (bench.paid and not found.complete)):
        raise BudgetError("no score fits the ceiling: raise --budget-tokens or --budget-usd")
    if readers:
        found = replace(found, notes=(*found.notes, _WHY))
    made = convarg.build_report(found, f"maci {__version__}, seed {options.choice.seed}")
    _deliver(options, "human", made, as_json(found), brief=made)
    behind = [v.judge for v in found.judges if v.less_length.high < 0]
    if options.report.strict and behind:
        raise CheckFailed(f"the longer argument is the better guess than {', '.join(behind)}")


_WHY = (
    "Reader judges measure how near a text is to the case. Here there is no case and no evidence, only a topic, so what they measure "
    "is how much an argument keeps to its topic's words; people chose by more than that."
)


def _deliver(
    options: JudgeAudit,
    name: str,
    made: Report,
    record: Mapping[str, Any],
    *,
    brief: Report,
    said: str = "",
    more: str = "",
) -> None:
    """The report as a page, as a note and as data; on standard output as data, or else its ``brief`` form."""
    out = options.report.out
    page = save(out / f"{name}.html", to_html(made))
    save(out / f"{name}.md", to_markdown(made))
    save(out / f"{name}.json", jsonlib.dumps(record, ensure_ascii=False, indent=1) + "\n")
    shown = [] if options.output.quiet else [on_screen(brief, plain=options.output.plain)]
    lines = [*shown, f"{said}written: {page}, {name}.md, {name}.json{more}"]
    publish({**record, "out": str(out)}, lines, json=options.output.json)


def _scores(done: AuditRun) -> str:
    """Every score as it came, as CSV, so that every figure can be computed again."""
    page = io.StringIO()
    writer = csv.writer(page)
    writer.writerow(
        ["judge", "argument", "probe", "sample", "composite", "evidence", "logic", "relevance", "abstained"]
    )
    for number, ask in enumerate(done.asks):
        answer = done.asked.answers.get(number)
        if answer is None:
            continue
        s = answer.score
        figures = ["", "", "", ""] if s is None else [s.composite, s.evidence, s.logic, s.relevance]
        writer.writerow([ask.seat.name, done.ratings.items[ask.item].id, ask.probe, ask.sample, *figures, answer.why])
    return page.getvalue()
