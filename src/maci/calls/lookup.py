"""What a debate looks up by itself, without a call: evidence, what was cited, what could be found out."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from maci.acquisition.proposals import Surveyor
from maci.acquisition.sources.source import Menu, Source
from maci.calls.replies import recordable
from maci.calls.table import Table
from maci.controller.acquiring import residual
from maci.controller.inputs import Resolved, Retrieved, Surveyed, pack
from maci.controller.state import State
from maci.errors import said

__all__ = ["resolve", "retrieve", "survey"]

_LONGEST_MENU = 200
"""Sections of a source's menu that are looked at."""


def retrieve(table: Table, state: State) -> Retrieved:
    """The case's evidence, embedded."""
    case, limits = state.opened.case, state.config.evidence
    found = table.evidence.retrieve(case.query, limits.k_ret, limits.context_tokens)
    rows = table.encoder.encode([case.query, *(span.text for span in found.spans)])
    vectors = {span.id: pack(row) for span, row in zip(found.spans, rows[1:], strict=True)}
    return Retrieved(spans=found.spans, core=found.core, vectors=vectors, theta=pack(rows[0]))


def resolve(table: Table, state: State, agent: str) -> Resolved:
    """The spans and outcomes an agent's turn names that were not known before."""
    turn = state.turns[agent]
    assert turn is not None
    ids, names = state.unresolved(turn)
    found = {i: table.evidence.get(i) for i in ids}
    spans = [span for span in found.values() if span is not None]
    rows = table.encoder.encode([*(span.text for span in spans), *names])
    return Resolved(
        spans=tuple(spans),
        vectors={span.id: pack(row) for span, row in zip(spans, rows, strict=False)},
        missing=tuple(i for i, span in found.items() if span is None),
        labels={name: pack(row) for name, row in zip(names, rows[len(spans) :], strict=True)},
    )


def survey(table: Table, state: State) -> Surveyed:
    """What could be found out; a proposer that fails is on record, and the debate ends without its proposals."""
    proposer = table.proposer or Surveyor(encoder=table.encoder)
    try:
        found = proposer.survey(replace(residual(state), menu=_menu(table.source)))
        known = Surveyed(round=state.round, candidates=found.candidates, considered=found.considered)
        return cast(Surveyed, recordable(known))
    except Exception as error:
        return Surveyed(round=state.round, note=f"looking for what to ask failed: {said(error)}")


def _menu(source: Source | None) -> tuple[str, ...]:
    """What a source says it has; most do not."""
    return tuple(map(str, source.menu()))[:_LONGEST_MENU] if isinstance(source, Menu) else ()
