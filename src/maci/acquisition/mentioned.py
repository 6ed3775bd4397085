"""What a case says already: a question that it answers, with yes or with no, need not be asked.

A case speaks of a symptom if a sentence has all its terms; if a clause has them in other forms (stiff neck, neck stiffness); or if a
clause has another way to say it (`evidence/builtin/wordings.yaml`). The light encoder is no help: it finds "retro-orbital pain" as near
to "by pain" (0.51) as to anything a case says of eyes, and "upper abdominal pain", worth asking, said by "abdominal pain" (0.93).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from maci.evidence.knowledge import wordings
from maci.evidence.lexical import normal_text, terms

__all__ = ["Mentioned", "sentences", "stems"]

_SENTENCE = re.compile(r"[.!?;]+(?:\s|$)|\n+")
_CLAUSE = re.compile(r"[,:()]|\b(?:and|or|but)\b", re.IGNORECASE)
_ENDING = re.compile(r"(?:ness|ing|ish|ed|y)$")
_SHORTEST = 3
"""Letters a stem keeps."""
_APART = frozenset({"fainting", "fainted"})
"""Words whose stem says something else: a faint rash."""


class Mentioned:
    """A case text, cut into sentences and clauses.

    >>> case = Mentioned("She has pain behind the eyes and a stiff neck, but no fever. There are small red spots.")
    >>> [case.says(symptom) for symptom in ("retro-orbital pain", "neck stiffness", "high fever", "red spots", "red eyes")]
    [True, True, True, True, False]
    """

    def __init__(self, text: str, other_words: Mapping[str, tuple[str, ...]] | None = None) -> None:
        parts = sentences(text)
        self._sentences = [frozenset(terms(sentence)) for sentence in parts]
        self._clauses = [stems(clause) for sentence in parts for clause in _CLAUSE.split(sentence)]
        self._text = f" {normal_text(text)} "
        self._other_words = wordings() if other_words is None else other_words

    def says(self, subject: str) -> bool:
        """Whether it speaks of it, to confirm or to deny."""
        named = frozenset(terms(subject))
        if not named:
            return False
        if any(named <= sentence for sentence in self._sentences) or self._in_a_clause(stems(subject)):
            return True
        return any(map(self._worded, self._other_words.get(subject, ())))

    def _worded(self, words: str) -> bool:
        """One telling word says little without the small ones around it (no fever, the runs): then as it is written."""
        if len(terms(words)) < len(words.split()) and len(terms(words)) < 2:
            return f" {normal_text(words)} " in self._text
        return self._in_a_clause(stems(words))

    def _in_a_clause(self, wanted: frozenset[str]) -> bool:
        return any(wanted <= clause for clause in self._clauses)


def sentences(text: str) -> list[str]:
    """The sentences of a text, one of which must speak of something for the text to do so.

    >>> sentences("It is 38.5 degrees. No rash!")
    ['It is 38.5 degrees', 'No rash']
    """
    return [part for part in _SENTENCE.split(text) if part]


def stems(text: str) -> frozenset[str]:
    """Terms without the endings that make another form of a word.

    >>> sorted(stems("She wheezed, with itchy redness"))
    ['itch', 'red', 'wheez']
    """
    return frozenset(map(_stem, terms(text)))


def _stem(term: str) -> str:
    short = _ENDING.sub("", term)
    return term if term in _APART or len(short) < _SHORTEST else short
