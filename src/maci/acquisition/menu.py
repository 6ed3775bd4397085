r"""What a source says it has: sections known by name alone ("Vital Signs", "Chest X-ray"), each a thing that could be revealed.

What stands in a section is not known before it is asked for. Its name is: texts about an outcome that speak of it are texts of cases in
which it mattered. So the two answers are that the section speaks for the outcomes whose texts mention it, or that it does not:

.. math:: P(\text{speaks} \mid y) = \tfrac12 + \lambda\,(r_y - \bar r)

=====  ============================================================================================
r_y    how far the texts about y speak of the section: the mean share of them that hold each term of its name
r̄      the same over all texts
λ      at most ½, so that the row stays a probability; what a name tells is a guess, and marked as one
=====  ============================================================================================

A section that no text tells apart is still assumed to tell a little of the outcome that leads: nobody offers what says nothing. The
result of a test is assumed to tell more of it than what was said or seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from maci.acquisition.gain import gain
from maci.acquisition.plan import Candidate, Kind, candidate_id, table_of
from maci.acquisition.residual import Residual
from maci.agents.reader.library import Library
from maci.evidence.lexical import terms
from maci.moderator.belief import Vector

_MOST = 24
"""Sections that go on record at once."""
_LISTED = 1e-3
"""Outcomes below this probability share the row ``otherwise``."""
_STRETCH = 0.45
"""λ."""
_LITTLE, _DECIDES = 0.05, 0.25
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


def offered(menu: Iterable[str], residual: Residual, library: Library | None) -> tuple[Candidate, ...]:
    """A candidate for each section that was not asked for yet, the most telling first."""
    p = np.array(residual.p)
    found = [_section(name, residual, library) for name in dict.fromkeys(menu) if name not in residual.asked]
    return tuple(sorted(found, key=lambda c: (-gain(p, table_of(c, residual.labels)), c.id)))[:_MOST]


def _section(name: str, residual: Residual, library: Library | None) -> Candidate:
    speaks = np.full(len(residual.labels), 0.5)
    if library is not None:
        place = {label: i for i, label in enumerate(library.outcomes)}
        told = spoken_of(name, library)
        inside = [i for i, label in enumerate(residual.labels) if label in place]
        own = told[[place[residual.labels[i]] for i in inside]]
        weights = np.array(residual.p)[inside]
        middle = float(own @ weights / weights.sum()) if weights.sum() > 0 else 0.0
        speaks[inside] += _STRETCH * (own - middle)
    kind = _kind(name)
    speaks[int(np.argmax(residual.p))] += _DECIDES if kind == "test" else _LITTLE
    speaks = np.clip(speaks, 0.02, 0.98)
    listed = {label: i for i, label in enumerate(residual.labels) if residual.p[i] >= _LISTED}
    return Candidate(
        id=candidate_id(name, "menu"),
        kind=kind,
        text=f"{name}: what does it show?",
        subject=name,
        answers=("speaks for it", "does not"),
        table={label: (float(speaks[i]), 1 - float(speaks[i])) for label, i in listed.items()},
        otherwise=(0.5, 0.5),
        origin=("menu",),
        assumed=True,
    )


def _kind(name: str) -> Kind:
    """Sections of a record: what the patient said, what was seen at the bedside, or the result of a test."""
    if _SAID.search(name):
        return "history"
    return "question" if _SEEN.search(name) else "test"
