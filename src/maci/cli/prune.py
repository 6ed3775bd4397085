"""``maci prune``: delete old runs and what can be computed or bought again; shows what it would delete first."""

from __future__ import annotations

import json as jsonlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Annotated, Literal

import typer

from maci.cli.options import Json, Quiet
from maci.cli.output import echo
from maci.errors import EnvironmentError_, InputError
from maci.paths import RUNS, embeddings_file, replies_file

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Prunable:
    """Something that can be deleted, or is kept for a reason."""

    kind: Literal["run", "replies", "embeddings"]
    path: Path
    size: int
    """Bytes."""
    about: str
    kept: str = ""
    """Why it is not deleted; nothing where it is."""


def prune(
    older: Annotated[float, typer.Option(help="Only what is older than so many days.", min=0)] = 30.0,
    only: Annotated[str | None, typer.Option(help="`runs` or `cache` alone.", metavar="WHAT")] = None,
    runs: Annotated[Path, typer.Option(help="The folder of runs.", file_okay=False, metavar="DIR")] = RUNS,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Also runs that could be resumed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Delete old runs and cached replies and embeddings; shows what it would delete first.

    Model weights are not touched (`maci models remove`), nor is what `maci calibrate` and learned schedules wrote.
    """
    if only not in (None, "runs", "cache"):
        raise InputError(f"--only {only}: choose runs or cache, or leave it out for both")
    before = time.time() - older * _DAY
    found = [
        *(_runs(runs, before, unfinished=unfinished) if only != "cache" else ()),
        *(_caches(before) if only != "runs" else ()),
    ]
    going = [each for each in found if not each.kept]
    freed = sum(each.size for each in going)
    if not json and not quiet:
        for each in found:
            echo(f"{'keep' if each.kept else 'delete':<6}  {_size(each.size):>9}  {each.about}" + _why(each))
        typer.echo(f"{len(going)} to delete, {_size(freed)}." if going else "Nothing is that old: nothing to delete.")
    deleted = bool(going) and (yes or (not json and _confirmed()))
    if deleted:
        for each in going:
            _delete(each, before)
    if json:
        rows = [{"kind": e.kind, "path": str(e.path), "bytes": e.size, "kept": e.kept or None} for e in found]
        typer.echo(jsonlib.dumps({"deleted": deleted, "bytes": freed, "items": rows}))
    elif going and not quiet:
        typer.echo(
            "Deleted." if deleted else "Nothing was deleted. To delete it: maci prune --yes with the same options."
        )


def _confirmed() -> bool:
    return sys.stdin.isatty() and typer.confirm("Delete?", default=False)


def _why(each: Prunable) -> str:
    return f"  ({each.kept})" if each.kept else ""


def _runs(folder: Path, before: float, *, unfinished: bool) -> Iterator[Prunable]:
    """Runs in the folder of runs: folders with a transcript or with the results of a batch. Nothing else there is touched."""
    from maci.record.transcript import is_finished

    if not folder.is_dir():
        return
    for run in sorted(folder.iterdir()):
        if run.is_symlink() or not run.is_dir():
            continue
        records = [path for path in (run / "transcript.jsonl", *run.glob("*/transcript.jsonl")) if path.is_file()]
        if not records and not (run / "results.json").is_file():
            continue
        files = dict(_files(run))
        if max((stat.st_mtime for stat in files.values()), default=run.stat().st_mtime) >= before:
            continue
        kept = ""
        if any(_in_use(path) for path in records):
            kept = "in use"
        elif not unfinished and not all(map(is_finished, records)):
            kept = "not finished, can be resumed; --unfinished deletes it"
        elif any(path.name == "outcome.json" for path in files):
            kept = "its outcome is recorded"
        yield Prunable("run", run, sum(stat.st_size for stat in files.values()), str(run), kept)


def _files(run: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Files of a run; a link is none, and one that is gone by now neither."""
    for path in run.rglob("*"):
        with suppress(FileNotFoundError):
            stat = path.lstat()
            if S_ISREG(stat.st_mode):
                yield path, stat


def _in_use(record: Path) -> bool:
    from maci.record.transcript import lock

    with record.open("ab") as file:
        return not lock(file)


def _caches(before: float) -> Iterator[Prunable]:
    import sqlite3

    replies = replies_file()
    if replies.is_file():
        try:
            with closing(sqlite3.connect(f"file:{replies}?mode=ro", uri=True, timeout=5)) as base:
                query = "SELECT count(*), coalesce(sum(length(reply)), 0) FROM replies WHERE created < ?"
                rows, size = base.execute(query, (before,)).fetchone()
        except sqlite3.Error as error:
            raise EnvironmentError_(
                f"{replies} cannot be read ({error}): try again when no debate is running"
            ) from error
        if rows:
            about = "1 reply of a model" if rows == 1 else f"{rows:,} replies of models"
            yield Prunable("replies", replies, size, f"{about} in {replies}; asking again costs again")
    embeddings = embeddings_file()
    if embeddings.is_file() and embeddings.stat().st_mtime < before:
        yield Prunable("embeddings", embeddings, embeddings.stat().st_size, f"embeddings in {embeddings}")


def _delete(each: Prunable, before: float) -> None:
    import sqlite3

    try:
        if each.kind == "run":
            shutil.rmtree(each.path)
        elif each.kind == "embeddings":
            for end in ("", "-wal", "-shm"):
                each.path.with_name(each.path.name + end).unlink(missing_ok=True)
        else:
            with closing(sqlite3.connect(each.path, timeout=30)) as base:
                base.execute("DELETE FROM replies WHERE created < ?", (before,))
                base.commit()
                base.execute("VACUUM")
    except (OSError, sqlite3.Error) as error:
        raise EnvironmentError_(f"cannot delete {each.path}: {error}") from error


def _size(count: int) -> str:
    """Bytes in words.

    >>> _size(98_362_432), _size(1500)
    ('98.4 MB', '1.5 kB')
    """
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"
