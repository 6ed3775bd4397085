"""``maci lab``: when does a debate pay? A map for simulated agents with estimated habits."""

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
        write(out, found, made_by=f"maci lab habits, maci {__version__}")
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
    """Draw the map: which method is ahead where at equal tokens, and what each part of the controller earns.

    Simulated agents with estimated habits debate planted cases; every method of the tables answers the same ones. With --data
    the habits are also tested on recorded debates that they were not estimated from. Interrupt it as you like: the same
    command continues.
    """
    from maci.calibration.stats.estimate import as_json
    from maci.cli.terminal import ProgressBars
    from maci.lab.map import habits as known
    from maci.lab.map import sweep
    from maci.lab.map.pages import build_map
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
    lines = [*([] if output.quiet else [on_screen(report, plain=output.plain)]), f"Page: {page}"]
    publish(
        {"page": str(page), "report": as_json(report), "predictions": as_json(predictions)}, lines, json=output.json
    )


def _predictions(data: Path | None, behaviour: Mapping[str, Estimate]) -> dict[str, tuple[Prediction, ...]]:
    """Of recorded debates that no habit was estimated from; none without the data."""
    from maci.lab.map.habits import predict

    if data is None:
        return {}
    folder = data_dir(data)
    return {name: predict(_recorded(folder, [name], dev=False), behaviour) for name in FORETOLD}
