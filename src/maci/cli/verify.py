"""``maci verify``."""

from __future__ import annotations

import json as jsonlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from maci import __version__
from maci.errors import CheckFailed, EnvironmentError_
from maci.lab.theory.page import KINDS, page, plots
from maci.lab.theory.suite import check, named
from maci.lab.theory.verdict import FULL, QUICK, Verdict


def run(*, quick: bool, only: list[str], out: Path, seed: int, json: bool, plain: bool, quiet: bool) -> None:
    """Check the claims, print a table, write a page; fails where a claim does."""
    checks, size = named(only), QUICK if quick else FULL
    target = out / "verify.html"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentError_(f"cannot make the folder {out}: {error.strerror}; name another with --out") from error
    found: list[Verdict] = []
    source: dict[str, str] = {}
    took: dict[str, float] = {}
    screen = Console(stderr=True, highlight=False, no_color=plain)
    live = screen.is_terminal and not plain and not json and not quiet
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
            if not live and not json and not quiet:
                typer.echo(f"{number}/{len(checks)} {done.name}: {done.title}, {took[done.name]:.1f} s", err=True)
    about = f"maci {__version__}, {'quick' if quick else 'full'} run, seed {seed}, {time.monotonic() - began:.0f} s"
    try:
        (out / "plots").mkdir(exist_ok=True)
        drawings = plots(found)
        for name, drawing in drawings.items():
            (out / "plots" / name).write_text(drawing, encoding="utf-8")
        target.write_text(page(found, about=about), encoding="utf-8")
    except OSError as error:
        raise EnvironmentError_(f"cannot write {target}: {error.strerror}; name another folder with --out") from error
    failed = [verdict.id for verdict in found if not verdict.passed]
    if json:
        typer.echo(jsonlib.dumps(_as_json(found, source, quick=quick, seed=seed, target=target), ensure_ascii=False))
    else:
        if not quiet or failed:
            _table(found, {id: f"{name}, {took[name]:.1f} s" for id, name in source.items()}, plain=plain)
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
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    return value
