"""The story round by round: dials, arguments with their fate, beliefs, signals; and the same as one table and as charts."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import get_args

from maci.controller.bandit import ACTIONS
from maci.controller.decisions import Initialized
from maci.controller.dials import Measured
from maci.render.markup import Child, Markup, el, grid, join, percent, signed, typeset
from maci.render.report import Chart, Point, Series
from maci.render.svg import figure as drawn
from maci.story.model import Round, SignalName
from maci.story.report.parts import beliefs, course, linked, signals
from maci.story.report.thread import lanes, tools
from maci.story.report.trajectory import moved
from maci.story.story import Story
from maci.story.words import figure, found_words, leading, plural, repeat_words, round_name, triage_words, watched


def charts(story: Story) -> Markup | None:
    """Beliefs, signals and dials over the rounds."""
    if not story.closed:
        return None
    played = [r for r in story.rounds if r.dials is not None]
    dials = Chart(
        title="Dials",
        x="round",
        y="",
        about="CL: how contentious the agents are told to be. τ_Q and τ_CRIT: what an argument must reach to be admitted.",
        series=tuple(
            Series(name=name, points=tuple(Point(x=r.number, y=getattr(r.dials, field)) for r in played))
            for field, name in (
                ("cl", "CL"),
                ("tau_q", "τ_Q"),
                ("tau_crit", "τ_CRIT"),
            )
        ),
    )
    spent = Chart(
        title="Tokens, added up",
        x="round",
        y="tokens",
        about="All calls of agents and judges by the end of the round.",
        series=_spending(story),
    )
    figures = [drawn(chart, f"c-{i}") for i, chart in enumerate((dials, spent)) if any(s.points for s in chart.series)]
    return join(
        moved(story),
        el("details", el("summary", "Each agent's beliefs as bars"), course(story), class_="box bars"),
        el("h3", "Signals"),
        signals(story),
        el("div", figures, class_="charts"),
    )


def _spending(story: Story) -> tuple[Series, ...]:
    every = accumulate(r.usage.tokens for r in story.closed)
    judges = accumulate(r.judging.tokens for r in story.closed)
    drawn = [
        tuple(Point(x=r.number, y=y) for r, y in zip(story.closed, total, strict=True)) for total in (every, judges)
    ]
    if not drawn[0] or not drawn[0][-1].y:
        return ()
    return Series(name="all calls", points=drawn[0], reference=True), Series(name="judges", points=drawn[1])


_HEAD = ("round", "CL", "τ_Q", "τ_CRIT", "Q", "D", "O", "CRIT", "Î", "admitted", "tokens", "leads")


def summary_table(story: Story) -> tuple[tuple[str, ...], list[list[str]]]:
    """Head and rows: dials, signals and spending of every round."""
    rows = []
    for r in story.closed:
        dials = [figure(v, 2) for v in (r.dials.cl, r.dials.tau_q, r.dials.tau_crit)] if r.dials else ["–"] * 3
        values = [figure(r.signal(name)) for name in get_args(SignalName)]
        admitted = f"{len(r.admitted)} of {len(r.said)}" if r.number else "–"
        top = leading(r.mixture, 1)
        leads = f"{top[0][0]} {top[0][1]:.2f}" if top else "–"
        rows.append([str(r.number), *dials, *values, admitted, f"{r.usage.tokens:,}", leads])
    return _HEAD, rows


def _grid(story: Story) -> Markup:
    head, rows = summary_table(story)
    body = [
        el(
            "tr",
            el("th", el("a", round_name(int(row[0])), href=f"#round-{row[0]}"), scope="row"),
            (el("td", cell) for cell in row[1:-1]),
            el("td", row[-1], class_="words", dir="auto"),
        )
        for row in rows
    ]
    return grid("Rounds: dials, signals, spending", head, body, words=("leads",), kind="rounds")


def round_by_round(story: Story) -> Markup:
    """Every round, folded; where scripts run, a slider steps through them."""
    if not story.closed and not story.current.said:
        return el("p", "Nobody has spoken yet.", class_="soft")
    befores = [None, *story.rounds]
    rounds = [
        round_box(story, now, before, unfolded=unfolded(story, now))
        for before, now in pairwise(befores)
        if now is not None
    ]
    table = (
        el("details", el("summary", "All rounds in one table"), _grid(story), class_="box") if story.closed else None
    )
    return join(el("div", tools(story), stepper(), class_="thread-head"), el("div", rounds, class_="thread"), table)


def unfolded(story: Story, now: Round) -> bool:
    """Whether a round is open from the beginning: in a debate that is over, all in which something new was said."""
    if story.result is None:  # a judged round stays open until the next one's first turn is in
        return now.number == max((r.number for r in story.rounds if r.said), default=0)
    new = now.number <= 1 or any(not item.repeats for item in now.said)
    return new and len(story.said) <= _MANY


_MANY = 60
"""Arguments from which a reader opens rounds one by one."""


def stepper() -> Markup:
    """A slider through the rounds; it shows itself where scripts run."""
    return el(
        "div",
        el("button", "‹ Previous", type="button"),
        el("input", type="range", min=0, max=0, value=0, aria_label="Round"),
        el("button", "Next ›", type="button"),
        el("output", "step through the rounds"),
        el("button", "All", type="button", title="Open or close all rounds"),
        class_="stepper",
        hidden=True,
    )


def round_box(story: Story, now: Round, before: Round | None, *, unfolded: bool = False) -> Markup:
    """One round: what was found out, people, a lane for each agent; beliefs, signals, dials and notes folded."""
    top = leading(now.mixture, 1)
    parts: list[Child] = []
    if now.number and now.closed:
        again = repeat_words(sum(bool(item.repeats) for item in now.said))
        parts += [f"{len(now.admitted)} of {plural(len(now.said), 'argument')} admitted{again}", " · "]
    parts += [el("bdi", top[0][0]), f", {percent(top[0][1])} · "] if top else []
    parts.append(f"disagreement {figure(now.signal('d'), 2)}" if now.closed else "not finished")
    name = round_name(now.number).capitalize()
    hands = [h for h in story.hands if h.round == now.number]
    behind = [beliefs(now, before, story.scale), _worth(now), _dials(now), _signals(now), _notes(now)]
    return el(
        "details",
        el("summary", name, " ", el("span", parts, class_="soft")),
        _found_out(story, now),
        (el("p", "■ ", el("b", h.by or "A person"), f" {h.what}.", class_="event hand") for h in hands),
        (el("p", f"Triage {triage_words(t)}; {typeset('; '.join(t.why))}") for t in now.triaged),
        el("p", "Nobody spoke.", class_="soft") if story.result is not None and not (now.said or now.closed) else None,
        lanes(story, now),
        el(
            "details",
            el("summary", "Beliefs, signals, dials and notes"),
            behind,
            class_="behind",
            id=f"behind-{now.number}",
        )
        if now.closed
        else behind,
        id=f"round-{now.number}",
        class_="box round",
        open=unfolded,
        data_name=name,
    )


def _found_out(story: Story, now: Round) -> Markup | None:
    """What was asked before this round, what came back, and what it brought."""
    asked = [item for item in story.acquired if item.round == now.number - 1] if now.number else []
    gains = [g for g in story.gained if g.round == now.number]
    if not asked and not gains:
        return None
    lines = [found_words(story.asked.get(item.item, item.item), item) for item in asked]
    lines += [
        f"This brought {signed(g.realised, 2)} bits; {g.predicted:.2f} were expected of an answer." for g in gains
    ]
    return el(
        "div",
        el("p", el("b", "◆ Found out before this round")),
        el("ul", (el("li", line, dir="auto") for line in lines)),
        class_="event",
    )


def _worth(now: Round) -> Markup | None:
    """Advice after the openings."""
    if not isinstance(now.signals, Initialized):
        return None
    advice = now.signals.regime
    return el("p", f"Is debate worth it? {advice.kind}: {typeset('; '.join(advice.why))}")


def _dials(now: Round) -> Markup | None:
    if now.dials is None:
        return None
    d = now.dials
    by = " · set by hand" if now.by_hand else ""
    said = f"Dials: CL {figure(d.cl, 2)} · τ_Q {figure(d.tau_q)} · τ_CRIT {figure(d.tau_crit)}{by}"
    if now.choice is not None and now.choice.action is not None:
        steps = now.choice.steps
        said += f" · learned schedule: {ACTIONS[now.choice.action]} to α {steps.alpha:g}, γ {steps.gamma:g}"
    return el("p", said, class_="small-print")


def _signals(now: Round) -> Markup | None:
    m = now.signals
    if not isinstance(m, Measured):
        return None
    flags = " and ".join(name for name, on in (("information", m.pi_i), ("disagreement", m.pi_d)) if on)
    values = " · ".join(
        f"{name} {figure(value)}" for name, value in (("Q", m.q), ("D", m.d), ("O", m.o), ("CRIT", m.crit))
    )
    return el("p", f"{values} · Î {figure(m.gain)} · stalled: {flags or 'nothing'}", class_="small-print")


def _notes(now: Round) -> Markup | None:
    lines = [f"{agent} abstained: {why}" for agent, why in now.abstained.items()]
    if now.reverted:
        lines.append(f"Taken back, because D would have risen without new evidence: {', '.join(now.reverted)}")
    silent = [(j.slot, s.id, j.reason) for s in now.said for j in s.scores if j.score is None]
    if silent:
        slot, id, reason = silent[0]
        lines.append(f"{plural(len(silent), 'score')} missing, first {slot} on {id}: {reason}")
    if now.watched is not None:
        lines += [line[:1].upper() + line[1:] for line in watched(now.watched)]
    lines += [f"Note: {typeset(note)}" for note in now.notes]
    return el("ul", (el("li", linked(line, {})) for line in lines), class_="notes") if lines else None
