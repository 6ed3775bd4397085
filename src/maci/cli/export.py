"""``maci export``: debates as training data."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maci.cli.options import Json, Quiet
from maci.cli.output import echo, emit
from maci.errors import InputError, MaciError, ReplayMismatch

if TYPE_CHECKING:
    from maci.story.training import Debated


def export(
    transcript: Annotated[
        Path,
        typer.Argument(help="A transcript, its folder, or a folder of many.", metavar="TRANSCRIPT|DIR", exists=True),
    ],
    format: Annotated[
        str,
        typer.Option(help="sft: chats; pairs: admitted against rejected arguments; arguments: a table of all."),
    ] = "sft",
    out: Annotated[
        Path | None,
        typer.Option(help="A .jsonl or .parquet file (default: JSON lines on standard output).", dir_okay=False),
    ] = None,
    right: Annotated[
        bool, typer.Option("--right", help="Only debates known to be right (gold, or `maci outcome`).")
    ] = False,
    card: Annotated[
        bool,
        typer.Option(
            "--card", help="Also write README.md beside the file: a data card, as the Hugging Face Hub reads it."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Turn debates into training data: conversations, preference pairs, tables.

    Debates that are not finished or cannot be read are left out and named.
    """
    from maci.paths import check_file, writing
    from maci.story.training import FORMS
    from maci.story.training import card as described

    if format not in FORMS:
        raise InputError(f"--format {format}: choose one of {', '.join(FORMS)}")
    if out is not None:
        if out.suffix not in (".jsonl", ".parquet"):
            raise InputError(f"--out {out}: the name must end in .jsonl or .parquet")
        if out.name == "transcript.jsonl":
            raise InputError(f"--out {out}: that is the name of a record; choose another")
        if out.exists() and not force:
            raise InputError(f"{out} is here already and is not overwritten: add --force, or name another --out")
        check_file(out)
    readme = None if out is None else out.parent / "README.md"
    if card and readme is None:
        raise InputError("--card describes a file: name one with --out")
    if card and readme is not None and readme.exists() and not force:
        raise InputError(f"{readme} is here already and is not overwritten: add --force, or another folder to --out")
    left_out: list[str] = []
    debates = [each for each in _debates(transcript, left_out) if not right or each.right]
    rows = [row for each in debates for row in _rows(FORMS[format], each)]
    if out is None:
        for row in rows:
            emit(row)
    else:
        if card and not rows:
            raise InputError(
                f"{transcript} has no rows for --format {format}, so there is nothing that a card could describe"
            )
        _write(out, rows)
        if card and readme is not None:
            with writing(readme):
                readme.write_text(described(format, out.name, rows, debates, len(left_out)), encoding="utf-8")
    if json and out is not None:
        found = {"debates": len(debates), "rows": len(rows), "out": str(out), "left_out": left_out}
        emit(found)
    elif not quiet:
        for each in left_out:
            echo(f"left out: {each}", err=True)
        many = f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}"
        where = "" if out is None else f" written to {out}"
        typer.echo(f"{many} from {len(debates)} {'debate' if len(debates) == 1 else 'debates'}{where}.", err=True)


def _rows(form: Callable[[Debated], Iterable[dict[str, Any]]], debated: Debated) -> list[dict[str, Any]]:
    """What a debate is turned into."""
    from maci.record.replay import telling

    with telling(debated.events):
        return list(form(debated))


def _debates(path: Path, left_out: list[str]) -> Iterator[Debated]:
    """The finished debates at a place; why others are not among them goes into ``left_out``."""
    from maci.record.outcome import read_outcome
    from maci.record.replay import differs, telling
    from maci.record.transcript import read
    from maci.story.story import Story
    from maci.story.training import Debated

    single = path.is_file() or (path / "transcript.jsonl").is_file()
    records = (
        [path if path.is_file() else path / "transcript.jsonl"] if single else sorted(path.rglob("transcript.jsonl"))
    )
    if not records:
        raise InputError(f"{path} holds no transcript.jsonl: name a run, or a folder of runs such as maci-runs")
    for record in records:
        try:
            events = read(record).events
            if why := differs(events):
                raise ReplayMismatch(
                    f"{record} was made or changed by hand, by another version of MACI or with a plugin: {why}"
                )
            with telling(events):
                story = Story.of(events)
                if story.result is None:
                    left_out.append(f"{record} (not finished)")
                    continue
                known = read_outcome(record.parent)
                was = story.gold_among(story.result.distribution) if known is None else known.was
                yield Debated(run=record.parent.name, events=events, story=story, was=was)
        except MaciError as error:
            if single:
                raise
            left_out.append(f"{record} ({error})")


def _write(out: Path, rows: list[dict[str, Any]]) -> None:
    from maci.errors import MissingExtra
    from maci.paths import writing
    from maci.story.training import COLUMNS

    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.suffix == ".jsonl":
            with out.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(jsonlib.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            return
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtra("pyarrow", "eval", "Parquet") from error
        message = pyarrow.struct([("role", pyarrow.string()), ("content", pyarrow.string())])
        kinds = {
            "text": pyarrow.string(),
            "texts": pyarrow.list_(pyarrow.string()),
            "messages": pyarrow.list_(message),
            "flag": pyarrow.bool_(),
            "whole": pyarrow.int64(),
            "number": pyarrow.float64(),
        }  # a column without values has its type all the same
        schema = pyarrow.schema([(name, kinds[COLUMNS[name][0]]) for name in (rows[0] if rows else ())])
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), out)
