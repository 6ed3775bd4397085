"""``maci study``: its commands. The work of ``run`` is in :mod:`maci.cli.study.run`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import BudgetOptions, Json, OutputOptions, ReplyOptions, Seed, grouped
from maci.cli.output import columns, echo, publish
from maci.errors import InputError
from maci.paths import save

study = typer.Typer(no_args_is_help=True)
StoreUrl = Annotated[str | None, typer.Option(help="Read from PostgreSQL instead.", metavar="URL")]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """What to compare, and where to compute and store the answers."""

    spec: Annotated[Path, typer.Argument(help="What to compare: a TOML file.", metavar="SPEC.toml", dir_okay=False)]
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data sets (default: MACI_DATA).", file_okay=False, metavar="DIR")
    ] = None
    limit: Annotated[
        int | None, typer.Option(help="Most items of each part, the same for every method.", min=1, metavar="N")
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="With the changes of the spec's [quick], into studies-out/NAME-quick.")
    ] = False
    engine: Annotated[str, typer.Option(help="Where: `local`, or `ray` (a cluster; extra `ray`).")] = "local"
    jobs: Annotated[
        int, typer.Option(help="Processes at once; more than 1 helps readers.", min=1, max=1024, metavar="N")
    ] = 1
    address: Annotated[
        str | None, typer.Option(help="With --engine ray: the cluster (default: RAY_ADDRESS, else this machine).")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the results (default: studies-out/NAME).", file_okay=False, metavar="DIR"),
    ] = None
    store: Annotated[
        str | None,
        typer.Option(help="Keep rows in PostgreSQL instead: postgresql://… (extra `postgres`).", metavar="URL"),
    ] = None
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed answers again.")] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what there is to do and what it would cost; send and write nothing.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyBudget(BudgetOptions):
    """Ceilings of all runs of a study together."""

    budget_tokens: Annotated[int | None, typer.Option(help="Most tokens of all runs together.", min=0)] = None
    budget_usd: Annotated[float | None, typer.Option(help="Most dollars of all runs together.", min=0)] = None


@study.command("run")
@grouped
def study_run(*, study: StudyOptions, budget: StudyBudget, replies: ReplyOptions, output: OutputOptions) -> None:
    """Run a study, or go on with one that was interrupted: the same command again.

    Every method answers every case of every data set and seed; each answer is kept as soon as it is there, and what
    is there is not computed again. A failed answer is listed and counted, never scored. Interrupt it as you like.
    """
    from maci.cli.study.run import run

    run(study, budget, replies, output)


@study.command("methods")
def methods(json: Json = False) -> None:
    """List the methods that can be compared, with their options."""
    from maci.lab.methods import entries as known

    entries = known()
    rows = [{"name": e.name, "about": e.about, "options": list(e.options), "each": e.each} for e in entries]
    lines = []
    for entry in entries:
        options = [*entry.options, *(["each"] if entry.each else [])]
        lines.append((entry.name, entry.about + (f"  [{', '.join(options)}]" if options else "")))
    publish(rows, columns(lines), json=json)


@study.command("list")
def listing(
    folder: Annotated[Path, typer.Argument(help="Where results folders are.", metavar="DIR")] = Path("studies-out"),
    json: Json = False,
) -> None:
    """List the studies that were run here, and how far each is."""
    from maci.lab.study.store import FILE, SqliteStore

    found = []
    for path in sorted(folder.glob(f"*/{FILE}")):
        with SqliteStore(path, make=False) as store:
            meta, keys = store.meta(), store.keys()
        if meta is not None:
            planned = list(meta.keys())
            statuses = [keys[key] for key in planned if key in keys]
            found.append(
                {
                    "name": meta.spec.name,
                    "about": meta.spec.about,
                    "out": str(path.parent),
                    "planned": len(planned),
                    "done": statuses.count("done"),
                    "failed": statuses.count("failed"),
                    "created": meta.created,
                    "version": meta.version,
                }
            )
    lines = (
        f"{row['out']}  {row['done']} of {row['planned']} answers, {row['failed']} failed  {row['about']}"
        for row in found
    )
    publish(found, map(str.rstrip, lines), json=json)
    if not found and not json:
        echo(f"no studies in {folder}: `maci study run SPEC.toml` makes one", err=True)


@study.command("export")
def exporting(
    folder: Annotated[Path, typer.Argument(help="A results folder.", metavar="DIR")],
    format: Annotated[str, typer.Option(help="jsonl, csv, or parquet (extra `eval`).")] = "jsonl",
    to: Annotated[
        Path | None, typer.Option(help="File to write (default: rows.FORMAT in DIR).", dir_okay=False)
    ] = None,
    store: StoreUrl = None,
    json: Json = False,
) -> None:
    """Write a study's rows, one for each answer, for other programs."""
    from maci.lab.study.report.render import ROW_FORMATS, export, texts_of
    from maci.lab.study.store import open_store

    _check(format, ROW_FORMATS)
    path = to or folder / f"rows.{format}"
    with closing(open_store(folder, store, name=folder.name, make=False)) as kept:
        meta = kept.meta()
        texts, missing = ({}, ()) if meta is None else texts_of(meta)
        n = export(kept.rows(), format, path, texts)
    for why in missing:
        echo(why, err=True)
    publish({"file": str(path), "rows": n}, [f"{path}: {n} rows"], json=json)


