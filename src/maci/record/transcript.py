"""The transcript: an append-only JSONL file, one event a line, each line chained to the one before.

A line is ``{"hash":"…","seq":n,<event>}`` where hash = SHA-256(hash of the line before ‖ the rest of the line, byte for byte).
So an edited, dropped or reordered line is found, wherever it is; only a missing end looks like what it is, an unfinished
debate. The chain proves consistency, not authorship: who rewrites all of it can rewrite the hashes too.

After the result, lines of type ``signature`` may follow. They are part of the chain, not events: see
:attr:`Recording.signatures`. A signature says who vouches for the transcript: it is the HMAC-SHA256, under a key that only those who
sign and check have, of the hash that the chain ends with, so it covers every line before it.

Replies that were paid for are on disk before they are used; the rest is written in batches.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import IO, Any, Self, cast

from pydantic import ValidationError

from maci.controller.decisions import Finished
from maci.controller.events import FORMAT, Event, dump, ended, parse
from maci.controller.inputs import Opened
from maci.errors import EnvironmentError_, InputError, TranscriptError, one_line
from maci.files.bounds import check_text
from maci.files.parse import check_name, opened
from maci.paths import writing

_GENESIS = hashlib.sha256(b"maci transcript").hexdigest()
_AGAIN = "what is on disk can be continued with --resume"
_HEAD = len('{"hash":"","') + 64
_BEGIN = b'{"hash":"'


def _chain(before: str, rest: bytes) -> str:
    return hashlib.sha256(before.encode() + rest).hexdigest()


@dataclass(frozen=True, slots=True)
class Recording:
    """A transcript read back."""

    events: tuple[Event, ...]
    torn: int
    """Bytes of an unfinished last line: a write that a crash cut short."""
    size: int
    """Bytes of the whole lines."""
    hashes: tuple[str, ...]
    """Of every event's line."""
    signatures: tuple[Mapping[str, Any], ...] = ()
    """What was signed after the result, as it stands there; nothing is checked but the chain."""

    @property
    def opened(self) -> Opened:
        """The first event."""
        return cast(Opened, self.events[0])

    @property
    def finished(self) -> Finished | None:
        """The result it ends with, if it does."""
        return ended(self.events)


_LONGEST = 64 * 2**20
"""Bytes of a line; those of real debates are far shorter."""


