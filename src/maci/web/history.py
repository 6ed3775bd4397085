"""The debates of a folder, from the first and last lines of their transcripts: enough for a list and a search."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from maci.cases.labels import canonical
from maci.cases.outcomes import OutcomeSpace
from maci.errors import InputError, MaciError

FILE = "transcript.jsonl"
_NAME = 255
"""Bytes of the name of a file."""
_TAIL = 1 << 16
_SLOW = 0.3
"""Seconds of looking through the folder from which a list is kept for a while."""
_LONGEST = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A debate in one row."""

    id: str
    title: str
    question: str
    created: str
    panel: str
    state: Literal["finished", "broken", "running", "paused", "asking", "unreadable"]
    stop_reason: str = ""
    answer: str | None = None
    withheld: bool = False
    """No answer is given: at the risk level asked for it is only a guess, or word statistics cannot decide the case."""
    agreed: bool | None = None
    """Whether the agents led with one outcome at the end."""
    p: float | None = None
    rounds: int | None = None
    tokens: int | None = None
    right: bool | None = None
    """Whether the answer is the known one; ``None`` where none is known or none was given."""
    asked: bool = False
    """Somebody could be asked on the way."""
    words: str = ""
    """What a search looks through."""

    @property
    def badges(self) -> tuple[str, ...]:
        """What a list says of it in single words; also what it can be filtered by."""
        found = list[str]([self.state] if self.state != "finished" else [])
        found += ["withheld"] if self.withheld else []
        found += [] if self.agreed is None else ["agreed"] if self.agreed else ["split"]
        found += [] if self.right is None else ["right"] if self.right else ["wrong"]
        return tuple(found + (["asked"] if self.asked else []))

    def fits(self, query: str) -> bool:
        """Whether every word of a query occurs.

        >>> Summary(id="a", title="", question="", created="", panel="", state="broken", words="fever dengue").fits("Fever")
        True
        """
        return all(word in self.words for word in query.casefold().split())


class History:
    """What was debated, newest first. A transcript is read again only when it has changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, tuple[tuple[int, int], Summary]] = {}
        self._last: tuple[float, list[Summary]] = (0.0, [])
        """Until when the last list holds: where looking takes long, it is not done for every page."""

    def path(self, id: str) -> Path:
        """The transcript of a debate; refuses what is no name of one."""
        if (
            not id
            or id != Path(id).name
            or id.startswith(".")
            or "\0" in id
            or "\\" in id
            or len(os.fsencode(id)) > _NAME
        ):
            raise InputError(f"{id[:80]!r} is no debate of this folder")
        return self.folder / id / FILE

    def summaries(self) -> list[Summary]:
        """Every debate there is; in a very large folder, as it was some seconds ago."""
        began = monotonic()
        if began < self._last[0]:
            return self._last[1]
        try:
            names = [
                entry.name for entry in os.scandir(self.folder) if entry.is_dir() and not entry.name.startswith(".")
            ]
        except FileNotFoundError:
            return []
        for gone in self._known.keys() - set(names):
            del self._known[gone]
        found = [summary for name in names if (summary := self._summary(name)) is not None]
        found.sort(key=lambda summary: (summary.created, summary.id), reverse=True)
        took = monotonic() - began
        self._last = (monotonic() + min(10.0, 10 * took) if took > _SLOW else 0.0, found)
        return found

    def _summary(self, id: str) -> Summary | None:
        """One of them, or ``None`` where there is no transcript."""
        path = self.path(id)
        try:
            now = path.stat()
        except OSError:
            return None
        stamp = (now.st_mtime_ns, now.st_size)
        known = self._known.get(id)
        if known is None or known[0] != stamp:
            known = self._known[id] = stamp, _read(id, path)
        return known[1]


def _read(id: str, path: Path) -> Summary:
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline(_LONGEST))
            last = _last(file)
        return _summary(id, first, last)
    except (MaciError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Summary(id=id, title=id, question="", created="", panel="", state="unreadable", words=id.casefold())


def _last(file: Any) -> dict[str, Any]:
    """The last whole line; an unfinished one does not count."""
    end, size = file.seek(0, os.SEEK_END), _TAIL
    while True:
        file.seek(max(0, end - size))
        lines = file.read().split(b"\n")
        if len(lines) > 2 or size >= min(end, _LONGEST):
            break
        size *= 8
    found = json.loads(lines[-2] if len(lines) > 1 else b"{}")
    return found if isinstance(found, dict) else {}


def _summary(id: str, first: dict[str, Any], last: dict[str, Any]) -> Summary:
    case, over = first["case"], last.get("type") == "finished"
    answer = last.get("answer") if over and not last.get("unfit") else None
    agents = tuple(str(seat["name"]) for seat in first["agents"])
    title = str(case.get("title") or "")
    gold, withheld = case.get("gold"), over and last.get("abstained") is not None
    known = isinstance(gold, str) and answer is not None and not withheld
    labels: Sequence[Any] = case["outcomes"].get("labels") or ()
    words = (
        id,
        title,
        case["question"],
        case.get("context", ""),
        first.get("panel", ""),
        answer or "",
        *agents,
        *labels,
    )
    return Summary(
        id=id,
        title=title,
        question=str(case["question"]),
        created=str(first.get("created", "")),
        panel=str(first.get("panel", "")),
        state="finished" if over else "broken",
        stop_reason=str(last.get("stop_reason", "")) if over else "",
        agreed=last.get("agreed") if over else None,
        answer=answer,
        withheld=withheld,
        right=_right(case["outcomes"], gold, str(answer)) if known else None,
        asked=bool(first.get("source")),
        p=last["distribution"].get(answer) if over and answer is not None else None,
        rounds=last.get("rounds") if over else None,
        tokens=last.get("tokens") if over else None,
        words=" ".join(map(str, words)).casefold(),
    )


def _right(outcomes: Mapping[str, Any], gold: str, answer: str) -> bool | None:
    """Whether the answer is the known one, by the names of the outcomes; open ones are compared by the whole record alone."""
    if outcomes.get("kind", "closed") == "open":
        return None
    space = OutcomeSpace(labels=tuple(outcomes["labels"]), aliases=outcomes.get("aliases") or {})
    return canonical(gold, space, space.labels) == answer
