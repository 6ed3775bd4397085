"""The labels of an open space: where a name belongs among those in use (D14).

A name that is another spelling of a label is that label. A narrower one is held by the label it is narrower than, which has the
probability of both; one that is broader than labels in use takes them in. Labels that a case declares stay as they are.

>>> placed = place_names(["viral pneumonia", "Pneumonia", "flu"], ("other",), OutcomeSpace(kind="open"))
>>> placed.labels, placed.joins["viral pneumonia"]
(('other', 'Pneumonia', 'flu'), Join(label='Pneumonia', kind='narrower', layer='qualifier'))
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from maci.cases.names import Kind, Layer, Relation, by_model, relate, share_a_word
from maci.cases.outcomes import OutcomeSpace, normal
from maci.errors import BeliefError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = Mapping[str, NDArray[np.float32]]

Answers: TypeAlias = Mapping[tuple[str, str], Kind]
"""Two names → how the first stands to the second, as a model said."""


class NameQuestion(NamedTuple):
    """What a model is asked: how a name stands to others, all of them at once."""

    name: str
    among: tuple[str, ...]

    def __str__(self) -> str:
        return " | ".join((self.name, *self.among))

    def answered(self, listed: str, kind: Kind | None) -> dict[tuple[str, str], Kind | None]:
        """Each pair that the answer decides → how its first name stands to its second; ``None`` where there was no answer.

        A name that is the same as one of the others is none of the rest. One that is wider than one of them may be wider than more.

        >>> NameQuestion("gout", ("flu", "podagra")).answered("podagra", "same")
        {('gout', 'flu'): 'other', ('gout', 'podagra'): 'same'}
        """
        if kind in {"narrower", "broader"}:
            return {(self.name, listed): kind}
        rest: Kind | None = None if kind is None else "other"
        return {(self.name, other): kind if other == listed else rest for other in self.among}


MOST_LISTED = 40
"""Names that one question lists."""


class Join(NamedTuple):
    """A name that is not a label of its own."""

    label: str
    """The label that holds it."""
    kind: Literal["same", "narrower"]
    layer: Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """What names are compared by beside their words."""

    vectors: Vectors = field(default_factory=dict)
    """Unit embeddings of names and labels; what has none is compared by its words alone."""
    threshold: float = 0.95
    answers: Answers = field(default_factory=dict)
    joins: Mapping[str, Join] = field(default_factory=dict)
    """Names that were placed, where the true outcome, which nobody was told, is looked for among them."""

    def named(self, label: str) -> Iterator[str]:
        """A label, and the names that were joined with it as the same."""
        yield label
        yield from (name for name, join in self.joins.items() if join.label == label and join.kind == "same")

    def relation(self, a: str, b: str) -> Relation | None:
        """How ``a`` stands to ``b``."""
        cosine = self.cosine(a, b)
        if (found := relate(a, b, cosine, self.threshold)) is not None:
            return found
        if (said := self.answers.get((a, b))) is not None:
            return by_model(a, b, said)
        if (said := self.answers.get((b, a))) is not None:
            return by_model(b, a, said).turned
        return None

    def cosine(self, a: str, b: str) -> float | None:
        """How alike two embeddings are, where both are known."""
        return float(self.vectors[a] @ self.vectors[b]) if a in self.vectors and b in self.vectors else None


class Placement(NamedTuple):
    """Labels in use, and what they hold."""

    labels: tuple[str, ...]
    joins: Mapping[str, Join]
    """Name → the label that holds it, for all that are no labels themselves."""

    def label(self, name: str) -> str:
        """The label of a name that was placed."""
        return self.joins[name].label if name in self.joins else name


def place_names(
    names: Iterable[str],
    labels: tuple[str, ...],
    space: OutcomeSpace,
    joins: Mapping[str, Join] = MappingProxyType({}),
    by: Comparing = Comparing(),
) -> Placement:
    """Names placed among the labels in use, one after another, with what was joined before."""
    found = Placement(labels, joins)
    if space.kind == "open":
        found = _answered(found, space, by)
    for name in names:
        found = _place(name, found, space, by)
    return found


def canonical(
    name: str,
    space: OutcomeSpace,
    known: tuple[str, ...],
    joins: Mapping[str, Join] = MappingProxyType({}),
    by: Comparing = Comparing(),
) -> str:
    """The label that ``name`` stands for, or that holds it; in an open space a new name is its own label.

    >>> canonical("DENGUE fever", OutcomeSpace(labels=("Dengue fever", "Malaria")), ("Dengue fever", "Malaria"))
    'Dengue fever'
    >>> canonical("Severe dengue", OutcomeSpace(kind="open"), ("Dengue", "Malaria"))
    'Dengue'
    """
    found = _find(name, Placement(known, joins), space, by)
    return found.label if isinstance(found, Join) else found


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


def open_pairs(
    mass: Mapping[str, float], found: Placement, space: OutcomeSpace, by: Comparing
) -> Iterator[tuple[str, str]]:
    """Pairs of labels, with all they hold, that no layer can tell apart or join; those with most ``mass`` first."""
    held = replace(by, joins=found.joins)
    for a, b in _by_mass(mass, found, space):
        if mass.get(b, 0.0) > 0 and all(by.relation(x, y) is None for x in held.named(a) for y in held.named(b)):
            yield a, b


def near_pairs(
    mass: Mapping[str, float], found: Placement, space: OutcomeSpace, by: Comparing, close: float
) -> Iterator[tuple[str, str]]:
    """Of labels that all have ``mass``, the pairs that share a word or have this cosine, where no layer tells how they stand."""
    for a, b in _by_mass(mass, found, space):
        if mass.get(a, 0.0) > 0 and by.relation(a, b) is None:
            near = by.cosine(a, b)
            if share_a_word(a, b) or (near is not None and near >= close):
                yield a, b


def _by_mass(mass: Mapping[str, float], found: Placement, space: OutcomeSpace) -> Iterator[tuple[str, str]]:
    """Pairs of labels that the case does not declare both, the one with less mass first; those with most mass in both first."""
    rest = normal(space.rest or "")
    names = [label for label in sorted(found.labels, key=lambda y: -mass.get(y, 0.0)) if normal(label) != rest]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i] if a not in space.labels or b not in space.labels]
    yield from sorted(pairs, key=lambda pair: -min(mass.get(pair[0], 0.0), mass.get(pair[1], 0.0)))


def open_question(
    mass: Mapping[str, float],
    stated: Iterable[Mapping[str, float]],
    found: Placement,
    left: Sequence[tuple[str, str]],
) -> NameQuestion | None:
    """The name to put against all names it stands open to; ``left``: the pairs nobody was asked about yet, in their order.

    A pair is worth a question unless somebody has ``stated`` both at once, and so told them apart. Of its two names, the one that
    stands open to more names is put against all these.
    """
    narrower = {name for name, join in found.joins.items() if join.kind == "narrower"}
    told = [{found.label(name) for name, p in belief.items() if p > 0 and name not in narrower} for belief in stated]
    pair = next((pair for pair in left if not any(both.issuperset(pair) for both in told)), None)
    if pair is None:
        return None
    others = {name: [a if b == name else b for a, b in left if name in (a, b)] for name in pair}
    name = max(pair, key=lambda name: (len(others[name]), found.labels.index(name)))
    return NameQuestion(name, tuple(sorted(others[name], key=lambda y: -mass.get(y, 0.0))[:MOST_LISTED]))


def _find(name: str, found: Placement, space: OutcomeSpace, by: Comparing) -> str | Join:
    """The label a name is, or the one that holds it; the name itself where it is new."""
    if name in found.labels:
        return name
    if name in found.joins:
        return found.joins[name]
    wanted = normal(name)
    for alias, label in space.aliases.items():
        if normal(alias) == wanted:
            return Join(found.label(label), "same", "alias")
    for label in found.labels:
        if normal(label) == wanted or label.strip() == name.strip():
            return label
    if space.kind != "open":
        known = found.labels
        raise BeliefError(
            f"{name!r} is not an outcome of this case: {', '.join(known[:8])}{' …' if len(known) > 8 else ''}"
        )
    if not wanted:
        raise BeliefError(f"outcome {name!r} has no letters or digits")
    return _related(name, found, space, by) or name.strip()


def _related(name: str, found: Placement, space: OutcomeSpace, by: Comparing) -> Join | None:
    """Where an open name belongs: to a label of the same meaning, else to one it is narrower than."""
    rest = normal(space.rest or "")
    if normal(name) == rest:
        return None
    relations = [(label, by.relation(name, label)) for label in found.labels if normal(label) != rest]
    relations += [(join.label, by.relation(name, held)) for held, join in found.joins.items() if join.kind == "same"]
    relations += [
        (found.label(label), Relation(relation.kind, "alias"))
        for alias, label in space.aliases.items()
        if (relation := relate(name, alias)) is not None
    ]
    joins = [Join(label, r.kind, r.layer) for label, r in relations if r is not None and r.kind in {"same", "narrower"}]
    for held, join in found.joins.items():
        if join.kind == "narrower" and (r := by.relation(name, held)) is not None and r.kind in {"same", "narrower"}:
            joins.append(Join(join.label, "narrower", r.layer))
    return min(joins, key=lambda join: _surer(name, join, by), default=None)


def _surer(name: str, join: Join, by: Comparing) -> tuple[bool, bool, float]:
    """Which of several joins comes first: the same before what is narrower, words before embeddings, the closest of these."""
    embedded = join.layer == "embedding"
    return join.kind != "same", embedded, -(by.cosine(name, join.label) or 0.0) if embedded else 0.0


def _place(name: str, found: Placement, space: OutcomeSpace, by: Comparing) -> Placement:
    at = _find(name, found, space, by)
    if isinstance(at, Join):
        labels = found.labels if at.label in found.labels else (*found.labels, at.label)
        return Placement(labels, {**found.joins, name: at})
    if at in found.labels:
        return found if at == name else Placement(found.labels, {**found.joins, name: Join(at, "same", "exact")})
    grown = Placement((*found.labels, at), found.joins)
    if at != name:
        grown = Placement(grown.labels, {**grown.joins, name: Join(at, "same", "exact")})
    if space.kind != "open" or normal(at) == normal(space.rest or ""):
        return grown
    for label in found.labels:  # what is narrower than the new one
        if (
            label not in space.start
            and (relation := by.relation(label, at)) is not None
            and relation.kind == "narrower"
        ):
            grown = _hold(label, Join(at, "narrower", relation.layer), grown)
    return grown


def _hold(label: str, join: Join, found: Placement) -> Placement:
    """A label that becomes part of another, with all that it held."""
    moved = {
        name: Join(join.label, "narrower" if "narrower" in (held.kind, join.kind) else "same", held.layer)
        if held.label == label
        else held
        for name, held in found.joins.items()
    }
    return Placement(tuple(each for each in found.labels if each != label), {**moved, label: join})


def _answered(found: Placement, space: OutcomeSpace, by: Comparing) -> Placement:
    """The labels after what a model has said of pairs of them since."""
    for a, b in by.answers:
        if a not in found.labels or b not in found.labels or (relation := by.relation(a, b)) is None:
            continue
        first, second = sorted((a, b), key=found.labels.index)
        loser, keeper = (second, first) if second not in space.start else (first, second)
        if relation.kind in {"narrower", "broader"}:
            loser, keeper = (a, b) if relation.kind == "narrower" else (b, a)
        if relation.kind != "other" and loser not in space.start:
            kind: Literal["same", "narrower"] = "same" if relation.kind == "same" else "narrower"
            found = _hold(loser, Join(keeper, kind, relation.layer), found)
    return found
