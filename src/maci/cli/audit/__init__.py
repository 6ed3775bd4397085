"""``maci audit``: its commands and their options. Their work is in the modules of the same names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import (  # fmt: skip
    BudgetOptions,
    Cache,
    ConfigFile,
    DataDir,
    Offline,
    OutputOptions,
    PanelOptions,
    ReplyOptions,
    Seed,
    Sets,
    SettingsOptions,
    chosen,
    grouped,
)
from maci.errors import InputError

audit = typer.Typer(no_args_is_help=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSeats:
    """The judges to audit."""

    judges: Annotated[
        str | None, typer.Option(help="Whom to audit: provider/model,…; `reader` (default).", metavar="MODELS")
    ] = None
    panel: Annotated[str | None, typer.Option(help="Instead: the judges of a named panel.")] = None

    def __post_init__(self) -> None:
        if self.panel is not None and self.judges is not None:
            raise InputError("give --panel or --judges, not both")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestions:
    """What to ask the judges, and whom to compare them with."""

    arguments: Annotated[
        list[Path] | None,
        typer.Option(
            help="Arguments to score: transcripts, folders of them, or a JSONL file; may be given again. Default: of debates the "
            "embedded readers hold on built-in cases.",
            metavar="PATH",
        ),
    ] = None
    n: Annotated[int, typer.Option("--n", help="Most arguments.", min=2, max=100_000)] = 150
    probes: Annotated[str, typer.Option(help="Asked again how: turned,padded,signed,batch; `all`, `none`.")] = "all"
    probed: Annotated[int, typer.Option(help="Arguments that are asked again.", min=1, metavar="N")] = 50
    repeats: Annotated[int, typer.Option(help="How often the same is asked again.", min=0, max=20)] = 2
    export: Annotated[
        Path | None, typer.Option(help="Write the arguments for people, blind (.csv or .jsonl).", dir_okay=False)
    ] = None
    import_: Annotated[
        Path | None,
        typer.Option(
            "--import",
            help="People's scores: the exported file, filled in (any scale, more is better).",
            dir_okay=False,
        ),
    ] = None
    human: Annotated[
        str | None, typer.Option(help="Instead: against people's choices on a public set (ukp_convarg).", metavar="SET")
    ] = None
    data: DataDir = None
    per_topic: Annotated[int, typer.Option(help="With --human: pairs of each topic side; 0 for all.", min=0)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditBudget(BudgetOptions):
    """Ceilings of the whole audit."""

    budget_tokens: Annotated[
        int | None,
        typer.Option(help="Most tokens of the whole audit (default: 2,000,000 where a model judges).", min=0),
    ] = None
    budget_usd: Annotated[float | None, typer.Option(help="Most dollars of the whole audit.", min=0)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """The report, and what the exit code depends on."""

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing: the most it can cost.")] = False
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples.", min=20, max=10**6)] = 10_000
    out: Annotated[Path, typer.Option(help="Folder of the report.", file_okay=False)] = Path("maci-audit/judges")
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 where the verdict is bad.")] = False


@audit.command("judges")
@grouped
def audit_judges(
    *,
    seats: JudgeSeats,
    asked: JudgeQuestions,
    config: ConfigFile = None,
    sets: Sets = None,
    budget: AuditBudget,
    replies: ReplyOptions,
    report: JudgeReport,
    seed: Seed = 0,
    output: OutputOptions,
) -> None:
    """Do the judges deserve it: do they agree, would a swap change the winner, what besides the argument moves a score?

    Agreement, judge and order swaps, bias for their own family, length, padding, place and names, self-consistency: each with
    an interval, and a verdict with advice. Interrupt it as you like: replies are kept, the same command continues.
    """
    from maci.cli.audit.judges import JudgeAudit, run

    panel, settings = PanelOptions(panel=seats.panel, judges=seats.judges), SettingsOptions(config=config, sets=sets)
    choice = chosen(panel, settings, replies, budget.given, seed=seed, quiet=output.silent)
    run(JudgeAudit(choice=choice, asked=asked, report=report, output=output))


@dataclass(frozen=True, slots=True, kw_only=True)
class DialOptions:
    """Which debates to hold."""

    levels: Annotated[str, typer.Option(help="Levels of CL, comma-separated.")] = "0.9,0.7,0.5,0.3,0.1"
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topics", help="A case to debate: a file or a built-in name; may be given again.", metavar="CASE"
        ),
    ] = None
    seeds: Annotated[int, typer.Option(help="Debates of every topic and level.", min=1, max=1000)] = 3
    rounds: Annotated[int, typer.Option(help="Rounds of every debate.", min=1, max=20)] = 3
    placebo: Annotated[
        bool, typer.Option("--placebo/--no-placebo", help="Models also debate under words that say nothing of manner.")
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DialReport:
    """The report, files for people, and what the exit code depends on."""

    out: Annotated[Path, typer.Option(help="Folder for the debates and the report.", file_okay=False)] = Path(
        "maci-audit/contentiousness"
    )
    transcript: Annotated[
        Path | None, typer.Option(help="Instead: observable patterns of one debate, by round.", metavar="TRANSCRIPT")
    ] = None
    export: Annotated[
        Path | None,
        typer.Option(help="Write models' turns for people to guess, blind (.csv or .jsonl).", dir_okay=False),
    ] = None
    import_: Annotated[
        Path | None, typer.Option("--import", help="People's guesses: the exported file, filled in.", dir_okay=False)
    ] = None
    self_summaries: Annotated[
        str | None,
        typer.Option(
            help="Models describe their own manner; this one, of another family, sums up blind.", metavar="MODEL"
        ),
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 where the dial does not move them as meant.")] = False


@audit.command("contentiousness", short_help="Does the behaviour dial CL move these agents?")
@grouped
def audit_contentiousness(
    *,
    panel: PanelOptions,
    dial: DialOptions,
    config: ConfigFile = None,
    sets: Sets = None,
    budget_tokens: Annotated[
        int | None, typer.Option(help="Most tokens of all debates together; each may use the same share.", min=1)
    ] = None,
    cache: Cache = None,
    offline: Offline = False,
    report: DialReport,
    seed: Seed = 0,
    output: OutputOptions,
) -> None:
    """Debate at fixed levels of contentiousness and see what changes: wording, disagreement, shared evidence.

    The same topics, seeds, rounds and ceilings at every level. Interrupt it as you like: the same command continues.
    """
    from maci.cli.audit.contentiousness import DialAudit, run

    settings, replies = SettingsOptions(config=config, sets=sets), ReplyOptions(cache=cache, offline=offline)
    choice = chosen(panel, settings, replies, {}, seed=seed, quiet=output.silent)
    run(DialAudit(choice=choice, dial=dial, report=report, output=output, tokens=budget_tokens))