@study.command("report")
@grouped
def reporting(
    *,
    folders: Annotated[
        list[Path], typer.Argument(help="Results folders; those of one study are merged.", metavar="DIR")
    ],
    format: Annotated[str, typer.Option(help="text, md, latex, html, csv or json.")] = "text",
    out: Annotated[Path | None, typer.Option(help="File to write (default: standard output).", metavar="FILE")] = None,
    reference: Annotated[
        str | None, typer.Option(help="Compare all others with this method (default: maci).", metavar="METHOD")
    ] = None,
    resamples: Annotated[
        int | None, typer.Option(help="Bootstrap resamples (default: 10,000).", min=20, max=10**6, metavar="N")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Text: all tables; other formats always have them.")] = False,
    store: StoreUrl = None,
    seed: Seed = 0,
    output: OutputOptions,
) -> None:
    """Tables, tests and charts of a study: was debate worth it here?

    Every method is calibrated on dev in the same way and scored on test; differences come with intervals and adjusted p-values.
    A study that is not finished is reported as far as it is. Different studies stand side by side and are not pooled.
    """
    from rich.console import Console

    from maci.lab.study.report import FORMATS, ReportSettings, build_report, gather, render
    from maci.lab.study.report.gather import uncollected
    from maci.lab.study.report.render import on_terminal
    from maci.render.text import screen

    format = "json" if output.json else format
    _check(format, FORMATS)
    if out is not None and out.is_dir():
        raise InputError(f"--out {out} is a folder: name a file in it, such as {out / f'report.{format}'}")
    settings = ReportSettings(reference=reference, seed=seed, resamples=resamples)
    waiting = Console(stderr=True, highlight=False)
    with (
        waiting.status("reading rows")
        if waiting.is_terminal and not output.quiet and not output.plain
        else nullcontext() as status
    ):

        def watch(step: str) -> None:
            if status is not None:
                status.update(step)

        with uncollected():  # the rows are there until the end, and none is in a cycle
            found = build_report(gather(folders, store), settings, watch)
            if out is None and format == "text":
                width, plain = screen(plain=output.plain)
                written = on_terminal(found, width=width, plain=plain, full=full)
            else:
                written = render(found, format, full=full)
    if out is None:
        typer.echo(written, nl=False)
        return
    save(out, written)
    if not output.quiet:
        echo(f"{out}: {len(written.encode()):,} bytes", err=True)


def _check(format: str, known: Iterable[str]) -> None:
    if format not in known:
        raise InputError(f"--format {format}: choose one of {', '.join(known)}")
