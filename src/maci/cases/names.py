"""One outcome, many spellings: how two names of an open space stand to each other (D14).

Layers, from the surest down; the first that can tell decides:

================  ============================================================================================
``exact``         equal once case, accents, punctuation, articles, word order ("Smith, John") and :func:`bare` are set aside
``alias``         two common names of one thing (*heart attack*, *myocardial infarction*), or a case's own aliases
``abbreviation``  one is made of the other's initials: *GERD*, *T2DM*, *acute MI*, *J. R. R. Tolkien*
``spelling``      British or American, singular or plural, joined or hyphenated, active or passive, one slip of the pen
``qualifier``     words that add nothing (*disease*, *Ltd*) or narrow (*acute*, *type 2*, *in Poland*)
``opposed``       a number, a letter, a negation or one of two opposites differs, and the rest does not: two outcomes
``embedding``     embeddings that nearly coincide, where no such word differs and the shared words keep their order
================  ============================================================================================

What none of them can tell is left to one question asked of a model, where one sits at the table.

>>> relate("Heart attack", "heart-attack"), relate("GERD", "Gastroesophageal reflux disease")
(Relation(kind='same', layer='exact'), Relation(kind='same', layer='abbreviation'))
>>> relate("Acute hepatitis", "hepatitis"), relate("Hepatitis A", "Hepatitis B")
(Relation(kind='narrower', layer='qualifier'), Relation(kind='other', layer='opposed'))
>>> relate("Melanoma", "Skin cancer") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal, NamedTuple

from maci.cases import vocabulary as known
from maci.cases.outcomes import normal

Kind = Literal["same", "narrower", "broader", "other"]
Layer = Literal["exact", "alias", "abbreviation", "spelling", "qualifier", "opposed", "embedding", "model"]


class Relation(NamedTuple):
    """How the first of two names stands to the second."""

    kind: Kind
    layer: Layer

    @property
    def turned(self) -> Relation:
        """How the second stands to the first."""
        turned: dict[Kind, Kind] = {"narrower": "broader", "broader": "narrower"}
        return Relation(turned.get(self.kind, self.kind), self.layer)


_AMERICAN = (
    (re.compile(r"ae(?!s?$)"), "e"),
    (re.compile(r"oe(?!s?$)"), "e"),
    (re.compile(r"(?<=[lnrvmb])our(?=s?$|ed$|ing$|able$|ite$)|(?<=[^f])our$"), "or"),
    (re.compile(r"is(?=e[sd]?$|ing$|ations?$|er$)"), "iz"),
    (re.compile(r"ys(?=e[sd]?$|ing$)"), "yz"),
    (re.compile(r"(?<=[bt])re$"), "er"),
    (re.compile(r"ll(?=ed$|ing$|er$|ers$)"), "l"),
    (re.compile(r"ogue$"), "og"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"ence$"), "ense"),
)
_EXCHANGED = frozenset(frozenset(pair) for pair in ("iy", "sz", "ck", "cs", "ei"))
"""Letters that one slip may exchange: they sound or are typed alike; any other exchange may be another word (*perineal*)."""
_LETTERS = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "ð": "d", "æ": "ae", "Æ": "Ae", "œ": "oe", "ß": "ss"}
)
_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]{2,60})[)\]]\s*")
_CAPITALS = re.compile(r"(?:[A-Z&]\.?|[0-9])(?:[A-Za-z&]?\.?|[0-9]){0,2}(?:[A-Z0-9&]\.?){1,6}s?")
_RENAMED = re.compile(
    r",?\s*\(?\b(?:formerly|previously|also known as|a\.?k\.?a\.?|n\u00e9e|also called|i\.e\.)\b:?\s*", re.I
)
_PASSIVE = re.compile(r"(.+?) (?:is|are|was|were|has been|have been) (\w+(?:ed|en|wn|ne|ld|nt|id|de|ft)) by (.+)", re.I)
_CAUSES = (
    (re.compile(r"(.+?) (?:is|was|were|are) the (?:cause|reason) (?:of|for) (.+)", re.I), r"\1 caused \2"),
    (re.compile(r"(.+?) (?:led to|leads to|resulted in|results in|brought about) (.+)", re.I), r"\1 caused \2"),
    (re.compile(r"(.+?) (?:because of|due to|owing to|as a result of) (.+)", re.I), r"\2 caused \1"),
    (re.compile(r"(.+?) (?:made|makes) (.+)", re.I), r"\1 caused \2"),
)


def relate(a: str, b: str, cosine: float | None = None, threshold: float = 0.95) -> Relation | None:
    """How ``a`` stands to ``b`` by their words and, where these cannot tell, by embeddings; ``None`` where neither can.

    >>> relate("Robert Brown (tenant, flat 3)", "Robert Brown (tenant, flat 8)").kind, relate("Al Roe (actor)", "Al Roe (judge)")
    ('other', None)
    """
    found = _by_words(a, b)
    return _near(a, b) if found is None and cosine is not None and cosine >= threshold else found


_SURE = (
    r"(?:most |very |highly |quite )?(?:likely|probabl[ye]|possibl[ye]|perhaps|maybe|presumably|presumed|presumptive)"
)
_HEADING = r"(?:diagnosis|answer|outcome|conclusion|verdict|hypothesis)"
_SAID = re.compile(
    rf"^\W*\d{{1,2}}[.)]\s+(?=\S)|^\W*(?:[a-z]+ ){{0,2}}{_HEADING}(?: is\b|\s*[:=])\s*"
    rf"|^(?:it|this|that) (?:is|may be|might be|could be)\s+(?:{_SURE}\s+)?|^the patient (?:{_SURE} )?(?:has|had)\s+"
    rf"|^{_SURE}\s+(?:(?:a|an|the)\s+)?(?=\w+\s+\w|(?!cause|reason|loss|error)\w)|\s*[,;:\u2013-]\s+{_SURE}\W*$"
    rf"|\s*\({_SURE}\)\W*$",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def bare(name: str) -> str:
    """The name in what was said for it: without a number before it, a heading, or how sure somebody is.

    >>> bare("1. Dengue fever"), bare("Likely a stuck valve"), bare("Diagnosis: dengue (probable)"), bare("Probable cause")
    ('Dengue fever', 'stuck valve', 'dengue', 'Probable cause')
    """
    while (rest := _SAID.sub("", name, count=1).strip()) != name.strip() and normal(rest):
        name = rest
    return name.strip()


@lru_cache(maxsize=16384)
def _by_words(a: str, b: str) -> Relation | None:
    a, b = bare(a), bare(b)
    if (one := _BRACKETS.search(a)) and (two := _BRACKETS.search(b)) and _words(one[1]) != _words(two[1]):
        a, b = (re.sub(r"[()\[\]]", " ", name) for name in (a, b))  # each says which of several it is
    if _words(a) == _words(b) or _forms(a) & _forms(b):
        return Relation("same", "exact")
    if _common(a) & _common(b):
        return Relation("same", "alias")
    if _abbreviates(a, b) or _abbreviates(b, a):
        return Relation("same", "abbreviation")
    left, right = _content(a), _content(b)
    if not left or not right:
        return None
    if left == right or _plain("".join(left)) == _plain("".join(right)) or _active(a) == _active(b):
        return Relation("same", "spelling")
    if _opposed(left, right) or _opposed(_said(a), _said(b)):
        return Relation("other", "opposed")
    if (found := _qualified(a, b)) is not None:
        return found
    if len(left) == len(right) and all(x == y or _slip(x, y) for x, y in zip(left, right, strict=True)):
        return Relation("same", "spelling")
    return Relation("other", "opposed") if _look_alike(left, right) else None


def _near(a: str, b: str) -> Relation | None:
    """The same, as embeddings say: but these hardly see word order, and see words spelled nearly alike as one (*prednisolone*)."""
    left, right = _said(a), _said(b)
    one, two = [w for w in left if w not in right], [w for w in right if w not in left]
    if not one or not two or any(x[:4] == y[:4] for x in one for y in two):
        return None
    if {w for w in one if _marks(w)} != {w for w in two if _marks(w)} or _prefixes(one) != _prefixes(two):
        return None
    if [w for w in left if w in right] != [w for w in right if w in left]:
        return None
    return Relation("same", "embedding")


def by_model(a: str, b: str, said: Kind) -> Relation:
    """What a model said, where the names bear it: one that has all the other's words or numbers and more is not the same but narrower.

    >>> by_model("Windows 11 Pro", "Windows 11", "same").kind, by_model("podagra", "gout", "same").kind
    ('narrower', 'same')
    """
    left, right = set(_said(a)), set(_said(b))
    marks = {w for w in left if _marks(w)}, {w for w in right if _marks(w)}
    if said == "same" and (left > right or marks[0] > marks[1]):
        return Relation("narrower", "model")
    if said == "same" and (left < right or marks[0] < marks[1]):
        return Relation("broader", "model")
    return Relation(said, "model")


def _prefixes(words: Sequence[str]) -> set[str]:
    """Prefixes that turn a word into its opposite: *hypo-*, *non-*."""
    prefixes = [p for pair in known.PREFIXES for p in pair if len(p) > 2]
    return {p for word in words for p in prefixes if word.startswith(p) and len(word) > len(p) + 3}


def share_a_word(a: str, b: str) -> bool:
    """Whether two names share a word that says something."""
    shared = set(_content(a)) & set(_content(b))
    return any(len(word) > 2 and word not in known.SMALL | known.AUXILIARIES | known.NEGATIONS for word in shared)


def _forms(name: str) -> frozenset[tuple[str, ...]]:
    """A name's words as written, turned round at its comma, before and after *formerly*, and without or instead of its brackets."""
    forms = {_words(name)}
    if len(parts := _RENAMED.split(name)) == 2:
        forms |= {form for part in parts for form in _stripped_forms(part.strip(" ()"))}
    if name.count(",") == 1:
        last, first = name.split(",")
        forms.add(_words(f"{first} {last}"))
        if set(_words(first)) <= known.EMPTY:
            forms.add(_words(last))
    if inside := _BRACKETS.search(name):
        outside = _BRACKETS.sub(" ", name)
        forms.add(_words(f"{outside} {inside[1]}"))
        said = set(_words(inside[1]))
        if said.isdisjoint(known.NEGATIONS | known.NARROWING | known.KINDS) and not any(map(_marks, said)):
            if _abbreviates(outside, inside[1]) or _abbreviates(inside[1], outside):
                forms.add(_words(inside[1]))
            if not _CAPITALS.fullmatch(outside.strip()):  # MS (multiple sclerosis) is not any MS
                forms.add(_words(outside))
    return frozenset(form for form in forms if form)


