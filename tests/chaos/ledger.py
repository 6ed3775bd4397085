"""A second reader of transcripts, which knows the format and nothing of the product: it imports no code of it.

It checks the chain of hashes, that every call which was paid for was on record before its reply, that nothing follows the result but
signatures, and adds up what the calls cost by itself. So a fault of the fold cannot hide a fault of the fold.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Account:
    """What a transcript says, by its lines alone."""

    path: Path
    tokens: int = 0
    """Of all replies, and of calls that were lost."""
    usd: float = 0.0
    lost_calls: int = 0
    told: int | None = None
    """What its last line says was spent, in tokens; ``None`` if it has no result."""
    told_usd: float = 0.0
    answered: bool = False
    ceiling: int | None = None
    ceiling_usd: float | None = None
    wrong: list[str] = field(default_factory=list)


def account(path: Path) -> Account:
    """Read one transcript."""
    found, before, under_way = Account(path), hashlib.sha256(b"maci transcript").hexdigest(), dict[Any, _Cost]()
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break  # torn by a kill
        digest, rest = line[9:73].decode("latin-1"), line[76:-1]
        if hashlib.sha256(before.encode() + rest).hexdigest() != digest:
            found.wrong.append(f"{path}: line {number} does not follow from the one before")
            return found
        before, event = digest, json.loads(line)
        if found.told is not None and event["type"] != "signature":
            found.wrong.append(f"{path}: {event['type']} follows the result")
        _enter(found, event, under_way)
    if under_way:  # not waited for at the end, or broken off there
        _add(found, *under_way.values())
    if found.told is not None and found.told != found.tokens:
        found.wrong.append(f"{path}: it says {found.told} tokens, its lines add up to {found.tokens}")
    if found.told is not None and abs(found.told_usd - found.usd) > 1e-6:
        found.wrong.append(f"{path}: it says ${found.told_usd:.6f}, its lines add up to ${found.usd:.6f}")
    if found.ceiling is not None and found.tokens > found.ceiling:
        found.wrong.append(f"{path}: CEILING: {found.tokens} tokens of {found.ceiling}")
    if found.ceiling_usd is not None and found.usd > found.ceiling_usd + 1e-9:
        found.wrong.append(f"{path}: CEILING: ${found.usd:.6f} of {found.ceiling_usd}")
    return found


_Cost = tuple[int, float]
"""Tokens and dollars."""


def _add(found: Account, *costs: _Cost) -> None:
    found.tokens += sum(tokens for tokens, _ in costs)
    found.usd += sum(usd for _, usd in costs)


def _enter(found: Account, event: dict[str, Any], under_way: dict[Any, _Cost]) -> None:
    kind = event["type"]
    if kind == "opened":
        budget = event["config"]["budget"]
        found.ceiling, found.ceiling_usd = budget["tokens"], budget.get("usd")
    elif kind == "sent":
        for call in event["calls"]:
            key = call["kind"], call["who"], call.get("argument", "")
            tokens, usd = under_way.get(key, (0, 0.0))
            under_way[key] = tokens + call["tokens"], usd + call.get("usd", 0.0)
    elif kind == "lost":
        found.lost_calls += len(under_way)
        _add(found, *under_way.values())
        under_way.clear()
    elif kind == "exhausted":
        _add(found, _cost(event))
        under_way.clear()
    elif kind == "finished":
        found.told, found.told_usd = event["tokens"], event["usd"]
        found.answered = event["answer"] is not None
    elif (cost := _cost(event)) != (0, 0.0):
        most = under_way.pop(_call(event), None)
        if most is None and not _usage(event).get("free"):
            found.wrong.append(f"{found.path}: {kind} of {_call(event)} cost {cost[0]} tokens and was never sent")
        _add(found, cost)
    else:
        under_way.pop(_call(event), None)


def _call(event: dict[str, Any]) -> tuple[str, str, str]:
    """Which call a reply belongs to, by the names a ``sent`` line gives it."""
    kind = event["type"]
    if kind in ("turn", "turn_failed"):
        return "turn", event["agent"], ""
    if "slot" in event:
        return "score", event["slot"], event["argument"]
    if kind == "compared":
        return "compare", event["by"], f"{event['first']} | {event['second']}"
    if kind == "recommended":
        return "recommend", event["by"], ""
    return "acquire", event.get("item", ""), ""


def _usage(event: dict[str, Any]) -> dict[str, Any]:
    return (event.get("turn") or {}).get("usage") or event.get("usage") or {}


def _cost(event: dict[str, Any]) -> _Cost:
    used = _usage(event)
    return int(used.get("prompt", 0)) + int(used.get("generated", 0)), float(used.get("usd", 0.0))
