"""A belief from a model that does not state one: by drawing answers, or from the probabilities of its words.

``sampled``: N draws of one outcome each; the belief is how often each was drawn. ``logprobs``: one answer with the
log-probabilities of the alternatives at each token; the belief is the mass of the words that begin each outcome's name. A model on
this machine is first asked for a single token, which takes one pass and nothing to be written: that is all where it would name an
outcome, and no two of those it would name begin alike.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import exp
from typing import TypeVar

from maci.cases.names import bare
from maci.cases.outcomes import normal, shown
from maci.errors import BadReply, BudgetError, MaciError, ModelError
from maci.llm.budget import Call, Purse
from maci.llm.model import Model, Reply, Request, Schema, Token
from maci.llm.structured import Unusable, extract, object_schema

T = TypeVar("T")
_AROUND = ' \t\n"'
"""What may stand before a name."""
_ALTERNATIVES = 100
"""Tokens whose probabilities a model on this machine gives: enough for the beginning of every outcome."""
_NAMING, _UNCLEAR = 0.5, 0.01
"""One token is enough where at least this share of the probability is on beginnings of names, and of that at most this share on
beginnings that several names have."""


async def sampled(
    model: Model, request: Request, labels: Sequence[str], draws: int, purse: Purse
) -> tuple[dict[str, float], str]:
    """How often each outcome is named in ``draws`` answers, at least half of which must be usable; and a note where not all were.

    A draw that the budget has no room for is one that was not usable.
    """
    request = replace(request, schema=_form(tuple(shown(labels).values())))
    replies, failed = await together(model.prepare(_draw(request, n)).make(purse) for n in range(draws))
    names = (_named(reply, labels) for reply in replies if reply is not None)
    count = Counter(name for name in names if name is not None)
    n = sum(count.values())
    if 2 * n < draws:
        if failed is not None:
            raise failed
        raise BadReply(f"{model.name} named an outcome in only {n} of {draws} draws")
    note = "" if n == draws else f"belief from {n} of {draws} draws" + (f" ({failed})" if failed is not None else "")
    return {label: count[label] / n for label in (labels or count) if count[label]}, note


async def together(calls: Iterable[Awaitable[T]]) -> tuple[list[T | None], MaciError | None]:
    """What calls made at once give, ``None`` for one that failed; and one failure, if possible that the budget has no room."""
    replies, failures = list[T | None](), list[MaciError]()
    for reply in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(reply, BudgetError | ModelError):
            failures.append(reply)
        elif isinstance(reply, BaseException):
            raise reply
        replies.append(None if isinstance(reply, BaseException) else reply)
    return replies, min(failures, key=lambda failure: not isinstance(failure, BudgetError), default=None)


def _draw(request: Request, n: int) -> Request:
    """The request for draw ``n``: a server that honours seeds would answer the same to the same one."""
    seed = None if request.seed is None else (request.seed + n) % 2**32
    return replace(request, sample=request.sample + n, seed=seed)


def measured(model: Model, request: Request, labels: Sequence[str], *, held: bool = True) -> Call[dict[str, float]]:
    """The outcomes' share of the probability of what the model would write.

    A model on this machine is ``held`` to the names where one token does not tell: it writes one of them between quotation marks, and
    the probabilities are still those of all it would have written at that place. Hosted APIs take no schema of a bare text.
    """
    if not model.name.startswith("local/"):
        return _written(model, request, labels)
    request = replace(request, top_logprobs=_ALTERNATIVES)
    glance = model.prepare(replace(request, max_tokens=1))
    whole = replace(request, schema=_name(tuple(shown(labels).values()))) if held else request

    async def make(purse: Purse) -> dict[str, float]:
        reply = await glance.make(purse)
        if reply.logprobs and _tells(reply.logprobs[0], labels):
            return label_masses(reply.logprobs[:1], labels)
        return await _written(model, whole, labels).make(purse)

    return Call(glance.bound, make)


def _written(model: Model, request: Request, labels: Sequence[str]) -> Call[dict[str, float]]:
    """The same from a whole answer."""
    naming = model.prepare(request)

    async def make(purse: Purse) -> dict[str, float]:
        reply = await naming.make(purse)
        if reply.logprobs is None:
            raise BadReply(f"{model.name} gives no log-probabilities: choose belief `sampled` or `verbalised` for it")
        begun = next((n for n, token in enumerate(reply.logprobs) if token.text.strip(_AROUND)), 0)
        masses = label_masses(reply.logprobs[begun:], labels)
        if not masses:
            raise BadReply(f"{model.name} would not name an outcome: it began with {reply.text[:40]!r}")
        return masses

    return Call(naming.bound, make)


def _tells(token: Token, labels: Sequence[str]) -> bool:
    """Whether the first token of an answer says how probable each outcome is.

    >>> first = (("Den", -0.3), ("Hep", -2.0), ("The", -4.0))
    >>> _tells(Token("Den", -0.3, first), ["Dengue", "Hepatitis A"])
    True
    >>> _tells(Token("Den", -0.3, first), ["Dengue", "Hepatitis A", "Hepatitis B"])
    False
    >>> _tells(Token("The", -0.1, (("The", -0.1), ("Den", -3.0))), ["Dengue", "Hepatitis A"])
    False
    """
    naming = unclear = 0.0
    for text, logprob in (dict(token.top) | {token.text: token.logprob}).items():
        begun = text.lstrip(_AROUND).casefold()
        fitting = sum(label.casefold().startswith(begun) or begun.startswith(label.casefold()) for label in labels)
        if begun.strip() and fitting:
            naming += exp(min(0.0, logprob))
            unclear += exp(min(0.0, logprob)) if fitting > 1 else 0.0
    return naming >= _NAMING and unclear <= _UNCLEAR * naming


@lru_cache(maxsize=64)
def _name(labels: tuple[str, ...]) -> Schema:
    return Schema("name", {"type": "string", "enum": list(labels)})


@lru_cache(maxsize=64)
def _form(labels: tuple[str, ...]) -> Schema:
    """One outcome, by name: a server that holds the model to it makes even a weak model answer."""
    outcome = {"type": "string", "enum": list(labels)} if labels else {"type": "string", "maxLength": 120}
    return Schema("choice", object_schema(outcome=outcome))


def _named(reply: Reply, labels: Sequence[str]) -> str | None:
    """The outcome an answer names, in the form asked for or in words, or ``None``."""
    text = reply.text.strip()
    try:
        form = extract(text)
        text = str(form["outcome"]) if isinstance(form, dict) and "outcome" in form else text
    except Unusable:
        pass
    said = normal(text.strip("\"'.*` "))
    if not labels:
        return bare(text[:120]) or None
    exact = next((label for label in labels if normal(label) == said), None)
    if exact is not None:
        return exact
    inside = [label for label in labels if normal(label) in said]
    return max(inside, key=len) if inside else None


def label_masses(tokens: Sequence[Token], labels: Sequence[str]) -> dict[str, float]:
    """Each label's share of the probability, following the written tokens where several labels begin alike.

    A label that none of the alternatives begins gets the least that was seen, shared: unlikely, not impossible.

    >>> near = (("Den", -0.1), ("Ch", -2.4), ("The", -5.0))
    >>> p = label_masses([Token("Den", -0.1, near)], ["Dengue", "Chikungunya"])
    >>> round(p["Dengue"], 2)
    0.91
    """
    masses: dict[str, float] = dict.fromkeys(labels, 0.0)
    least = _share(tokens, 0, "", list(labels), 1.0, masses)
    if not any(masses.values()):
        return {}
    unseen = [label for label in labels if not masses[label]]
    for label in unseen:
        masses[label] = min(least, 0.01) / (2 * len(unseen))
    total = sum(masses.values())
    return {label: mass / total for label, mass in masses.items()}


def _share(
    tokens: Sequence[Token], at: int, written: str, labels: list[str], mass: float, masses: dict[str, float]
) -> float:
    """Give ``mass`` to the labels that continue ``written``; the smallest probability met on the way."""
    if at >= len(tokens):
        for label in labels:
            masses[label] += mass / len(labels)
        return mass
    token, least = tokens[at], mass
    alternatives = dict(token.top) | {token.text: token.logprob}
    for text, logprob in alternatives.items():
        grown = (written + text).lstrip(_AROUND).casefold()
        fitting = [label for label in labels if label.casefold().startswith(grown)]
        ended = [label for label in labels if grown.startswith(label.casefold())]
        if not grown.strip() or not (fitting or ended):
            continue
        p = mass * exp(min(0.0, logprob))
        least = min(least, p)
        if len(fitting) > 1 and text == token.text:
            least = min(least, _share(tokens, at + 1, written + text, fitting, p, masses))
            continue
        for label in fitting or [max(ended, key=len)]:
            masses[label] += p / max(1, len(fitting))
    return least
