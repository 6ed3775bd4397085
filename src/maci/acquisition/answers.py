r"""Who can be asked what a plan asks (:class:`AnswerSource`), and how answers are read.

:func:`read_answer` reads the answers of every source: present, absent, told in words (a measurement, a description), unknown, or no
more questions. It goes by rules; what it read from more than one word, a model at the table reads again, where there is one
(:mod:`maci.agents.judges.interpreter`). :func:`checked` says what is wrong with an answer. An answer is data, never an instruction.

**The menu of a source**: which of its entries a question asks for (:func:`on_menu`), and what an entry is worth that no question asks
for (:func:`offered`). A section is known by name alone ("Vital Signs", "Chest X-ray"). Its content is not known before it is asked
for, but texts about an outcome that mention the section suggest that it matters for that outcome. So the two answers are that the
section speaks for the outcomes whose texts mention it, or that it does not:

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
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from maci.acquisition.features import stems
from maci.acquisition.finding import DENYING
from maci.acquisition.gain import gain_each
from maci.acquisition.plan import (
    CONTRAST,
    COSTS,
    LISTED,
    MENU,
    NONE_OF_THESE,
    Item,
    Proposal,
    Residual,
    proposal_id,
    tables_of,
)
from maci.agents.argument import Kind
from maci.agents.judges.interpreter import Interpretation
from maci.agents.library import Library
from maci.evidence.encode import Encoder, cosines
from maci.evidence.lexical import normal_text, terms
from maci.evidence.negation import polarity
from maci.evidence.orders import order
from maci.evidence.span import Span
from maci.llm.usage import Bound, Usage
from maci.moderator.belief import Vector

LONGEST = 4000
"""Characters of an answer that are kept."""
_Verdict = Literal["present", "absent", "told", "unknown", "off_question", "stopped"]
_YES = re.compile(r"(yes|y|yep|yeah|present|positive|true|found|1)\b[\s.!,:;-]*", re.IGNORECASE)
_NO = re.compile(
    r"(no|n|nope|absent|negative|false|none(?: of (?:these|them|those))?|neither|nil|zero|normal|unremarkable|nothing(?: found)?|"
    r"not (?:present|found|there|at all)|0)\b[\s.!,:;-]*",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"(unknown|not known|unclear|unsure|not sure|(?:i )?(?:don['’]?t|do not) know|no idea|not available|n/?a|"
    r"(?:not|never) (?:done|tested|asked|checked|measured|recorded)|can(?:not|['’]?t) say|\?+)\W*",
    re.IGNORECASE,
)
_LED = re.compile(r"(?:(yes|yeah|yep)|(no|nope))\s*[,.;:!–—-]\s*(?!\d)(.+)", re.IGNORECASE | re.DOTALL)
"""A yes or a no that goes before more words."""
_ORDINALS: tuple[frozenset[str], ...] = tuple(
    frozenset(f"{start}{word}{end}" for word in words for start in ("", "the ") for end in ("", " one"))
    for words in (
        ("1", "first", "1st", "a"),
        ("2", "second", "2nd", "b"),
        ("3", "third", "3rd"),
        ("4", "fourth", "4th"),
    )
)
_ENOUGH = 6
"""Telling words from which an answer can be told to be about something else."""
_ALIEN = 0.1
"""Cosine with the question below which it is, where they share no word."""


ALIKE = 0.85
"""Cosine from which two subjects are one."""
_SIDES = (
    {"left", "right"}, {"high", "low"}, {"upper", "lower"}, {"acute", "chronic"}, {"hot", "cold"}, {"gain", "loss"},
    {"more", "less"}, {"increased", "decreased"}, {"raised", "lowered"}, {"wet", "dry"}, {"positive", "negative"},
)  # fmt: skip
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReply:
    """What a source says. ``text`` and ``spans`` are data: whatever they ask for is not done."""

    verdict: _Verdict
    """Found, not there, told in words, not known, an answer to something else; or no more questions, please."""
    text: str = ""
    spans: tuple[Span, ...] = ()
    """Evidence that came with it; without any, the answer itself becomes a span."""
    cost: float | None = None
    """What it did cost, in the plan's units; else what was planned."""
    usage: Usage = field(default_factory=Usage)
    """Tokens and dollars, where a model was asked: they count against the debate's budget."""
    remarks: tuple[str, ...] = ()
    menu: tuple[str, ...] = ()
    """Names of what can be asked for, where the source says so with an answer; from then on it is asked for nothing else."""
    read: bool = False
    """The verdict was read from words, by rules."""
    by: str = ""
    """The model that read it, where one did."""
    raw: str | None = None
    """What that model said, word for word."""
    prompt: str | None = None
    """Hash of the prompt that led to it."""


