"""``maci plan``, and the plan at the end of a debate."""

from __future__ import annotations

import json as jsonlib
import shutil
from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import OutputOptions, TranscriptPath, grouped
from maci.cli.output import publish
from maci.cli.show import locate
from maci.errors import InputError
from maci.paths import save


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
    from maci.acquisition.gain import favoured, load_stakes
    from maci.cli.ending import plan_lines
    from maci.controller.ending import unfit
    from maci.controller.reading import calibrated
    from maci.record.replay import telling
    from maci.record.transcript import read
    from maci.story.result import PlanPage, QueryPage
    from maci.story.whatif import replan, utilities_for
    from maci.story.words import as_sentence, favoured_words

    path = locate(transcript)
    recording = read(path)
    if bits and utilities is not None:
        raise InputError("give --utilities or --bits, not both")
    stakes = None if utilities is None else load_stakes(utilities)
    with telling(recording.events):
        found, state = replan(recording.events, size=batch or top, stakes=stakes, where=str(utilities), bits=bits)
        worth = None if bits else utilities_for(state, stakes)
        best = None if worth is None or unfit(state) else favoured(calibrated(state), worth)
    if export is not None:
        pages = [page.model_dump() for page in QueryPage.of(found.items)]
        save(export, jsonlib.dumps(pages, indent=2, ensure_ascii=False) + "\n", "name another with --export")
    reason = "" if state.finished is None else state.finished.stop_reason
    page = PlanPage.of(found, best, stop_reason=reason, transcript=str(path))
    width = min(100, shutil.get_terminal_size((80, 24)).columns)
    held = None if state.finished is None else state.finished.abstained
    shown = [] if held is None else [f"Answer withheld: {as_sentence(held)}", ""]
    shown += plan_lines(found, width=width, full=not output.quiet)
    shown += [] if best is None else [favoured_words(best)]
    shown += [] if export is None else [f"{len(found.items)} queries written to {export}"]
    publish(page.model_dump(mode="json"), shown, json=output.json)