def _lines(path: Path) -> Iterator[bytes]:
    check_name(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder: name the transcript.jsonl in it")
    with opened(path, "the transcript ") as file:
        number = 0
        while line := file.readline(_LONGEST + 1):
            number += 1
            if len(line) > _LONGEST:
                raise TranscriptError(f"{path} is not a transcript: line {number} is longer than {_LONGEST:,} bytes")
            yield line


def _data(rest: bytes) -> Any:
    text = '{"' + rest.decode()
    check_text(text, "JSON")
    return json.loads(text)


def _check_format(rest: bytes, path: Path) -> None:
    try:
        first = _data(rest)
        version = first["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise TranscriptError(f"{path} is not a transcript: line 1 does not open a debate") from error
    if version != FORMAT:
        old = isinstance(version, int) and version < FORMAT
        step = (
            "it was written before 1.0, when evidence, prompts and judges were counted otherwise; run the debate again"
            if old
            else "upgrade maci"
        )
        raise TranscriptError(f"{path} has format {version}, and this version of maci reads format {FORMAT}: {step}")


def read(path: str | Path) -> Recording:
    """Read a transcript and check its chain.

    Raises :class:`TranscriptError` at the first line that does not follow from the one before.
    """
    path = Path(path)
    events: list[Event] = []
    hashes: list[str] = []
    signatures: list[Mapping[str, Any]] = []
    before, size, torn = _GENESIS, 0, 0
    for number, line in enumerate(_lines(path), 1):
        if not line.endswith(b"\n"):
            torn = len(line)
            break
        if number == 1 and not line.startswith(b'{"hash":"'):
            raise TranscriptError(f"{path} is not a transcript: its first line opens no debate")
        claimed, rest = line[9:73], line[_HEAD:-1]
        if line[:9] != b'{"hash":"' or line[73:_HEAD] != b'","' or claimed.decode("latin-1") != _chain(before, rest):
            raise TranscriptError(
                f"{path}, line {number}: the chain is broken here; this line or one before it was edited, dropped or moved"
            )
        if number == 1:
            _check_format(rest, path)
        try:
            data = _data(rest)
            if data.pop("seq") != number:
                raise ValueError("wrong sequence number")
            if data.get("type") == "signature" and ended(events) is not None:
                signatures.append(data)
                before, size = claimed.decode(), size + len(line)
                continue
            events.append(_as_reason(parse(json.dumps(data))))
        except (ValidationError, InputError, ValueError, KeyError) as error:
            raise TranscriptError(f"{path}, line {number}: not an event of this format: {_why(error)}") from error
        before, size = claimed.decode(), size + len(line)
        hashes.append(before)
    if not events:
        raise TranscriptError(f"{path} is not a transcript: it holds no whole line; remove it and start again")
    if not isinstance(events[0], Opened):
        raise TranscriptError(f"{path} is not a transcript: it does not open a debate")
    return Recording(tuple(events), torn, size, tuple(hashes), tuple(signatures))


_ADVICE = ". Use a language model (`maci init`). To see the readers' guess all the same, add `--force`."
"""Of the command line; records once had it after the reason why an answer is withheld."""
_OPTION = " (--force)"
"""The same in the warning about an answer that is given all the same."""


def _as_reason(event: Event) -> Event:
    """A result of an older record with the reasons alone, as it is written today."""
    if not isinstance(event, Finished):
        return event
    abstained = None if event.abstained is None else event.abstained.removesuffix(_ADVICE)
    return replace(event, abstained=abstained, warnings=tuple(w.removesuffix(_OPTION) for w in event.warnings))


def read_opened(path: Path, *, known: bool = False) -> Opened | None:
    """The first event alone, its chain not checked. ``known``: ``None`` where its case has no gold, which is found without parsing."""
    line = next(_lines(path), b"")
    if known and b'"gold":null' in line:
        return None
    if not line.startswith(b'{"hash":"') or not line.endswith(b"\n"):
        raise TranscriptError(f"{path} is not a transcript: its first line opens no debate")
    _check_format(line[_HEAD:-1], path)
    data = _data(line[_HEAD:-1])
    data.pop("seq")
    try:
        event = parse(json.dumps(data))
    except (ValidationError, InputError, ValueError, KeyError) as error:
        raise TranscriptError(f"{path}, line 1: not an event of this format: {_why(error)}") from error
    return event if isinstance(event, Opened) else None


_BUFFER = 1 << 15
"""Bytes that are kept until they are handed on: a few events, prompts included."""
_TAIL = 1 << 16
"""Bytes at the end of a transcript in which the type of its last event is looked for."""


def is_finished(path: Path) -> bool:
    """Whether a transcript ends with a result, from its last bytes alone."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        return b'"type":"finished"' in file.read()


def _why(error: Exception) -> str:
    """The first thing that is wrong, and where."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def remove_empty(path: Path) -> bool:
    """Remove a transcript that broke off in its first line; ``False`` if it holds a whole one. One that is being written stays."""
    with path.open("r+b") as file:
        _hold(file, path)
        if not (first := file.readline(_LONGEST)).startswith(_BEGIN[: len(first)]) or first.endswith(b"\n"):
            return False
        path.unlink()
        return True


def append_signature(path: Path, recording: Recording, signature: Mapping[str, Any]) -> None:
    """Chain a signature to a finished transcript, as it was read."""
    with path.open("r+b") as file:
        _hold(file, path)
        before = file.read()
        if len(before) != recording.size:
            raise EnvironmentError_(f"{path} has changed since it was read: try again")
        last = before[before.rfind(b"\n", 0, -1) + 1 :][9:73].decode()
        number = len(recording.events) + len(recording.signatures) + 1
        rest = json.dumps({"seq": number, **signature}, separators=(",", ":"), ensure_ascii=False)[2:].encode()
        with writing(path, _AGAIN):
            file.write(b'{"hash":"%s","%s\n' % (_chain(last, rest).encode(), rest))
            file.flush()
            os.fsync(file.fileno())


def lock(file: IO[bytes], *, shared: bool = False) -> bool:
    """Lock a file until it is closed, ``shared`` with others who only look; ``False`` if somebody else has."""
    try:
        import fcntl
    except ImportError:  # a system without advisory locks
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _hold(file: IO[bytes], path: Path) -> None:
    if not lock(file):
        file.close()
        raise EnvironmentError_(f"{path} is being written by another process")


class Transcript(AbstractContextManager["Transcript"], AbstractAsyncContextManager["Transcript"]):
    """A transcript being written.

    Use :meth:`create` for a new one and :meth:`resume` to continue one that broke off.
    """

    def __init__(self, path: Path, file: IO[bytes], seq: int, last: str) -> None:
        self.path, self._file, self._seq, self._last, self._flushed = path, file, seq, last, 0.0

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Start a transcript; an existing one is never overwritten."""
        path = Path(path)
        check_name(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("xb", buffering=_BUFFER)
        except FileExistsError as error:
            raise InputError(
                f"{path} exists: continue it with `maci debate --resume --out {path.parent}`, or choose another folder"
            ) from error
        except OSError as error:
            raise EnvironmentError_(f"cannot write {path}: {error.strerror}") from error
        _hold(file, path)
        return cls(path, file, 0, _GENESIS)

    @classmethod
    def resume(cls, path: str | Path) -> tuple[Self, Recording]:
        """Go on writing a transcript that broke off; an unfinished last line is cut away."""
        path = Path(path)
        check_name(path)
        try:
            file = path.open("r+b")
        except OSError as error:
            raise InputError(f"nothing to resume: cannot open {path}: {error.strerror}") from error
        _hold(file, path)
        try:
            recording = read(path)
            file.truncate(recording.size)
            file.seek(recording.size)
        except BaseException:
            file.close()
            raise
        return cls(path, file, len(recording.events), recording.hashes[-1]), recording

    def append(self, event: Event, *, sync: bool = False) -> None:
        """Write one event; ``sync`` returns only when it is on disk."""
        rest = b'seq":%d,' % (self._seq + 1) + dump(event)[1:]
        digest = _chain(self._last, rest)
        with writing(self.path, _AGAIN):
            self._file.write(b'{"hash":"%s","%s\n' % (digest.encode(), rest))
            if sync:
                self._file.flush()
                os.fsync(self._file.fileno())
        self._seq, self._last = self._seq + 1, digest

    def flush(self, *, now: bool = False) -> None:
        """Hand what was written to the system, so that a crash of ours keeps it; unless ``now``, a few times a second do."""
        clock = monotonic()
        if not now and clock - self._flushed < 0.2:
            return
        self._flushed = clock
        with writing(self.path, _AGAIN):
            self._file.flush()

    def close(self) -> None:
        """Flush to disk and close; a transcript that holds nothing is removed, so that its place is free again."""
        if self._file.closed:
            return
        try:
            with writing(self.path, _AGAIN):
                self._file.flush()
                os.fsync(self._file.fileno())
        finally:
            with suppress(OSError):  # said already
                if self._seq == 0:  # while it is locked: nobody else can have begun to write there
                    self.path.unlink()
                self._file.close()

    async def aclose(self) -> None:
        """The same where an event loop has others to serve: the disk is waited for in a thread."""
        await asyncio.to_thread(self.close)

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


_ALGORITHM = "hmac-sha256"
_KEY_BYTES = (32, 4096)
"""The shortest key and the longest."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature of a transcript, and whether the key made it."""

    by: str
    valid: bool


def read_key(path: Path) -> bytes:
    """The key in a file, without the line break at its end."""
    least, most = _KEY_BYTES
    with opened(path, "the key ") as file:
        key = file.read(most + 1).strip()
    if not least <= len(key) <= most:
        raise InputError(
            f"{path} holds {len(key):,} bytes: a key has {least} to {most:,}; make one with: openssl rand -hex 32 > FILE"
        )
    return key


def sign(path: Path, key: bytes, by: str) -> None:
    """Append a signature to a finished transcript."""
    recording = read(path)
    if not recording.finished or recording.torn:
        raise InputError(f"{path} has no result yet: finish the debate (--resume), then sign it")
    append_signature(
        path, recording, {"type": "signature", "algorithm": _ALGORITHM, "by": by, "value": _mac(recording, key, by)}
    )


def signatures(path: Path, key: bytes) -> tuple[Signature, ...]:
    """Every signature of a transcript, checked with a key; reading it has checked the chain."""
    recording = read(path)
    return tuple(
        Signature(
            one_line(by := str(found.get("by", ""))),
            found.get("algorithm") == _ALGORITHM
            and hmac.compare_digest(one_line(str(found.get("value", ""))).encode(), _mac(recording, key, by).encode()),
        )
        for found in recording.signatures
    )


def _mac(recording: Recording, key: bytes, by: str) -> str:
    signed = f"maci transcript\0{by}\0{recording.hashes[-1]}".encode("utf-8", "surrogatepass")
    return hmac.digest(key, signed, "sha256").hex()
