"""``maci lab``: when does a debate pay? A map for simulated agents with estimated habits, and what makes debate lose there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maci import __version__
from maci.cli.options import DataDir, OutputOptions, Seed, grouped
from maci.cli.output import columns, interruptible, publish, same_command
from maci.errors import InputError
from maci.paths import check_file, check_folder, data_dir, save

if TYPE_CHECKING:
    from maci.calibration.stats.estimate import Estimate
    from maci.lab.datasets import TaskItem
    from maci.lab.map.habits import Prediction
    from maci.story import Story

lab = typer.Typer(no_args_is_help=True)
LEARNT, FORETOLD = (
    ("table_chatgpt_davinci_gpt4__ecare", "chatgpt_davinci__csqa", "chatgpt_davinci__strategyqa"),
    ("table_chatgpt_davinci_gpt4__piqa", "chatgpt_gpt4__ecare__run1", "chatgpt_davinci__socialiqa"),
)
"""Recorded debates that habits are estimated from (their development part), and whole sets that are only predicted. Chosen by name,
before either was looked at: one debate at a table of three and two of pairs on each side."""
Habits = Annotated[
    Path | None,
    typer.Option(
        "--habits", help="Habits written by `maci lab habits` (default: those of the package).", dir_okay=False
    ),
]


@lab.command("habits")
@grouped
def habits(
    *,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of debates with known answers, MACI's own records.", metavar="[RUNS]…"),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Take only habits whose names begin so from RUNS. Repeatable.", metavar="NAME"),
    ] = None,
    data: DataDir = None,
    out: Annotated[Path | None, typer.Option(help="Write them to this file.", dir_okay=False, metavar="FILE")] = None,
    output: OutputOptions,
) -> None:
    """Estimate what debaters and judges do from recorded debates: how often they are right, yield, follow evidence.

    RUNS count first; what they do not tell comes from debates and answers of models that others recorded (data sets
    ford_debates and medagentsbench), and the rest is assumed and says so.
    """
    from maci.calibration.stats.estimate import as_json
    from maci.lab.datasets import load
    from maci.lab.map.habits import HABITS, from_recorded, from_stories, known, write

    if out is not None:
        check_file(out)
    told = from_stories(_stories(runs)) if runs else {}
    sources = [{name: each for name, each in told.items() if not only or name.startswith(tuple(only))}]
    try:
        folder: Path | None = data_dir(data)
    except InputError:
        if not runs or data is not None:
            raise
        folder = None
    if folder is not None:
        openings = load("medagentsbench", folder, options={"dataset": "medqa"}).dev
        sources.append(from_recorded(_recorded(folder, LEARNT, dev=True), openings))
    found = known(*sources)
    if out is not None:
        words = ["maci lab habits", *(["RUNS"] if runs else []), *(f"--only {name}" for name in only or ())]
        write(out, found, made_by=f"{' '.join(words)}, maci {__version__}")
    rows = [(HABITS[name].about, *_figures(each)) for name, each in found.items()]
    publish({"habits": as_json(found)}, columns(rows, right=[1]), json=output.json)


def _figures(found: Estimate) -> tuple[str, str]:
    if not found.n:
        return f"{found.value:.3f}", "assumed"
    interval = f" [{found.low:.3f}, {found.high:.3f}]" if found.low == found.low else ""
    return f"{found.value:.3f}{interval}", f"n = {found.n:,} {found.unit or 'cases'}"


def _stories(folders: Sequence[Path]) -> Iterator[Story]:
    """Every finished debate below these folders whose true outcome is known."""
    from maci.record.outcome import known_runs
    from maci.story import Story

    found = [run for folder in folders for run in known_runs(folder)]
    if not found:
        raise InputError(
            f"no debate below {', '.join(map(str, folders))} has a known outcome: give cases a `gold`, or record it with `maci outcome`"
        )
    yield from (Story.of(run.events()) for run in found)


def _recorded(folder: Path, names: Sequence[str], *, dev: bool) -> list[TaskItem]:
    from maci.lab.datasets import load

    tasks = [load("ford_debates", folder, options={"debates": name}) for name in names]
    return [item for task in tasks for item in (task.dev if dev else (*task.dev, *task.test))]


@lab.command("map")
@grouped
def map_(
    *,
    habits: Habits = None,
    data: DataDir = None,
    cases: Annotated[int, typer.Option(help="Simulated cases of each cell.", min=2, max=10_000)] = 20,
    quick: Annotated[bool, typer.Option("--quick", help="Every 27th cell, 10 cases: about a minute.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes at once.", min=1, max=256)] = 1,
    out: Annotated[
        Path, typer.Option(help="Folder of the map; cells that are there are kept.", file_okay=False)
    ] = Path("maci-map"),
    seed: Seed = 0,
    output: OutputOptions,
) -> None:
    """Draw the map: which of 16 methods is ahead where, at what cost, and what each part of the controller earns.

    Simulated agents with estimated habits debate planted cases; every method answers the same ones. One vote gets the tokens
    of MACI; the others spend what they spend, and the page shows how much. With --data the habits are also tested on recorded
    debates that they were not estimated from. Interrupt it as you like: the same command continues.
    """
    from maci.calibration.stats.estimate import as_json
    from maci.cli.terminal import ProgressBars
    from maci.lab.map import habits as known
    from maci.lab.map import sweep
    from maci.lab.map.pages import build_map, drawings
    from maci.render.html import to_html
    from maci.render.text import on_screen

    check_folder(out)
    out.mkdir(parents=True, exist_ok=True)
    behaviour = known.read(habits or known.SHIPPED)
    size, every = (10, 27) if quick else (cases, 1)
    with (
        ProgressBars(plain=output.plain, silent=output.silent) as progress,
        interruptible(f"every finished cell is kept in {out}. Continue with: {same_command('lab')}"),
    ):
        found = sweep(
            out / "cells.jsonl", behaviour, cases=size, seed=seed, every=every, jobs=jobs,
            told=lambda done, total: progress.at("cells", done, total),
        )  # fmt: skip
    predictions = _predictions(data, behaviour)
    about = f"maci {__version__}, {len(found)} cells of {size} cases, seed {seed}"
    report = build_map(found, behaviour, predictions, about=about)
    page = save(out / "map.html", to_html(report))
    drawn = [save(out / name, text) for name, text in drawings(found).items()]
    lines = [*([] if output.quiet else [on_screen(report, plain=output.plain)]), f"Page: {page}"]
    publish(
        {
            "page": str(page),
            "drawings": list(map(str, drawn)),
            "report": as_json(report),
            "predictions": as_json(predictions),
        },
        lines,
        json=output.json,
    )


@lab.command("causes")
@grouped
def causes(
    *,
    habits: Habits = None,
    data: DataDir = None,
    cases: Annotated[int, typer.Option(help="Simulated cases of each cell.", min=2, max=10_000)] = 10,
    every: Annotated[
        int, typer.Option(help="Take every so-many-th cell of the map (1: all of them).", min=1, max=486)
    ] = 11,
    seed: Seed = 0,
    output: OutputOptions,
) -> None:
    """Show why a debate does better or worse than the average of its openings on the map.

    The same simulated cases are debated again with one habit of the agents switched off or changed at a time. With --data also:
    what recorded debates of three models did to their vote.
    """
    from maci.calibration.stats.estimate import as_json
    from maci.cli.terminal import ProgressBars
    from maci.lab.map import AVERAGE
    from maci.lab.map import causes as found_by
    from maci.lab.map import habits as known
    from maci.lab.map.pages import accuracy, difference

    with ProgressBars(plain=output.plain, silent=output.silent) as progress:
        found = found_by(
            known.read(habits or known.SHIPPED), cases=cases, every=every, seed=seed,
            told=lambda done, total: progress.at("cells", done, total),
        )  # fmt: skip
    gaps = [difference(each.cells, "maci", AVERAGE) for each in found]
    rows: list[tuple[str, ...]] = [
        ("habits of the agents", "average", "maci", "difference, points", "lost", "mended", "agents: openings", "end")
    ]
    for each, gap in zip(found, gaps, strict=True):
        shares = (accuracy(each.cells, AVERAGE), accuracy(each.cells, "maci"))
        points = f"{100 * gap.value:+.1f} [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]"
        rest = (each.lost, each.mended, each.before, each.after)
        rows.append((each.what, *[f"{p:.3f}" for p in shares], points, *[f"{p:.2f}" for p in rest]))
    lines = [
        *columns(rows, right=[1, 2, 3, 4, 5, 6, 7]),
        f"{gaps[0].n:,} cases; lost: share of the average's right answers that the debate got wrong; mended: the reverse.",
    ]
    recorded = _converged(data)
    for name, figures in recorded.items():
        lines += [
            "",
            f"Recorded debates: {name}",
            *columns([(what, *_figures(each)) for what, each in figures.items()]),
        ]
    result = [
        {"habits": each.what, "maci less average": gap, "lost": each.lost, "mended": each.mended,
         "agents before": each.before, "agents after": each.after}
        for each, gap in zip(found, gaps, strict=True)
    ]  # fmt: skip
    publish({"causes": as_json(result), "recorded": as_json(recorded)}, lines, json=output.json)


def _converged(data: Path | None) -> dict[str, Mapping[str, Estimate]]:
    """Of the recorded debates of three models; none without the data."""
    from maci.lab.map.habits import convergence

    if data is None:
        return {}
    folder = data_dir(data)
    tables = ((LEARNT[0], "development part", True), (FORETOLD[0], "all", False))
    return {f"{name}, {part}": convergence(_recorded(folder, [name], dev=dev)) for name, part, dev in tables}


def _predictions(data: Path | None, behaviour: Mapping[str, Estimate]) -> dict[str, tuple[Prediction, ...]]:
    """Of recorded debates that no habit was estimated from; none without the data."""
    from maci.lab.map.habits import predict

    if data is None:
        return {}
    folder = data_dir(data)
    return {name: predict(_recorded(folder, [name], dev=False), behaviour) for name in FORETOLD}
