"""How values are written on the pages."""

from __future__ import annotations

from datetime import UTC, datetime
from textwrap import shorten

from maci.llm.usage import dollars
from maci.page.markup import Markup, el
from maci.story.words import STOPS

__all__ = ["STATES", "count", "money", "percent", "state_tag", "stop_words", "title_of", "when"]

STATES = {
    "running": ("under way", "live"),
    "asking": ("waits for your answer", "warn"),
    "paused": ("paused", "warn"),
    "finished": ("finished", "good"),
    "broken": ("broke off", "bad"),
    "unreadable": ("cannot be read", "bad"),
}


def percent(p: float | None) -> str:
    """A probability for people; 100 % and 0 % are kept for what is certain.

    >>> [percent(p) for p in (None, 0.8349, 0.9996, 1.0, 0.0004)]
    ['–', '83 %', '> 99 %', '100 %', '< 1 %']
    """
    if p is None:
        return "–"
    if 0.995 <= p < 1:
        return "> 99 %"
    if 0 < p < 0.005:
        return "< 1 %"
    return f"{p:.0%}".replace("%", " %")


def count(value: int | None) -> str:
    """A whole number with thousands set apart."""
    return "–" if value is None else f"{value:,}"


def money(usd: float) -> str:
    """Dollars, or nothing where none were spent."""
    return dollars(usd) if usd else "$0"


def when(text: str) -> Markup:
    """A moment of the record, in UTC."""
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return el("span", "–")
    return el("time", f"{moment:%Y-%m-%d %H:%M}", datetime=text, title="UTC")


def state_tag(state: str) -> Markup:
    """Where a debate stands."""
    words, kind = STATES.get(state, (state, ""))
    return el("span", words, class_=f"tag {kind}")


def stop_words(reason: str) -> str:
    """Why it stopped, in words; a reason that this version does not know, as it stands."""
    return next((words for known, words in STOPS.items() if known == reason), reason)


def title_of(title: str, question: str, most: int = 110) -> str:
    """What a debate is called."""
    return shorten(title or question, most, placeholder=" …")
