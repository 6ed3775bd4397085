"""Every call of a debate: the prompt word for word, the raw reply, scores, tokens, cost, seconds, attempts, cache hits."""

from __future__ import annotations

from collections.abc import Sequence

from maci.llm.usage import dollars
from maci.render.markup import Child, Markup, el, grid, join
from maci.story import Story
from maci.story.log import RecordedRequest
from maci.story.model import ReturnedCall
from maci.story.words import plural, round_name
from maci.web.pages.layout import headed, page, tabs, title_of

_HEAD = ("call", "round", "tokens", "$", "seconds", "attempts", "remark")


def calls_page(id: str, story: Story, asked: Sequence[RecordedRequest]) -> str:
    """The page: a summary table to sort, then every request, folded; a search hides what does not fit."""
    case = story.opened.case
    top = headed(title_of(case.title, case.question), "Calls"), tabs(id, "calls")
    if not asked:
        why = "No language model was asked anything: these agents and judges answer by themselves, without prompts."
        return page("Calls", top, el("p", why), _turns(story))
    cached, retried = sum(each.request.cached for each in asked), sum(each.request.attempts > 1 for each in asked)
    failed = sum(bool(each.request.error) for each in asked)
    spent = sum(each.usd for each in asked)
    said = [plural(len(asked), "request"), f"{sum(each.request.tokens for each in asked):,} tokens"]
    said += [dollars(spent)] if spent else []
    said += [f"{cached} from the response cache"] if cached else []
    said += [f"{retried} sent more than once"] if retried else []
    said += [f"{failed} failed"] if failed else []
    search = el(
        "div",
        el("input", type="search", placeholder="Search prompts and replies", aria_label="Search prompts and replies"),
        el("output", ""),
        class_="row find",
        hidden=True,
        data_in=".call",
    )
    table = grid(
        "Calls", _HEAD, (_row(number, each) for number, each in enumerate(asked, 1)), words=("remark",), kind="sortable"
    )
    first: dict[str, int] = {}
    boxes = [_box(number, each, first) for number, each in enumerate(asked, 1)]
    return page(
        "Calls",
        top,
        el("p", " · ".join(said), class_="soft"),
        search,
        el("div", boxes, class_="calls"),
        el("details", el("summary", "All calls in one table"), table, class_="box"),
    )


def _turns(story: Story) -> Markup | None:
    """The turns and scores of agents and judges that are no models."""
    if not story.calls:
        return None
    table = grid("Calls", ("call", "round", "tokens"), map(_own, story.calls), kind="sortable")
    return el("details", el("summary", f"All {len(story.calls):,} turns and scores"), table, class_="box")


def _own(call: ReturnedCall) -> Markup:
    name = f"{call.who} on {call.argument}" if call.argument else call.who
    return el(
        "tr",
        el("th", name, scope="row"),
        el("td", call.round),
        el("td", f"{call.usage.tokens:,}", data_v=call.usage.tokens),
    )


def _name(each: RecordedRequest) -> str:
    return f"{each.who} on {each.argument}" if each.argument else each.who


def _remark(each: RecordedRequest) -> str:
    r = each.request
    parts = ["from the response cache"] if r.cached else []
    parts += ["cut off"] if r.truncated else []
    parts += [f"left out: {', '.join(r.without)}"] if r.without else []
    return "; ".join([*parts, *([f"failed: {r.error}"] if r.error else [])])


def _row(number: int, each: RecordedRequest) -> Markup:
    r = each.request
    return el(
        "tr",
        el("th", el("a", f"{each.kind}: {_name(each)}", href=f"#call-{number}"), scope="row"),
        el("td", each.round),
        el("td", f"{r.tokens:,}", data_v=r.tokens),
        el("td", f"{each.usd:.6f}" if each.usd else "–", data_v=f"{each.usd:.8f}" if each.usd else ""),
        el("td", f"{r.seconds:.2f}", data_v=r.seconds),
        el("td", r.attempts),
        el("td", _remark(each), class_="words"),
    )


def _box(number: int, each: RecordedRequest, first: dict[str, int]) -> Markup:
    """One request; a prompt that was shown before is linked."""
    r, prompt = each.request, list[Child]()
    if r.prompt in first:
        prompt.append(
            el("p", "The same prompt as in ", el("a", f"call {first[r.prompt]}", href=f"#call-{first[r.prompt]}"), ".")
        )
    else:
        prompt += [join(el("h3", role), el("pre", text, dir="auto")) for role, text in each.messages]
        first[r.prompt] = number
    tag = "bad" if r.error else "soft" if r.cached else "good"
    state = "failed" if r.error else "cache hit" if r.cached else "" if r.attempts == 1 else f"{r.attempts} attempts"
    cost = f" · {dollars(each.usd)}" if each.usd else ""
    figures = el("span", f" {round_name(each.round)} · {r.tokens:,} tokens{cost} · {r.seconds:.2f} s", class_="soft")
    copied = el(
        "details",
        el("summary", "As curl"),
        el("button", "Copy", type="button", class_="copy", hidden=True),
        el("pre", each.curl()),
    )
    return el(
        "details",
        el(
            "summary",
            f"{number}. {each.kind}: {_name(each)}",
            figures,
            " ",
            el("span", state, class_=f"tag {tag}") if state else None,
        ),
        el("p", each.facts(), class_="small-print"),
        el("h3", "Reply"),
        el("pre", each.reply, dir="auto")
        if each.reply
        else el("p", r.error or "No reply is on record.", class_="soft"),
        el("details", el("summary", "Prompt"), prompt)
        if r.prompt not in first or first[r.prompt] == number
        else prompt,
        copied,
        id=f"call-{number}",
        class_="box call",
    )
