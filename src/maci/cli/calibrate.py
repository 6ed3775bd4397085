"""``maci calibrate``: learn from cases with known answers, or from past debates, how far to trust a panel."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maci.cli.options import (  # fmt: skip
    BudgetOptions,
    Corpus,
    OutputOptions,
    PanelOptions,
    Redact,
    ReplyOptions,
    Seed,
    SettingsOptions,
    chosen,
    grouped,
    redacted,
)
from maci.cli.output import echo, interruptible, publish
from maci.errors import InputError
from maci.paths import RUNS, check_file, check_folder, save

if TYPE_CHECKING:
    from maci.calibration.development import Curriculum
    from maci.calibration.profile import TaskCalibration
    from maci.lab.study.study import Meta, Row
    from maci.seating.seating import PanelChoice

_UNPLANNED = {"plan.enabled": False, "plan.acquire": 0, "answer.recommendation": "off"}
"""Only the answers are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonOptions:
    """What is learnt from."""

    cases: Annotated[
        Path | None,
        typer.Argument(help="Development cases with gold, one JSON object a line.", metavar="CASES.jsonl"),
    ] = None
    cases_option: Annotated[
        Path | None, typer.Option("--cases", help="The same as an option.", metavar="FILE", dir_okay=False)
    ] = None
    study: Annotated[
        Path | None,
        typer.Option(help="Instead: a study's folder; its dev answers give a temperature.", metavar="DIR"),
    ] = None
    past: Annotated[
        bool,
        typer.Option(
            "--past", help="Learn from past debates with known answers as well (without cases: from them alone)."
        ),
    ] = False
    runs: Annotated[
        Path,
        typer.Option(help="Folder of past debates; new ones are recorded there.", file_okay=False, metavar="DIR"),
    ] = RUNS
    held_out: Annotated[
        float,
        typer.Option(help="Share of the cases that only prediction sets are learnt from; 0: none.", min=0, max=0.9),
    ] = 0.33

    @property
    def file(self) -> Path | None:
        """The cases, however they were given."""
        given = [f"{path}" for path in (self.cases, self.cases_option, self.study) if path is not None]
        if len(given) > 1:
            raise InputError(f"give one of CASES, --cases and --study, not {' and '.join(given)}")
        return self.cases or self.cases_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """Whether to debate."""

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing: estimate tokens and dollars.")] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Debate without asking, whatever it is to cost.")] = False