@runtime_checkable
class AnswerSource(Protocol):
    """Somebody who can be asked. Derive from it: what is not said has the values given here."""

    name: str
    """As `--source` names it; kept on record."""
    kinds: tuple[str, ...] = ()
    """Kinds of items it can answer; all where empty."""
    person: bool = False
    """A person answers, so no time of the budget passes meanwhile."""
    sure: bool = False
    """Whatever it is asked it answers, be it that something is not there."""

    def menu(self) -> tuple[str, ...]:
        """Names of what can be asked for, where it has a list. Names only: what stands under them is what is asked for."""
        return ()

    def ceiling(self, item: Item) -> int | Bound:
        """The most an answer can cost, in tokens or in both; it is set aside before the source is asked."""
        return 0

    async def answer(self, item: Item) -> SourceReply:
        """Answer one item."""
        ...


def read_answer(text: str, item: Item | None = None) -> SourceReply:
    """What an answer comes to; ``item`` is the question, without which only a bare yes, no or unknown can be read.

    >>> [read_answer(said).verdict for said in ("Yes.", "no", "unknown", "", "stop", "38.9 °C since Monday")]
    ['present', 'absent', 'unknown', 'unknown', 'stopped', 'told']
    """
    said = " ".join(text.split())
    if item is not None and (chosen := _chosen(said, item)) is not None:
        return SourceReply(verdict="told", text=chosen)
    bare = _bare(said)
    if bare is not None:
        return SourceReply(verdict=bare, text=said)
    verdict: _Verdict = "told" if item is None or item.kind == "retrieval" else _in_words(said, item)
    return SourceReply(verdict=verdict, text=said, read=True)


def _bare(said: str) -> _Verdict | None:
    """The verdict of an answer without further words."""
    if said.casefold() in {"stop", "quit", "enough", "done"}:
        return "stopped"
    if not said or _UNKNOWN.fullmatch(said):
        return "unknown"
    if _YES.fullmatch(said):
        return "present"
    return "absent" if _NO.fullmatch(said) else None


def _chosen(said: str, item: Item) -> str | None:
    """The finding that is meant by its number, where the question lists several: the first, 2."""
    word = normal_text(said)
    which = asks_which(item)
    return next((found for found, names in zip(which, _ORDINALS, strict=False) if word in names), None)


def _in_words(said: str, item: Item) -> _Verdict:
    """What an answer in words says of the subject of a question; told, where that is not plain.

    A denial counts if it is of the subject and of nothing more: "no pain" denies joint pain, "no chest pain" does not.
    """
    led = _LED.fullmatch(said)
    rest = led[3] if led else said
    about = "" if asks_which(item) else item.subject
    kind = polarity(rest, about) if about else None
    wanted, words = (
        stems(about),
        stems(" ".join(word for word in terms(rest) if word not in DENYING and not word.isdigit())),
    )
    if kind == "present" and not wanted <= words:
        kind = None
    if kind == "absent" and not (wanted <= words or words <= wanted):
        kind = None
    if kind is None and about and not wanted & words and polarity(f"{about}: {rest}", about) == "absent":
        kind = "absent"  # the answer leaves the subject out: none was signed
    if led:
        first: Literal["present", "absent"] = "present" if led[1] else "absent"
        if first == "present" and asks_which(item):
            return "told"
        return "told" if kind in ("present", "absent") and kind != first else first
    return "told" if kind is None else kind


def interpreted(reply: SourceReply, found: Interpretation, by: str) -> SourceReply:
    """A reply as a model reads it."""
    named = bool(found.chosen) and normal_text(found.chosen) not in normal_text(reply.text)
    text = f"{found.chosen} ({reply.text})" if named else reply.text
    return replace(reply, verdict=found.verdict, text=text, by=by, raw=found.raw, prompt=found.prompt)


