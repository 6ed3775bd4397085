"""Outcome spaces 𝒴: closed (listed labels), open (labels appear as agents name them), ordered (a scale).

Labels are compared after normalising case, accents, punctuation and blanks, then through aliases. An open space
also joins spellings one letter apart and names whose embeddings nearly coincide, but never names that differ in a
discriminating token: *Hepatitis B* and *Hepatitis C*, *type 1* and *type 2*, *hypo-* and *hyper-* stay apart.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from maci.errors import BeliefError, CaseError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = Mapping[str, NDArray[np.float32]]


OTHER = "other"
"""The bucket of an open space for mass on nothing named."""

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_WORD = re.compile(r"[^\W_]+")
_ACCENT = re.compile(r"[\u0300-\u036f]")
_OPPOSITES = ("hypo", "hyper", "non", "un", "anti", "pre", "post", "intra", "inter", "endo", "exo", "mono", "poly")


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
        if not math.isfinite(self.positions[-1] - self.positions[0]):
            raise CaseError(f"positions reach too far for arithmetic: {self.positions[0]:g} to {self.positions[-1]:g}")

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

    def size(self, seen: int) -> int:
        """|𝒴| for normalising: max(seen, declared)."""
        return max(seen, self.declared)


def shown(labels: Sequence[str]) -> dict[str, str]:
    """Label → the name under which language models are shown it: each begins with a capital letter, or all stay as they are.

    Held to a choice between names, small models prefer those that begin like a sentence, whatever they mean. :func:`normal` maps what
    they answer back to the label.

    >>> shown(["gout", "Dengue fever", "(vertigo) BPPV", "+1", "iPhone"])  # doctest: +NORMALIZE_WHITESPACE
    {'gout': 'Gout', 'Dengue fever': 'Dengue fever', '(vertigo) BPPV': '(Vertigo) BPPV', '+1': '+1', 'iPhone': 'IPhone'}
    >>> shown(["polish", "Polish"])
    {'polish': 'polish', 'Polish': 'Polish'}
    """
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


def _one_letter_apart(a: str, b: str) -> bool:
    """Damerau distance exactly 1 between words long enough for a slip of the pen."""
    if min(len(a), len(b)) < 6 or abs(len(a) - len(b)) > 1 or a.isdigit() or b.isdigit():
        return False
    i = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if len(a) == len(b):
        return a[i + 1 :] == b[i + 1 :] or (a[i : i + 2] == b[i : i + 2][::-1] and a[i + 2 :] == b[i + 2 :])
    short, long = sorted((a, b), key=len)
    return short[i:] == long[i + 1 :]


def _spelling(a: str, b: str) -> bool:
    words_a, words_b = a.split(), b.split()
    if len(words_a) != len(words_b):
        return False
    return all(x == y or _one_letter_apart(x, y) for x, y in zip(words_a, words_b, strict=True))


def _discriminating(label: str) -> frozenset[str]:
    """Tokens that tell near-identical names apart: letters, numbers, opposed prefixes."""
    words = label.split()
    short = {w for w in words if len(w) <= 2 or any(c.isdigit() for c in w) or re.fullmatch(r"[ivx]+", w)}
    return frozenset(short | {f"{p}-" for w in words for p in _OPPOSITES if w.startswith(p) and len(w) > len(p) + 3})


def match_label(name: str, known: Iterable[str], vectors: Vectors, threshold: float) -> str | None:
    """The known label an open name stands for: equal, one slip of spelling apart, or nearly the same meaning.

    ``vectors`` are the unit embeddings of names and labels; what has none is compared by its spelling alone.

    >>> match_label("hepatitis c", ["Hepatitis B", "Hepatitis C"], {}, 0.9)
    'Hepatitis C'
    >>> import numpy as np
    >>> alike = dict.fromkeys(["Heart attack", "Hepatitis B", "Hepatitis E", "Infarction"], np.ones(1))
    >>> match_label("Infarction", ["Heart attack"], alike, 0.9)
    'Heart attack'
    >>> match_label("Hepatitis E", ["Hepatitis B"], alike, 0.9)
    """
    known = list(known)
    wanted = normal(name)
    told_apart = _discriminating(wanted)
    same = (label for label in known if normal(label) == wanted)
    misspelt = (x for x in known if _spelling(normal(x), wanted) and _discriminating(normal(x)) == told_apart)
    if (found := next(chain(same, misspelt), None)) is not None:
        return found
    if name not in vectors:
        return None
    alike = {
        label: float(vectors[name] @ vectors[label])
        for label in reversed(known)
        if label in vectors and normal(label) != OTHER and _discriminating(normal(label)) == told_apart
    }
    best = max(alike, key=lambda label: alike[label], default=None)
    return best if best is not None and alike[best] >= threshold else None


def unnamed(
    names: Iterable[str], space: OutcomeSpace, known: tuple[str, ...], embedded: Container[str]
) -> tuple[str, ...]:
    """Open spaces: names (and the labels to compare them with) whose embeddings are still needed to place the names."""
    if space.kind != "open":
        return ()
    spelled = {normal(label) for label in (*known, *space.aliases)}
    new = [name for name in names if normal(name) not in spelled and normal(name)]
    if not new:
        return ()
    return tuple(name for name in dict.fromkeys((*new, *known)) if name not in embedded)


def canonical(
    name: str,
    space: OutcomeSpace,
    known: tuple[str, ...],
    vectors: Vectors = MappingProxyType({}),
    threshold: float = 0.9,
) -> str:
    """The label that ``name`` stands for; in an open space a new name becomes a label.

    >>> canonical("DENGUE fever", OutcomeSpace(labels=("Dengue fever", "Malaria")), ("Dengue fever", "Malaria"))
    'Dengue fever'
    """
    if name in known:
        return name
    wanted = normal(name)
    for alias, label in space.aliases.items():
        if normal(alias) == wanted:
            return label
    if space.kind == "open":
        if not wanted:
            raise BeliefError(f"outcome {name!r} has no letters or digits")
        return match_label(name, known, vectors, threshold) or name.strip()
    for label in known:
        if normal(label) == wanted or label.strip() == name.strip():
            return label
    raise BeliefError(
        f"{name!r} is not an outcome of this case: {', '.join(known[:8])}{' …' if len(known) > 8 else ''}"
    )
