"""Complaints that are made only once."""

from __future__ import annotations

import re

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
