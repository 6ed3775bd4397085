"""What reads strangers' files: a process of its own, with little memory and time, that can be killed.

:mod:`maci.files.worker` starts it without the parent's environment, so no key is in it. It writes an empty line once it is ready: what
goes wrong after that is the file's doing. A line of JSON comes in on standard input for each file: its kind, its text or path, and the
seconds it may take. A line goes out: the value, or what is wrong, in words for the file's owner. When the parent closes its end, or
dies in whatever way, reading standard input returns nothing and this process ends.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, BinaryIO

from maci.files.bounds import Beyond
from maci.files.parse import check_yaml, load, pack

_NO_MEMORY = 12
"""How this process ends where a file takes more than it may; the worker knows the number too."""
PAGES = 5_000
"""Of a PDF."""
CELLS, TABLE = 4_000_000, 256 << 20
"""Values of a Parquet file, and bytes of all of them."""
HEADER = 4 << 20
"""Bytes of a GGUF file before what is looked for must have come."""


def main() -> None:
    """Answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    say = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints
    say.write(b"\n")
    say.flush()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        _limit(asked["seconds"], asked["memory"])
        try:
            answer = {"value": READERS[asked["kind"]](asked["given"])}
        except MemoryError:
            os._exit(_NO_MEMORY)
        except Beyond as error:
            answer = {"beyond": str(error)}
        except OSError as error:
            answer = {"beyond": f"cannot be read: {error.strerror or error}"}
        except Exception as error:  # a parser raises whatever a malformed file makes it trip over
            answer = {"invalid": str(error) or type(error).__name__}
        say.write(json.dumps(answer).encode() + b"\n")
        say.flush()


def _limit(seconds: int, memory: int) -> None:
    """Let the system end this process where the next file takes too much; where it cannot, the parent does."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime)
    wanted = {resource.RLIMIT_CPU: spent + seconds, resource.RLIMIT_AS: memory, resource.RLIMIT_CORE: 0}
    for which, amount in wanted.items():
        _, hard = resource.getrlimit(which)
        with suppress(ValueError, OSError):  # a system that does not limit this
            resource.setrlimit(which, (amount if hard == resource.RLIM_INFINITY else min(amount, hard), hard))


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


def table_rows(path: str) -> list[Any]:
    """The rows of a Parquet file, as tables of column → value."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        shape = file.metadata
        if shape.num_rows * shape.num_columns > CELLS:
            raise Beyond(
                f"has {shape.num_rows:,} rows of {shape.num_columns:,} columns, over {CELLS:,} values: split it"
            )
        size = sum(shape.row_group(i).total_byte_size for i in range(shape.num_row_groups))
        if size > TABLE:
            raise Beyond(f"has {size:,} bytes when unpacked, over {TABLE:,}: split it")
        return pack(file.read(use_threads=False).to_pylist())  # type: ignore[no-any-return]


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


def _yaml(text: str) -> Any:
    check_yaml(text)
    return pack(load(text, "YAML"))


READERS: Mapping[str, Callable[[str], Any]] = {
    "YAML": _yaml,
    "TOML": lambda text: pack(load(text, "TOML")),
    "JSON": lambda text: pack(load(text, "JSON")),
    "HTML": visible_text,
    "PDF": page_texts,
    "PARQUET": table_rows,
    "GGUF": context_length,
}

if __name__ == "__main__":
    main()