def _stripped_forms(name: str) -> set[tuple[str, ...]]:
    words = _words(name)
    return {words, tuple(word for word in words if word not in known.EMPTY)}


@lru_cache(maxsize=4096)
def _common(name: str) -> frozenset[str]:
    """What a name is commonly called otherwise."""
    forms = (*_forms(name), _stripped(_content(name)), _content(name))
    return frozenset(known.KNOWN[said] for form in forms if (said := " ".join(form)) in known.KNOWN)


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    """Lower-case words without articles and the s of a possessive; numbers as digits."""
    bare = re.sub(r"(?<=\w)['\u2019]s?(?=\W|$)", "", name.translate(_LETTERS))
    bare = re.sub(r"\b(no) (one)\b", "nobody", bare, flags=re.I)
    bare = re.sub(r"(?<=\d),(?=\d{3}\b)|(?<=\b[A-Za-z])\.(?=[A-Za-z]\b)", "", bare)
    words = normal(bare).split()
    kept = (word for at, word in enumerate(words, 1) if word not in known.ARTICLES or at == len(words))  # hepatitis A
    return tuple(known.NUMBERS.get(word, word) for word in kept)


@lru_cache(maxsize=4096)
def _content(name: str) -> tuple[str, ...]:
    """The words as they are compared: one spelling, singular, *cancer of the lung* as *lung cancer*."""
    inside = _BRACKETS.search(name)
    if inside is None or not any(map(_marks, _words(inside[1]))):
        name = _BRACKETS.sub(" ", name)
    if name.count(",") == 1:
        head, qualifier = name.split(",")
        name = f"{qualifier} {head}"
    words = [word for word in _words(name) if word not in known.AUXILIARIES]
    if words.count("of") == 1 and not _titled(name):
        at = words.index("of")
        words = [*words[at + 1 :], *words[:at]]
    kind = next((at for at, word in enumerate(words[:-1]) if word in known.KINDS and _marks(words[at + 1])), 0)
    words = [*words[kind : kind + 2], *words[:kind], *words[kind + 2 :]]  # diabetes type 2
    return tuple(_plain(word) for word in words)


