"""``maci report``: the page of a debate, or the pages of a folder of debates and their index."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from maci.cli.options import Json, Quiet
from maci.cli.output import echo, emit
from maci.cli.show import locate
from maci.errors import InputError, MaciError, TranscriptError
from maci.paths import save, slug

if TYPE_CHECKING:
    from maci.story import Story

FORMATS = ("html", "md")


def report(
    path: Annotated[
        Path, typer.Argument(help="A transcript.jsonl, its folder, or a folder of debates.", metavar="TRANSCRIPT|DIR")
    ],
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: report.html beside the transcript).", dir_okay=False)
    ] = None,
    format: Annotated[str, typer.Option(help="`html`, one file that needs nothing else, or `md`, a note.")] = "html",
    open: Annotated[bool, typer.Option("--open", help="Show it in your browser.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a debate as a page: the verdict first, then its story, evidence, charts and audit.

    A folder of several debates becomes an index page and a report beside each transcript. Markdown goes to standard
    output unless --out names a file.
    """
    if format not in FORMATS:
        raise InputError(f"--format {format}: choose one of {', '.join(FORMATS)}")
    if out is not None and out.suffix == ".jsonl":
        raise InputError(f"--out {out} would look like a transcript: name a .{format} file")
    several = [] if path.is_file() or (path / "transcript.jsonl").exists() else sorted(path.rglob("transcript.jsonl"))
    if path.is_dir() and not several and not (path / "transcript.jsonl").exists():
        raise InputError(f"{path} holds no transcript.jsonl: name a debate's folder (--out of `maci debate`)")
    if several:
        written, failed = _write_index(path, several, out, format)
    else:
        written, failed = [_write_report(locate(path), out, format)], {}
    shown = [file for file in written if file is not None]
    if json:
        emit({"written": [str(f) for f in shown], "failed": failed})
    elif not quiet:
        for file in shown[:1]:
            more = f" and {len(shown) - 1} more" if len(shown) > 1 else ""
            echo(f"{file}{more}: {file.stat().st_size:,} bytes", err=True)
        for name, why in failed.items():
            echo(f"{name}: {why}", err=True)
    if open and shown:
        webbrowser.open(shown[0].resolve().as_uri())
    if failed:
        raise TranscriptError(f"{len(failed)} of {len(several)} transcripts cannot be read; the index names them")


def _render(path: Path, format: str) -> tuple[Story, str]:
    """A debate and its page; the record is computed again."""
    from maci.record.replay import telling
    from maci.record.transcript import read
    from maci.seating.seating import unpriced
    from maci.story import Story
    from maci.story.report.page import to_html, to_markdown
    from maci.story.report.sources import Provenance

    recording = read(path)
    made = to_html if format == "html" else to_markdown
    with telling(recording.events):
        story = Story.of(recording.events)
        known = Provenance.of(recording, path, priced=not unpriced(recording.opened))
        page = made(story, known)
    if known.differs:
        echo(
            f"Warning: {path} was made or changed by hand, by another version of MACI or with a plugin: {known.differs}",
            err=True,
        )
    return story, page


def _write_report(path: Path, out: Path | None, format: str) -> Path | None:
    """The report of one debate: the file, or none where Markdown goes to standard output."""
    _, page = _render(path, format)
    if out is None and format == "md":
        typer.echo(page, nl=False)
        return None
    return save(out or path.with_name(f"report.{format}"), page)


def _write_index(
    folder: Path, paths: list[Path], out: Path | None, format: str
) -> tuple[list[Path | None], dict[str, str]]:
    """The index first; reports beside their transcripts, or beside the index where ``out`` names it."""
    from maci.story.report.page import Entry, index_html, index_markdown

    entries, failed, written = [], dict[str, str](), list[Path | None]()
    index = out or folder / f"index.{format}"
    for number, path in enumerate(paths, 1):
        name = str(path.parent.relative_to(folder))
        try:
            story, page = _render(path, format)
        except MaciError as error:
            failed[str(path)] = str(error)
            entries.append(Entry(name=name, error=str(error)))
            continue
        link = f"{name}/report.{format}" if out is None else f"{index.stem}-{number}-{slug(name, 'debate')}.{format}"
        if out is not None or format == "html":
            written.append(save(index.parent / link, page))
        entries.append(Entry(name=name, link=f"./{quote(link)}", story=story))
    made = index_html if format == "html" else index_markdown
    page = made(entries, f"Debates in {folder.resolve().name}")
    if out is None and format == "md":
        typer.echo(page, nl=False)
        return written, failed
    return [save(index, page), *written], failed
