"""``maci plan``, and the plan at the end of a debate."""

from __future__ import annotations

import json as jsonlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Annotated

import typer

from maci.acquisition.plan import AcquisitionPlan, Item
from maci.acquisition.utilities import favoured, load_stakes
from maci.cli.options import OutputOptions, TranscriptPath, grouped
from maci.cli.output import publish
from maci.cli.show import locate
from maci.controller.reading import calibrated
from maci.errors import InputError
from maci.paths import save
from maci.record.transcript import read
from maci.render.markup import percent
from maci.story.result import PlanPage, QueryPage
from maci.story.whatif import replan, utilities_for
from maci.story.words import favoured_words, shift_words

_ORIGINS = {
    "corpus": "labelled texts",
    "knowledge": "built-in knowledge",
    "agents": "the agents",
    "disagreement": "a disagreement",
    "mixture": "the leading outcomes",
}


@grouped
def plan(
    *,
    transcript: TranscriptPath,
    top: Annotated[int | None, typer.Option(help="Most items (default: as recorded, 6).", min=1, max=50)] = None,
    batch: Annotated[
        int | None, typer.Option(help="The best K to ask together, before any answer is known.", min=1, max=50)
    ] = None,
    utilities: Annotated[
        Path | None,
        typer.Option(
            help="Rank by value: a file with actions and their utility per outcome (default: the recorded ones, if any).",
            dir_okay=False,
        ),
    ] = None,
    bits: Annotated[bool, typer.Option("--bits", help="Rank by information though utilities are on record.")] = False,
    export: Annotated[
        Path | None, typer.Option(help="Write the queries as JSON, for a retrieval system.", dir_okay=False)
    ] = None,
    output: OutputOptions,
) -> None:
    """What to find out next: questions, tests and queries, by what each is expected to bring."""
    path = locate(transcript)
    recording = read(path)
    if bits and utilities is not None:
        raise InputError("give --utilities or --bits, not both")
    stakes = None if utilities is None else load_stakes(utilities)
    found, state = replan(recording.events, size=batch or top, stakes=stakes, where=str(utilities), bits=bits)
    worth = None if bits else utilities_for(state, stakes)
    best = None if worth is None else favoured(calibrated(state), worth)
    if export is not None:
        pages = [page.model_dump() for page in QueryPage.of(found.items)]
        save(export, jsonlib.dumps(pages, indent=2, ensure_ascii=False) + "\n", "name another with --export")
    reason = "" if state.finished is None else state.finished.stop_reason
    page = PlanPage.of(found, best, stop_reason=reason, transcript=str(path))
    width = min(100, shutil.get_terminal_size((80, 24)).columns)
    shown = list(lines(found, width=width, full=not output.quiet))
    shown += [] if best is None else [favoured_words(best)]
    shown += [] if export is None else [f"{len(found.items)} queries written to {export}"]
    publish(page.model_dump(mode="json"), shown, json=output.json)


def short(plan: AcquisitionPlan) -> Iterator[str]:
    """The best three of a plan, a line each."""
    if not plan.items:
        yield f"To find out next: {plan.note or 'nothing'}"
        return
    more = f"; 3 of {len(plan.items)}, `maci plan` shows all" if len(plan.items) > 3 else ""
    yield f"To find out next (bits each adds to those above, for its cost{more}):"
    for item in plan.items[:3]:
        cost = "" if item.cost == 1 else f" at cost {item.cost:g}"
        worth = "" if item.value is None else f"  worth {item.value:.3g}"
        yield f"  {item.added_gain:.2f} bits{cost}{worth}  {item.text}  [{' / '.join(item.separates[:3])}]"
    if plan.note:
        yield f"  {plan.note}"


def lines(plan: AcquisitionPlan, *, width: int = 80, full: bool = True) -> Iterator[str]:
    """A plan as text."""
    if not plan.items:
        yield f"{plan.note or 'nothing worth asking'} ({plan.considered} possibilities considered)"
        return
    valued = plan.items[0].value is not None
    yield f"{plan.entropy:.2f} bits of doubt are left; these together are expected to bring {plan.joint_gain:.2f}"
    yield f"{'':2} {'bits':>5} {'added':>5} {'cost':>5} {'/cost':>5}" + (f" {'value':>7}" if valued else "") + "  ask"
    for number, item in enumerate(plan.items, 1):
        figures = f"{number:2} {item.expected_information_gain:5.2f} {item.added_gain:5.2f} {item.cost:5g} {item.gain_per_cost:5.2f}"
        figures += f" {item.value:7.3g}" if item.value is not None else ""
        yield from wrap(
            item.text, width, initial_indent=f"{figures}  ", subsequent_indent=" " * min(len(figures) + 2, width // 2)
        )
        if full:
            yield from _details(item, width)
    if plan.note:
        yield from wrap(plan.note, width)
    if any(item.assumed for item in plan.items):
        yield "~ how telling the answer is was assumed, not counted in labelled texts"


def _details(item: Item, width: int) -> Iterator[str]:
    mark = "~" if item.assumed else ""
    told = [f"{mark}{item.sort}; tells apart: " + "; ".join(f"{y}: {a}" for y, a in item.expected.items())]
    told += [f"if {shift_words(shift)}" for shift in item.shifts[:4]]
    if item.answered is not None and item.answered < 1:
        told.append(f"an answer is {percent(item.answered)} likely, which the figures count")
    why = "from " + " and ".join(_ORIGINS.get(origin, origin) for origin in item.origin)
    if item.asked_for_by:
        why += f"; arguments {', '.join(item.asked_for_by[:6])}"
    if item.evidence:
        why += f"; evidence {', '.join(item.evidence[:3])}"
    told.append(why)
    if item.query:
        told.append(f"query: {item.query}")
    for text in told:
        yield from wrap(text, width, initial_indent=" " * 6, subsequent_indent=" " * 8)
