"""Models that think before they answer: how much is asked for, how much room it needs, and which models are known to do it.

Thinking counts against a reply's limit and is paid for. A model that thinks is therefore given room on top of the answer's own
limit, and that room is set aside in the budget like the rest of the call.

>>> room("low", thinks=True), room(None, thinks=True), room(None, thinks=False), room("none", thinks=False)
(2000, 6000, 0, 0)
>>> traits("anthropic/claude-sonnet-5").thinks, traits("openai/gpt-4o-mini").thinks, sorted(traits("openai/o3").without)
(True, False, ['logprobs', 'temperature'])
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, get_args

from maci.errors import ConfigError

Reasoning = Literal["none", "low", "medium", "high"]
"""How much a model is asked to think before it answers."""

ROOM: Mapping[Reasoning, int] = MappingProxyType({"none": 0, "low": 2000, "medium": 6000, "high": 16_000})
"""Tokens for thinking, on top of the answer's limit."""
_MOST_ROOM = 32_000


def room(level: Reasoning | None, *, thinks: bool) -> int:
    """Tokens a model is given for thinking; without a level, a model that thinks by itself is given the room of ``medium``.

    One that was told not to and ``thinks`` all the same is given the room of ``low``.
    """
    if level == "none":
        return ROOM["low"] if thinks else 0
    return ROOM[level] if level is not None else ROOM["medium"] if thinks else 0


def more_room(before: int) -> int | None:
    """The room for another attempt where a model did not finish thinking; ``None`` where it had the most there is."""
    wider = min(max(ROOM["medium"], 4 * before), _MOST_ROOM)
    return wider if wider > before else None


_HEARD = 3
"""Whole replies after which a model's habit of thinking is known."""


def learnt_room(supposed: int, replies: int, most: int) -> int:
    """The room for thinking once replies have shown how much a model thinks: twice the most of it.

    What is not needed need not be set aside, so more of a debate fits under its ceiling. A reply that thinks longer all the same is
    cut off, asked for again with :func:`more_room`, and counts in ``most`` from then on.

    >>> learnt_room(6000, 2, 1500), learnt_room(6000, 3, 1500), learnt_room(6000, 3, 90), learnt_room(6000, 9, 20_000)
    (6000, 3000, 1000, 32000)
    """
    return min(max(2 * most, ROOM["low"] // 2), _MOST_ROOM) if replies >= _HEARD else supposed


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known of a model by its name."""

    thinks: bool = False
    """It thinks unless told not to."""
    always: bool = False
    """It thinks also when told not to, if little."""
    without: frozenset[str] = frozenset()
    """Parameters it does not take."""
    version: tuple[int, int] = (0, 0)
    """Of Claude, GPT and Gemini models."""


_THINKERS = re.compile(
    r"qwq|qwen-?3(?!.*(?:instruct|coder))|think(?!.*non)|reason|magistral|\br1\b|gpt-oss|glm-[45]|minimax-m|grok-(?:3-mini|[4-9])"
    r"|deepseek-v4|seed-oss|ernie-x1|hunyuan-t1"
)
_INCORRIGIBLE = re.compile(r"qwq|thinking(?!.*non)|\br1\b|gpt-oss|minimax-m|grok-(?:3-mini|4)(?!.*non-reasoning)")
"""Those of them that cannot be told not to."""
_CHEAP = frozenset({"temperature", "logprobs"})
"""What models that think do not take at OpenAI."""


@lru_cache(maxsize=256)
def traits(name: str) -> Traits:
    """What the name ``provider/model`` says about thinking and parameters. Of a name it does not know: nothing."""
    model = name.lower().rpartition("/")[2]
    version = _version(model)
    if re.match(r"o[134]\b", model):
        return Traits(True, True, _CHEAP)
    if re.match(r"gpt-\d", model):
        thinks = version >= (5, 0) and "-chat" not in model
        return Traits(thinks, thinks and version == (5, 0), _CHEAP if thinks else frozenset(), version)
    if "claude" in model:
        without = frozenset({"temperature"}) if version >= (4, 7) else frozenset()
        return Traits(version >= (5, 0), without=without, version=version)
    if model.startswith("gemini-"):
        thinks = version >= (2, 5) and not (version == (2, 5) and "lite" in model)
        return Traits(thinks, thinks and "pro" in model, version=version)
    if "deepseek-reasoner" in model:
        return Traits(True, True, frozenset({"logprobs"}))
    return Traits(_THINKERS.search(model) is not None, _INCORRIGIBLE.search(model) is not None)


def _version(model: str) -> tuple[int, int]:
    """The first one or two numbers of a name; a date is none.

    >>> _version("claude-sonnet-4-6"), _version("claude-3-7-sonnet-20250219"), _version("gpt-5.2"), _version("claude-opus-5-20260801")
    ((4, 6), (3, 7), (5, 2), (5, 0))
    """
    found = re.search(r"(?<![\d.])(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)", model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


_SUFFIX = re.compile(r"(.+)@reasoning=(.*)")


def split_level(text: str) -> tuple[str, Reasoning | None]:
    """A model's name as it is written on the command line, and how much it is to think.

    >>> split_level("openai/gpt-6@reasoning=low"), split_level("openai/gpt-4o-mini")
    (('openai/gpt-6', 'low'), ('openai/gpt-4o-mini', None))
    """
    found = _SUFFIX.fullmatch(text)
    if found is None:
        return text, None
    for level in get_args(Reasoning):
        if level == found[2]:
            return found[1], level
    raise ConfigError(f"{text}: reasoning is {', '.join(get_args(Reasoning))}: {found[2]!r} is none of them")


_OPEN, _CLOSE = re.compile(r"\s*<(think(?:ing)?)>"), re.compile(r"</think(?:ing)?>\s*")


def split_thinking(text: str) -> tuple[str, str]:
    """What a model wrote before its answer as thinking, and the answer; for servers that leave both in one text.

    Some chat templates write the opening tag into the prompt, so it may be missing. A model cut off while thinking has no answer.

    >>> split_thinking("<think>Fever, rash.</think> {}"), split_thinking("Hm.</think>{}"), split_thinking("<think>Fev")
    (('Fever, rash.', '{}'), ('Hm.', '{}'), ('Fev', ''))
    >>> split_thinking('{"claim": "</think>"}')
    ('', '{"claim": "</think>"}')
    """
    opened = _OPEN.match(text)
    if opened is None and ("</think" not in text or text.lstrip()[:1] in ("{", "[", '"')):
        return "", text
    start = 0 if opened is None else opened.end()
    closed = _CLOSE.search(text, start)
    if closed is None:
        return (text[start:], "") if opened is not None else ("", text)
    return text[start : closed.start()], text[closed.end() :]
