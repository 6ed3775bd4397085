"""A plan for a debate on record: as it was made, or made anew with another size, utilities, or for a debate that has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from maci.acquisition.plan import Plan, Rules, Utilities, make_plan
from maci.acquisition.proposals import Surveyor
from maci.agents.reader.library import Library
from maci.case.case import read_data
from maci.case.outcomes import normal
from maci.controller.acquiring import backing, calibrated, residual
from maci.controller.inputs import Surveyed
from maci.controller.state import State
from maci.errors import InputError
from maci.evidence.encode import load_encoder
from maci.record.events import Event
from maci.record.replay import replay

__all__ = ["load_utilities", "replan"]


def replan(
    events: Sequence[Event], *, size: int | None = None, utilities: Mapping[str, Mapping[str, float]] | None = None
) -> tuple[Plan, State]:
    """The plan of a debate; what could be found out is what its last survey found, or what the spans on record show."""
    state = replay(events).state
    if state.mixture is None:
        raise InputError("there is no belief on record yet: a plan needs at least the openings of a debate")
    surveys = [event for event in events if isinstance(event, Surveyed)]
    if surveys:
        candidates, considered, remark = surveys[-1].candidates, surveys[-1].considered, surveys[-1].note
    else:
        found = _surveyor(state).survey(residual(state))
        candidates, considered, remark = found.candidates, found.considered, ""
    p, own = calibrated(state), state.config.plan
    labels = state.labels[: len(p)]
    plan = make_plan(
        labels,
        p,
        candidates,
        Rules(size=size or own.size, least=own.least, price=own.price, costs=own.costs),
        backing=backing(state),
        utilities=None if utilities is None else _utilities(utilities, labels),
    )
    note = "; ".join(text for text in (plan.note, remark) if text)
    return replace(plan, considered=considered, note=note), state


def _surveyor(state: State) -> Surveyor:
    """For a debate of an older format: what its own spans show."""
    encoder = load_encoder()
    spans = [span for span in state.spans.values() if span.label or span.source]
    aliases = state.opened.case.outcomes.aliases
    library = Library(spans, state.labels, encoder, aliases) if spans else None
    return Surveyor(library if library is not None and library.spans else None, encoder, aliases)


def load_utilities(path: Path) -> Mapping[str, Mapping[str, float]]:
    """Actions with a utility for each outcome, from a YAML, TOML or JSON file.

    ::

        treat:     {Malaria: 10, otherwise: -2}
        wait:      {Malaria: -20, otherwise: 0}
    """
    data = read_data(path)
    if not isinstance(data, Mapping) or len(data) < 2 or not all(isinstance(row, Mapping) for row in data.values()):
        raise InputError(
            f"{path}: name at least two actions, each with a utility for its outcomes, as in treat: {{Malaria: 10, otherwise: -2}}"
        )
    table: dict[str, dict[str, float]] = {}
    for action, row in data.items():
        for outcome, worth in row.items():
            if isinstance(worth, bool) or not isinstance(worth, int | float) or not np.isfinite(worth):
                raise InputError(f"{path}: {action}.{outcome} is {worth!r}, not a number")
        table[str(action)] = {str(outcome): float(worth) for outcome, worth in row.items()}
    return table


def _utilities(given: Mapping[str, Mapping[str, float]], labels: Sequence[str]) -> Utilities:
    known = {normal(label): label for label in labels}
    rows = []
    for action, row in given.items():
        worth = {known.get(normal(name), name): u for name, u in row.items()}
        strange = [name for name in worth if name not in labels and name != "otherwise"]
        if strange:
            raise InputError(
                f"utilities: {action}.{strange[0]} is not an outcome of this debate ({', '.join(labels[:5])} …)"
            )
        lacking = [label for label in labels if label not in worth]
        if lacking and "otherwise" not in worth:
            raise InputError(f"utilities: {action} has none for {lacking[0]}: add it, or `otherwise: …`")
        rows.append(tuple(worth.get(label, worth.get("otherwise", 0.0)) for label in labels))
    return Utilities(actions=tuple(given), table=tuple(rows))
