"""One outcome, many spellings: how two names of an open space stand to each other (D14).

Layers, from the surest down; the first that can tell decides:

==============  ==========================================================================================
``exact``       equal once case, accents, punctuation, articles and word order ("Smith, John") are set aside
``abbreviation``  one is made of the other's initials: *GERD*, *T2DM*, *acute MI*; or stands in its brackets
``spelling``    British or American, singular or plural, joined or hyphenated, one slip of the pen
``qualifier``   a word that adds nothing (*disease*, *Ltd*) or narrows (*acute*, *type 2*)
``opposed``     a number, a letter, a negation or one of two opposites differs: two outcomes, however alike
==============  ==========================================================================================

What none of them can tell is left to embeddings and, where a model sits at the table, to one question asked of it.

>>> relate("Heart attack", "heart-attack"), relate("GERD", "Gastroesophageal reflux disease")
(Relation(kind='same', layer='exact'), Relation(kind='same', layer='abbreviation'))
>>> relate("Acute hepatitis", "hepatitis"), relate("Hepatitis A", "Hepatitis B")
(Relation(kind='narrower', layer='qualifier'), Relation(kind='other', layer='opposed'))
>>> relate("Heart attack", "Myocardial infarction") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from maci.cases.outcomes import normal

Layer = Literal["exact", "alias", "abbreviation", "spelling", "qualifier", "opposed", "embedding", "model"]


class Relation(NamedTuple):
    """How the first of two names stands to the second."""

    kind: Literal["same", "narrower", "broader", "other"]
    layer: Layer


def listed(words: str) -> frozenset[str]:
    """A set of words."""
    return frozenset(words.split())


_ARTICLES = listed("a an the")
_SMALL = listed("a an and at by de for from in of on or the to with")
"""Words that initials may skip."""
_EMPTY = listed(
    "disease disorder syndrome condition illness infection fever unspecified nos "
    "inc incorporated ltd limited llc gmbh ag sa plc corp corporation company co "
    "mr mrs ms miss dr prof professor sir md phd esq"
)
"""Words that add nothing to a name that stands without them."""
_BARE = listed(
    "heart liver kidney lung skin eye ear brain bone blood bowel bladder stomach thyroid joint muscle nerve throat tooth "
    "yellow scarlet hay spotted relapsing cat foot hand mouth urinary respiratory autoimmune chronic acute mental general"
)
"""What is left after such a word is no name of its own: *kidney disease* is not *kidney*."""
_NARROWING = listed(
    "acute subacute chronic recurrent severe mild moderate early late advanced primary secondary tertiary congenital idiopathic "
    "hereditary acquired juvenile gestational neonatal viral bacterial fungal parasitic allergic atopic autoimmune ischemic "
    "hemorrhagic metastatic invasive benign malignant bilateral unilateral left right upper lower anterior posterior "
    "partial complete suspected possible probable confirmed uncomplicated complicated systemic localized diffuse"
)
"""Words before a name that narrow it."""
_KINDS = listed("type stage grade class phase level version series model category tier")
"""Words that, with a number or letter after them, narrow a name: *type 2 diabetes*."""
_NEGATIONS = listed("not no non never neither nor without none cannot isnt doesnt didnt wont lacks absent")
_OPPOSITES = (
    "increase decrease", "increased decreased", "rise fall", "rises falls", "high low", "higher lower", "more less",
    "most least", "left right", "upper lower", "before after", "over under", "above below", "guilty innocent",
    "approve reject", "approved rejected", "approved denied", "accept reject", "accepted rejected", "granted refused",
    "valid invalid", "legal illegal", "safe unsafe", "true false", "yes no", "hot cold", "wet dry", "benign malignant",
    "acute chronic", "primary secondary", "systolic diastolic", "internal external", "male female", "min max", "buy sell",
    "minimum maximum", "north south", "east west", "northern southern", "eastern western", "open closed", "arterial venous",
    "void voidable", "central peripheral", "proximal distal", "anterior posterior", "jr sr", "junior senior", "first second",
    "viral bacterial", "obstructive restrictive", "ischemic hemorrhagic", "summer winter", "import export", "gain loss",
    "profit loss", "win lose", "pass fail", "passed failed", "start end", "public private", "direct indirect",
    "pro max", "plus pro", "mini max", "permanent temporary", "breach compliance", "inside outside", "in out",
)  # fmt: skip
_OPPOSED = frozenset(frozenset(pair.split()) for pair in _OPPOSITES)
_PREFIXES = (
    ("hypo", "hyper"), ("intra", "inter"), ("intra", "extra"), ("pre", "post"), ("ante", "post"), ("endo", "exo"),
    ("mono", "poly"), ("micro", "macro"), ("over", "under"), ("un", ""), ("non", ""), ("dis", ""), ("anti", ""), ("in", ""),
    ("im", ""), ("ir", ""), ("il", ""), ("a", ""), ("pseudo", ""),
)  # fmt: skip
_COUNTED = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: str(n) for n, word in enumerate(_COUNTED.split())} | {
    "ii": "2",
    "iii": "3",
    "iv": "4",
    "vi": "6",
    "vii": "7",
    "viii": "8",
    "ix": "9",
}
_AMERICAN = (
    (re.compile(r"ae(?!s?$)"), "e"),
    (re.compile(r"oe(?!s?$)"), "e"),
    (re.compile(r"(?<=[lnrv])our(?=s?$|ed$|ing$|able$|ite$)|(?<=[^f])our$"), "or"),
    (re.compile(r"is(?=e[sd]?$|ing$|ations?$|er$)"), "iz"),
    (re.compile(r"ys(?=e[sd]?$|ing$)"), "yz"),
    (re.compile(r"(?<=[bt])re$"), "er"),
    (re.compile(r"ll(?=ed$|ing$|er$|ers$)"), "l"),
    (re.compile(r"ogue$"), "og"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"ence$"), "ense"),
)
_ALIKE = frozenset(frozenset(pair) for pair in ("iy", "sz", "ck", "cs", "ei"))
"""Letters that one slip may exchange: they sound or are typed alike; any other exchange may be another word (*perineal*)."""
_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]{2,60})[)\]]\s*")
_CAPITALS = re.compile(r"(?:[A-Z&]\.?|[0-9])(?:[A-Za-z&]?\.?|[0-9]){0,2}(?:[A-Z0-9&]\.?){1,6}s?")


def relate(a: str, b: str) -> Relation | None:
    """How ``a`` stands to ``b`` by their letters alone; ``None`` where letters cannot tell."""
    if _words(a) == _words(b) or _forms(a) & _forms(b):
        return Relation("same", "exact")
    if _abbreviates(a, b) or _abbreviates(b, a):
        return Relation("same", "abbreviation")
    left, right = _content(a), _content(b)
    if not left or not right:
        return None
    if left == right or "".join(left) == "".join(right):
        return Relation("same", "spelling")
    if (found := _qualified(left, right)) is not None:
        return found
    if _opposed(left, right):
        return Relation("other", "opposed")
    if len(left) == len(right) and all(x == y or _slip(x, y) for x, y in zip(left, right, strict=True)):
        return Relation("same", "spelling")
    return None


def _forms(name: str) -> frozenset[tuple[str, ...]]:
    """A name's words as written, turned round at its comma, and without or instead of what stands in brackets."""
    forms = {_words(name)}
    if name.count(",") == 1:
        last, first = name.split(",")
        forms.add(_words(f"{first} {last}"))
    if inside := _BRACKETS.search(name):
        outside = _BRACKETS.sub(" ", name)
        forms.add(_words(outside))
        if not _content(inside[1]) or set(_words(inside[1])).isdisjoint(_NEGATIONS | _NARROWING | _KINDS):
            forms.add(_words(inside[1]))
    return frozenset(form for form in forms if form)


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    """Lower-case words without articles and the s of a possessive; numbers as digits."""
    bare = re.sub(r"(?<=\w)['\u2019]s?(?=\W|$)", "", name)
    words = normal(bare).split()
    kept = (word for at, word in enumerate(words, 1) if word not in _ARTICLES or at == len(words))  # hepatitis A
    return tuple(_NUMBERS.get(word, word) for word in kept)