@grouped
def calibrate(
    *,
    lessons: LessonOptions,
    out: Annotated[Path, typer.Option(help="Where to write the settings.", dir_okay=False)] = Path("calibration.toml"),
    panel: PanelOptions,
    corpus: Corpus = None,
    settings: SettingsOptions,
    redact: Redact = None,
    budget: BudgetOptions,
    jobs: Annotated[int, typer.Option(help="Cases under way at once.", min=1, max=256)] = 4,
    replies: ReplyOptions,
    consent: Consent,
    seed: Seed = 0,
    output: OutputOptions,
) -> None:
    """Learn thresholds, the temperature of reported probabilities, and prediction sets from cases with known answers.

    Says what the debates will cost and asks first. Interrupted, the same command continues where it was. Without cases it learns from
    past debates whose answer is known: the `gold` of their case, or what `maci outcome` recorded.
    """
    import asyncio

    from maci.calibration.development import Teacher, known_cases, plan, sets_promised, split
    from maci.cli.terminal import ProgressBars
    from maci.debating.batch import owning
    from maci.seating.project import with_project
    from maci.seating.seating import Seating, closing_on_failure

    file, runs = lessons.file, lessons.runs
    known = [] if file is None else known_cases(file)
    check_file(out)
    if lessons.study is not None:
        found = _from_study(lessons.study)
        _tell(found, out, str(lessons.study), ["Only the temperature: a study keeps no arguments."], output)
        return
    check_folder(runs, "--runs")
    given = {**_UNPLANNED, **redacted(redact)}
    choice = with_project(chosen(panel, settings, replies, given, seed=seed, quiet=output.silent, corpus=corpus))
    seating = Seating(choice)
    if seating.config.calibration.made_for:
        raise InputError("the settings hold a calibration already: leave out the --config file `maci calibrate` wrote")
    with closing_on_failure(seating.house):
        teaching, held = (list(map(seating.shown, part)) for part in split(known, lessons.held_out, seed))
        name = "past" if file is None else file.stem
        of = plan(teaching, held, runs, seating, name, past=lessons.past or file is None)
        if not output.silent:
            echo(f"{seating.who} {_sources(of)}" if choice.why else _sources(of), err=True)
        agreed = _agreed(of, choice, consent, output)
    if not agreed:
        if seating.house is not None:
            asyncio.run(seating.house.aclose())
        return
    kept = f"what was debated is kept in {of.folder}: the same command continues from there, and {out} is as it was"
    with interruptible(kept), owning(of.folder), ProgressBars(plain=output.plain, silent=output.silent) as view:
        teacher = Teacher(
            seating, budget.budget_tokens, budget.budget_usd, jobs,
            told=lambda what, done, total, kept: view.at(what, done, total, kept=kept),
        )  # fmt: skip
        learnt = asyncio.run(teacher.learn(of))
    if learnt.failed and not output.json:
        names = ", ".join(f"{name} ({why})" for name, why in learnt.failed[:3])
        echo(f"{len(learnt.failed)} cases without an answer were left out: {names}", err=True)
    more = {
        "held_out": learnt.found.held, "past": learnt.past, "failed": [name for name, _ in learnt.failed],
        "tokens": learnt.tokens, "usd": learnt.usd,
    }  # fmt: skip
    made = f"past debates in {runs}" if file is None else file.name
    _tell(learnt.found, out, made, [sets_promised(learnt.found, len(known), lessons.held_out)], output, more)


