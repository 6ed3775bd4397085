"""How values are written on the pages."""

from __future__ import annotations

from datetime import UTC, datetime
from textwrap import shorten

from maci.llm.usage import dollars
from maci.page.markup import Markup, el
from maci.page.numbers import percent
from maci.story.words import STOPS

__all__ = ["STATES", "count", "ended_tag", "moment", "money", "percent", "state_tag", "stop_words", "title_of", "when"]

STATES = {
    "running": ("under way", "live"),
    "asking": ("waits for your answer", "warn"),
    "paused": ("paused", "warn"),
    "finished": ("finished", "good"),
    "broken": ("broke off", "bad"),
    "unreadable": ("cannot be read", "bad"),
}


def count(value: int | None) -> str:
    """A whole number with thousands set apart."""
    return "–" if value is None else f"{value:,}"


def money(usd: float) -> str:
    """Dollars, or nothing where none were spent."""
    return dollars(usd) if usd else "$0"


def when(text: str) -> Markup:
    """A moment of the record, in UTC."""
    written = moment(text)
    return el("span", "–") if written == "–" else el("time", written, datetime=text, title="UTC")


def moment(text: str, *, seconds: bool = False) -> str:
    """The same in letters.

    >>> moment("2026-11-16T09:27:31+01:00"), moment("2026-11-16T09:27:31+01:00", seconds=True), moment("")
    ('2026-11-16 08:27', '2026-11-16 08:27:31', '–')
    """
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M{':%S' if seconds else ''}}"
    except ValueError:
        return "–"


def state_tag(state: str) -> Markup:
    """Where a debate stands."""
    words, kind = STATES.get(state, (state, ""))
    return el("span", words, class_=f"tag {kind}")


_ENDS = {
    "budget": "budget spent",
    "error": "an error",
    "stopped_by_user": "stopped by a person",
    "impasse": "no agreement",
    "stalemate": "no good arguments",
    "max_rounds": "last round played",
}
"""Ends that are no agreement, in a tag's few words."""


def ended_tag(reason: str, *, answered: bool = True, withheld: bool = False) -> Markup:
    """How a debate that is over ended: green only where it came to an agreement.

    >>> ended_tag("budget", answered=False)
    '<span class="tag bad">no answer: budget spent</span>'
    >>> ended_tag("consensus"), ended_tag("impasse")
    ('<span class="tag good">finished</span>', '<span class="tag warn">finished: no agreement</span>')
    """
    cause = "answer withheld" if withheld else _ENDS.get(reason, "")
    if not answered:
        return el("span", f"no answer: {cause or reason}", class_="tag bad")
    kind = "bad" if reason == "error" else "warn" if cause else "good"
    return el("span", f"finished: {cause}" if cause else "finished", class_=f"tag {kind}")


def stop_words(reason: str) -> str:
    """Why it stopped, in words; a reason that this version does not know, as it stands."""
    return next((words for known, words in STOPS.items() if known == reason), reason)


def title_of(title: str, question: str, most: int = 110) -> str:
    """What a debate is called."""
    return shorten(title or question, most, placeholder=" …")
