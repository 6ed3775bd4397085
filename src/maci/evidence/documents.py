"""Documents of many kinds as plain text, cut into spans.

One file → spans. What cannot be read raises :class:`Unreadable` with the reason and what to do about it.

==========================  ================================================================================
.txt .md                    packed into pieces of 60–120 words, read as a stream
.log                        likewise, in whole lines; so is any text whose lines mostly begin with a time stamp
.html                       the visible text, likewise
.jsonl .csv .tsv            a span per row (long rows are packed too): text, optionally label and source
.json                       the same for the objects of a list, which may be the value of one key; another object is one text
.pdf                        the text layer page by page (extra ``pdf``)
==========================  ================================================================================

Long text becomes pieces of about 60 to 120 words that still stand on their own (:func:`chunks`). Sentences are packed in order until a
piece is full; past the lower bound it ends at the next paragraph. A piece is always an exact slice of the text, so position and
quotations can be checked.
"""

from __future__ import annotations

import codecs
import csv
import importlib.util
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from maci.errors import InputError, install
from maci.evidence.span import Span, given_source, is_log, lines_of, sentences
from maci.files.bounds import Beyond
from maci.files.parse import parse, short_lines
from maci.files.worker import ask

_BLOCK = 1 << 16
_LONGEST_FIELD = 16 << 20
_LOGGED = ("message", "msg")
"""Where entries of structured logs say what happened."""
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
    seconds: int = 120
    """Of computing that one HTML or PDF file may take."""
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
class _Document:
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
        for span in reader(_Document(path, source, options, said.append)):
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


def _spans(pieces: Iterable[tuple[int, str]], source: str, label: str | None = None) -> Iterator[Span]:
    return (Span.of(text, given_source(source), start, label) for start, text in pieces)


def _read_text(file: _Document) -> Iterator[Span]:
    with _open_text(file.path) as stream:
        lines = file.path.suffix.lower() == ".log"
        yield from _spans(stream_chunks(iter(lambda: stream.read(_BLOCK), ""), lines=lines), file.source)


def _read_html(file: _Document) -> Iterator[Span]:
    with _open_text(file.path) as stream:
        text = _ask("HTML", file, text=stream.read())
    yield from _spans(chunks(text), file.source)


def _read_jsonl(file: _Document) -> Iterator[Span]:
    bad: list[int] = []

    def rows() -> Iterator[tuple[int, Mapping[str, object]]]:
        with _open_text(file.path) as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                try:
                    row = parse(line, "JSON", file.source)
                except InputError:
                    row = None
                if isinstance(row, (dict, str)):
                    yield number, row if isinstance(row, dict) else {"text": row}
                else:
                    bad.append(number)

    yield from _read_rows(rows(), file)
    if bad:
        file.note(f"{len(bad)} lines are not JSON objects and were left out (first: line {bad[0]})")


def _read_json(file: _Document) -> Iterator[Span]:
    with _open_text(file.path) as stream:
        try:
            found = parse(stream.read(), "JSON", file.source)
        except InputError as error:
            raise Unreadable(str(error)) from error
    lists = [
        value
        for value in (found.values() if isinstance(found, dict) else ())
        if isinstance(value, list) and (len(found) == 1 or any(isinstance(each, dict) for each in value))
    ]
    rows = lists[0] if len(lists) == 1 else found if isinstance(found, list) else [found]
    known = [(n, row if isinstance(row, dict) else {"text": row}) for n, row in enumerate(rows, 1)]
    if isinstance(found, dict) and not any(_text(row, file.options) for _, row in known):
        known = [(1, {"text": "\n".join(_lines(found))})]  # not a table but one record, such as the reply of a service
    yield from _read_rows(known, file)


def _lines(value: object, name: str = "") -> Iterator[str]:
    """A value of JSON as lines with the names that lead to each entry.

    >>> list(_lines({"pod": {"name": "api-7", "restarts": 3}, "events": ["OOMKilled"]}))
    ['pod name: api-7', 'pod restarts: 3', 'events: OOMKilled']
    """
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _lines(each, f"{name} {key}".strip())
    elif isinstance(value, list):
        for each in value:
            yield from _lines(each, name)
    elif value is not None and str(value).strip():
        yield f"{name}: {value}" if name else str(value)


def _read_csv(file: _Document) -> Iterator[Span]:
    broken = ""

    def rows() -> Iterator[tuple[int, Mapping[str, object]]]:
        nonlocal broken
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            with _open_text(file.path, newline="") as stream:
                header = stream.readline()
                stream.seek(0)
                delimiter = max(",;\t|", key=header.count)
                lines = short_lines(stream, file.source)
                yield from enumerate(csv.DictReader(lines, delimiter=delimiter), 1)
        except (csv.Error, InputError) as error:
            broken = str(error)
        finally:
            csv.field_size_limit(before)

    yield from _read_rows(rows(), file)
    if broken:
        file.note(f"reading stopped at a broken row: {broken}")


def _read_rows(rows: Iterable[tuple[int, Mapping[str, object]]], file: _Document) -> Iterator[Span]:
    """Rows of a table; the columns are looked up row by row, since JSONL rows may differ."""
    options = file.options
    used = without = 0
    columns: list[str] = []
    for number, row in rows:
        text = _text(row, options)
        if text is None:
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


