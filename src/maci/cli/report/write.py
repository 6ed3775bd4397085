"""Writes the report of a debate, or those of a folder of debates and their index."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import typer

from maci.errors import MaciError
from maci.paths import save, slug
from maci.record.replay import telling
from maci.record.transcript import read
from maci.seating.seating import unpriced
from maci.story import Story
from maci.story.report.html import Entry, index_html, index_markdown, to_html
from maci.story.report.markdown import to_markdown
from maci.story.report.sources import Provenance


def _render(path: Path, format: str) -> tuple[Story, str]:
    """A debate and its page; the record is computed again."""
    recording = read(path)
    made = to_html if format == "html" else to_markdown
    with telling(recording.events):
        story = Story.of(recording.events)
        return story, made(story, Provenance.of(recording, path, priced=not unpriced(recording.opened)))


def write_report(path: Path, out: Path | None, format: str) -> Path | None:
    """The report of one debate: the file, or none where Markdown goes to standard output."""
    _, page = _render(path, format)
    if out is None and format == "md":
        typer.echo(page, nl=False)
        return None
    return save(out or path.with_name(f"report.{format}"), page)


def write_index(
    folder: Path, paths: list[Path], out: Path | None, format: str
) -> tuple[list[Path | None], dict[str, str]]:
    """The index first; reports beside their transcripts, or beside the index where ``out`` names it."""
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