@lru_cache(maxsize=4096)
def _said(name: str) -> tuple[str, ...]:
    """The words in the order in which they are said, brackets included, small ones left out."""
    words = _words(name)
    return tuple(
        _plain(word) for at, word in enumerate(words, 1) if at == len(words) or word not in known.SMALL - {"for"}
    )


@lru_cache(maxsize=4096)
def _active(name: str) -> tuple[str, ...]:
    """A statement's stems in the active voice, causes first.

    >>> _active("The payment was approved by no one") == _active("Nobody approved the payment")
    True
    >>> _active("Rust was the cause of the leak") == _active("The leak was caused by rust")
    True
    """
    for pattern, active in _CAUSES:
        if found := pattern.fullmatch(name.strip(" .")):
            name = found.expand(active)
            break
    else:
        name = _PASSIVE.sub(r"\3 \2 \1", name)
    return tuple(_stem(word) for word in _said(name) if word not in known.AUXILIARIES)


def _stem(word: str) -> str:
    return re.sub(r"(?:ed|es|ing|e|s)$", "", word) if len(word) > 4 else word


def _titled(name: str) -> bool:
    """A proper name: *Bank of America*, whose parts do not change places."""
    after = re.search(r"\bof\s+(?:the\s+)?(\S)", name)
    return after is not None and after[1].isupper() and name[:1].isupper()