@lru_cache(maxsize=4096)
def _content(name: str) -> tuple[str, ...]:
    """The words as they are compared: one spelling, singular, *cancer of the lung* as *lung cancer*."""
    name = _BRACKETS.sub(" ", name)
    if name.count(",") == 1:
        head, qualifier = name.split(",")
        name = f"{qualifier} {head}"
    words = [word for word in _words(name) if word not in {"is", "are", "was", "were", "be"}]
    if words.count("of") == 1 and not _titled(name):
        at = words.index("of")
        words = [*words[at + 1 :], *words[:at]]
    return tuple(_plain(word) for word in words)


def _titled(name: str) -> bool:
    """A proper name: *Bank of America*, whose parts do not change places."""
    after = re.search(r"\bof\s+(?:the\s+)?(\S)", name)
    return after is not None and after[1].isupper() and name[:1].isupper()


@lru_cache(maxsize=8192)
def _plain(word: str) -> str:
    """A word in American spelling and in the singular.

    >>> [_plain(w) for w in ("haemorrhages", "colour", "oesophagitis", "batteries", "diagnosis", "tumours")]
    ['hemorrhage', 'color', 'esophagitis', 'battery', 'diagnosis', 'tumor']
    """
    if any(c.isdigit() for c in word) or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 5:
        word = f"{word[:-3]}y"
    elif re.search(r"(ss|sh|ch|x|z)es$", word):
        word = word[:-2]
    elif word.endswith("s") and not re.search(r"(ss|us|is|as|os)$", word):
        word = word[:-1]
    for pattern, replacement in _AMERICAN:
        word = pattern.sub(replacement, word)
    return word


def _abbreviates(short: str, long: str) -> bool:
    """Whether the first is the second with some of its words as initials.

    >>> _abbreviates("acute MI", "acute myocardial infarction"), _abbreviates("T2DM", "type 2 diabetes mellitus")
    (True, True)
    >>> _abbreviates("WHO", "World Trade Organization"), _abbreviates("IT", "Information Theory")
    (False, True)
    """
    parts, whole = _BRACKETS.sub(" ", short).split(), _BRACKETS.sub(" ", long).split()
    if not any(_CAPITALS.fullmatch(part) for part in parts) or len(parts) >= len(whole):
        return False
    return _initials(parts, whole)


