"""What a child reads off documents and weights: the visible text of HTML, the text layer of PDF, the header of GGUF."""

from __future__ import annotations

import logging
import re
import struct
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, BinaryIO

from maci.files.bounds import Beyond

PAGES = 5_000
"""Of a PDF."""
HEADER = 4 << 20
"""Bytes of a GGUF file before what is looked for must have come."""

_HIDDEN = {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "textarea"}
_BLOCK_TAGS = """
address article aside blockquote body br caption dd details div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6
header hr html li main nav ol p pre section summary table td th title tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_INLINE_SPACE = re.compile(r"\s+")
_SPACE = re.compile(r" ?\n[ \n]*")


def visible_text(text: str) -> str:
    r"""What a reader of an HTML page would see; block elements become paragraphs.

    >>> visible_text("<h1>Dengue</h1><p>High&nbsp;fever <b>and</b> rash.<script>x()</script>")
    'Dengue\n\nHigh fever and rash.'
    """
    parser = _Parser()
    parser.feed(text)
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


def page_texts(path: str) -> dict[str, Any]:
    """The text layer of a PDF: (page number, text) of every page that can be read, and how many could not."""
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    pages: list[tuple[int, str]] = []
    bad = 0
    with Path(path).open("rb") as stream:
        reader = pypdf.PdfReader(stream)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Beyond("protected by a password: save a copy without one")
        count = len(reader.pages)
        if count > PAGES:
            raise Beyond(f"{count:,} pages, over the limit of {PAGES:,}: split the file")
        for number in range(count):
            try:
                pages.append((number + 1, reader.pages[number].extract_text()))
            except MemoryError:
                raise
            except Exception:  # pypdf raises whatever a malformed page makes it trip over
                bad += 1
    return {"pages": pages, "bad": bad}


_SIZES = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _LIST = 8, 9


def context_length(path: str) -> int | None:
    """The most tokens a model was trained to read, by the header of its GGUF file; ``None`` where it does not say.

    The format: a header, then keys with typed values, then tensors. Of the keys, those about the architecture come before the
    tokenizer's long lists in every file the converters write, so reading stops there.
    """
    with Path(path).open("rb") as file:
        if file.read(4) != b"GGUF":
            raise Beyond("is not a GGUF file: download it again, or correct the path")
        file.read(4 + 8)  # version, number of tensors
        (keys,) = struct.unpack("<Q", file.read(8))
        for _ in range(keys):
            key, value = _text(file), _value(file)
            if key.endswith(".context_length"):
                return int(value) if isinstance(value, int) else None
            if key.startswith("tokenizer."):
                return None
    return None


def _value(file: BinaryIO) -> int | float | str | None:
    """A value with its type before it; a list is passed over."""
    (kind,) = struct.unpack("<I", file.read(4))
    if kind == _STRING:
        return _text(file)
    if kind == _LIST:
        inner, count = struct.unpack("<IQ", file.read(12))
        if inner == _STRING:
            for _ in range(count):
                _text(file)
        else:
            file.seek(count * struct.calcsize(_SIZES[inner]), 1)
        return None
    value: int | float = struct.unpack(_SIZES[kind], file.read(struct.calcsize(_SIZES[kind])))[0]
    return value


def _text(file: BinaryIO) -> str:
    (size,) = struct.unpack("<Q", file.read(8))
    if file.tell() + size > HEADER:
        raise Beyond(f"has a header of more than {HEADER >> 20} MB: download it again")
    return file.read(size).decode("utf-8", "replace")
