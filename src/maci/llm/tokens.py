"""How many tokens a prompt can have at most, before anybody has counted them.

Without having seen anything of a model: the bytes of the prompt. A token of any tokenizer in use spans at least one byte of
the text it is given (byte-level BPE by construction, SentencePiece because what it has no piece for falls back to single bytes).
Some tokenizers are given the text in a Unicode normal form, so a character counts with the longest of its forms. What a chat
template adds (role markers, a default system message, instructions around a schema) is a constant per message and per prompt.

Text has four bytes a token or so, and most of a prompt has been sent before: each round repeats the case and the earlier rounds.
Let a known prompt be A·B with T(A·B) tokens by the provider's count, and the new one A·C, cut where tokenizers cut anyway: at the
end of a message, or after a newline that visible text follows. Then no token spans the cut, so

    T(A·C) = T(A) + T(C) ≤ T(A·B) + bytes(C),

again with a constant for the template. A cut is looked for at the end of each message
and about every 512 characters within one, at places that depend on the text before them alone, so that two prompts with a common
beginning have the same cuts in it; a chain of hashes says which cuts have been seen.

>>> bound = PromptBound()
>>> first = (Message("system", "You debate."), Message("user", "The case. " * 200))
>>> bound.at_most(first)
2299
>>> bound.learn(MeasuredPrompt(first), 430)
>>> bound.at_most((*first, Message("user", "And now?")))
502

:class:`Meter` has the bound of a whole call, and reads from each reply what it cost and what that teaches.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from maci.llm.catalogue import Price
from maci.llm.model import Message, Reply, Request, Schema, Token
from maci.llm.reasoning import split_thinking
from maci.llm.usage import Bound, Usage

_log = logging.getLogger(__name__)
_FIXED = 256
"""Tokens a template may add to a prompt: a default system message, a date, an opening and the reply's role marker."""
_MESSAGE = 16
"""Tokens a template may add to a message."""
_SCHEMA = 512
"""Tokens of the instructions some providers put around a schema."""
_SLACK = 16
"""For tokenizers that do join tokens over a cut."""
_STEP = 512
DENSEST = 16
"""No text has more bytes a token than this on average; a count below is taken for a count of something else."""
_CUT = re.compile(
    r"\n(?=[!-.0-~\w])"
)  # not before a space, a slash (o200k joins it to the newline) or a combining mark
_RUN = re.compile(r"(.)\1+", re.DOTALL)
_ENTRIES = 1 << 16

_spread: dict[str, int] = {}
_known: dict[str, _Parts] = {}


def at_least(text: str) -> int:
    """The fewest tokens a model can have written a reply in, whatever its server says it counted.

    Replies have three to five characters a token (at most 5.1 in any 800 characters of this project's prose, code and JSON); only
    lists of the longest words have more than eight. Runs of one character count once: spaces and rules are single tokens.

    >>> at_least("It is dengue fever, given the rash."), at_least("-" * 80), at_least("")
    (4, 0, 0)
    """
    return len(_RUN.sub(r"\1", text)) // 8


def byte_bound(text: str) -> int:
    """The most bytes a text has in UTF-8, as it is or in a normal form.

    >>> byte_bound("naïve"), byte_bound("ﷺ"), byte_bound("한")
    (6, 33, 3)
    """
    if text.isascii():
        return len(text)
    size = len(text.encode("utf-8", "surrogatepass"))
    if unicodedata.is_normalized("NFKC", text):
        return size
    return size + sum(text.count(char) * _excess(char) for char in set(text) if not char.isascii())


def _excess(char: str) -> int:
    """How many bytes a character can grow by. Composing never lengthens, so the decomposed forms are the longest."""
    known = _spread.get(char)
    if known is None:
        size = len(char.encode("utf-8", "surrogatepass"))
        forms = (unicodedata.normalize(form, char).encode("utf-8", "surrogatepass") for form in ("NFD", "NFKD"))
        _spread[char] = known = max(0, *(len(form) - size for form in forms))
    return known


_Parts = list[tuple[int, int]]
"""The cuts of one message: the hash of all of it before the cut, and how many bytes that is at most."""


class MeasuredPrompt:
    """A prompt, measured."""

    __slots__ = ("frame", "messages", "size")

    def __init__(self, messages: Sequence[Message], schema: Schema | None = None) -> None:
        extra = "" if schema is None else schema.text
        self.frame = _FIXED + _MESSAGE * len(messages) + (0 if schema is None else len(extra) + _SCHEMA)
        """The most tokens that are not of the messages' texts."""
        self.messages: list[tuple[int, int, _Parts]] = []
        """For each message, the hash of all before it, how many bytes that is at most, and its cuts."""
        self.size = 0
        """The most bytes of all texts."""
        chain = hash(extra)
        for message in messages:
            chain, parts = hash((chain, message.role)), _parts(message.content)
            self.messages.append((chain, self.size, parts))
            chain, self.size = hash((chain, parts[-1][0])), self.size + parts[-1][1]


