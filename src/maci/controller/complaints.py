"""What was wrong with the answers of a source: each complaint once, with what it was made about."""

from __future__ import annotations

from collections.abc import Sequence

from maci.acquisition.plan import Item
from maci.controller.inputs import Acquired

__all__ = ["complaints"]

_NAMED = 3
"""Subjects that are named; the rest is counted."""


def complaints(acquired: Sequence[tuple[Item, Acquired]]) -> tuple[str, ...]:
    """Remarks on answers as warnings, in the order in which they were first made; one that was made again says how often."""
    about: dict[tuple[str, str], list[str]] = {}
    for asked, answer in acquired:
        for remark in answer.remarks:
            about.setdefault((answer.source or "the source", remark), []).append(f"“{asked.subject}”")
    return tuple(
        f"{source} on {_listed(subjects)}: {remark}" + (f" ({len(subjects)} times)" if len(subjects) > 1 else "")
        for (source, remark), subjects in about.items()
    )


def _listed(subjects: Sequence[str]) -> str:
    """Some by name.

    >>> _listed(["a"]), _listed(["a", "b"]), _listed(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    if len(subjects) > _NAMED + 1:
        return f"{', '.join(subjects[:_NAMED])} and {len(subjects) - _NAMED} more"
    *first, last = subjects
    return f"{', '.join(first)} and {last}" if first else last
