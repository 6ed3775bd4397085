"""``maci panels``, ``config``, ``cases``, ``index`` and ``calibrate``, which lay out what a debate needs: their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import ConfigFile, Corpus, Json, Plain, Profile, Quiet, Seed, Sets


def panels(json: Json = False, plain: Plain = False) -> None:
    """List the panels: built-in ones and those of your panels files."""
    from maci.cli.panels import run

    run(json=json, plain=plain)


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


def cases(
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of a case file.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """List the built-in cases."""
    from maci.cli.cases import run

    run(schema=schema, json=json, plain=plain)


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
    from maci.cli.calibrate import run

    run(cases, out=out, corpus=corpus, sets=sets or [], held_out=held_out, seed=seed, json=json, quiet=quiet)
