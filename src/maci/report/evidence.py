"""The evidence: every cited span with what was quoted of it marked, and who rests on it."""

from __future__ import annotations

from maci.evidence.span import Span
from maci.page.markup import Markup, el, join
from maci.report.parts import anchors, marked
from maci.story.model import Said
from maci.story.story import Story
from maci.story.words import plural

__all__ = ["evidence"]


def evidence(story: Story) -> Markup:
    """Cited spans, most cited first, then what was retrieved and never cited."""
    links, citing = anchors(story), story.citing()
    cited = [span for id, span in story.spans.items() if id in citing]
    cited.sort(key=lambda span: -len(citing[span.id]))
    others = [span for id, span in story.spans.items() if id not in citing]
    invented = [id for id in citing if id not in story.spans and id in story.missing]
    parts = [_span(span, links[span.id], citing[span.id]) for span in cited]
    if not parts:
        parts = [el("p", "No argument cites evidence.", class_="soft")]
    if invented:
        names = ", ".join(invented[:20])
        parts.append(el("p", f"Cited, but nowhere to be found: {names}", class_="bad"))
    if others:
        rest = (_span(span, links[span.id], []) for span in others)
        parts.append(
            el("details", el("summary", f"{plural(len(others), 'span')} retrieved, never cited"), rest, class_="box")
        )
    return join(*parts)


def _span(span: Span, link: str, said: list[Said]) -> Markup:
    places = [place for item in said for c in item.citations if c.span == span.id for place in c.places]
    by = [[el("a", item.id, href=f"#a-{item.id}"), " "] for item in said if not item.repeats]
    again = sum(bool(item.repeats) for item in said)
    more = f"and {again} times again" if again > 1 else "and once again" if again else ""
    about = [el("b", link), f" {span.source or 'evidence'} ", el("span", span.id, class_="mono soft")]
    if span.label:
        about.append(el("span", f" about {span.label}", class_="soft"))
    return el(
        "article",
        el("p", about, class_="head"),
        el("p", marked(span, places), dir="auto"),
        el("p", "Cited by ", by, more, class_="small-print") if said else None,
        id=link,
        class_="span",
    )
