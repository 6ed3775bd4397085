"""``maci doctor``: does what a debate needs work here, and if not, what to do."""

from __future__ import annotations

import asyncio
import json as jsonlib
from collections.abc import Sequence
from textwrap import fill

import typer
from rich.console import Console

from maci.agents.judges.panel import check_families
from maci.cli.checks import Finding, ask_model, ask_service, keyed_services, local_models, machine
from maci.errors import MaciError
from maci.llm.families import family
from maci.llm.usage import Usage, dollars
from maci.seating import choose
from maci.seating.file import find
from maci.seating.seating import Choice, open_house
from maci.seating.spec import JudgeSpec, PanelSpec, is_reader

_COLOURS = {"ok": typer.colors.GREEN, "warning": typer.colors.YELLOW, "problem": typer.colors.RED}


def run(choice: Choice, *, offline: bool, timeout: float | None, json: bool, plain: bool) -> None:
    """Check, print, and exit 3 where something that was asked for does not work."""
    findings = list(machine())
    screen = Console(stderr=True)
    if json or plain or not screen.is_terminal:
        findings += asyncio.run(_models(choice, offline, timeout))
    else:
        with screen.status("asking …"):
            findings += asyncio.run(_models(choice, offline, timeout))
    fine = all(finding.state != "problem" for finding in findings)
    spent = sum((finding.usage for finding in findings), Usage())
    if json:
        rows = [{"subject": f.subject, "state": f.state, "says": f.says} for f in findings]
        typer.echo(
            jsonlib.dumps({"ok": fine, "checks": rows, "tokens": spent.tokens, "usd": spent.usd}, ensure_ascii=False)
        )
    else:
        _print(findings, spent, plain)
    if not fine:
        raise typer.Exit(3)


async def _models(choice: Choice, offline: bool, seconds: float | None) -> list[Finding]:
    named = choice.panel is not None or choice.agents is not None or choice.judges is not None
    spec: PanelSpec
    services, found = list[str](), list[Finding]()
    if named:
        seats = (choice.panel, choice.agents, choice.judges)
        panel = choose(*seats, least=1) if choice.agents or choice.panel else None
        if isinstance(panel, str):
            return [Finding(panel, "ok", "needs no model")]
        spec = panel or _judges_only(choice)
        models = list(spec.seated)
        if not models:
            return [Finding(spec.name or "panel", "ok", "needs no model")]
    else:
        spec = _known_models()
        services, found = keyed_services(spec)
        models = local_models()
    house = open_house(spec, Choice(no_cache=True, offline=True))  # the doctor fetches no weights
    try:
        asked = [ask_model(house, m, spec.options(m), offline=offline, seconds=seconds or _patience(m)) for m in models]
        listed = (
            []
            if offline
            else [ask_service(house, service, spec.options(f"{service}/"), seconds or 30.0) for service in services]
        )
        answers = await asyncio.gather(*asked)
        found += _families(spec)
        for finding in await asyncio.gather(*listed):
            if finding is not None:
                found.append(finding)
        return [*found, *(finding for answer in answers for finding in answer)]
    finally:
        await house.aclose()


def _families(spec: PanelSpec) -> list[Finding]:
    """Whether the judges may judge these debaters."""

    def members(seats: Sequence[JudgeSpec]) -> list[tuple[str, str]]:
        models = [(seat.name or seat.model, seat.model) for seat in seats if not is_reader(seat.model)]
        return [(name, spec.options(model).family or family(model)) for name, model in models]

    allowed = str(spec.settings.get("crit.same_family", False)).lower() == "true"
    try:
        warnings = check_families(members(spec.agents), members(spec.judges or ()), allowed)
    except MaciError as error:
        return [Finding("families", "problem", str(error))]
    return [Finding("families", "warning", warning) for warning in warnings]


def _patience(model: str) -> float:
    """Seconds a model may take: one of this machine has to be loaded first."""
    return 180.0 if model.startswith("local/") else 30.0


def _known_models() -> PanelSpec:
    try:
        return PanelSpec(models=find().options)
    except MaciError:  # said already, by the check of the panels files
        return PanelSpec()


def _judges_only(choice: Choice) -> PanelSpec:
    panel = choose("readers", None, choice.judges)
    assert isinstance(panel, PanelSpec)
    return panel


def _print(findings: Sequence[Finding], spent: Usage, plain: bool) -> None:
    width = max(len(finding.subject) for finding in findings)
    console = Console()
    for finding in findings:
        mark, margin = f"{finding.state:<8}", " " * (width + 11)
        text = f"{finding.subject:<{width}}  {finding.says}"
        if console.is_terminal and not plain:
            mark = typer.style(mark, fg=_COLOURS[finding.state])
            text = fill(text, max(60, console.width - 9), subsequent_indent=margin[9:], break_on_hyphens=False)
            text = text.replace("\n", "\n" + " " * 9)
        typer.echo(f"{mark} {text}")
    if spent.tokens:
        typer.echo(f"The checks cost {spent.tokens} tokens" + (f", {dollars(spent.usd)}" if spent.usd else "") + ".")
    problems = sum(finding.state == "problem" for finding in findings)
    typer.echo(f"{problems} problem{'' if problems == 1 else 's'}" if problems else "All that was asked for works.")
