"""Results folders → studies. Folders of one study (the same fingerprint) are merged; different studies stand side by side.

A study that several machines ran, each into its own folder, is one study: its rows are joined, and an answer that two folders have
must be the same in both. Answers of different studies are never pooled or tested against each other: their agents differ.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from maci.errors import CheckFailed, InputError
from maci.lab.study.learning import DevLesson
from maci.lab.study.store import FILE, conflict, open_store
from maci.lab.study.study import Meta, Row, RowKey, differences

TIE = 1e-9
"""Probabilities no further apart are equal."""


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for reference cycles meanwhile: rows have none, and going through millions of objects again and again takes longer
    than making them.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """One study with all rows that are there."""

    label: str
    """What the report calls it."""
    meta: Meta
    rows: Mapping[RowKey, Row]
    planned: tuple[RowKey, ...]
    """By any of the folders."""

    @property
    def missing(self) -> tuple[RowKey, ...]:
        """Planned, and neither answered nor failed."""
        return tuple(key for key in self.planned if key not in self.rows)


@uncollected()
def gather(folders: Sequence[Path], url: str | None = None) -> tuple[Gathered, ...]:
    """The studies of results folders, in the order given; of the database at ``url`` those of the folders' names."""
    if not folders:
        raise InputError("no results folder: give the --out of `maci study run`; `maci study list` lists them")
    found = []
    for folder in folders:
        if url is None:
            _refuse_parent(folder)
        with open_store(folder, url, name=folder.resolve().name, make=False) as store:
            if (meta := store.meta()) is None:
                raise InputError(f"{store.where} has no study yet: `maci study run SPEC.toml` begins one")
            rows = store.rows() if len(folders) > 1 else map(condensed, store.rows())
            found.append((folder.resolve().name, meta, list(rows)))
    return join(found)


def condensed(row: Row) -> Row:
    """A row with as much of its course as reports use: what leads after each round, of the test part; all of it on a scale.

    The course is nine tenths of a row. Equals stay together, so that a tie remains one (:func:`~.arena.lead`).
    """
    if not row.course or row.positions:
        return row
    if row.part == "dev":
        return row.model_copy(update={"course": ()})
    course = tuple(
        replace(step, belief=leading(step.belief), beliefs={agent: leading(p) for agent, p in step.beliefs.items()})
        for step in row.course
    )
    return row.model_copy(update={"course": course})


def leading(p: Mapping[str, float]) -> dict[str, float]:
    """The outcomes that nothing is ahead of by more than rounding.

    >>> leading({"a": 0.2, "b": 0.4, "c": 0.4})
    {'b': 0.4, 'c': 0.4}
    """
    least = max(p.values()) - TIE
    return {y: x for y, x in p.items() if x >= least}


def _refuse_parent(folder: Path) -> None:
    """A folder of results folders: which of them is meant?"""
    if (folder / FILE).exists() or not folder.is_dir():
        return
    inside = sorted(path.parent for path in folder.glob(f"*/{FILE}"))
    if inside:
        some = "\n".join(f"  maci study report {path}" for path in inside)
        raise InputError(
            f"{folder} is no results folder but holds some; report on one of them, or name several:\n{some}"
        )


def join(found: Sequence[tuple[str, Meta, Sequence[Row]]]) -> tuple[Gathered, ...]:
    """(folder's name, plan, rows) of each → studies; the plan's latest form counts, and everything any of them planned."""
    by: dict[str, list[tuple[str, Meta, Sequence[Row]]]] = {}
    for entry in found:
        by.setdefault(entry[1].fingerprint, []).append(entry)
    names = Counter(entries[0][1].spec.name for entries in by.values())
    studies = []
    for entries in by.values():
        folder, meta, _ = entries[0]
        label = meta.spec.name if names[meta.spec.name] == 1 else f"{meta.spec.name} ({folder})"
        rows: dict[RowKey, Row] = {}
        for _, _, some in entries:
            for row in some:
                old = rows.setdefault(row.key, row)
                if old is not row and (error := conflict(row, old, label)) is not None:
                    raise error
        planned = dict.fromkeys(key for _, plan, _ in entries for key in plan.keys())  # noqa: SIM118 - not a mapping
        methods = {data: some for _, plan, _ in entries for data, some in plan.methods.items()}
        merged = meta.model_copy(update={"methods": methods, "learnt": _learnt(entries)})
        if len(entries) > 1:
            rows = {key: condensed(row) for key, row in rows.items()}
        studies.append(Gathered(label=label, meta=merged, rows=dict(sorted(rows.items())), planned=tuple(planned)))
    return tuple(studies)


def _learnt(entries: Sequence[tuple[str, Meta, Sequence[Row]]]) -> dict[str, dict[int, DevLesson]]:
    """What all folders of a study have learnt of its agents; refused where two of them answered with different settings."""
    found: dict[str, dict[int, DevLesson]] = {}
    source: dict[tuple[str, int], str] = {}
    for folder, meta, _ in entries:
        for data, by_seed in meta.learnt.items():
            for seed, lesson in by_seed.items():
                old = found.setdefault(data, {}).setdefault(seed, lesson)
                first = source.setdefault((data, seed), folder)
                if old.settings != lesson.settings:
                    what = "; ".join(differences(old.settings, lesson.settings))
                    raise CheckFailed(
                        f"{first} and {folder} are of one study, but dev taught them different things about the agents of {data}, "
                        f"seed {seed} ({what}): their answers cannot be joined. Report on one of them alone, or "
                        f"run {folder} again from an empty folder with the response cache of {first}"
                    )
    return found
