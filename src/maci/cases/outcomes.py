"""Outcome spaces 𝒴: closed (listed labels), open (labels appear as agents name them), ordered (a scale).

Labels are compared after normalising case, accents, punctuation and blanks, then through aliases; how the names of an open space are
joined is in :mod:`maci.cases.labels`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from maci.errors import CaseError

OTHER = "other"
"""The bucket of an open space for mass on nothing named."""

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_WORD = re.compile(r"[^\W_]+")
_ACCENT = re.compile(r"[\u0300-\u036f]")
_LARGEST = 1e15
"""Of a position or a distance: a sum of these is exact enough to compare, and no product overflows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSpace:
    """What an answer may be."""

    kind: Literal["closed", "open", "ordered"] = "closed"
    labels: tuple[str, ...] = ()
    """Closed and ordered: all of them. Open: those known before anyone speaks."""
    positions: tuple[float, ...] = ()
    """Ordered: where each label lies on the scale, increasing."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names → label."""
    declared: int = 0
    """Open: how many outcomes are thought possible, for normalising."""
    metric: tuple[tuple[float, ...], ...] = ()
    """Optional ground metric between labels, for the transport distance in the analysis; without one it is 0/1."""

    def __post_init__(self) -> None:
        if self.kind not in {"closed", "open", "ordered"}:
            raise CaseError(f"outcomes.kind is {self.kind!r}: choose closed, open or ordered")
        seen: dict[str, str] = {}
        for label in self.labels:
            if not label.strip():
                raise CaseError("an outcome label is empty")
            if (first := seen.get(normal(label))) is not None:
                raise CaseError(f"outcomes {first!r} and {label!r} are the same label")
            seen[normal(label)] = label
        if self.kind != "open" and len(self.labels) < 2:
            raise CaseError(
                f"a debate needs at least two outcomes, got {list(self.labels)}; list more, or use kind: open"
            )
        for alias, label in self.aliases.items():
            if self.kind != "open" and label not in self.labels:
                raise CaseError(f"alias {alias!r} points to {label!r}, which is not an outcome")
        if self.kind == "ordered":
            self._check_positions()
        self._check_metric()

    def _check_positions(self) -> None:
        if len(self.positions) != len(self.labels):
            raise CaseError(
                f"an ordered space needs one position per label: {len(self.labels)} labels, {len(self.positions)} positions"
            )
        if any(not math.isfinite(x) for x in self.positions) or list(self.positions) != sorted(set(self.positions)):
            raise CaseError(f"positions must increase strictly, got {list(self.positions)}")
        if max(map(abs, self.positions)) > _LARGEST:
            raise CaseError(
                f"positions reach too far for arithmetic: {self.positions[0]:g} to {self.positions[-1]:g}; write them in larger units"
            )

    def _check_metric(self) -> None:
        n = len(self.labels)
        if not self.metric:
            return
        if self.kind == "open" or len(self.metric) != n or any(len(row) != n for row in self.metric):
            raise CaseError(f"the ground metric must be a {n} x {n} table over the listed outcomes of a closed space")
        for i in range(n):
            for j in range(n):
                d = self.metric[i][j]
                if not math.isfinite(d) or d < 0 or (i == j) != (d == 0) or d != self.metric[j][i]:
                    raise CaseError(
                        f"the ground metric is not a distance at ({self.labels[i]!r}, {self.labels[j]!r}): {d}"
                    )
                if d and not 1 / _LARGEST <= d <= _LARGEST:
                    raise CaseError(
                        f"the ground metric cannot be computed with at ({self.labels[i]!r}, {self.labels[j]!r}): {d:g}; write all of "
                        "it in other units"
                    )

    @property
    def start(self) -> tuple[str, ...]:
        """The labels a debate starts with."""
        return self.labels if self.rest is None or self.rest in self.labels else (*self.labels, self.rest)

    @property
    def rest(self) -> str | None:
        """The bucket of an open space, as its labels spell it; other spaces have none."""
        if self.kind != "open":
            return None
        return next((label for label in self.labels if normal(label) == OTHER), OTHER)

    def named(self, labels: Iterable[str]) -> tuple[str, ...]:
        """The labels that name something: all but the bucket of an open space."""
        rest = self.rest
        return tuple(labels) if rest is None else tuple(label for label in labels if label != rest)

    def size(self, seen: int) -> int:
        """|𝒴| for normalising: max(seen, declared)."""
        return max(seen, self.declared)


def shown(labels: Sequence[str]) -> Mapping[str, str]:
    """Label → the name under which language models are shown it: each begins with a capital letter, or all stay as they are.

    Held to a choice between names, small models prefer those that begin like a sentence, whatever they mean. :func:`normal` maps what
    they answer back to the label.

    >>> shown(["gout", "Dengue fever", "(vertigo) BPPV", "+1", "iPhone"])  # doctest: +NORMALIZE_WHITESPACE
    {'gout': 'Gout', 'Dengue fever': 'Dengue fever', '(vertigo) BPPV': '(Vertigo) BPPV', '+1': '+1', 'iPhone': 'IPhone'}
    >>> shown(["polish", "Polish"])
    {'polish': 'polish', 'Polish': 'Polish'}
    """
    return _shown(tuple(labels))


@lru_cache(maxsize=256)
def _shown(labels: tuple[str, ...]) -> Mapping[str, str]:
    names = {label: _capital(label) for label in labels}
    apart = len(set(names.values())) == len(names)
    return (
        names
        if apart and all(normal(name) == normal(label) for label, name in names.items())
        else dict(zip(labels, labels, strict=True))
    )


def _capital(label: str) -> str:
    """The label with its first letter large."""
    first = next((n for n, char in enumerate(label) if char.isalnum()), 0)
    return label[:first] + label[first : first + 1].upper() + label[first + 1 :]


@lru_cache(maxsize=4096)
def normal(label: str) -> str:
    """A label without case, accents, punctuation and extra blanks.

    >>> normal("  Ménière's Disease "), normal("+2"), normal("-2.0"), normal("β-Thalassemia")
    ('meniere s disease', '2', '-2', 'β thalassemia')
    """
    if _NUMBER.fullmatch(label.strip()):
        return f"{float(label) + 0.0:.17g}"  # + 0.0: no minus before zero
    if label.isascii():
        return " ".join(_WORD.findall(label.casefold()))
    bare = unicodedata.normalize("NFKC", _ACCENT.sub("", unicodedata.normalize("NFKD", label))).casefold()
    # Letters, digits and the marks of scripts that need them: \w leaves those marks out.
    return " ".join("".join(c if unicodedata.category(c)[0] in "LNM" else " " for c in bare).split())