@lru_cache(maxsize=8192)
def _plain(word: str) -> str:
    """A word in American spelling, in the singular, and as the one that stands for all that mean the same.

    >>> [_plain(w) for w in ("haemorrhages", "colour", "oesophagitis", "batteries", "diagnosis", "tumours", "renal")]
    ['hemorrhage', 'color', 'esophagitis', 'battery', 'diagnosis', 'tumor', 'kidney']
    """
    if any(c.isdigit() for c in word) or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 6:
        word = f"{word[:-3]}y"
    elif re.search(r"(ss|sh|ch|x|z)es$", word):
        word = word[:-2]
    elif word.endswith("s") and not re.search(r"(ss|us|is|as|os|tes|ies)$", word):
        word = word[:-1]
    for pattern, replacement in _AMERICAN:
        word = pattern.sub(replacement, word)
    return known.ONE_WORD.get(word, word)


def _abbreviates(short: str, long: str) -> bool:
    """Whether the first is the second with some of its words as initials.

    >>> _abbreviates("acute MI", "acute myocardial infarction"), _abbreviates("T2DM", "type 2 diabetes mellitus")
    (True, True)
    >>> _abbreviates("WHO", "World Trade Organization"), _abbreviates("MS (multiple sclerosis)", "mitral stenosis")
    (False, False)
    >>> _abbreviates("J. R. R. Tolkien", "John Ronald Reuel Tolkien"), _abbreviates("MS Word", "Microsoft Word")
    (True, True)
    """
    if (inside := _BRACKETS.search(short)) is not None and _words(_BRACKETS.sub(" ", long)) != _words(inside[1]):
        return False  # the brackets say what it stands for, or which of several
    joined = re.sub(r"\b([A-Z])\.?[ .]\s*(?=[A-Z]\b)", r"\1", _BRACKETS.sub(" ", short))
    parts, whole = joined.replace(".", "").split(), _BRACKETS.sub(" ", long).replace("-", " ").split()
    if not any(_CAPITALS.fullmatch(part) for part in parts):
        return False
    return (len(parts) < len(whole) and _initials(parts, whole)) or _shortened(parts, whole)


def _initials(parts: Sequence[str], whole: Sequence[str]) -> bool:
    if not parts or not whole:
        return not parts and all(normal(word) in known.SMALL | known.EMPTY for word in whole)
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


