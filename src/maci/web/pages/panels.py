"""The parts of a debate's page that change while it runs. Each has a name; a part is sent again only when it has changed."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten

from maci.page.markup import Markup, el, join
from maci.page.strips import bar, colour, key, ranked, sparkline, stack
from maci.story import Said, Story
from maci.story.model import Round
from maci.web.pages.words import count, figure, money, percent, state_tag, stop_words

__all__ = ["panels", "round_body", "round_name", "said_aloud"]

SIGNALS = (
    ("q", "Q", "evidence quality"),
    ("d", "D", "disagreement"),
    ("o", "O", "shared evidence"),
    ("crit", "CRIT", "argument quality"),
)


def panels(story: Story, state: str) -> dict[str, Markup]:
    """Every part by the id of its place on the page."""
    parts = {
        "p-state": state_tag(state),
        "p-now": _now(story, state),
        "p-verdict": _verdict(story),
        "p-signals": _signals(story),
        "p-beliefs": _beliefs(story),
        "p-dials": _dials(story),
        "p-spend": _spend(story),
        "p-said": Markup("") if state == "broken" else join(said_aloud(story)),
    }
    last = len(story.rounds) - 1
    return parts | {f"p-round-{r.number}": _round(r, story, latest=r.number == last) for r in story.rounds}


def said_aloud(story: Story) -> str:
    """What a screen reader is told: the last round that closed, or the end."""
    if story.result is not None:
        answer = story.result.answer or "no answer"
        return f"The debate is over: {answer}. {stop_words(story.result.stop_reason).capitalize()}."
    if not story.closed:
        return "The openings are under way."
    last = story.closed[-1]
    lead = "" if last.answer is None else f"{last.answer} leads with {percent(last.mixture[last.answer])}"
    return f"{round_name(last)} closed. {lead}"


def round_name(item: Round) -> str:
    """What a round is called."""
    return "Openings" if item.number == 0 else f"Round {item.number}"


def _now(story: Story, state: str) -> Markup:
    if story.result is not None:
        return el(
            "p", f"{stop_words(story.result.stop_reason).capitalize()}. {story.result.detail}".strip(), class_="soft"
        )
    if state == "paused":
        return el("p", "Paused: nothing new is sent. Calls that were out come in.", class_="warn")
    if state == "broken":
        return el(
            "p",
            f"It broke off in {round_name(story.current).lower()}. Nothing that was recorded is lost.",
            class_="bad",
        )
    thinking = [who for kind, who, _ in story.waiting if kind == "turn"]
    scores = sum(kind == "score" for kind, _, _ in story.waiting)
    parts = [round_name(story.current)]
    if thinking:
        parts.append("waiting for " + shorten(", ".join(thinking), 80, placeholder=" …"))
    if scores:
        parts.append(f"{scores} score{'' if scores == 1 else 's'} to come")
    return el("p", " · ".join(parts), class_="soft")


def _verdict(story: Story) -> Markup:
    result = story.result
    if result is None:
        last = story.closed[-1] if story.closed else None
        if last is None or last.answer is None:
            return el("p", "No belief yet: the agents are forming their first opinions.", class_="soft")
        lead = el("p", f"So far: {last.answer}, {percent(last.mixture[last.answer])}")
        return el(
            "div", lead, el("p", f"after {round_name(last).lower()}; it may change", class_="soft"), class_="verdict"
        )
    if result.answer is None:
        return el("div", el("p", "No answer"), el("p", result.detail), class_="verdict wrong")
    abstained = getattr(result, "abstained", None)
    head = f"{result.answer}, {percent(result.distribution.get(result.answer))}"
    first = el("p", f"No answer given at this level of risk; best guess: {head}" if abstained else head)
    why = el("p", f"{abstained}", class_="warn") if abstained else None
    others = sorted(result.distribution.items(), key=lambda item: -item[1])[1:4]
    rest = ", ".join(f"{label} {percent(p)}" for label, p in others if p >= 0.005)
    return el(
        "div",
        first,
        why,
        el("p", f"Then {rest}." if rest else "Nothing else is likely."),
        el("p", f"{count(result.rounds)} rounds; {stop_words(result.stop_reason)}.", class_="soft"),
        el("ul", (el("li", warning) for warning in result.warnings), class_="notes") if result.warnings else None,
        class_="verdict",
    )


def _signals(story: Story) -> Markup:
    closed = story.closed
    cards = []
    for name, sign, meaning in SIGNALS:
        values: list[float | None] = [getattr(item, name) for item in closed]
        now = values[-1] if values else None
        spark = sparkline(values, f"{sign}, {meaning}, round by round", f"spark-{name}") if values else None
        cards.append(el("div", el("b", figure(now)), el("span", f"{sign} · {meaning}"), spark, class_="figure"))
    return el("div", cards, class_="figures")


def _beliefs(story: Story) -> Markup:
    closed = [item for item in story.closed if item.mixture]
    if not closed:
        return el("p", "No belief yet.", class_="soft")
    labels = ranked([item.mixture for item in closed])
    over = stack(
        [("opening" if item.number == 0 else f"round {item.number}", item.mixture) for item in closed],
        labels,
        "The mixture of all agents, round by round",
        "beliefs-over",
    )
    now = closed[-1]
    agents = stack(list(now.beliefs.items()), labels, f"Each agent's belief, {round_name(now).lower()}", "beliefs-now")
    return join(
        el("figure", el("figcaption", "All agents together, round by round"), over, key(labels, "all others")),
        el("figure", el("figcaption", f"Each agent, {round_name(now).lower()}"), agents, _weights(now)),
    )


def _weights(item: Round) -> Markup | None:
    if not item.weights:
        return None
    return el("p", "Weights: " + ", ".join(f"{name} {weight:.2f}" for name, weight in item.weights.items()))


def _dials(story: Story) -> Markup:
    dials = next((item.dials for item in reversed(story.rounds) if item.dials is not None), None)
    if dials is None:
        return el("p", "The dials are set when the openings are in.", class_="soft")
    now = story.current
    rows = (
        ("CL, contentiousness", dials.cl),
        ("τ_Q, evidence gate", dials.tau_q),
        ("τ_CRIT, argument gate", dials.tau_crit),
    )
    held = " set by hand" if now.by_hand else ""
    return el(
        "div",
        el("dl", ((el("dt", name), el("dd", bar(value), " ", figure(value))) for name, value in rows), class_="dials"),
        el("p", f"In force in round {max(1, now.number)},{held or ' chosen by the schedule'}.", class_="small-print"),
        data_cl=dials.cl,
        data_tau_q=dials.tau_q,
        data_tau_crit=dials.tau_crit,
    )


def _spend(story: Story) -> Markup:
    budget, spent = story.opened.config.budget, story.spent
    share = 0.0 if not budget.tokens else spent.tokens / budget.tokens
    rows = [
        (
            "Tokens",
            join(bar(share), f" {count(spent.tokens)} of {count(budget.tokens)}")
            if budget.tokens
            else count(spent.tokens),
        )
    ]
    if spent.usd or budget.usd:
        ceiling = f" of {money(budget.usd)}" if budget.usd else ""
        rows.append(("Dollars", f"{money(spent.usd)}{ceiling}"))
    rows.append(("Calls", count(len(story.calls))))
    return el("dl", ((el("dt", name), el("dd", value)) for name, value in rows), class_="dials")


def _round(item: Round, story: Story, *, latest: bool) -> Markup:
    """One round, folded unless it is the last."""
    gain = "" if item.gain is None else f", gain {figure(item.gain)}"
    lead = "" if item.answer is None else f"{item.answer} {percent(item.mixture[item.answer])}"
    state = f"{lead} · D {figure(item.d)}{gain}" if item.closed else "under way"
    inside = sum(said.fate == "admitted" for said in item.said)
    tally = "" if item.number == 0 or not item.closed else f" · {inside} of {len(item.said)} arguments admitted"
    return el(
        "details",
        el("summary", round_name(item), " ", el("span", state + tally, class_="soft")),
        round_body(item, story),
        class_="box round",
        id=f"round-{item.number}",
        open=latest,
        data_name=round_name(item),
    )


def round_body(item: Round, story: Story) -> Markup:
    """What was believed and said in a round."""
    dials = item.dials
    told = None
    if dials is not None and item.number:
        by = " (by hand)" if item.by_hand else ""
        told = el(
            "p", f"CL {dials.cl:.2f} · τ_Q {dials.tau_q:.2f} · τ_CRIT {dials.tau_crit:.2f}{by}", class_="small-print"
        )
    hands = [hand for hand in story.hands if hand.round == item.number]
    people = (
        el("ul", (el("li", f"{hand.by or 'A person'} {hand.what}") for hand in hands), class_="notes")
        if hands
        else None
    )
    agents = [_agent(name, item, story) for name in story.agents if name in item.stated or name in item.abstained]
    waiting = None if agents else el("p", "Nobody has spoken yet.", class_="soft")
    notes = el("ul", (el("li", note) for note in item.notes), class_="notes") if item.notes else None
    return join(told, people, waiting, agents, notes)


def _agent(name: str, item: Round, story: Story) -> Markup:
    why = item.abstained.get(name)
    belief = item.beliefs.get(name) or item.stated.get(name) or {}
    top = sorted(belief.items(), key=lambda pair: -pair[1])[:3]
    beliefs = " · ".join(f"{label} {percent(p)}" for label, p in top)
    number = story.agents.index(name)
    head = el("h4", el("span", class_=f"dot {colour(number)}"), name, el("span", f" {beliefs}", class_="soft"))
    reverted = (
        el("p", "Its change of belief was taken back: it had no new evidence.", class_="warn")
        if name in item.reverted
        else None
    )
    silent = el("p", f"Sat this round out: {why}", class_="warn") if why else None
    said = [_argument(said, story) for said in item.said if said.agent == name]
    return el("section", head, silent, reverted, said, class_="agent")


_FATES: Mapping[str, tuple[str, str]] = {
    "admitted": ("admitted", "good"),
    "rejected": ("rejected", "bad"),
    "opening": ("opening", "soft"),
    "open": ("not judged yet", "soft"),
}


def _argument(said: Said, story: Story) -> Markup:
    words, kind = _FATES[said.fate]
    admission, argument = said.admission, said.argument
    crit = _crit(said)
    quality = None if admission is None else admission.q
    figures = " · ".join(
        part
        for part in ("" if quality is None else f"q {quality:.2f}", "" if crit is None else f"CRIT {crit:.2f}")
        if part
    )
    reason = (
        el("p", f"Why: {admission.reason}", class_="bad-note") if admission is not None and admission.reason else None
    )
    about = None
    if argument.outcome is not None:
        about = el("span", f"{'against' if argument.against else 'for'} {argument.outcome}", class_="soft")
    head = el("p", el("span", words, class_=f"tag {kind}"), " ", about, " ", el("span", figures, class_="soft nowrap"))
    again = el("p", "Said before in the same words.", class_="small-print") if said.repeats else None
    reasons = el("ul", (el("li", text) for text in argument.reasons)) if argument.reasons else None
    contrary = None
    if argument.opposing:
        contrary = el("p", "Against it: " + "; ".join(argument.opposing), class_="soft")
    return el(
        "div", head, el("p", argument.claim, class_="claim"), reason, reasons, contrary, again, _evidence(said, story),
        class_=f"argument {said.fate}", id=f"a-{said.id}",
    )  # fmt: skip


def _crit(said: Said) -> float | None:
    if said.admission is not None:
        return said.admission.crit
    scores = [judged.score.composite for judged in said.scores if judged.score is not None]
    return sum(scores) / len(scores) if scores else None


def _evidence(said: Said, story: Story) -> Markup | None:
    if not said.citations and not said.scores:
        return None
    quotes = []
    for cited in said.citations:
        span = story.spans.get(cited.span)
        doubt = el("span", f" not verified: {cited.why}", class_="bad") if cited.verified is False else None
        text = el("span", "no such evidence", class_="bad") if span is None else _marked(span.text, cited.places)
        source = "" if span is None else f" ({span.source})"
        quotes.append(el("li", text, el("span", source, class_="soft"), doubt))
    judges = [
        el(
            "li",
            f"{judged.judge}: ",
            figure(judged.score.composite) if judged.score else f"no score: {judged.reason}",
            f" {judged.score.justification}" if judged.score and judged.score.justification else "",
        )
        for judged in said.scores
    ]
    some = f"Evidence ({len(quotes)})" + (f" and scores ({len(judges)})" if judges else "")
    return el(
        "details",
        el("summary", some, class_="small-print"),
        el("ul", quotes),
        el("ul", judges) if judges else None,
        id=f"more-{said.id}",
    )


def _marked(text: str, places: tuple[tuple[int, int], ...]) -> Markup:
    """A text with what was quoted marked."""
    parts: list[str | Markup] = []
    done = 0
    for start, end in sorted(places):
        if start < done or end > len(text):
            continue
        parts += [text[done:start], el("mark", text[start:end])]
        done = end
    return el("q", *parts, text[done:])
