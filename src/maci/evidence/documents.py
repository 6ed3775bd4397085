"""The text a reader of an HTML page would see.

The text layer of a PDF, page by page, through pypdf (extra ``pdf``).

One file → spans. What cannot be read raises :class:`Unreadable` with the reason and what to do about it.

==========================  ================================================================================
.txt .md                    packed into pieces of 60–120 words, read as a stream
.html                       the visible text, likewise
.jsonl .csv .tsv            a span per row (long rows are packed too): text, optionally label and source
.pdf                        the text layer page by page (extra ``pdf``)
==========================  ================================================================================
"""

from __future__ import annotations

import codecs
import csv
import importlib
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TextIO

from maci.errors import install
from maci.evidence.chunk import chunks, stream_chunks
from maci.evidence.span import Span

_HIDDEN = {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "textarea"}
_BLOCK_TAGS = """
address article aside blockquote body br caption dd details div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6
header hr html li main nav ol p pre section summary table td th title tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_INLINE_SPACE = re.compile(r"\s+")
_SPACE = re.compile(r" ?\n[ \n]*")


def visible_text(blocks: Iterable[str]) -> str:
    r"""Text without markup, scripts and styles; block elements become paragraphs.

    >>> visible_text(["<h1>Dengue</h1><p>High&nbsp;fe", "ver <b>and</b> rash.<script>x()</script>"])
    'Dengue\n\nHigh fever and rash.'
    """
    parser = _Parser()
    for block in blocks:
        parser.feed(block)
    parser.close()
    return _SPACE.sub("\n\n", "".join(parser.pieces)).strip()


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(_INLINE_SPACE.sub(" ", data))


def page_texts(path: Path, note: Callable[[str], None]) -> Iterator[tuple[int, str]]:
    """(page number, text) of every page that can be read; ``note`` is told how many could not."""
    try:
        pypdf: Any = importlib.import_module("pypdf")
    except ImportError as error:
        raise Unreadable(f"PDF needs the package 'pypdf': {install('pdf')}") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    bad = 0
    try:
        with path.open("rb") as stream:
            reader = pypdf.PdfReader(stream)
            if reader.is_encrypted and not reader.decrypt(""):
                raise Unreadable("protected by a password: save a copy without one")
            for number in range(len(reader.pages)):
                try:
                    text = reader.pages[number].extract_text()
                except Exception:  # pypdf raises whatever a malformed page makes it trip over
                    bad += 1
                    continue
                yield number + 1, text
    except (Unreadable, OSError):
        raise
    except Exception as error:  # likewise for the file as a whole
        raise Unreadable(f"broken PDF: {error or type(error).__name__}") from error
    if bad:
        note(f"{bad} pages could not be read and were left out")


_BLOCK = 1 << 16
_LONGEST_FIELD = 16 << 20
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class Unreadable(Exception):
    """Why a file gives no spans, in words for its owner."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """How files are read."""

    max_bytes: int = 100 * 1024 * 1024
    """A larger file is refused, with its size in the reason."""
    text_columns: tuple[str, ...] = ("text", "content", "body", "sentence")
    """Columns of a table that may hold the text, in order of preference; case does not matter."""
    label_columns: tuple[str, ...] = (
        "label",
        "outcome",
        "disease",
        "diagnosis",
        "class",
    )
    source_columns: tuple[str, ...] = ("source", "url")


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    source: str
    options: ReadOptions
    note: Callable[[str], None]


def read_document(
    path: Path, source: str, options: ReadOptions, note: Callable[[str], None] | None = None
) -> Iterator[Span]:
    """The spans of one file, as a stream; ``note`` is told about parts that were left out.

    A span's source is ``source``, with ``#row=N`` or ``#page=N`` for tables and PDF.
    """
    reader = SUFFIXES.get(path.suffix.lower())
    if reader is None:
        raise Unreadable(f"not a supported type (supported: {' '.join(SUFFIXES)})")
    said: list[str] = []
    empty = True
    try:
        size = path.stat().st_size
        if size > options.max_bytes:
            raise Unreadable(
                f"{size / 2**20:.1f} MB, over the limit of {options.max_bytes / 2**20:.1f} MB: split the file"
            )
        for span in reader(_File(path, source, options, said.append)):
            empty = False
            yield span
    except UnicodeError as error:
        at = error.object[error.start : error.start + 1] if isinstance(error, UnicodeDecodeError) else b""
        raise Unreadable(
            f"not UTF-8{f' (byte 0x{at.hex()})' if at else ''}: convert it, "
            f"as in `iconv -f latin1 -t utf-8 {path.name}`"
        ) from error
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from error
    if empty:
        raise Unreadable("; ".join(["holds no text", *said]))
    if note:
        for text in said:
            note(text)


def _open_text(path: Path, newline: str | None = None) -> TextIO:
    with path.open("rb") as stream:
        head = stream.read(8192)
    encoding = next((name for bom, name in _BOMS.items() if head.startswith(bom)), "utf-8")
    if encoding != "utf-16" and b"\0" in head:
        raise Unreadable("binary, not text")
    return path.open(encoding=encoding, newline=newline)


def _blocks(stream: TextIO) -> Iterator[str]:
    while block := stream.read(_BLOCK):
        yield block


def _spans(pieces: Iterable[tuple[int, str]], source: str, label: str | None = None) -> Iterator[Span]:
    return (Span.of(text, source, start, label) for start, text in pieces)


def _read_text(file: _File) -> Iterator[Span]:
    with _open_text(file.path) as stream:
        yield from _spans(stream_chunks(_blocks(stream)), file.source)


def _read_html(file: _File) -> Iterator[Span]:

    with _open_text(file.path) as stream:
        yield from _spans(chunks(visible_text(_blocks(stream))), file.source)


def _read_jsonl(file: _File) -> Iterator[Span]:
    bad: list[int] = []

    def rows() -> Iterator[tuple[int, Mapping[str, object]]]:
        with _open_text(file.path) as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    bad.append(number)
                    continue
                if isinstance(row, (dict, str)):
                    yield number, row if isinstance(row, dict) else {"text": row}
                else:
                    bad.append(number)

    yield from _read_rows(rows(), file)
    if bad:
        file.note(f"{len(bad)} lines are not JSON objects and were left out (first: line {bad[0]})")


def _read_csv(file: _File) -> Iterator[Span]:
    broken = ""

    def rows() -> Iterator[tuple[int, Mapping[str, object]]]:
        nonlocal broken
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            with _open_text(file.path, newline="") as stream:
                header = stream.readline()
                stream.seek(0)
                delimiter = max(",;\t|", key=header.count)
                yield from enumerate(csv.DictReader(stream, delimiter=delimiter), 1)
        except csv.Error as error:
            broken = str(error)
        finally:
            csv.field_size_limit(before)

    yield from _read_rows(rows(), file)
    if broken:
        file.note(f"reading stopped at a broken row: {broken}")


def _read_rows(rows: Iterable[tuple[int, Mapping[str, object]]], file: _File) -> Iterator[Span]:
    """Rows of a table; the columns are looked up row by row, since JSONL rows may differ."""
    options = file.options
    used = without = 0
    columns: list[str] = []
    for number, row in rows:
        found = _column(row, options.text_columns)
        if found is None and len(row) == 1:
            found = next(iter(row))
        text = row.get(found) if found is not None else None
        if not isinstance(text, str) or not text.strip():
            without += 1
            columns = columns or [str(name) for name in row]
            continue
        used += 1
        label, named = _value(row, options.label_columns), _value(row, options.source_columns)
        yield from _spans(chunks(text), named or f"{file.source}#row={number}", label)
    if not used and without:
        raise Unreadable(
            f"no row has text in a column named {', '.join(options.text_columns)} "
            f"(columns: {', '.join(columns[:12])}): rename the one that holds it to {options.text_columns[0]}"
        )
    if without:
        file.note(f"{without} rows have no text and were left out")


def _column(row: Mapping[str, object], names: Iterable[str]) -> str | None:
    present = {str(name).strip().casefold(): name for name in row}
    return next((present[name.casefold()] for name in names if name.casefold() in present), None)


def _value(row: Mapping[str, object], names: Iterable[str]) -> str | None:
    column = _column(row, names)
    value = row[column] if column is not None else None
    return str(value).strip() or None if isinstance(value, (str, int, float)) else None


def _read_pdf(file: _File) -> Iterator[Span]:

    for number, text in page_texts(file.path, file.note):
        yield from _spans(chunks(text), f"{file.source}#page={number}")


SUFFIXES: Mapping[str, Callable[[_File], Iterator[Span]]] = {
    ".txt": _read_text,
    ".md": _read_text,
    ".markdown": _read_text,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".html": _read_html,
    ".htm": _read_html,
    ".pdf": _read_pdf,
}
"""Which files are read, and how."""
