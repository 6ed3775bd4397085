"""What dev taught about the agents before anything was compared: a line for each agent, data set and seed."""

from __future__ import annotations

from collections.abc import Sequence

from maci.study.learning import TAUGHT, Lesson
from maci.study.report.gather import Gathered
from maci.study.report.model import Column, Line, Table, count, number, text

__all__ = ["KEY", "lessons_table"]

KEY = "lessons"
_COLUMNS = (
    Column(key="data", title="data"),
    Column(key="seed", title="seed"),
    Column(key="agent_temperature", title="T", about="of stated probabilities; 1: as they are"),
    Column(
        key="agent_doubt",
        title="ε",
        about="doubt: share given to all outcomes alike, most where an agent only names one",
    ),
    Column(key="agent_weight", title="weight", about="in the mixture; the mean of all agents is 1"),
    Column(key="dev", title="dev cases", about="that taught something"),
    Column(key="weights", title="fitted by", about="equal: not fitted"),
    Column(key="note", title="note"),
)


def lessons_table(studies: Sequence[Gathered]) -> Table | None:
    """All lessons of the studies; ``None`` where none learns."""
    found = [
        (f"{study.label}: {data}", seed, lesson)
        for study in studies
        for data, by_seed in study.meta.learnt.items()
        for seed, lesson in sorted(by_seed.items())
    ]
    lines = tuple(line for data, seed, lesson in found for line in _lines(data, seed, lesson))
    if not lines:
        return None
    calls, tokens = (sum(x) for x in zip(*((a.calls, a.usage.tokens) for _, _, a in found), strict=True))
    notes = (
        "Temperature T, doubt ε and weight of each agent, learnt from its openings to the dev cases, the same for every method. This "
        "is before, and apart from, the calibration of each method's answers.",
        f"Learning took {calls:,} calls and {tokens:,} tokens, which are no method's and in no other table.",
    )
    return Table(key=KEY, title="Agents, as dev taught", first="Agent", columns=_COLUMNS, lines=lines, notes=notes)


def _lines(data: str, seed: int, lesson: Lesson) -> list[Line]:
    """Whom no setting names is as it was: T = 1, ε = 0, the mean weight."""
    t, doubt, weight = (lesson.settings.get(key, {}) for key in TAUGHT)
    said = dict(note.split(": ", 1) for note in lesson.notes if ": " in note)
    return [
        Line(
            name=agent,
            cells=(
                text(data),
                text(str(seed)),
                number(t.get(agent, 1.0), n=lesson.n),
                number(doubt.get(agent, 0.0), n=lesson.n),
                number(weight.get(agent, 1.0), n=lesson.n),
                count(lesson.n),
                text(lesson.weights),
                text(said.get(agent, "")),
            ),
        )
        for agent in dict.fromkeys((*weight, *t, *doubt))
    ]
