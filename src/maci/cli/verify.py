"""``maci verify``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from maci import __version__
from maci.cli.options import OutputOptions, Seed, grouped
from maci.cli.output import publish
from maci.errors import CheckFailed
from maci.paths import check_folder, save


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
    from maci.calibration.stats.estimate import as_json
    from maci.cli.terminal import ProgressBars
    from maci.lab.theory import FULL, QUICK, CheckedClaim
    from maci.lab.theory.suite import build_report, check, named, plots
    from maci.render.html import to_html
    from maci.render.text import on_screen
    from maci.story.words import plural

    checks, size = named(only or []), QUICK if quick else FULL
    target = out / "verify.html"
    check_folder(out)
    found: list[CheckedClaim] = []
    source: dict[str, str] = {}
    took: dict[str, float] = {}
    began = last = time.monotonic()
    with ProgressBars(plain=output.plain, silent=output.silent) as progress:
        progress.at("claims", 0, len(checks), beside=checks[0].title, line="")
        for number, (done, verdicts) in enumerate(check(checks, size, seed), 1):
            found += verdicts
            now = time.monotonic()
            took[done.name], last = now - last, now
            source |= {verdict.id: done.name for verdict in verdicts}
            following = checks[number].title if number < len(checks) else "writing the page"
            line = f"{number}/{len(checks)} {done.name}: {done.title}, {took[done.name]:.1f} s"
            progress.at("claims", number, len(checks), beside=following, line=line)
    about = f"maci {__version__}, {'quick' if quick else 'full'} run, seed {seed}, {time.monotonic() - began:.0f} s"
    drawings = plots(found)
    for name, drawing in drawings.items():
        save(out / "plots" / name, drawing)
    save(target, to_html(build_report(found, about=about)))
    failed = [verdict.id for verdict in found if not verdict.passed]
    by = {id: f"{name}, {took[name]:.1f} s" for id, name in source.items()}
    shown = build_report(found, about=about, checks=by, full=False)
    drawn = f", {plural(len(drawings), 'plot')} in {out / 'plots'}" if drawings else ""
    publish(
        {
            "passed": not failed,
            "quick": quick,
            "seed": seed,
            "version": __version__,
            "page": str(target),
            "claims": [{"id": one.id, "check": source[one.id], **as_json(one)} for one in found],
        },
        [
            *([on_screen(shown, plain=output.plain)] if failed or not output.quiet else []),
            f"{len(found) - len(failed)} of {len(found)} claims hold; written: {target}{drawn}",
        ],
        json=output.json,
    )
    if failed:
        raise CheckFailed(f"{len(failed)} of {len(found)} claims fail: {', '.join(failed)}")