def asks_which(item: Item) -> tuple[str, ...]:
    """The findings an item tells apart, where there are several and a yes would not say which ("what does it show?")."""
    found = tuple(shift.answer for shift in item.shifts if shift.answer != NONE_OF_THESE)
    plain = item.origin == (MENU,) or any(_bare(answer) in ("present", "absent") for answer in found)
    return () if item.kind == "retrieval" or plain or len(found) < 2 else found


def checked(item: Item, reply: SourceReply, encoder: Encoder, earlier: Iterable[tuple[str, str]] = ()) -> SourceReply:
    """A reply with what is wrong with it; one about something else is not used. ``earlier``: (subject, verdict) so far."""
    remarks = list(reply.remarks)
    text = reply.text
    if len(text) > LONGEST:
        text = text[:LONGEST]
        remarks.append(f"The answer has {len(reply.text):,} characters; only the first {LONGEST:,} are kept.")
    told = (text, *(span.text for span in reply.spans))
    if found := next(filter(None, (order(each, item.separates) for each in told)), ""):
        remarks.append(f"The answer reads like an instruction ({found}). It is kept as data and not followed.")
    verdict = reply.verdict
    if verdict == "present" and asks_which(item):
        verdict = "off_question"
        remarks.append(f"“{text or 'yes'}” does not say which finding is meant, so the answer is not used.")
    if verdict == "told" and item.kind != "retrieval" and _about_something_else(item, text, encoder):
        verdict = "off_question"
        remarks.append("The answer is about something else, so it is not used.")
    opposite = {"present": "absent", "absent": "present"}.get(verdict)
    for subject, said in earlier:
        if said == opposite and same_subject(
            item.subject, subject, float(np.dot(*encoder.encode([item.subject, subject])))
        ):
            remarks.append(f"This contradicts an earlier answer (“{subject}”: {said}). Both are kept.")
    return replace(reply, verdict=verdict, text=text, remarks=tuple(remarks))


def _about_something_else(item: Item, text: str, encoder: Encoder) -> bool:
    said, asked = set(terms(text)), set(terms(f"{item.subject} {item.text}"))
    if len(said) < _ENOUGH or said & asked:
        return False
    return float(np.dot(*encoder.encode([text, item.text]))) < _ALIEN


def same_subject(a: str, b: str, cosine: float | None = None) -> bool:
    """Whether two findings are one.

    >>> same_subject("rash of the skin", "Skin rash"), same_subject("pain in the left arm", "pain in the right arm", 0.99)
    (True, False)
    """
    if set(terms(a)) == set(terms(b)):
        return True
    return cosine is not None and cosine >= ALIKE and not apart(a, b)


def apart(a: str, b: str) -> bool:
    """Whether a word or a number makes a difference, however near two subjects are."""
    ours, theirs = set(a.casefold().split()), set(b.casefold().split())
    sides = any((ours & side) != (theirs & side) and (ours & side) and (theirs & side) for side in _SIDES)
    return sides or _NUMBER.findall(a) != _NUMBER.findall(b)


def on_menu(candidates: Sequence[Proposal], menu: Sequence[str], encoder: Encoder | None) -> list[Proposal]:
    """Candidates as the source can be asked for them: under the name of the entry on its menu, or not at all.

    A candidate is an entry if it has all the entry's words, or if the encoder takes the two for one.
    """
    if not menu:
        return list(candidates)
    entries = {name: set(terms(name)) for name in menu}
    near = np.zeros((len(candidates), len(menu)), dtype=bool)
    if encoder is not None and candidates:
        near = cosines(encoder.encode([c.subject for c in candidates]), encoder.encode(list(menu))) >= ALIKE
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
    worth = zip(gain_each(p, tables_of(found, residual.labels)), found, strict=True)
    return tuple(section for _, section in sorted(worth, key=lambda each: (-each[0], each[1].id)))[:_MOST]


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
        text=name if name.rstrip().endswith("?") else f"What is known about “{name}”?",
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