def _text(row: Mapping[str, object], options: ReadOptions) -> str | None:
    """The text of a row: its column, its only value, or all of an entry of a log, for its time and level count too."""
    found = _column(row, options.text_columns)
    if found is None and len(row) == 1:
        found = next(iter(row))
    text = row.get(found) if found is not None else None
    if found is None and _column(row, _LOGGED) is not None:
        known = {_column(row, options.label_columns), _column(row, options.source_columns)}
        text = ", ".join(_lines({name: value for name, value in row.items() if name not in known}))
    return text if isinstance(text, str) and text.strip() else None


def _column(row: Mapping[str, object], names: Iterable[str]) -> str | None:
    present = {str(name).strip().casefold(): name for name in row}
    return next((present[name.casefold()] for name in names if name.casefold() in present), None)


def _value(row: Mapping[str, object], names: Iterable[str]) -> str | None:
    column = _column(row, names)
    value = row[column] if column is not None else None
    return str(value).strip() or None if isinstance(value, (str, int, float)) else None


def _read_pdf(file: _Document) -> Iterator[Span]:
    if importlib.util.find_spec("pypdf") is None:
        raise Unreadable(f"PDF needs the package 'pypdf': {install('pdf')}")
    found = _ask("PDF", file, path=str(file.path.absolute()))
    for number, text in found["pages"]:
        yield from _spans(chunks(text), f"{file.source}#page={number}")
    if found["bad"]:
        file.note(f"{found['bad']} pages could not be read and were left out")


def _ask(kind: str, file: _Document, *, text: str = "", path: str = "") -> Any:
    """What the child that reads such files makes of this one."""
    try:
        return ask(kind, text=text, path=path, seconds=file.options.seconds)
    except Beyond as error:
        raise Unreadable(str(error)) from error
    except ValueError as error:
        raise Unreadable(f"broken {kind}: {error}") from error


SUFFIXES: Mapping[str, Callable[[_Document], Iterator[Span]]] = {
    ".txt": _read_text,
    ".md": _read_text,
    ".markdown": _read_text,
    ".log": _read_text,
    ".json": _read_json,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".html": _read_html,
    ".htm": _read_html,
    ".pdf": _read_pdf,
}
"""Which files are read, and how."""


# --- long text in pieces --------------------------------------------------------------------------------------------------------

LEAST, MOST = 60, 120
_LETTERS_PER_WORD = 8
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_HELD = 1 << 20
"""Characters of a stream that are cut at once."""


def words(text: str) -> int:
    """Length in words; script without spaces counts eight letters as one.

    >>> words("High fever for three days"), words("高熱が三日間続いている患者です")
    (5, 1)
    """
    return max(len(text.split()), len(text) // _LETTERS_PER_WORD)


def chunks(text: str, *, least: int = LEAST, most: int = MOST, lines: bool = False) -> Iterator[tuple[int, str]]:
    r"""Pieces of a text with their positions; of ``lines``, as of a log, whole lines.

    >>> list(chunks("One two. Three four.\n\nFive six.", least=2, most=4))
    [(0, 'One two. Three four.'), (22, 'Five six.')]
    """
    start = end = size = 0
    for first, last, new_paragraph in _sentences(text, most, lines):
        length = words(text[first:last])
        if size and (size + length > most or (new_paragraph and size >= least)):
            yield start, text[start:end]
            size = 0
        if not size:
            start = first
        end, size = last, size + length
    if size:
        yield start, text[start:end]


def stream_chunks(blocks: Iterable[str], *, lines: bool = False) -> Iterator[tuple[int, str]]:
    """:func:`chunks` over text that arrives in blocks and is never held as a whole."""
    held, offset = "", 0
    for block in blocks:
        held += block
        if len(held) >= _HELD:
            cut = _last_break(held)
            yield from ((offset + start, piece) for start, piece in chunks(held[:cut], lines=lines))
            held, offset = held[cut:], offset + cut
    yield from ((offset + start, piece) for start, piece in chunks(held, lines=lines))


def _sentences(text: str, most: int, lines: bool) -> Iterator[tuple[int, int, bool]]:
    """(start, end, opens a paragraph) of each sentence, or line of a log; one that is too long is cut between words."""
    starts = [0, *(match.end() for match in _PARAGRAPH.finditer(text)), len(text)]
    for begin, stop in itertools.pairwise(starts):
        opens = True
        paragraph = text[begin:stop]
        for at, sentence in lines_of(paragraph) if lines or is_log(paragraph) else sentences(paragraph):
            for first, last in _fitting(sentence, most):
                yield begin + at + first, begin + at + last, opens
                opens = False


def _fitting(sentence: str, most: int) -> Iterator[tuple[int, int]]:
    if words(sentence) <= most:
        yield 0, len(sentence)
        return
    start = end = count = 0
    for match in re.finditer(rf"\S{{1,{_LETTERS_PER_WORD * most}}}", sentence):
        grown = max(count + 1, (match.end() - start) // _LETTERS_PER_WORD)
        if count and grown > most:
            yield start, end
            start, count = match.start(), 0
        count, end = count + 1, match.end()
    if count:
        yield start, end


def _last_break(text: str) -> int:
    """Just after the last paragraph, line or word of a block; a block without any is cut where it ends."""
    for mark in ("\n\n", "\n", " "):
        if (at := text.rfind(mark, len(text) // 2)) >= 0:
            return at + len(mark)
    return len(text)
