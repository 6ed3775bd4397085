"""``maci calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Corpus, Json, PanelOptions, Quiet, ReplyOptions, Seed, Sets, SettingsOptions  # fmt: skip
from maci.cli.output import interruptible, publish
from maci.paths import check_file, save

_UNPLANNED = {"plan.enabled": False, "plan.acquire": 0}
"""Only the answers are looked at."""


def calibrate(
    cases: Annotated[
        Path, typer.Argument(help="Development cases with gold, one JSON object a line.", metavar="CASES.jsonl")
    ],
    out: Annotated[Path, typer.Option(help="Where to write the settings.", dir_okay=False)] = Path("calibration.toml"),
    corpus: Corpus = None,
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
    from maci.calibration.development import known_cases, learn, sets_promised, split
    from maci.calibration.profile import to_toml
    from maci.cli.progress import ProgressBars
    from maci.cli.seating import chosen
    from maci.seating.seating import Seating

    known = known_cases(cases)
    check_file(out)
    settings, silent = SettingsOptions(sets=sets), json or quiet
    choice = chosen(PanelOptions(), settings, ReplyOptions(), _UNPLANNED, seed=seed, quiet=silent, corpus=corpus)
    teaching, held = split(known, held_out, seed)
    with (
        interruptible(f"nothing was kept, and {out} is as it was: the same command starts anew"),
        ProgressBars(silent=silent) as progress,
    ):
        learnt, failed = learn(teaching, held, Seating(choice), progress.each)
    save(out, to_toml(learnt, cases.name))
    if failed and not json:
        names = ", ".join(name for name, _ in failed[:5])
        typer.echo(f"{len(failed)} cases without an answer were left out: {names}", err=True)
    record = {
        "n": learnt.n, "held_out": learnt.held, "failed": [name for name, _ in failed], "accuracy": learnt.accuracy,
        "ece_before": learnt.ece_before, "ece_after": learnt.ece_after, "settings": dict(learnt.settings), "out": str(out),
    }  # fmt: skip
    lines = [
        f"{out}: from {learnt.n} cases, accuracy {learnt.accuracy:.3f}, T = {learnt.settings['calibration.temperature']:.3f}, "
        f"calibration error {learnt.ece_before:.3f} → {learnt.ece_after:.3f} (in-sample)",
        sets_promised(learnt, len(known), held_out),
        f"Use it with: maci debate CASE --config {out}",
    ]
    publish(record, [] if quiet else lines, json=json)
