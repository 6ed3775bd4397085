"""The parts of a debate's page that change while it runs. Each has a name; a part is sent again only when it has changed."""

from __future__ import annotations

from textwrap import shorten

from maci.acquisition.plan import Item
from maci.render.markup import Markup, el, join, percent
from maci.render.strips import bar, stack
from maci.story import Story
from maci.story.report.gate import instrument, past
from maci.story.report.parts import colours, key_of, mixtures, signals
from maci.story.report.rounds import round_box, unfolded
from maci.story.report.sources import evidence, plan
from maci.story.report.trajectory import moved
from maci.story.report.verdict import answered, details
from maci.story.words import ALL, plural, round_name, stop_of
from maci.web.pages.layout import count, money, standing


def panels(story: Story, state: str, asking: Item | None = None) -> dict[str, Markup]:
    """Every part by the id of its place on the page."""
    over = story.result is not None
    none = el(
        "p", "Nothing was measured." if over else "Nothing is measured before the openings are in.", class_="soft"
    )
    parts = {
        "p-state": standing("asking" if asking and state == "running" else state, story),
        "p-now": _now(story, state),
        "p-verdict": answered(story),
        "p-details": details(story),
        "p-signals": signals(story) or none,
        "p-question": _question(asking),
        "p-plan": plan(story) or el("p", _no_plan(story), class_="soft"),
        "p-beliefs": _beliefs(story),
        "p-dials": _dials(story),
        "p-past": past(story) or Markup(""),
        "p-spend": _spend(story),
        "p-evidence": evidence(story) if story.closed else el("p", "Nobody has cited anything yet.", class_="soft"),
        "p-said": join(said_aloud(story)),
    }
    befores = (None, *story.rounds)
    rounds = {
        f"p-round-{now.number}": round_box(story, now, before, unfolded=unfolded(story, now))
        for before, now in zip(befores, story.rounds, strict=False)
    }
    return parts | rounds


def _question(asking: Item | None) -> Markup:
    if asking is None:
        return Markup("")
    asks = el("p", f"It asks: {asking.text}", class_="notice", dir="auto")
    return join(asks, el("p", tells(asking), class_="small-print", dir="auto") if len(asking.separates) > 1 else None)


def tells(item: Item) -> str:
    """What an answer would tell, and what is expected of it."""
    worth = "" if item.value_if_answered is None else f", worth {item.value_if_answered:.3g} by the utilities"
    return (
        f"The answer tells {' from '.join(item.separates[:2])}; {item.if_answered:.2f} bits are expected of it{worth}."
    )


def _no_plan(story: Story) -> str:
    """Why there is no plan."""
    if story.result is None:
        return "What to find out next is worked out at the end."
    if story.closed:
        return "No question was found that would tell more."
    return "Nobody has stated a belief, so there is nothing to plan from."


def said_aloud(story: Story) -> str:
    """What a screen reader is told: the last round that closed, or the end."""
    if story.result is not None:
        end = "no answer" if story.result.abstained is None else "the answer is withheld"
        return f"The debate is over: {story.result.answered or end}. {stop_of(story.result)}"
    if not story.closed:
        return "The openings are under way."
    last = story.closed[-1]
    lead = "" if last.answer is None else f"{last.answer} leads with {percent(last.mixture[last.answer])}"
    return f"{round_name(last.number).capitalize()} closed. {lead}"


def _now(story: Story, state: str) -> Markup:
    """What is going on."""
    if story.result is not None:
        return Markup("")  # the first screen says it
    if state == "paused":
        return el("p", "Paused: nothing new is sent. Calls that were out come in.", class_="warn")
    if state == "broken":
        where = round_name(story.current.number)
        return el("p", f"It broke off in {where}. Nothing that was recorded is lost.", class_="bad")
    thinking = [who for kind, who, _ in story.waiting if kind == "turn"]
    scores = sum(kind == "score" for kind, _, _ in story.waiting)
    parts = [f"{round_name(story.current.number).capitalize()} under way"]
    if thinking:
        parts.append("waiting for " + shorten(", ".join(thinking), 80, placeholder=" …"))
    if scores:
        parts.append(f"{plural(scores, 'score')} to come")
    most = story.opened.config.stop.max_rounds + 1
    since = el(
        "span",
        data_since=story.opened.created,
        data_closed=len(story.closed),
        data_left=max(0, most - len(story.closed)),
    )
    return el("p", " · ".join(parts), since, class_="soft")


def _beliefs(story: Story) -> Markup:
    closed = [item for item in story.closed if item.mixture]
    if not closed:
        return el("p", "No belief yet." if story.result is None else "Nobody stated a belief.", class_="soft")
    labels, now = colours(story), closed[-1]
    each = stack(list(now.beliefs.items()), labels, f"Each agent's belief, {round_name(now.number)}")
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in now.weights.items())
    figures = (
        el("figure", el("figcaption", f"{ALL.capitalize()}, round by round"), mixtures(story, labels)),
        el(
            "figure",
            el("figcaption", f"Each agent, {round_name(now.number)}"),
            each,
            el("p", f"Weights: {weights}") if weights else None,
        ),
    )
    bars = join(key_of(labels, story), el("div", figures, class_="charts"))
    return join(moved(story), el("details", el("summary", "Beliefs as bars"), bars, class_="box bars", id="bars"))


def _dials(story: Story) -> Markup:
    dials = next((item.dials for item in reversed(story.rounds) if item.dials is not None), None)
    if dials is None:
        none = "The dials are set when the openings are in." if story.result is None else "They were never set."
        return el("p", none, class_="soft")
    now = story.current
    until = ", until they are given back" if story.held else ""
    chosen = f"set by hand{until}" if now.by_hand else "chosen by the schedule"
    return el(
        "div",
        instrument(story, "#dial-form"),
        el("p", f"In force in round {max(1, now.number)}, {chosen}.", class_="small-print")
        if story.result is None
        else None,
        data_cl=dials.cl,
        data_tau_q=dials.tau_q,
        data_tau_crit=dials.tau_crit,
    )


def _spend(story: Story) -> Markup:
    budget, spent = story.opened.config.budget, story.spent
    tokens = join(count(spent.tokens))
    if budget.tokens:
        tokens = join(bar(spent.tokens / budget.tokens), f" {count(spent.tokens)} of {count(budget.tokens)}")
    rows = [("Tokens", tokens)]
    if spent.usd or budget.usd:
        ceiling = f" of {money(budget.usd)}" if budget.usd else ""
        rows.append(("Dollars", join(f"{money(spent.usd)}{ceiling}")))
    rows.append(("Calls", join(count(len(story.calls)))))
    return el("dl", ((el("dt", name), el("dd", value)) for name, value in rows), class_="dials")
