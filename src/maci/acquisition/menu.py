r"""The menu of a source: which of its entries a question asks for, and what an entry is worth that no question asks for.

**Sections that a source offers** (:func:`offered`): known by name alone ("Vital Signs", "Chest X-ray"). The content of a section
is not known before it is asked for, but texts about an outcome that mention the section suggest that it matters for that outcome.
So the two answers are that the section speaks for the outcomes whose texts mention it, or that it does not:

.. math:: P(\text{speaks} \mid y) = \tfrac12 + \lambda\,(r_y - \bar r)

=====  ============================================================================================
r_y    how far the texts about y mention the section: the mean share of them that hold each term of its name
r̄      the same over all texts
λ      at most ½, so that the row stays a probability; what a name tells is a guess, and marked as one
=====  ============================================================================================

Every section is assumed to say at least a little about the leading outcome, even one that no text separates. The result of a test is
assumed to say more about it than what was said or seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from maci.acquisition.answers import ALIKE, apart
from maci.acquisition.gain import gain
from maci.acquisition.plan import CONTRAST, COSTS, LISTED, MENU, Proposal, Residual, proposal_id, table_of
from maci.agents.argument import Kind
from maci.agents.reader.library import Library
from maci.evidence.encode import Encoder
from maci.evidence.lexical import terms
from maci.moderator.belief import Vector


def on_menu(candidates: Sequence[Proposal], menu: Sequence[str], encoder: Encoder | None) -> list[Proposal]:
    """Candidates as the source can be asked for them: under the name of the entry on its menu, or not at all.

    A candidate is an entry if it has all the entry's words, or if the encoder takes the two for one.
    """
    if not menu:
        return list(candidates)
    entries = {name: set(terms(name)) for name in menu}
    near = np.zeros((len(candidates), len(menu)), dtype=bool)
    if encoder is not None and candidates:
        near = encoder.encode([c.subject for c in candidates]) @ encoder.encode(list(menu)).T >= ALIKE
    found = []
    for row, candidate in enumerate(candidates):
        words = set(terms(candidate.subject))
        holds = [name for name, own in entries.items() if own and own <= words]
        alike = [n for n, close in zip(menu, near[row], strict=True) if close and not apart(candidate.subject, n)]
        if candidate.kind == "retrieval" or CONTRAST in candidate.origin or not (holds or alike):
            found.append(replace(candidate, askable=False))
        else:
            entry = max(holds, key=lambda name: len(entries[name])) if holds else alike[0]
            found.append(replace(candidate, subject=entry, origin=(*candidate.origin, MENU), cost=COSTS["question"]))
    return found


def set_aside(menu: Iterable[str], chosen: Iterable[Proposal]) -> list[str]:
    """The entries of a menu that no candidate asks for yet."""
    taken = {c.subject for c in chosen if MENU in c.origin}
    return [name for name in menu if name not in taken]


_MOST = 24
"""Sections that go on record at once."""
_STRETCH = 0.45
"""λ."""
_LITTLE, _DECIDES = 0.2, 0.4
"""What a section is assumed to tell of the leading outcome: anything, and the result of a test, which is done to decide."""
_SAID = re.compile(r"\b(history|symptoms?|demographics|complaint)\b", re.IGNORECASE)
_SEEN = re.compile(r"\b(physical|examination|vital signs|inspection|palpation|auscultation)\b", re.IGNORECASE)


def spoken_of(name: str, library: Library) -> Vector:
    """r_y, a number for each outcome of the library; r̄ where it has no text about one.

    >>> from maci.evidence.encode import load_encoder
    >>> from maci.evidence.span import Span
    >>> texts = [Span.of("A shadow on the chest X-ray.", label="Pneumonia"), Span.of("A swollen toe.", label="Gout")]
    >>> spoken_of("Imaging, Chest X-ray", Library(texts, ("Gout", "Measles", "Pneumonia"), load_encoder())).round(2).tolist()
    [0.0, 0.38, 0.75]
    """
    n = len(library.outcomes)
    sizes = np.bincount(library.subject, minlength=n).astype(np.float64)
    words = sorted(set(terms(name)))
    if not words or not len(library.spans):
        return np.zeros(n)
    here = np.array([library.mentions(word) for word in words], dtype=np.float64).mean(axis=0)
    sums = np.bincount(library.subject, weights=here, minlength=n)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(sizes > 0, sums / np.maximum(sizes, 1.0), here.mean()), dtype=np.float64)


def offered(menu: Iterable[str], residual: Residual, library: Library | None) -> tuple[Proposal, ...]:
    """A candidate for each section that was not asked for yet, the most telling first."""
    p = np.array(residual.p)
    found = [_section(name, residual, library) for name in dict.fromkeys(menu) if name not in residual.asked]
    return tuple(sorted(found, key=lambda c: (-gain(p, table_of(c, residual.labels)), c.id)))[:_MOST]


def _section(name: str, residual: Residual, library: Library | None) -> Proposal:
    speaks = np.full(len(residual.labels), 0.5)
    if library is not None:
        inside = [i for i, label in enumerate(residual.labels) if label in library.place]
        own = spoken_of(name, library)[[library.place[residual.labels[i]] for i in inside]]
        weights = np.array(residual.p)[inside]
        middle = float(own @ weights / weights.sum()) if weights.sum() > 0 else 0.0
        speaks[inside] += _STRETCH * (own - middle)
    kind = _kind(name)
    lead = int(np.argmax(residual.p))
    speaks[lead] += _DECIDES if kind == "test" else _LITTLE
    speaks = np.clip(speaks, 0.02, 0.98)
    listed = {label: i for i, label in enumerate(residual.labels) if residual.p[i] >= LISTED}
    return Proposal(
        id=proposal_id(name, "menu"),
        kind=kind,
        text=f"What is known about “{name}”?",
        subject=name,
        answers=(f"speaks for {residual.labels[lead]}", f"does not speak for {residual.labels[lead]}"),
        table={label: (float(speaks[i]), 1 - float(speaks[i])) for label, i in listed.items()},
        otherwise=(0.5, 0.5),
        origin=(MENU,),
        assumed=True,
        cost=COSTS["question"],  # the source has it already
    )


def _kind(name: str) -> Kind:
    """Sections of a record: what the patient said, what was seen at the bedside, or the result of a test."""
    if _SAID.search(name):
        return "history"
    return "question" if _SEEN.search(name) else "test"
