"""The names of news outlets, and texts without them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

MASK = "[outlet]"

_KNOWN = (
    "ABC News", "Alternet", "AlterNet", "American Spectator", "Associated Press", "BBC News", "BBC", "Bloomberg", "Breitbart News",
    "Breitbart", "Business Insider", "CBN News", "CBN", "CBS News", "Chicago Sun-Times", "Chicago Tribune", "Christian Science Monitor",
    "CNBC", "CNN", "Daily Beast", "Daily Caller", "Daily Kos", "Daily Mail", "Daily Stormer", "Daily Wire", "Drudge Report",
    "FiveThirtyEight", "Fox News Channel", "Fox News", "FoxNews", "FOX News", "Fox Business", "HuffPost", "Huffington Post",
    "International Business Times", "Los Angeles Times", "Mother Jones", "MSNBC", "National Review", "NBC News", "NBCNews",
    "New York Magazine", "New York Times", "New York Post", "Newsmax", "NPR", "NYT", "Politico", "POLITICO", "RealClearPolitics",
    "Reuters", "The Atlantic", "The Blaze", "TheBlaze", "The Economist", "The Federalist", "The Guardian", "The Intercept",
    "Townhall", "USA TODAY", "USA Today", "Vanity Fair", "Wall Street Journal", "Washington Examiner", "Washington Post",
    "Washington Times", "Yahoo News",
)  # fmt: skip
"""Names that mean an outlet wherever they stand; those that are also words are masked in their own articles only."""
_NICKNAMES = {
    "Fox News": ("Fox", "FNC"),
    "New York Times": ("Times", "NYTimes"),
    "Washington Times": ("Times",),
    "Wall Street Journal": ("Journal", "WSJ"),
    "HuffPost": ("HuffPo", "Huffington Post"),
    "Christian Science Monitor": ("Monitor",),
}
_ABBREVIATED = {"nyt": "New York Times", "fox": "Fox News", "fox online news": "Fox News", "hpo": "HuffPost"}
"""Sources that go by another name, without case."""
_SUFFIX = re.compile(r"\s*(\(.*\)|- \w+|Online News|\.com)\s*$")


def outlet_names(source: str) -> tuple[str, ...]:
    """The names by which a source may call itself.

    >>> outlet_names("New York Times - News"), outlet_names("CNN (Web News)"), outlet_names("The Hill")
    (('New York Times', 'Times', 'NYTimes'), ('CNN',), ('The Hill',))
    """
    bare = _ABBREVIATED.get(source.casefold(), source)
    while (shorter := _SUFFIX.sub("", bare)) != bare:
        bare = shorter
    name = bare.strip()
    return (name, *_NICKNAMES.get(name, ())) if len(name) > 1 else ()


@lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    every = sorted({*_KNOWN, *names}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:[Tt]he )?(?:{'|'.join(map(re.escape, every))})(?:\.com)?(?!\w)|\b[\w.-]+\.com\b")


def mask_outlets(text: str, names: Iterable[str] = ()) -> str:
    """The text with every known outlet, those named besides, and web addresses replaced.

    >>> mask_outlets("Washington (CNN) The New York Times wrote on foxnews.com of Slate.")
    'Washington ([outlet]) [outlet] wrote on [outlet] of Slate.'
    >>> mask_outlets("Slate has learned", ["Slate"])
    '[outlet] has learned'
    """
    return _pattern(tuple(sorted(names))).sub(MASK, text)
