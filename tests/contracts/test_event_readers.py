"""Whatever happens in a debate, everyone who reads its events for people shows it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from itertools import accumulate, groupby
from pathlib import Path
from typing import get_args

import pytest
from rich.console import Console

import maci
from helpers import of
from maci.agents.argument import Sentence
from maci.cli.terminal import Lines
from maci.cli.view import DebateView
from maci.controller.caution import Watched
from maci.controller.decisions import Dialled, Finished
from maci.controller.events import Event, _adapter, dump
from maci.controller.inputs import (
    Compared,
    Exhausted,
    Intervened,
    JudgeAbstention,
    Lost,
    Opened,
    Recommended,
    Requested,
    RequestRecord,
    Resolved,
    Retrieved,
    Scored,
    Sent,
    Surveyed,
    TurnFailed,
)
from maci.evidence.span import Span
from maci.llm.usage import Usage
from maci.record.transcript import read
from maci.story import Story
from maci.story.log import happened
from maci.story.report.page import to_html
from maci.web.pages.debate import line

KINDS: tuple[type, ...] = get_args(Event)
RECORDED = read(Path(__file__).parents[1] / "transcripts" / "format-6.jsonl").events


def every_kind() -> list[Event]:
    """A recorded debate, and what did not happen in it: the span that the first argument cites is only looked up later."""
    score, agent = of(Scored, RECORDED)[0], RECORDED[0].agents[0].name
    cited = Story.of(RECORDED).said[score.argument].citations[0].span
    late = tuple(span for span in of(Retrieved, RECORDED)[0].spans if span.id == cited)
    more: list[Event] = [
        Requested(round=1, kind="turn", who=agent, requests=(RequestRecord(model="x/y", prompt="p", at="now"),)),
        TurnFailed(round=1, agent=agent, error="the line went dead"),
        Resolved(spans=late),
        JudgeAbstention(round=score.round, argument=score.argument, slot="mute#1", reason="it would not say"),
        Compared(round=score.round, first="gout", second="podagra", relation="same", by="names:fake"),
        Intervened(cl=0.4, by="Ada"),
    ]
    events = [_telling(event, late) for event in RECORDED]
    at = events.index(score) + 1
    wrote = Sentence(part="evidence", text="The rash decides.", cites=(score.argument,))
    last: list[Event] = [
        Exhausted(resource="tokens", detail="3 are left"),
        Recommended(round=score.round, by="recommendation:x/y", sentences=(wrote,), usage=Usage(generated=9)),
    ]
    return [*events[:at], *more, *events[at:-1], *last, events[-1]]


def _telling(event: Event, late: tuple[Span, ...]) -> Event:
    """The event with something to tell, where in this debate there was nothing."""
    match event:
        case Retrieved():
            return replace(event, spans=tuple(span for span in event.spans if span not in late))
        case Dialled():
            return replace(event, by_hand=True)
        case Watched():
            return replace(event, collapsed=True)
        case _:
            return event


def log(events: Sequence[Event]) -> str:
    return "\n".join(line(0, event) for event in events)


def terminal(events: Sequence[Event]) -> str:
    out = StringIO()
    view = DebateView(full=True, lines=Lines(plain=True, console=Console(file=out, width=200)))
    for event in events:
        view.show(event)
    for event in of(Finished, events):
        view.result(event, Path("t.jsonl"))
    return out.getvalue()


def story(events: Sequence[Event]) -> str:
    """All that it tells from the first event to the last."""
    first, *rest = events
    told = accumulate(rest, Story.follow, initial=Story(opened=first))
    return "\n".join(state for state, _ in groupby(repr(replace(now, events=0)) for now in told))


def page(events: Sequence[Event]) -> str:
    return to_html(replace(Story.of(events), events=0))


HIDDEN: Mapping[Callable[[Sequence[Event]], str], Mapping[type, str]] = {
    log: {},
    terminal: {
        Requested: "`maci show --calls` prints what was asked",
        Sent: "the live area below the lines shows who is being waited for",
        Scored: "the gate prints each argument's CRIT",
        TurnFailed: "the round's beliefs name who abstained, and why",
        Lost: "the result says how many calls were lost and what is counted for them",
        Exhausted: "the result says that the budget ended it, and its figures",
        Surveyed: "the plan prints what was found worth asking",
        Recommended: "the result prints what of it stood the check",
    },
    story: {
        Requested: "`maci show --calls` prints what was asked",
        Exhausted: "the result says that the budget ended it, and its figures",
        Surveyed: "the plan has the candidates, with what each is worth",
    },
    page: {
        Requested: "`maci show --calls` prints what was asked",
        Exhausted: "the result says that the budget ended it, and its figures",
        Surveyed: "the plan has the candidates, with what each is worth",
    },
}
"""Kinds whose own event changes nothing in what a reader shows, and where people find it instead."""


def test_there_is_a_sample_of_every_kind_of_event():
    assert {type(event) for event in every_kind()} == set(KINDS)


@pytest.mark.parametrize("event", every_kind(), ids=lambda event: event.type)
def test_an_event_is_written_as_the_union_of_all_kinds_writes_it(event):
    assert dump(event) == _adapter().dump_json(event)


@pytest.mark.parametrize("event", every_kind(), ids=lambda event: event.type)
def test_no_line_of_the_log_is_empty(event):
    assert happened(event).strip()


@pytest.mark.parametrize("reader", HIDDEN, ids=lambda reader: reader.__name__)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not Opened], ids=lambda kind: kind.__name__)
def test_every_reader_shows_every_kind_of_event(reader, kind):
    events = every_kind()
    shown = reader(events) != reader([event for event in events if not isinstance(event, kind)])
    assert shown is (kind not in HIDDEN[reader]), HIDDEN[reader].get(kind)


@pytest.mark.parametrize("reader", HIDDEN, ids=lambda reader: reader.__name__)
def test_every_reader_shows_how_a_debate_opened(reader):
    first, *rest = every_kind()
    other = replace(first, case=replace(first.case, question="What else?"))
    assert reader([first, *rest]) != reader([other, *rest])


def matches() -> list[tuple[str, ast.Match]]:
    """Where the package tells kinds of events apart."""
    names, root = {kind.__name__ for kind in KINDS}, Path(maci.__file__).parent
    return [
        (f"{path.relative_to(root)}:{node.lineno}", node)
        for path in sorted(root.rglob("*.py"))
        if " match " in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Match) and names & set(_classes(node))
    ]


def _classes(node: ast.Match) -> list[str]:
    patterns = [part for case in node.cases for part in ast.walk(case.pattern)]
    return [part.cls.id for part in patterns if isinstance(part, ast.MatchClass) and isinstance(part.cls, ast.Name)]


def test_every_match_over_events_is_total():
    found = matches()
    assert found
    last = {where: ast.unparse(node.cases[-1]) for where, node in found}
    assert [where for where, end in last.items() if not end.startswith("case _:\n    assert_never(")] == []
