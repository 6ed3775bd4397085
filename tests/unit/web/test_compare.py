"""Which two debates to compare: a choice among debates that can be told apart."""

from __future__ import annotations

import re

from maci.web.history import Summary
from maci.web.pages.compare import Side, compare_page
from stories import story_of


def debate(id: str, created: str) -> Summary:
    return Summary(id=id, title="Bridge", question="", created=created, panel="readers", state="finished")


def test_debates_of_one_name_and_minute_show_their_seconds() -> None:
    every = [
        debate("x", "2026-11-16T08:27:31Z"),
        debate("y", "2026-11-16T08:27:40Z"),
        debate("z", "2026-11-16T09:00:01Z"),
    ]
    page = compare_page(every, (), ("x", "y"), None)
    said = re.findall(r"<option[^>]*>([^<]*)</option>", page)
    assert said[1:4] == [
        "2026-11-16 08:27:31 · Bridge · readers",
        "2026-11-16 08:27:40 · Bridge · readers",
        "2026-11-16 09:00 · Bridge · readers",
    ]


def test_only_what_differs_is_listed_settings_included() -> None:
    a, b = (Side(id, story_of("bridge", *sets), "finished") for id, sets in (("x", ()), ("y", ("max_rounds=2",))))
    page = compare_page((), (a, b), ("x", "y"), None)
    differs, _, same = page.partition("The same in both")
    assert '<th scope="row">stop.max_rounds</th>' in differs and '<th scope="row">Rounds</th>' in differs
    assert '<th scope="row">Profile</th>' not in differs and "<dt>Profile</dt>" in same
