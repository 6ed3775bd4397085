"""Options that several commands share."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from maci.errors import InputError


def _share(text: str) -> float:
    """A number between 0 and 1; nan is none."""
    with suppress(ValueError):
        if 0 <= (value := float(text)) <= 1:
            return value
    raise typer.BadParameter(f"{text} is not a number between 0 and 1")


Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output and nothing else.")]
Plain = Annotated[bool, typer.Option("--plain", help="No colour, no bars: for pipes and screen readers.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the result.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="TOML file with settings.", dir_okay=False)]
Profile = Annotated[str | None, typer.Option("--profile", help="`default` or `paper` (the paper's literal rules).")]
Sets = Annotated[
    list[str] | None, typer.Option("--set", help="key=value; `maci config` lists the keys.", metavar="KEY=VALUE")
]
Panel = Annotated[
    str | None,
    typer.Option(help="Who debates: readers (default), paper, a YAML script, or a named panel (`maci panels`)."),
]
Agents = Annotated[
    str | None,
    typer.Option(help="Debaters, as provider/model,provider/model,…; one may be named twice.", metavar="MODELS"),
]
Judges = Annotated[
    str | None,
    typer.Option(help="Judges of other families, as provider/model,…; `reader` or `none`.", metavar="MODELS"),
]
CaseName = Annotated[
    str | None, typer.Argument(help="A case file (YAML, TOML, JSON), `-`, or a built-in name.", metavar="CASE")
]
Question = Annotated[str | None, typer.Option(help="Instead of a case: the question.")]
Outcomes = Annotated[str | None, typer.Option(help="With --question: the outcomes, comma-separated (default: open).")]
Context = Annotated[str, typer.Option(help="With --question: what is known.")]
Corpus = Annotated[Path | None, typer.Option(help="Evidence: a folder made by `maci index`.", exists=True)]
BudgetTokens = Annotated[int | None, typer.Option(help="Most tokens, all calls together.", min=0)]
BudgetUsd = Annotated[float | None, typer.Option(help="Most dollars, all calls together.", min=0)]
Cache = Annotated[
    Path | None,
    typer.Option(help="Where models' replies are kept and found again.", dir_okay=False, metavar="FILE"),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Keep no replies, ask models every time.")]
Offline = Annotated[bool, typer.Option("--offline", help="Fetch no weights: use those that are here.")]
TrustRecord = Annotated[
    bool,
    typer.Option(
        "--trust-record",
        help="With --resume: use hosts, keys and code that only the record names, not your configuration.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Send nothing: estimate tokens and dollars.")]
Risk = Annotated[
    float | None,
    typer.Option(
        help="Risk of a wrong answer you accept, such as 0.1: above it none is given.", parser=_share, metavar="SHARE"
    ),
]
TranscriptPath = Annotated[
    Path, typer.Argument(help="A transcript.jsonl, or the folder that holds it.", metavar="TRANSCRIPT")
]
DataDir = Annotated[
    Path | None, typer.Option("--data", help="Folder of the data sets (default: MACI_DATA).", metavar="DIR")
]


def check_cache(cache: Path | None, no_cache: bool) -> None:
    """Replies are kept somewhere or nowhere."""
    if cache is not None and no_cache:
        raise InputError("give --cache or --no-cache, not both")
