"""Which two debates to compare: a choice among debates that can be told apart."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from maci.cases.case import Document
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


def test_everything_that_can_make_two_debates_differ_is_listed() -> None:
    story = story_of("bridge")

    def other(**changes: Any) -> str:
        changed = replace(story, opened=replace(story.opened, **changes))
        page = compare_page((), (Side("x", story, "finished"), Side("y", changed, "finished")), ("x", "y"), None)
        return page.partition("The same in both")[0].replace("</th><td", "</th> <td")

    opened = story.opened
    table = {
        "agents": [{"name": "Engineer", "model": "openai/one", "temperature": 0.2}],
        "judges": [{"name": "Judge K", "model": "mistral/judge"}],
    }
    warm = {**table, "agents": [{**table["agents"][0], "temperature": 0.9}]}
    evidence = (*opened.case.evidence, Document("The deck was renewed.", source="Works log"))
    for changes, name, shown in (
        ({"seed": 8}, "Seed", "8"),
        ({"encoder": "arctic"}, "Encoder", "arctic"),
        ({"judges": opened.judges[:1]}, "Judges", "Judge K"),
        ({"table": table}, "Agents", "Engineer (openai/one)"),
        ({"table": warm}, "agents.Engineer.temperature", "0.9"),
        ({"case": replace(opened.case, question="Else?")}, "Question", "Else?"),
        ({"case": replace(opened.case, context="Snow.")}, "Context", "Snow."),
        ({"case": replace(opened.case, evidence=evidence)}, "Evidence given", "only here: Works log"),
        ({"corpus": "reports"}, "Evidence index", "reports"),
        ({"writer": "openai/one"}, "Recommendation written by", "openai/one"),
        ({"prompts": {"turn": "0123456789abcdef"}}, "Prompts", "turn 01234567"),
        ({"version": "9.9"}, "MACI", "9.9"),
    ):
        differs = other(**changes)
        assert f'<th scope="row">{name}</th>' in differs and shown in differs, name
    assert '<th scope="row">' not in other()  # a debate and itself
