"""Sentences about a debate that are not in its record: what it cost, and complaints that are made only once."""

from __future__ import annotations

import re

from maci.controller.decisions import Finished
from maci.llm.usage import dollars

__all__ = ["Remarks", "cost", "plural"]

_MISSING = re.compile(
    r"(?P<what>round \d+: (\d+ of \d+ scores are missing(?=: \S+ on)|(?P<who>.+?) abstained)): (\S+ on \S+: )?(?P<why>.*)",
    re.DOTALL,
)


class Remarks:
    """Remembers of whom what was said last."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def new(self, who: str, why: str, *, printed: bool = True) -> bool:
        """Whether a complaint about somebody differs from the last one that was printed."""
        new = self._last.get(who) != why
        if printed:
            self._last[who] = why
        return new

    def once(self, warning: str) -> str:
        """A warning about missing turns or scores, with its reason only where it was not given before.

        >>> remarks = Remarks()
        >>> [remarks.once(f"round {t}: x abstained: no key") for t in (1, 2)]
        ['round 1: x abstained: no key', 'round 2: x abstained, as above']
        """
        found = _MISSING.fullmatch(warning)
        if found is None or self.new(found["who"] or "judges", found["why"]):
            return warning
        return f"{found['what']}, as above"


def plural(n: int, what: str) -> str:
    """So many of something.

    >>> plural(1, "round"), plural(0, "round"), plural(2, "entry")
    ('1 round', '0 rounds', '2 entries')
    """
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{n:,} {what if n == 1 else many}"


def cost(result: Finished, *, priced: bool = True, kept: tuple[int, int] = (0, 0)) -> str:
    """Tokens and dollars, where the tokens went where a model was asked, and how many replies were ``kept`` (of how many)."""
    said, spent = plural(result.tokens, "token"), result.spent
    if not priced:
        said += " (price unknown)"
    elif result.usd:
        said += f" ({dollars(result.usd)})"
    if kept[0]:
        said += f", {kept[0]} of {plural(kept[1], 'reply')} from the response cache"
    if spent is None or not spent.seconds:
        return said
    shares = [(spent.prompt, "read"), (spent.cached, "of them from the provider's cache"), (spent.generated, "written")]
    shares += [(spent.judges, "by judges"), (spent.lost, "lost")]
    return said + " [" + ", ".join(f"{n:,} {what}" for n, what in shares if n) + "]"
