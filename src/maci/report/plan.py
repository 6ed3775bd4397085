"""What to find out next: the plan as a table, with what each answer would do."""

from __future__ import annotations

from maci.acquisition.plan import Item, Shift
from maci.page.markup import Markup, el, join
from maci.report.parts import names
from maci.story.story import Story
from maci.story.words import shift_parts

__all__ = ["plan"]


def plan(story: Story) -> Markup | None:
    """The items with their gains, or why there are none; nothing for records that have no plan."""
    found = story.plan
    if found is None:
        return None
    if not found.items:
        return el(
            "p", f"Nothing to find out: {'; '.join(found.notes) or 'no question would tell more'}.", class_="soft"
        )
    valued = any(item.value is not None for item in found.items)
    value = ("value",) if valued else ()
    head = ("question", "kind", "bits", "added", "cost", *value, "tells apart", "if the answer is …")
    top = el("tr", (el("th", name, scope="col", class_=None if name in _FIGURES else "words") for name in head))
    table = el("table", el("thead", top), el("tbody", map(_row, found.items)), class_="plan")
    bits = f"{found.entropy:.2f} bits of doubt are left; these together are expected to bring {found.joint_gain:.2f}."
    guess = el("p", "~ how telling the answer is was assumed, not counted in labelled texts", class_="small-print")
    return join(
        el("p", bits),
        el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Plan"),
        guess if any(item.assumed for item in found.items) else None,
    )


_FIGURES = ("question", "bits", "added", "cost", "value")


def _row(item: Item) -> Markup:
    figures = [f"{item.expected_information_gain:.2f}", f"{item.added_gain:.2f}", f"{item.cost:g}"]
    figures += [] if item.value is None else [f"{item.value:.3g}".replace("-", "−")]
    return el(
        "tr",
        el("th", ("~ " if item.assumed else "") + item.text, scope="row", dir="auto"),
        el("td", item.kind, class_="words"),
        (el("td", figure, data_l=name) for name, figure in zip(_FIGURES[1:], figures, strict=False)),
        el("td", names(item.separates, " / "), class_="words", data_l="tells apart"),
        el("td", el("ul", map(_shift, item.shifts[:4])), class_="words"),
    )


def _shift(shift: Shift) -> Markup:
    answer, likely, leader, course = shift_parts(shift)
    return el("li", el("bdi", answer), likely, el("bdi", leader), course)
