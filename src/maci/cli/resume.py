"""``--resume``: the same options as on record are welcome; others are named, with what the record says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from maci.acquisition.utilities import written
from maci.cases.case import Case
from maci.config import load, parameters
from maci.controller.events import tree
from maci.controller.inputs import Opened
from maci.errors import InputError
from maci.seating import choose
from maci.seating.seating import PanelChoice
from maci.seating.spec import PanelSpec, recorded_panel

_OPTIONS = {
    "budget.tokens": "--budget-tokens",
    "budget.usd": "--budget-usd",
    "answer.risk": "--risk",
    "plan.acquire": "--acquire",
    "triage.worth": "--worth",
}
"""Settings that have an option of their own."""


def check_same(opened: Opened, case: Case | None, choice: PanelChoice, task: str | None = None) -> None:
    """Raise where an option that was given with ``--resume`` says something else than the record."""
    other = [
        *_case(opened, case),
        *_settings(opened, choice),
        *_table(opened, choice),
        *_source(opened, choice),
        *_task(opened, task),
    ]
    if other:
        raise InputError(
            f"--resume goes on with what is on record, and this differs from it: {'; '.join(other)}. "
            "Leave that out, or start anew with another --out"
        )


def _case(opened: Opened, case: Case | None) -> Iterator[str]:
    if case is None:
        return
    recorded, given = tree(opened)["case"], tree(replace(opened, case=case))["case"]
    if keys := [key for key in recorded if recorded[key] != given.get(key)]:
        yield f"CASE (its {', '.join(keys)})"


def _settings(opened: Opened, choice: PanelChoice) -> Iterator[str]:
    if choice.profile is not None and choice.profile != opened.config.profile:
        yield f"--profile {choice.profile} (recorded: {opened.config.profile})"
        return
    if not choice.sets and not choice.given and choice.config is None:
        return
    recorded = {row.key: row.value for row in parameters(opened.config)}
    given = load(choice.profile, file=choice.config, environ={}, sets=choice.sets, given=choice.given, base=recorded)
    for row in parameters(given):
        if row.value != recorded[row.key]:
            name = _OPTIONS.get(row.key, f"--set {row.key}")
            yield f"{name} {_said(row.value)} (recorded: {_said(recorded[row.key])})"


def _table(opened: Opened, choice: PanelChoice) -> Iterator[str]:
    if choice.corpus is not None and str(choice.corpus.resolve()) != opened.corpus:
        yield f"--corpus {choice.corpus} (recorded: {opened.corpus or 'none'})"
    if choice.seed not in (0, opened.seed):
        yield f"--seed {choice.seed} (recorded: {opened.seed})"
    if choice.panel is None and choice.agents is None and choice.judges is None:
        return
    panel = choose(choice.panel, choice.agents, choice.judges)
    if not isinstance(panel, PanelSpec):
        if opened.table is not None or panel != opened.panel:
            yield f"--panel {panel} (recorded: {opened.panel})"
        return
    found = recorded_panel(opened)
    recorded = PanelSpec() if isinstance(found, str) else found
    if (panel.name or "--agents") != opened.panel:
        yield f"--panel {panel.name}" if panel.name else f"--agents {choice.agents} (recorded: --panel {opened.panel})"
    elif [seat.model for seat in panel.agents] != [seat.model for seat in recorded.agents]:
        yield f"--agents {choice.agents} (recorded: {','.join(seat.model for seat in recorded.agents)})"
    if panel.judges is not None and [seat.model for seat in panel.judges] != _models(recorded):
        yield f"--judges {choice.judges} (recorded: {','.join(_models(recorded)) or 'none'})"


def _models(panel: PanelSpec) -> list[str]:
    return [seat.model for seat in panel.judges or ()]


def _source(opened: Opened, choice: PanelChoice) -> Iterator[str]:
    if choice.source is not None and choice.source != opened.source:
        yield f"--source {choice.source} (recorded: {opened.source or 'none'})"
    if choice.stakes is not None and choice.stakes != opened.stakes:
        recorded = "none" if opened.stakes is None else ", ".join(written(opened.stakes).splitlines())
        yield f"--utilities {choice.stakes_from} (recorded: {recorded})"


def _task(opened: Opened, task: str | None) -> Iterator[str]:
    recorded = "" if opened.learned is None else opened.learned.task
    if task is not None and task != recorded:
        yield f"--task {task} (recorded: {recorded or 'none'})"


def _said(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