def _initials(parts: Sequence[str], whole: Sequence[str]) -> bool:
    if not parts or not whole:
        return not parts and all(normal(word) in _SMALL or normal(word) in _EMPTY for word in whole)
    first, rest = parts[0], parts[1:]
    if normal(first) == normal(whole[0]) and _initials(rest, whole[1:]):
        return True
    if not _CAPITALS.fullmatch(first):
        return False
    letters = re.sub(r"[^a-z0-9]", "", first.casefold())
    return any(
        _spelled(letters, normal(" ".join(whole[:n])).split()) and _initials(rest, whole[n:])
        for n in range(2, len(whole) + 1)
    )


def _spelled(letters: str, words: Sequence[str]) -> bool:
    """Whether letters are the initials of the words, in order: every word that is not small gives its first letter, numbers
    themselves, and a long word may give one more letter (*gastroesophageal* two to GERD).
    """
    if not words:
        return not letters
    word, rest = words[0], words[1:]
    number = _NUMBERS.get(word, word)
    if number.isdigit():
        return letters.startswith(number) and _spelled(letters[len(number) :], rest)
    if word in _SMALL and _spelled(letters, rest):
        return True
    if not letters or letters[0] != word[0]:
        return False
    if _spelled(letters[1:], rest):
        return True
    return len(word) >= 9 and len(letters) > 1 and letters[1] in word[3:] and _spelled(letters[2:], rest)


def _qualified(left: tuple[str, ...], right: tuple[str, ...]) -> Relation | None:
    """Names that differ by words that add nothing, or that only narrow."""
    a, b = _stripped(left), _stripped(right)
    if a == b:
        return Relation("same", "qualifier")
    if _narrows(a, b) or _narrows(left, right):
        return Relation("narrower", "qualifier")
    if _narrows(b, a) or _narrows(right, left):
        return Relation("broader", "qualifier")
    return None


def _stripped(words: tuple[str, ...]) -> tuple[str, ...]:
    kept = tuple(word for word in words if word not in _EMPTY)
    return kept if kept and not (len(kept) == 1 and kept[0] in _BARE) else words


def _narrows(narrow: tuple[str, ...], wide: tuple[str, ...]) -> bool:
    """Whether a name is another with narrowing words before or after it, a kind and its number, or a number or letter at its end."""
    if len(narrow) <= len(wide) or set(wide) <= _BARE:
        return False
    if narrow[:-1] == wide and _marks(narrow[-1]):
        return True
    rest, extra, at = list(narrow), list[str](), 0
    for word in narrow:
        if at < len(wide) and word == wide[at]:
            at += 1
        else:
            extra.append(word)
    if at < len(wide):
        return False
    if extra and all(word in _NARROWING for word in extra):
        return rest[: len(extra)] == extra or rest[-len(extra) :] == extra
    return len(extra) == 2 and extra[0] in _KINDS and len(extra[1]) <= 2


def _opposed(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether the names differ in a number, a letter, a negation, or one of two opposites."""
    a, b = set(left) - set(right), set(right) - set(left)
    if {w for w in a if _marks(w)} != {w for w in b if _marks(w)}:
        return True
    if bool(a & _NEGATIONS) != bool(b & _NEGATIONS):
        return True
    return any(frozenset((x, y)) in _OPPOSED or _prefixed(x, y) or _prefixed(y, x) for x in a for y in b)


def _marks(word: str) -> bool:
    """A word that tells alike names apart: a number, a letter, a Roman numeral."""
    return any(c.isdigit() for c in word) or len(word) == 1 or re.fullmatch(r"[ivx]{1,4}", word) is not None


def _prefixed(x: str, y: str) -> bool:
    """Whether two words differ by an opposing prefix alone: *hypo-* and *hyper-*, *-* and *un-*."""
    return any(x.startswith(one) and y == other + x[len(one) :] and len(x) - len(one) > 3 for one, other in _PREFIXES)


def _slip(x: str, y: str) -> bool:
    """One slip of the pen in a word of six letters or more, not in its first letter.

    >>> _slip("pneumonia", "pnuemonia"), _slip("hepatitis", "hepattitis"), _slip("perineal", "peroneal")
    (True, True, False)
    """
    if min(len(x), len(y)) < 6 or abs(len(x) - len(y)) > 1 or x[0] != y[0]:
        return False
    at = next((k for k, (c, d) in enumerate(zip(x, y, strict=False)) if c != d), min(len(x), len(y)))
    if len(x) == len(y):
        swapped = x[at : at + 2] == y[at : at + 2][::-1] and x[at + 2 :] == y[at + 2 :]
        return swapped or (frozenset((x[at], y[at])) in _ALIKE and x[at + 1 :] == y[at + 1 :])
    short, long = sorted((x, y), key=len)
    return short[at:] == long[at + 1 :] and at > 0