def _shortened(parts: Sequence[str], whole: Sequence[str]) -> bool:
    """One word shortened to two or three of its letters before a name: *VW Golf*."""
    if len(parts) != len(whole) or len(parts) < 2 or list(parts[1:]) != list(whole[1:]) or not whole[1][:1].isupper():
        return False
    short, long = parts[0], whole[0].casefold()
    pattern = ".*".join(map(re.escape, short.casefold()))
    return bool(2 <= len(short) <= 3 and short.isupper() and whole[0][:1].isupper() and re.match(pattern, long))


def _spelled(letters: str, words: Sequence[str]) -> bool:
    """Whether letters are the initials of the words, in order: every word that is not small gives its first letter, numbers
    themselves, and a long word may give one more letter (*gastroesophageal* two to GERD).
    """
    if not words:
        return not letters
    word, rest = words[0], words[1:]
    number = known.NUMBERS.get(word, word)
    if number.isdigit():
        return letters.startswith(number) and _spelled(letters[len(number) :], rest)
    if word in known.SMALL and _spelled(letters, rest):
        return True
    if not letters or letters[0] != word[0]:
        return False
    if _spelled(letters[1:], rest):
        return True
    return len(word) >= 9 and len(letters) > 1 and letters[1] in word[3:] and _spelled(letters[2:], rest)


def _qualified(one: str, two: str) -> Relation | None:
    """Names that differ by words that add nothing, or that only narrow."""
    left, right = _content(one), _content(two)
    a, b = _stripped(left), _stripped(right)
    if a == b or ("," in one and "," in two and sorted(a) == sorted(b)):
        return Relation("same", "qualifier")
    if _maker_dropped(a, b) or _maker_dropped(b, a):
        return Relation("same", "qualifier")
    if _narrows(a, b) or _narrows(left, right) or _adds(one, two):
        return Relation("narrower", "qualifier")
    if _narrows(b, a) or _narrows(right, left) or _adds(two, one):
        return Relation("broader", "qualifier")
    return None


def _stripped(words: tuple[str, ...]) -> tuple[str, ...]:
    kept = tuple(word for word in words if word not in known.EMPTY)
    return kept if kept and not (len(kept) == 1 and kept[0] in known.BARE) else words


def _maker_dropped(long: tuple[str, ...], short: tuple[str, ...]) -> bool:
    """*Sony PlayStation 5 console* for *PlayStation 5*: a maker before a name that has a number or its own kind after it."""
    rest = long[1:] if long and long[0] in known.MAKERS else long
    if rest and rest[-1] in known.PRODUCTS:
        rest = rest[:-1]
    return len(rest) < len(long) and rest == short and len(short) > 1 and any(map(_marks, short))


def _narrows(narrow: tuple[str, ...], wide: tuple[str, ...]) -> bool:
    """Whether a name is another with narrowing words before or after it, a kind and its number, or a number or letter at its end."""
    if len(narrow) <= len(wide) or set(wide) <= known.BARE:
        return False
    if narrow[:-1] == wide and _marks(narrow[-1]):
        return True
    extra, at = list[str](), 0
    for word in narrow:
        if at < len(wide) and word == wide[at]:
            at += 1
        else:
            extra.append(word)
    if at < len(wide):
        return False
    if extra and all(word in known.NARROWING for word in extra):
        return list(narrow[: len(extra)]) == extra or list(narrow[-len(extra) :]) == extra
    return len(extra) == 2 and extra[0] in known.KINDS and len(extra[1]) <= 2


def _adds(narrow: str, wide: str) -> bool:
    """Whether a name or statement is another with something added that can only narrow it.

    >>> _adds("electric car", "car"), _adds("German measles", "measles"), _adds("The brakes failed at night", "The brakes failed")
    (True, False, True)
    >>> _adds("York University", "University"), _adds("Nobody left in time", "Nobody left")
    (False, False)
    """
    long, short = _words(narrow), _words(wide)
    if len(long) <= len(short) or not short or not (known.NEGATIONS | known.QUANTITIES).isdisjoint(long):
        return False
    if set(short) <= known.EMPTY | known.BARE:
        return False
    if len(long) == len(short) + 1 and not set(long).isdisjoint(adverbs := _adverbs(long)):
        return any(tuple(w for w in long if w != adverb) == short for adverb in adverbs)
    if re.search(rf"\b(?:{'|'.join(known.UNITS)}) of (?:the )?{re.escape(wide.removeprefix('the '))}$", narrow, re.I):
        return True
    plain, wanted = [*map(_plain, long)], [*map(_plain, short)]
    tail = next((at for at, word in enumerate(long) if at and word in known.TAILS), len(long))
    if tail < len(long) and plain[:tail] == wanted:
        return True
    return _modified(narrow, plain[:tail], wanted)