def _tell(
    found: TaskCalibration,
    out: Path,
    made: str,
    notes: list[str],
    output: OutputOptions,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write the calibration, and say what it is worth."""
    from maci.calibration.profile import to_toml
    from maci.calibration.stats import as_json

    save(out, to_toml(found, made))
    worth = found.worth
    record = {
        "n": worth.n, **more, "accuracy": found.accuracy, "ece_before": worth.before.value, "ece_after": worth.after.value,
        "ece_before_interval": [worth.before.low, worth.before.high], "ece_after_interval": [worth.after.low, worth.after.high],
        "gain": as_json(worth.gain), "worth": worth.lines(), "settings": dict(found.settings), "out": str(out),
    }  # fmt: skip
    use = f"Written to {out} (accuracy {found.accuracy:.2f}). {found.advice(f'maci debate CASE --config {out}')}"
    publish(record, [] if output.quiet else [*worth.lines(), *notes, use], json=output.json)


def _sources(of: Curriculum) -> str:
    """What is learnt from, in one line."""
    debates = len(of.teaching) + len(of.held)
    taken = f"{len(of.past)} past debates are used as they are" if of.past else ""
    return "; ".join(part for part in (f"{debates} cases to debate" if debates else "", taken) if part) + "."


def _agreed(of: Curriculum, choice: PanelChoice, consent: Consent, output: OutputOptions) -> bool:
    """Whether to go on: the price is said first, and asked about on a terminal; readers cost nothing and are not asked about."""
    import asyncio

    from maci.debating.batch import entries
    from maci.debating.estimate import price
    from maci.seating.spec import PanelSpec

    spec, _ = choice.settled()
    lacking = [e.case for e in entries(of.teaching, of.folder) if not e.attempt(0).exists()] + list(of.held)
    if not lacking or not isinstance(spec, PanelSpec) or not spec.seated:
        if consent.dry_run:
            publish(
                {"debates": len(lacking), "tokens": 0, "usd": 0.0}, [f"{len(lacking)} debates, free."], json=output.json
            )
        return not consent.dry_run
    least, most = asyncio.run(price(lacking, choice))
    range_ = (
        f"between {least.tokens:,} and {most.tokens:,} tokens, free" if most.usd == 0 else f"between {least} and {most}"
    )
    said = f"{len(lacking)} debates: {range_}, estimated without sending anything."
    if consent.dry_run:
        found = {
            "debates": len(lacking),
            "tokens": most.tokens,
            "usd": most.usd,
            "least_tokens": least.tokens,
            "least_usd": least.usd,
        }
        publish(found, [said], json=output.json)
        return False
    if not consent.yes and (output.json or not sys.stdin.isatty()):
        raise InputError(
            f"{said} Nothing was sent: add --yes to debate them, or --budget-usd and --yes to set a ceiling"
        )
    if not output.silent:
        echo(said, err=True)
    if consent.yes:
        return True
    if not typer.confirm("Debate them?", default=False, err=True):
        echo("Nothing was sent.", err=True)
        return False
    return True


_METHOD = "maci"


def _from_study(folder: Path) -> TaskCalibration:
    """What the dev rows of the method `maci` teach: a temperature, and nothing that needs arguments, which rows do not hold.

    An item answered under several seeds counts once. Rows do not say which version of a model answered.
    """
    import numpy as np

    from maci.calibration.profile import ENOUGH, TaskCalibration
    from maci.calibration.temperature import appraise
    from maci.lab.study.store import open_store
    from maci.story.words import plural

    with open_store(folder, make=False) as store:
        meta, rows = store.meta(), list(store.rows())
    if meta is None or meta.spec.panel.recorded:
        why = (
            "it holds no study"
            if meta is None
            else "its answers were recorded elsewhere, and no panel of yours gave them"
        )
        raise InputError(f"--study {folder}: {why}")
    mine: dict[tuple[str, str], Row] = {}
    seeds: set[int] = set()
    for row in sorted(rows, key=lambda row: row.seed):
        if row.part == "dev" and row.method == _METHOD and row.belief is not None and row.gold in row.belief:
            mine.setdefault((row.data, row.item), row)
            seeds.add(row.seed)
    if len(mine) < ENOUGH:
        raise InputError(
            f"--study {folder}: calibration needs at least {ENOUGH} dev items that the method `{_METHOD}` answered, and it has "
            f"{len(mine)}: run it with `parts` that include dev and a higher `limit`"
        )
    beliefs = [np.array(list(row.belief.values())) for row in mine.values() if row.belief is not None]
    gold = [list(row.belief).index(str(row.gold)) for row in mine.values() if row.belief is not None]
    worth = replace(appraise(beliefs, gold), source=f"{len(mine)} distinct dev cases, {plural(len(seeds), 'seed')}")
    right = [int(p.argmax()) == y for p, y in zip(beliefs, gold, strict=True)]
    fits = _made_for(meta, next(iter(mine.values())))
    settings = {"calibration.made_for": fits, "calibration.temperature": round(worth.temperature, 6)}
    return TaskCalibration(settings=settings, worth=worth, accuracy=float(np.mean(right)))


def _made_for(meta: Meta, row: Row) -> str:
    """The panel of the study as a debate would record it."""
    import asyncio

    from maci.controller.reading import made_for
    from maci.lab.study.study import Study, resolve
    from maci.lab.study.worker import Worker
    from maci.llm.offline import is_offline
    from maci.seating.table import opening

    study = Study(spec=meta.spec, panel=resolve(meta.spec), offline=is_offline())
    worker = Worker(study)
    try:
        group = worker.group(row.data, row.seed)
        case = group.items[("dev", row.item)].case
        return made_for(opening(case, group.bench.panel.table(case, seed=row.seed), study.config, seed=row.seed))
    finally:
        asyncio.run(worker.aclose())
