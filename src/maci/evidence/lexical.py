"""The lexical half of retrieval: BM25 (Lucene's variant, through bm25s) over a light tokenisation.

Terms are runs of letters and digits, case folded, without common English function words, with plural
endings taken off (after Harman's s-stemmer, 1991). It takes no model and no download.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import logging
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[^\W_]+")
_VERSION = 1
"""Raised when :func:`terms` changes: a saved index of another version is built anew."""
_FUNCTION_WORDS = """
a about above after again all also am an and any are as at be because been before being below between both
but by can could did do does doing down during each few for from further had has have having he her here
hers him his how i if in into is it its itself just me more most my myself no nor not of off on once only or
other our ours out over own s same she should so some such t than that the their theirs them then there
these they this those through to too under until up very was we were what when where which while who whom
why will with would you your yours
"""
_STOP = frozenset(_FUNCTION_WORDS.split())


_ENDINGS = """
s e y ed er ers ing ion ions less ness al ation ication ment able ly t d n ure ature ive cy nt ncy ance ence th ty ity or ory ible
"""
_TAILS = frozenset(["", *_ENDINGS.split()])
"""Endings that make other forms of a word."""
_FORMS = {
    form: forms.split()[0]
    for forms in (
        "go went gone", "run ran running", "break broke broken breakage", "take took taken", "give gave given",
        "see saw seen", "find found", "lose lost loss", "pay paid payment", "send sent", "write wrote written",
        "begin began begun", "drive drove driven", "fall fell fallen", "speak spoke spoken", "grow grew grown growth",
        "bleed bled", "swell swollen swelling", "sleep slept", "prove proof proved proven", "eat ate eaten",
        "die dead death died", "freeze froze frozen", "tear torn tore", "wear wore worn", "steal stole stolen theft",
        "sell sold sale", "hold held", "buy bought", "drink drank drunk", "choose chose chosen choice",
        "know knew known knowledge", "strike struck", "meet met", "spend spent", "fly flew flown flight",
    )
    for form in forms.split()
}  # fmt: skip
"""Irregular forms of common verbs, by their first."""


@functools.lru_cache(maxsize=1 << 17)
def _term(word: str) -> str:
    """The stem of a word; an empty string for a word that says nothing."""
    if word in _STOP:
        return ""
    if len(word) > 3 and word.endswith("s") and word.isascii():
        if word.endswith(("shes", "tches", "xes", "sses")):
            return word[:-2]
        if word.endswith("ies") and word[-4] not in "ae":
            return word[:-3] + "y"
        if word.endswith("es") and word[-3] not in "aeo":
            return word[:-1]
        if word[-2] not in "us":
            return word[:-1]
    return word


def terms(text: str) -> list[str]:
    """What BM25 matches on.

    >>> terms("The rashes and high fevers of Dengue")
    ['rash', 'high', 'fever', 'dengue']
    """
    return [term for word in _WORD.findall(text.casefold()) if (term := _term(word))]


@functools.lru_cache(maxsize=4096)
def term_set(text: str) -> frozenset[str]:
    """The terms of a few words, in no order; those of phrases that come up again and again are kept."""
    return frozenset(terms(text))


_DENIED = re.compile("un|non|in|im|dis|ir|il")


@functools.lru_cache(maxsize=16384)
def undone(term: str, word: str) -> bool:
    """Whether a word of a text is a term of a feature with an ending or a beginning that denies it: *hairless*, *unpaid*; or the
    term is such a word, and the text has it without (*unsecured loan*: *the loan is secured*).
    """
    if term.startswith("un") and len(term) > 5 and not word.startswith("un"):
        return akin(term[2:], word)
    if word.endswith("less") and not term.endswith("less"):
        return akin(term, word)
    beginning = _DENIED.match(word)
    if beginning is None or len(rest := word[beginning.end() :]) < 4 or akin(term, word):
        return False
    if beginning[0] in ("un", "non"):
        return akin(term, rest) or (rest.startswith(term) and rest[len(term) :] in _TAILS)
    return len(rest) > 4 and terms(rest) == [term]


@functools.lru_cache(maxsize=16384)
def akin(term: str, word: str) -> bool:
    """Whether a word of a text is a term of a feature, in whatever form: *smoker* and *smoking*, *hairless* and *hairs*."""
    found = _first(word)
    if not found or found == term:
        return bool(found)
    if _FORMS.get(term, term) == _FORMS.get(found, found):
        return True
    if found[0] != term[0]:
        return False
    if len(found) > 4 and len(term) - len(found) > 3 and term.startswith(found):
        return True  # an abbreviation
    if found.startswith(term + term[-1]) and found[len(term) + 1 :] in _TAILS:
        return True  # fog, foggy
    shared = next((n for n, (x, y) in enumerate(zip(term, found, strict=False)) if x != y), min(len(term), len(found)))
    close = shared >= 4 and shared >= max(len(term), len(found)) - 5
    return close and term[shared:] in _TAILS and found[shared:] in _TAILS


@functools.lru_cache(maxsize=16384)
def _first(word: str) -> str:
    """The first term of a word; an empty string where it has none."""
    return next(iter(terms(word)), "")


@functools.lru_cache(maxsize=16384)
def speaks_of(term: str, word: str) -> Literal["akin", "undone"] | None:
    """Whether a word of a text is a term of a feature, as it is or denied by its own form."""
    return "undone" if undone(term, word) else "akin" if akin(term, word) else None


def normal_text(text: str) -> str:
    """Text with case, punctuation and spacing gone: equal for near-duplicates.

    >>> normal_text("High fever -- 3 days!") == normal_text("high fever (3 days)")
    True
    """
    return " ".join(_WORD.findall(text.casefold()))


class Lexical:
    """A BM25 index over texts, in their order."""

    def __init__(self, bm25: Any, vocabulary: dict[str, int], size: int) -> None:
        self._bm25, self._vocabulary, self._size = bm25, vocabulary, size

    @classmethod
    def build(cls, texts: Iterable[str]) -> Lexical:
        """Index texts; terms are numbered as they first appear, so equal texts give equal files."""
        vocabulary: dict[str, int] = {}
        rows = [[vocabulary.setdefault(term, len(vocabulary)) for term in terms(text)] for text in texts]
        if not vocabulary:
            return cls(None, {}, len(rows))
        bm25 = _bm25s().BM25(method="lucene", backend="numpy", csc_backend="numpy")
        bm25.index((rows, vocabulary), create_empty_token=False, show_progress=False)
        return cls(bm25, vocabulary, len(rows))

    def scores(self, query: str) -> NDArray[np.float32]:
        """BM25 of every text for a query: 0 where no term is shared."""
        known = [self._vocabulary[term] for term in terms(query) if term in self._vocabulary]
        if not known:
            return np.zeros(self._size, dtype=np.float32)
        scores: NDArray[np.float32] = self._bm25.get_scores_from_ids(known)
        return scores

    def save(self, folder: Path, key: str) -> None:
        """Write the index under a key that says which texts it is for."""
        if self._bm25 is None:
            return
        fresh = folder.with_name(folder.name + ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        self._bm25.save(fresh, show_progress=False)
        (fresh / "key.json").write_text(json.dumps(key), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        fresh.replace(folder)

    @classmethod
    def load(cls, folder: Path, key: str) -> Lexical | None:
        """The index saved under this key; ``None`` if there is none, or it cannot be read: build it then."""
        try:
            if json.loads((folder / "key.json").read_text(encoding="utf-8")) != key:
                return None
            bm25 = _bm25s().BM25.load(folder, show_progress=False, allow_pickle=False)
            return cls(bm25, bm25.vocab_dict, int(bm25.scores["num_docs"]))
        except (OSError, ValueError, KeyError, TypeError, EOFError):
            return None

    @staticmethod
    def key(ids: Sequence[str]) -> str:
        """The key for texts with these ids, by this version of the tokenisation and of bm25s."""
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
        return f"{_VERSION}/{_bm25s().__version__}/{digest}"


def _bm25s() -> Any:
    """bm25s, told to keep its progress to itself."""
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    library = importlib.import_module("bm25s")
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return library
