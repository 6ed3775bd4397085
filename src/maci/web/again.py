"""A debate once more: what the form holds so that a recorded debate can be started again with other settings.

What a form cannot hold (a scale, aliases, labels of the evidence, hidden findings) is taken from the record, as long as nobody
has written something else in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from maci.acquisition.utilities import written
from maci.case.case import Case
from maci.case.outcomes import OutcomeSpace
from maci.config import load, parameters
from maci.controller.inputs import Opened

__all__ = ["case_again", "fields_of"]

_ELSEWHERE = {"budget.tokens", "budget.usd", "plan.acquire", "crit.enabled"}
"""Settings that have a field of their own, or come with the judges."""


def fields_of(id: str, opened: Opened, panels: Sequence[str]) -> dict[str, str]:
    """The form as it would have to be filled in for this debate; ``panels`` are those that can be chosen."""
    config, usual = opened.config, load(opened.config.profile, environ={})
    before = {p.key: p.value for p in parameters(usual)}
    changed = [
        f"{p.key} = {_written(p.value)}"
        for p in parameters(config)
        if p.key not in _ELSEWHERE
        and not p.key.startswith("calibration.")
        and p.value != before[p.key]
        and (p.value is None or isinstance(p.value, str | int | float))
    ]
    given = {
        "from": id,
        "question": opened.case.question,
        "context": opened.case.context,
        "outcomes": _labels(opened.case.outcomes),
        "keep_evidence": "yes",
        "profile": config.profile,
        "budget_tokens": "" if config.budget.tokens == usual.budget.tokens else str(config.budget.tokens),
        "budget_usd": "" if config.budget.usd is None else f"{config.budget.usd:g}",
        "questions": str(config.plan.acquire) if config.plan.acquire else "",
        "seed": str(opened.seed) if opened.seed else "",
        "settings": "\n".join(changed),
        "utilities": "" if opened.stakes is None else written(opened.stakes),
    }
    return given | _who(opened, panels)


def _who(opened: Opened, panels: Sequence[str]) -> dict[str, str]:
    """The panel by its name, or its models where it has none that is known here."""
    if opened.panel in panels or opened.table is None:
        return {"panel": opened.panel if opened.panel in panels else ""}
    models = {part: [str(seat["model"]) for seat in opened.table.get(part) or ()] for part in ("agents", "judges")}
    return {"agents": ", ".join(models["agents"]), "judges": ", ".join(models["judges"]) or "none"}


def _labels(space: OutcomeSpace) -> str:
    return "\n".join(space.labels)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "none" if value is None else str(value)


def case_again(recorded: Case, written: Case, form: Mapping[str, str]) -> Case:
    """The case as somebody wrote it, with what the record knows besides of what they left as it was."""
    evidence = (*(recorded.evidence if form.get("keep_evidence") else ()), *written.evidence)
    same_question = written.question.split() == recorded.question.split()
    same_outcomes = form.get("outcomes", "").split() == _labels(recorded.outcomes).split()
    outcomes = recorded.outcomes if same_outcomes else written.outcomes
    if not (same_question and same_outcomes):
        return replace(written, outcomes=outcomes, evidence=evidence)
    return replace(recorded, question=written.question, context=written.context, evidence=evidence)
