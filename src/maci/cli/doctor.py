"""``maci doctor``: does what a debate needs work here, and if not, what to do."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from maci.cli.options import Json, PanelOptions, Plain, Quiet, grouped
from maci.cli.output import echo, emit
from maci.errors import InputError
from maci.llm.offline import stay_offline
from maci.llm.usage import Usage, dollars
from maci.paths import check_file, save
from maci.render.markup import clean

if TYPE_CHECKING:
    from maci.debating.live_trial import LiveTrial
    from maci.seating.checks import CheckResult
    from maci.seating.file import PanelFiles

_COLOURS = {"ok": typer.colors.GREEN, "warning": typer.colors.YELLOW, "problem": typer.colors.RED}


@grouped
def doctor(
    *,
    panel: PanelOptions,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no server; only look at this machine.", callback=stay_offline)
    ] = False,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds a model may take (default: 30, and 180 to load a local one).", min=0.1)
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Hold one small, capped debate with each configured provider; costs some tokens."),
    ] = False,
    out: Annotated[
        Path, typer.Option(help="With --live: the report to share, without keys.", dir_okay=False, metavar="FILE")
    ] = Path("maci-live.md"),
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Check what a debate needs: keys, endpoints, weights, structured output; each with its fix.

    Every model named is asked twice, for a few tokens. Without --panel, --agents, --judges and a panel in maci.toml, every service
    that has a key is asked what it serves, which costs nothing, and every local model that is here is tried.
    """
    import asyncio

    if panel.env_file is not None:
        from maci.seating.discover import use_env_file

        use_env_file(panel.env_file)
    if live:
        if not _try_live(panel, out, json=json):
            raise typer.Exit(3)
        return
    from maci.seating.checks import machine, models, project_panel
    from maci.story.words import plural

    findings = list(machine())
    seats = panel.panel or (project_panel() if panel.agents is None and panel.judges is None else None)
    screen = Console(stderr=True)
    shown = screen.is_terminal and not json and not plain and not quiet
    with screen.status("asking …") if shown else nullcontext():
        findings += asyncio.run(models(seats, panel.agents, panel.judges, offline=offline, seconds=timeout))
    problems = sum(finding.state == "problem" for finding in findings)
    spent = sum((finding.usage for finding in findings), Usage())
    rows = [{"subject": f.subject, "state": f.state, "says": f.says} for f in findings]
    found = {"ok": not problems, "checks": rows, "tokens": spent.tokens, "usd": spent.usd}
    verdict = plural(problems, "problem") if problems else "All that was asked for works."
    told = [finding for finding in findings if finding.state == "problem"] if quiet else findings
    if json:
        emit(found)
    else:
        for line in (*(_lines(told, spent, plain) if told else ()), verdict):
            typer.echo(line)
    if problems:
        raise typer.Exit(3)


def _lines(findings: Sequence[CheckResult], spent: Usage, plain: bool) -> Iterator[str]:
    width = max(len(finding.subject) for finding in findings)
    console = Console()
    for finding in findings:
        mark, margin = f"{finding.state:<8}", " " * (width + 11)
        text = clean(f"{finding.subject:<{width}}  {finding.says}")
        if console.is_terminal and not plain:
            mark = typer.style(mark, fg=_COLOURS[finding.state])
            text = fill(text, max(60, console.width - 9), subsequent_indent=margin[9:], break_on_hyphens=False)
            text = text.replace("\n", "\n" + " " * 9)
        yield f"{mark} {text}"
    if spent.tokens:
        yield f"The checks cost {spent.tokens} tokens" + (f", {dollars(spent.usd)}" if spent.usd else "") + "."


def _try_live(panel: PanelOptions, out: Path, *, json: bool) -> bool:
    """``--live``: hold one capped debate with each configured provider, write a report that can be shared; whether all of them work."""
    import asyncio

    from maci.debating.live_trial import TOKENS, USD, live_report, trial_models
    from maci.seating import choose
    from maci.seating.file import find
    from maci.seating.spec import PanelSpec

    named = None
    if panel.panel is not None or panel.agents is not None:
        chosen = choose(panel.panel, panel.agents, panel.judges, least=1)
        named = chosen if isinstance(chosen, PanelSpec) else PanelSpec()
    found = find()
    models = trial_models(found, named)
    if not models:
        raise InputError(
            "no provider is configured, so there is nothing to try: run `maci init`, or name models with --agents. A key in the "
            "environment alone is not used"
        )
    check_file(out)
    if not json:
        cap = f"at most {TOKENS:,} tokens each, and ${USD:.2f} where the price is known"
        echo(f"One small debate with each of {', '.join(models)}: {cap}.", err=True)
    trials = asyncio.run(_try_all(models, found, json=json))
    save(out, live_report(trials))
    fine = all(each.works for each in trials)
    if json:
        typer.echo(jsonlib.dumps({"ok": fine, "report": str(out), "trials": [asdict(each) for each in trials]}))
    else:
        echo(f"Report without keys and addresses, to share: {out}")
    return fine


async def _try_all(models: tuple[str, ...], found: PanelFiles, *, json: bool) -> list[LiveTrial]:
    from maci.debating.live_trial import try_model

    trials = []
    for model in models:
        each = await try_model(model, found)
        trials.append(each)
        if not json:
            how = f"{each.calls} calls, {each.tokens:,} tokens, {each.seconds:.1f} s"
            echo(f"{'ok' if each.works else 'problem':<8} {each.model}  {how}")
            for remark in each.remarks:
                echo(f"         {remark}")
    return trials
