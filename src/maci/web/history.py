"""A debate in one row of a list: from the first and last lines of its transcript, and from what people call it.

A name and tags that people gave a debate are in a small file beside its transcript, which is never changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from maci.cases.labels import canonical
from maci.cases.outcomes import OutcomeSpace
from maci.errors import MaciError
from maci.files.parse import opened
from maci.paths import writing
from maci.story.words import nobody_leads

FILE = "transcript.jsonl"
LABEL = "label.json"
"""Beside a transcript: what people call it."""
_TAIL = 1 << 16
_LONGEST = 16 << 20
_SCANNED = 64 << 20
"""Bytes of a record that are searched for what people did."""


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
    unclear: str = ""
    """Where nobody leads: the outcomes that are about equally probable."""
    agreed: bool | None = None
    """Whether the agents led with one outcome at the end."""
    p: float | None = None
    rounds: int | None = None
    tokens: int | None = None
    right: bool | None = None
    """Whether the answer is the known one; ``None`` where none is known or none was given."""
    asked: bool = False
    """Something was asked on the way."""
    by_hand: bool = False
    """A person turned its dials, paused or stopped it."""
    so_far: bool = False
    """It is under way: ``answer`` and ``p`` are what leads now."""
    name: str = ""
    """What people call it."""
    tags: tuple[str, ...] = ()
    words: str = ""
    """What a search looks through."""

    @property
    def badges(self) -> tuple[str, ...]:
        """What a list says of it in single words; also what it can be filtered by."""
        found = list[str]([self.state] if self.state != "finished" else [])
        found += ["withheld"] if self.withheld else []
        found += [] if self.agreed is None else ["agreed"] if self.agreed else ["split"]
        found += [] if self.right is None else ["right"] if self.right else ["wrong"]
        found += (["asked"] if self.asked else []) + (["by hand"] if self.by_hand else [])
        return (*found, *(f"#{tag}" for tag in self.tags))


_LETTERS = 120
"""Of a name."""
_TAGS, _TAG = 12, 30


def tags_of(text: str) -> list[str]:
    """Tags as somebody wrote them, each once.

    >>> tags_of("Release 4, #bridge,, bridge")
    ['release 4', 'bridge']
    """
    said = (" ".join(part.strip().lstrip("#").split()).casefold() for part in text.split(","))
    return [tag[:_TAG] for tag in dict.fromkeys(said) if tag][:_TAGS]


def summary_of(id: str, path: Path) -> Summary:
    """A debate in one row; one that cannot be read says so."""
    name, tags = read_label(path)
    try:
        with opened(path) as file:
            first = json.loads(file.readline(_LONGEST))
            last = _last(file)
            file.seek(0)
            whole = file.read(_SCANNED)
        return _summary(id, first, last, whole, name, tags)
    except (MaciError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        words = " ".join((id, name, *tags)).casefold()
        return Summary(
            id=id, title=id, question="", created="", panel="", state="unreadable", name=name, tags=tags, words=words
        )


def label(path: Path, name: str, tags: str) -> None:
    """Give the debate of a transcript a name and tags, or take them away; tags stand between commas."""
    given = {"name": " ".join(name.split())[:_LETTERS], "tags": tags_of(tags)}
    file, part = path.with_name(LABEL), path.with_name(f"{LABEL}.part")
    with writing(file, "the name was not kept"):
        part.write_text(json.dumps(given, ensure_ascii=False), encoding="utf-8")
        part.replace(file)


def read_label(path: Path) -> tuple[str, tuple[str, ...]]:
    """The name and tags that people gave the debate of a transcript; nothing where there are none, or none that can be read."""
    try:
        with opened(path.with_name(LABEL)) as file:
            found = json.loads(file.read(_TAIL))
        name, tags = str(found["name"])[:_LETTERS], tuple(tags_of(",".join(map(str, found["tags"]))))
        " ".join((name, *tags)).encode()  # half a character is no name
        return name, tags
    except (MaciError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return "", ()


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


def _summary(
    id: str, first: dict[str, Any], last: dict[str, Any], whole: bytes, name: str, tags: tuple[str, ...]
) -> Summary:
    case, over = first["case"], last.get("type") == "finished"
    answer = last.get("answer") if over and not last.get("unfit") else None
    agents = tuple(str(seat["name"]) for seat in first["agents"])
    title = str(case.get("title") or "")
    gold, withheld = case.get("gold"), over and last.get("abstained") is not None
    near = ""
    if over and answer is not None and not withheld:
        near = nobody_leads(answer, last["distribution"], agreed=last.get("agreed"), tied=last.get("tied") or ())
    known = isinstance(gold, str) and answer is not None and not withheld and not near
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
        name,
        *tags,
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
        unclear=near,
        right=_right(case["outcomes"], gold, str(answer)) if known else None,
        asked=_holds(whole, "acquired"),
        by_hand=_holds(whole, "intervened"),
        name=name,
        tags=tags,
        p=_number(last["distribution"].get(answer), float) if over and answer is not None else None,
        rounds=_number(last.get("rounds")) if over else None,
        tokens=_number(last.get("tokens")) if over else None,
        words=" ".join(map(str, words)).casefold().encode().decode(),  # raises where half a character stands in it
    )


def _number(value: Any, kind: type[int] | type[float] = int) -> Any:
    """A figure of a record; whatever else stands in its place makes the record unreadable."""
    if value is None or (isinstance(value, (int, kind)) and not isinstance(value, bool) and 0 <= value < 1e15):
        return value
    raise ValueError(f"{value!r:.40} is no figure")


def _holds(record: bytes, kind: str) -> bool:
    """Whether a record has an event of a kind; quotes inside texts are escaped, so that nothing else looks like one."""
    return f',"type":"{kind}",'.encode() in record


def _right(outcomes: Mapping[str, Any], gold: str, answer: str) -> bool | None:
    """Whether the answer is the known one, by the names of the outcomes; open ones are compared by the whole record alone."""
    if outcomes.get("kind", "closed") == "open":
        return None
    space = OutcomeSpace(labels=tuple(outcomes["labels"]), aliases=outcomes.get("aliases") or {})
    return canonical(gold, space, space.labels) == answer