def _adverbs(words: Sequence[str]) -> set[str]:
    return {word for word in words if len(word) > 4 and word.endswith("ly") and word not in known.HEDGES}


def _modified(narrow: str, plain: list[str], wanted: list[str]) -> bool:
    """Whether words before a common noun narrow it; a proper name may be another thing (*Bank of Canada*, *Royal Bank of Canada*)."""
    extra = plain[: len(plain) - len(wanted)]
    if not extra or plain[-len(wanted) :] != wanted or len(extra) > 3 or len(wanted) > 3:
        return False
    if not (known.UNLIKE | known.AUXILIARIES | known.SMALL).isdisjoint(extra):
        return False
    written = [word for word in re.findall(r"[^\W_]+", narrow) if _plain(word.casefold()) in wanted]
    return wanted[-1].endswith(known.MEDICAL) or (bool(written) and all(word.islower() for word in written))


def _opposed(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether the names differ in a number, a letter, a negation, or one of two opposites, and hardly in anything else."""
    a, b = [w for w in left if w not in right], [w for w in right if w not in left]
    if not set(left) & set(right) and (len(left) > 1 or len(right) > 1):
        return False
    if sorted(left) == sorted(right):  # who owes whom; Paul Simon, Simon Paul
        return left != right and len(left) != 3
    marks = ({w for w in a if _marks(w)}, {w for w in b if _marks(w)})
    plain = ([w for w in a if not _marks(w)], [w for w in b if not _marks(w)])
    if all(marks) and len(plain[0]) + len(plain[1]) <= 1:
        return True
    small = known.NEGATIONS | known.QUANTITIES | known.AUXILIARIES | known.SMALL
    denied = (not known.NEGATIONS.isdisjoint(a), not known.NEGATIONS.isdisjoint(b))
    rest = ({_stem(w) for w in a if w not in small}, {_stem(w) for w in b if w not in small})
    if denied[0] != denied[1] and rest[0] == rest[1]:
        return True
    return any(
        (frozenset((x, y)) in known.OPPOSED or _prefixed(x, y) or _prefixed(y, x)) and len(a) + len(b) <= 3
        for x in a
        for y in b
    )


def _look_alike(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether names differ in one word that looks nearly the same and is no slip of the pen.

    >>> _look_alike(["dysphagia"], ["dysphasia"]), _look_alike(["prostate", "cancer"], ["prostatic", "cancer"])
    (True, False)
    """
    one, two = [w for w in left if w not in right], [w for w in right if w not in left]
    if len(one) != 1 or len(two) != 1 or len(left) != len(right):
        return False
    x, y = one[0], two[0]
    alike = x[0] == y[0] and x[-2:] == y[-2:] and min(len(x), len(y)) >= 6
    return alike and SequenceMatcher(None, min(x, y), max(x, y), autojunk=False).ratio() >= 0.75


def _marks(word: str) -> bool:
    """A word that tells alike names apart: a number, a letter, a Roman numeral."""
    return any(c.isdigit() for c in word) or len(word) == 1 or re.fullmatch(r"[ivx]{1,4}|a{2,4}", word) is not None


def _prefixed(x: str, y: str) -> bool:
    """Whether two words differ by an opposing prefix alone: *hypo-* and *hyper-*, *-* and *un-*."""
    return any(
        x.startswith(one) and y == other + x[len(one) :] and len(x) - len(one) > 3 for one, other in known.PREFIXES
    )


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
        return swapped or (frozenset((x[at], y[at])) in _EXCHANGED and x[at + 1 :] == y[at + 1 :])
    short, long = sorted((x, y), key=len)
    return short[at:] == long[at + 1 :] and at > 0
