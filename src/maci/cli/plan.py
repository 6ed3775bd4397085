"""``maci plan``, and the plan at the end of a debate."""

from __future__ import annotations

import json as jsonlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

import typer

from maci.acquisition.plan import Item, Plan
from maci.cli.show import locate
from maci.record.plan import PlanPage, QueryPage
from maci.record.transcript import read
from maci.replan import load_utilities, replan
from maci.story.words import shift_words

__all__ = ["lines", "run", "short"]

_ORIGINS = {
    "corpus": "labelled texts",
    "knowledge": "built-in knowledge",
    "agents": "the agents",
    "disagreement": "a disagreement",
    "mixture": "the leading outcomes",
}


def run(
    path: Path,
    *,
    top: int | None,
    batch: int | None,
    utilities: Path | None,
    export: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Print the plan of a recorded debate."""
    path = locate(path)
    recording = read(path)
    plan, state = replan(
        recording.events, size=batch or top, utilities=None if utilities is None else load_utilities(utilities)
    )
    if export is not None:
        pages = [page.model_dump() for page in QueryPage.of(plan.items)]
        export.write_text(jsonlib.dumps(pages, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    finished = state.finished
    if json:
        reason = finished.stop_reason if finished is not None else ""
        typer.echo(PlanPage.of(plan, stop_reason=reason, transcript=str(path)).model_dump_json())
        return
    width = min(100, shutil.get_terminal_size((80, 24)).columns)
    for line in lines(plan, width=width, full=not quiet, batch=batch is not None):
        typer.echo(line)
    if export is not None:
        typer.echo(f"{len(plan.items)} queries written to {export}")


def short(plan: Plan) -> Iterator[str]:
    """The best three of a plan, a line each."""
    if not plan.items:
        yield f"To find out next: {plan.note or 'nothing'}"
        return
    more = f" (3 of {len(plan.items)}; `maci plan` shows all)" if len(plan.items) > 3 else ""
    yield f"To find out next{more}:"
    for item in plan.items[:3]:
        yield f"  {item.expected_information_gain:.2f} bits  {item.text}  [{' / '.join(item.separates[:3])}]"


def lines(plan: Plan, *, width: int = 80, full: bool = True, batch: bool = False) -> Iterator[str]:
    """A plan as text."""
    if not plan.items:
        yield f"{plan.note or 'nothing worth asking'} ({plan.considered} possibilities considered)"
        return
    valued = plan.items[0].value is not None
    yield (
        f"{plan.entropy:.2f} bits of doubt are left; "
        f"{'these together' if batch or not valued else 'the best'} are expected to bring {plan.joint_gain:.2f}"
    )
    head = f"{'':2} {'bits':>5} {'added':>5} {'cost':>5} {'/cost':>5}" + (f" {'value':>6}" if valued else "") + "  ask"
    yield head
    for number, item in enumerate(plan.items, 1):
        figures = f"{number:2} {item.expected_information_gain:5.2f} {item.added_gain:5.2f} {item.cost:5g} {item.gain_per_cost:5.2f}"
        figures += f" {item.value:6.2f}" if item.value is not None else ""
        yield from wrap(
            item.text, width, initial_indent=f"{figures}  ", subsequent_indent=" " * min(len(figures) + 2, width // 2)
        )
        if full:
            yield from _details(item, width)
    if any(item.assumed for item in plan.items):
        yield "~ how telling the answer is was assumed, not counted in labelled texts"


def _details(item: Item, width: int) -> Iterator[str]:
    mark = "~" if item.assumed else ""
    told = [f"{mark}{item.kind}; tells apart: " + "; ".join(f"{y}: {a}" for y, a in item.expected.items())]
    told += [f"if {shift_words(shift)}" for shift in item.shifts[:4]]
    source = " and ".join(_ORIGINS.get(origin, origin) for origin in item.origin)
    why = f"from {source}"
    if item.asked_for_by:
        why += f"; arguments {', '.join(item.asked_for_by[:6])}"
    if item.evidence:
        why += f"; evidence {', '.join(item.evidence[:3])}"
    told.append(why)
    if item.query:
        told.append(f"query: {item.query}")
    for text in told:
        yield from wrap(text, width, initial_indent=" " * 6, subsequent_indent=" " * 8)
