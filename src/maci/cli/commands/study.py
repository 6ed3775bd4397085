"""``maci study``: its commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Cache, Json, NoCache, Offline, Plain, Quiet, Seed, check_cache

studies = typer.Typer(help="Compare methods on data sets: run, resume, report, export.", no_args_is_help=True)


@studies.command("run")
def study_run(
    spec: Annotated[Path, typer.Argument(help="What to compare: a TOML file.", metavar="SPEC.toml", dir_okay=False)],
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data sets (default: MACI_DATA).", file_okay=False, metavar="DIR")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Most items of each part, the same for every method.", min=1, metavar="N")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="With the changes of the spec's [quick], into studies-out/NAME-quick.")
    ] = False,
    engine: Annotated[str, typer.Option(help="Where: `local`, or `ray` (a cluster; extra `ray`).")] = "local",
    jobs: Annotated[
        int, typer.Option(help="Processes at once; more than 1 helps readers.", min=1, max=1024, metavar="N")
    ] = 1,
    address: Annotated[
        str | None, typer.Option(help="With --engine ray: the cluster (default: RAY_ADDRESS, else this machine).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the results (default: studies-out/NAME).", file_okay=False, metavar="DIR"),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Keep rows in PostgreSQL instead: postgresql://… (extra `postgres`).", metavar="URL"),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed answers again.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what there is to do and what it would cost; send and write nothing.")
    ] = False,
    budget_tokens: Annotated[int | None, typer.Option(help="Most tokens of all runs together.", min=0)] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Most dollars of all runs together.", min=0)] = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    offline: Offline = False,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Run a study, or go on with one that was interrupted: the same command again.

    Every method answers every case of every data set and seed; each answer is kept as soon as it is there, and what
    is there is not computed again. A failed answer is listed and counted, never scored. Interrupt it as you like.
    """
    from maci.cli.study import Options, run

    check_cache(cache, no_cache)
    run(
        Options(
            spec=spec, data=data, limit=limit, quick=quick, engine=engine, jobs=jobs, address=address, out=out,
            store=store, retry_failed=retry_failed, budget_tokens=budget_tokens, budget_usd=budget_usd, cache=cache,
            no_cache=no_cache, offline=offline, dry_run=dry_run, json=json, plain=plain, quiet=quiet,
        )
    )  # fmt: skip


@studies.command("methods")
def study_methods(json: Json = False) -> None:
    """List the methods that can be compared, with their options."""
    from maci.cli.study import methods

    methods(json=json)


@studies.command("list")
def study_list(
    folder: Annotated[Path, typer.Argument(help="Where results folders are.", metavar="DIR")] = Path("studies-out"),
    json: Json = False,
) -> None:
    """List the studies that were run here, and how far each is."""
    from maci.cli.study import listing

    listing(folder, json=json)


@studies.command("export")
def study_export(
    folder: Annotated[Path, typer.Argument(help="A results folder.", metavar="DIR")],
    format: Annotated[str, typer.Option(help="jsonl, csv, or parquet (extra `eval`).")] = "jsonl",
    to: Annotated[
        Path | None, typer.Option(help="File to write (default: rows.FORMAT in DIR).", dir_okay=False)
    ] = None,
    store: Annotated[str | None, typer.Option(help="Read from PostgreSQL instead.", metavar="URL")] = None,
) -> None:
    """Write a study's rows, one for each answer, for other programs."""
    from maci.cli.study import exporting

    exporting(folder, format=format, to=to, store=store)


@studies.command("report")
def study_report(
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
    store: Annotated[str | None, typer.Option(help="Read from PostgreSQL instead.", metavar="URL")] = None,
    seed: Seed = 0,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Tables, tests and charts of a study: was debate worth it here?

    Every method is calibrated on dev in the same way and scored on test; differences come with intervals and adjusted p-values.
    A study that is not finished is reported as far as it is. Different studies stand side by side and are not pooled.
    """
    from maci.cli.study_report import reporting

    reporting(
        folders, format="json" if json else format, out=out, reference=reference, resamples=resamples, seed=seed,
        store=store, plain=plain, quiet=quiet, full=full,
    )  # fmt: skip
