"""``maci verify``."""

from __future__ import annotations

import json as jsonlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maci import __version__
from maci.cli.files import make_folder, writing
from maci.cli.options import OutputOptions, Seed, grouped
from maci.errors import CheckFailed

if TYPE_CHECKING:
    from maci.lab.theory.verdict import Verdict


@grouped
def verify(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller simulations: under a minute.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only this check (may be given again).", metavar="CHECK")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for verify.html and plots.", file_okay=False)] = Path("maci-verify"),
    seed: Seed = 0,
    output: OutputOptions,
) -> None:
    """Check what is claimed of the rules by simulation: claim, measured, pass or fail; exits 1 where one fails.

    Negative findings are shown too: where a rule of the paper does not do what it is for, and what the default does.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from maci.lab.theory.page import page, plots
    from maci.lab.theory.suite import check, named
    from maci.lab.theory.verdict import FULL, QUICK

    checks, size = named(only or []), QUICK if quick else FULL
    target = out / "verify.html"
    make_folder(out)
    found: list[Verdict] = []
    source: dict[str, str] = {}
    took: dict[str, float] = {}
    screen = Console(stderr=True, highlight=False, no_color=output.plain)
    live = screen.is_terminal and not output.plain and not output.silent
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    began = last = time.monotonic()
    with Progress(*columns, console=screen, transient=True, disable=not live) as bar:
        task = bar.add_task(checks[0].title, total=len(checks))
        for number, (done, verdicts) in enumerate(check(checks, size, seed), 1):
            found += verdicts
            now = time.monotonic()
            took[done.name], last = now - last, now
            source |= {verdict.id: done.name for verdict in verdicts}
            following = checks[number].title if number < len(checks) else "writing the page"
            bar.update(task, completed=number, description=following)
            if not live and not output.silent:
                typer.echo(f"{number}/{len(checks)} {done.name}: {done.title}, {took[done.name]:.1f} s", err=True)
    about = f"maci {__version__}, {'quick' if quick else 'full'} run, seed {seed}, {time.monotonic() - began:.0f} s"
    drawings = plots(found)
    with writing(target):
        (out / "plots").mkdir(exist_ok=True)
        for name, drawing in drawings.items():
            (out / "plots" / name).write_text(drawing, encoding="utf-8")
        target.write_text(page(found, about=about), encoding="utf-8")
    failed = [verdict.id for verdict in found if not verdict.passed]
    if output.json:
        typer.echo(jsonlib.dumps(_as_json(found, source, quick=quick, seed=seed, target=target), ensure_ascii=False))
    else:
        if not output.quiet or failed:
            _table(found, {id: f"{name}, {took[name]:.1f} s" for id, name in source.items()}, plain=output.plain)
        drawn = f", {len(drawings)} plot{'s' if len(drawings) > 1 else ''} in {out / 'plots'}" if drawings else ""
        typer.echo(f"{len(found) - len(failed)} of {len(found)} claims hold; written: {target}{drawn}")
    if failed:
        raise CheckFailed(f"{len(failed)} of {len(found)} claims fail: {', '.join(failed)}")


def _word(verdict: Verdict) -> str:
    if verdict.kind == "negative":
        return "shown" if verdict.passed else "NOT SHOWN"
    return "pass" if verdict.passed else "FAIL"


def _table(found: list[Verdict], source: Mapping[str, str], *, plain: bool) -> None:
    """``source``: of each claim, the check that speaks to it and what that took."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from maci.lab.theory.page import KINDS

    screen = Console(highlight=False, no_color=plain)
    if plain or not screen.is_terminal:
        for verdict in found:
            typer.echo(f"{_word(verdict):<9}  {verdict.claim} [{KINDS[verdict.kind]}]")
            typer.echo(f"{'':<9}  → {verdict.measured}")
            typer.echo(
                f"{'':<9}  limit: {verdict.limit}; n = {verdict.n:,} {verdict.unit}; check: {source[verdict.id]}"
            )
        return
    table = Table(
        "check", "claim", "measured", "n", "", box=None, pad_edge=False, show_lines=False, padding=(0, 2, 1, 0)
    )
    for verdict in found:
        mark = Text(_word(verdict), style="green" if verdict.passed else "bold red")
        table.add_row(
            Text(source[verdict.id]),
            Text(verdict.claim),
            Text(verdict.measured),
            Text(f"{verdict.n:,} {verdict.unit}"),
            mark,
        )
    screen.print(table)


def _as_json(
    found: list[Verdict], source: Mapping[str, str], *, quick: bool, seed: int, target: Path
) -> dict[str, Any]:
    return {
        "passed": all(verdict.passed for verdict in found),
        "quick": quick,
        "seed": seed,
        "version": __version__,
        "page": str(target),
        "claims": [
            {
                "id": verdict.id,
                "check": source[verdict.id],
                "claim": verdict.claim,
                "kind": verdict.kind,
                "limit": verdict.limit,
                "measured": verdict.measured,
                "passed": verdict.passed,
                "n": verdict.n,
                "unit": verdict.unit,
                "note": verdict.note,
                "figures": _plain(verdict.figures),
            }
            for verdict in found
        ],
    }


def _plain(value: Any) -> Any:
    """Numbers as JSON has them: no NumPy types, and null for what is undefined or without bound."""
    import numpy as np

    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    return value
