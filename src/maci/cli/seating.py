"""Who debates, from the options of a command; a schedule that learns starts from what it has learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from maci.acquisition.gain import load_stakes
from maci.calibration.schedules import Schedules, report, task_name, terms
from maci.cli.models import fetch
from maci.cli.options import PanelOptions, ReplyOptions, SettingsOptions
from maci.cli.output import echo
from maci.config import LEARNED
from maci.controller.inputs import Opened
from maci.errors import InputError, MaciError
from maci.llm.env import use_env_file
from maci.record.transcript import read
from maci.seating.seating import PanelChoice, Seated

ASKING = {"triage.enabled": True, "triage.until_sure": True}
"""What makes a debate go only as far as it pays: `maci ask`."""


def chosen(
    panel: PanelOptions,
    settings: SettingsOptions,
    replies: ReplyOptions,
    given: Mapping[str, Any],
    *,
    seed: int,
    quiet: bool,
    corpus: Path | None = None,
    source: str | None = None,
    source_headers: Sequence[str] = (),
    utilities: Path | None = None,
) -> PanelChoice:
    """The choice that the options of a command make.

    ``given``: settings that have an option, ``None`` if it was not used. ``quiet``: download weights without a progress bar.
    """
    if panel.env_file is not None:
        use_env_file(panel.env_file)
    return PanelChoice(
        panel=panel.panel, agents=panel.agents, judges=panel.judges, corpus=corpus,
        profile=settings.profile, config=settings.config, sets=settings.sets or (),
        given={key: value for key, value in given.items() if value is not None}, seed=seed,
        cache=replies.cache, no_cache=replies.no_cache, offline=replies.offline,
        fetch=partial(fetch, offline=replies.offline, quiet=quiet), source=source, source_headers=tuple(source_headers),
        stakes=None if utilities is None else load_stakes(utilities), stakes_from=str(utilities or ""),
    )  # fmt: skip


def begin(seated: Seated, task: str | None) -> Seated:
    """The table with what the task's debates have taught so far; unchanged where the schedule does not learn."""
    config = seated.opened.config
    schedule = config.dials.schedule
    if schedule not in LEARNED:
        if task is not None:
            raise InputError(f"--task {task!r} names what a schedule learned, and {schedule!r} learns nothing: "
                             "add --set schedule=ucb or linucb, or leave --task out")  # fmt: skip
        return seated
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
    try:
        with Schedules() as known:
            known.enter(report(read(transcript).events))
    except MaciError as error:
        echo(f"{error}\nThe result stands. Enter it later: maci scheduler learn {transcript.parent}", err=True)