class PromptBound:
    """An upper bound on the prompt tokens of one model, learning from the counts it reports."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        """For the hash of each beginning up to a cut: the fewest tokens of a whole prompt that begins so."""
        self._raised = 0

    def at_most(self, messages: Sequence[Message], schema: Schema | None = None) -> int:
        """The most tokens this prompt can have."""
        return self.bound(MeasuredPrompt(messages, schema))

    def bound(self, prompt: MeasuredPrompt) -> int:
        """The same, of a prompt that has been measured."""
        seen, least = self._seen, prompt.size + prompt.frame
        for chain, start, parts in reversed(prompt.messages):
            for part, end in reversed(parts):
                tokens = seen.get(hash((chain, part)))
                if tokens is not None:
                    rest = prompt.size - start - end + _SLACK + _MESSAGE * len(prompt.messages)
                    return min(least, tokens + rest) + self._raised
        return least + self._raised

    def learn(self, prompt: MeasuredPrompt, tokens: int) -> None:
        """Remember how many tokens the provider counted in a prompt."""
        tokens = max(tokens, prompt.size // DENSEST)
        seen = self._seen
        if len(seen) > _ENTRIES:
            for cut in list(seen)[: _ENTRIES // 4]:
                del seen[cut]
        for chain, _, parts in reversed(prompt.messages):
            for part, _ in reversed(parts):
                cut = hash((chain, part))
                if seen.get(cut, tokens + 1) <= tokens:
                    return  # and so it is at every cut before
                seen[cut] = tokens

    def exceeded(self, tokens: int) -> None:
        """A prompt had this many tokens more than its bound: from now on every bound is that much larger."""
        self._raised += max(0, tokens)


def _parts(text: str) -> _Parts:
    """The cuts of one message. A prompt is looked at several times: those of the last few are kept."""
    known = _known.get(text)
    if known is not None:
        return known
    parts = []
    chain = size = start = 0
    plain = text.isascii()
    while len(text) - start > _STEP and (found := _CUT.search(text, start + _STEP)):
        part = text[start : found.end()]
        size += len(part) if plain else byte_bound(part)
        chain = hash((chain, part))
        parts.append((chain, size))
        start = found.end()
    part = text[start:]
    parts.append((hash((chain, part, "end")), size + byte_bound(part)))
    if len(_known) >= 1024:
        del _known[next(iter(_known))]
    _known[text] = parts
    return parts


class Meter:
    """What an attempt at a model can cost at most, and what one did cost; it learns from every reply."""

    def __init__(self, name: str, price: Price | None) -> None:
        """``name`` is the model's. Without a price dollars are counted as 0."""
        self.price = price
        self.thinking_seen = False
        """Whether a reply showed thinking."""
        self.thoughts = 0, 0
        """How many whole replies showed thinking, and the most tokens of it in any reply."""
        self._name, self._prompt = name, PromptBound()
        self._beyond, self._surprised = 0, False
        """How many tokens more than asked for the model was seen to generate, and whether it has been said that it counts more."""

    def prompt(self, prompt: MeasuredPrompt) -> int:
        """The most tokens of a prompt."""
        return self._prompt.bound(prompt)

    def most(self, request: Request, prompt: int) -> Bound:
        """The most an attempt can cost whose prompt has at most as many tokens."""
        generated = request.max_tokens + self._beyond
        return Bound(prompt + generated, 0.0 if self.price is None else self.price.at_most(prompt, generated))

    def usd(self, usage: Usage) -> float:
        """What it cost in dollars."""
        return 0.0 if self.price is None else self.price.usd(usage)

    def counted(self, request: Request, prompt: MeasuredPrompt, most: int, reply: Reply, *, kept: bool) -> Reply:
        """The reply with the provider's count and its price, answer and thinking apart; what they teach is learnt. A prompt nobody
        counted has the ``most`` tokens that were set aside for it.
        """
        usage = reply.usage
        tokens, cached, generated = usage.prompt, usage.cached, usage.generated
        if tokens <= 0:
            tokens, cached = most, 0
        else:
            self._prompt.learn(prompt, tokens)
        if generated <= 0:
            generated = request.max_tokens if reply.text else 0
        if generated < len(reply.text) // 8:  # else it is no less than the least
            generated = max(generated, at_least(reply.text))
        thinking, text = split_thinking(reply.text)
        thinking = thinking or reply.thinking
        thought = min(generated, usage.thought or at_least(thinking))
        if thought > 0:
            whole, longest = self.thoughts
            may_be = thought if usage.thought else generated - at_least(text)  # where nobody counts, all but the answer
            self.thinking_seen, self.thoughts = True, (whole + (not reply.truncated), max(longest, may_be))
        over, beyond = tokens - most, generated - request.max_tokens - self._beyond
        if over > 0 or beyond > 0:
            self._prompt.exceeded(over)
            self._beyond += max(0, beyond)
            _log.log(
                logging.DEBUG if self._surprised else logging.WARNING,
                "%s counted %d prompt and %d generated tokens, at most %d and %d were expected: its bounds are raised",
                *(self._name, tokens, generated, most, request.max_tokens),
            )
            self._surprised = True
        counted = Usage(prompt=tokens, cached=cached, generated=generated, thought=thought, kept=kept)
        return replace(
            reply,
            text=text,
            thinking=thinking,
            usage=counted if self.price is None else replace(counted, usd=self.usd(counted)),
            logprobs=reply.logprobs if text == reply.text else _written(reply.logprobs, text),
        )


def _written(tokens: tuple[Token, ...] | None, text: str) -> tuple[Token, ...] | None:
    """The log-probabilities of the answer alone."""
    if tokens is None:
        return None
    size, start = 0, len(tokens)
    while start and size < len(text):
        start -= 1
        size += len(tokens[start].text)
    return tokens[start:]
