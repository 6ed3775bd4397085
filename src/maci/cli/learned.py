"""A debate whose schedule learns: what it starts from, and what it leaves behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from maci.config import LEARNED
from maci.controller.inputs import Opened
from maci.errors import InputError, MaciError
from maci.seating.seating import Seated


def begin(seated: Seated, task: str | None) -> Seated:
    """The table with what the task's debates have taught so far; unchanged where the schedule does not learn."""
    config = seated.opened.config
    schedule = config.dials.schedule
    if schedule not in LEARNED:
        if task is not None:
            raise InputError(f"--task {task!r} names what a schedule learned, and {schedule!r} learns nothing: "
                             "add --set schedule=ucb or linucb, or leave --task out")  # fmt: skip
        return seated
    from maci.calibration.schedules import Schedules, task_name, terms

    name = task_name(seated.opened) if task is None else task
    if not name.strip():
        raise InputError("--task is empty: give what was learned a name")
    with Schedules() as known:
        learned = known.snapshot(name, terms(config), contexts=schedule == "linucb")
    rests = f"{learned.debates} debates" if learned.debates else "nothing yet"
    note = f"The schedule {schedule} starts from what {name!r} has learned: {rests} (`maci scheduler show`)."
    return replace(seated, opened=replace(seated.opened, learned=learned), notes=(*seated.notes, note))


def keep(opened: Opened, transcript: Path) -> None:
    """Enter what a finished debate taught. Its result stands even where that cannot be written."""
    if opened.learned is None or opened.config.dials.schedule not in LEARNED:
        return
    from maci.calibration.schedules import Schedules, report
    from maci.record.transcript import read

    try:
        with Schedules() as known:
            known.enter(report(read(transcript).events))
    except MaciError as error:
        typer.echo(f"{error}\nThe result stands. Enter it later: maci scheduler learn {transcript.parent}", err=True)
