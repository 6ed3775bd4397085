"""Studies made by hand for tests of reports: what each method answered to each case is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maci.lab.study.report.gather import Gathered, join
from maci.lab.study.spec import Data
from maci.lab.study.store import SqliteStore
from maci.lab.study.study import Meta, PlannedMethod, Row
from maci.llm.usage import Usage
from study_helpers import make_meta

LABELS = ("a", "b", "c", "d")


def belief(answer: str, confidence: float = 0.7) -> dict[str, float]:
    """``confidence`` for one label, the rest in equal parts."""
    rest = (1 - confidence) / (len(LABELS) - 1)
    return {label: confidence if label == answer else rest for label in LABELS}


def row(method: str, item: str, answer: str | None, *, part: str = "test", gold: str = "a", **more: Any) -> Row:
    """An answer, or a failure where there is none."""
    fields: dict[str, Any] = {
        "data": "toy", "seed": 0, "part": part, "item": item, "method": method, "gold": gold,
        "belief": None if answer is None else belief(answer), "status": "done" if answer else "failed",
        "reason": "done" if answer else "the model said nothing", "calls": 3, "rounds": 1, "seconds": 0.5,
        "usage": Usage(prompt=800, generated=200), **more,
    }  # fmt: skip
    return Row(**fields)


def answers(method: str, pattern: str, *, part: str = "test", **more: Any) -> list[Row]:
    """One answer for each sign: ``+`` right, ``-`` wrong, ``x`` failed, ``.`` not there."""
    said = {"+": "a", "-": "b", "x": None}
    return [row(method, f"{part}{i:03}", said[c], part=part, **more) for i, c in enumerate(pattern) if c != "."]


def study(
    rows: Sequence[Row],
    methods: Sequence[PlannedMethod | str],
    *,
    name: str = "made",
    notes: Mapping[str, tuple[str, ...]] | None = None,
    report: Mapping[str, Any] | None = None,
    planned: Sequence[Row] = (),
    sets: Mapping[str, str] | None = None,
) -> tuple[Gathered, ...]:
    """What :func:`maci.lab.study.report.gather` would give; ``planned`` names answers that are not there, ``sets`` the sets of data."""
    plan = meta_of(rows, methods, name=name, notes=notes, report=report, planned=planned, sets=sets)
    return join([("folder", plan, rows)])


def meta_of(
    rows: Sequence[Row],
    methods: Sequence[PlannedMethod | str],
    *,
    name: str = "made",
    notes: Mapping[str, tuple[str, ...]] | None = None,
    report: Mapping[str, Any] | None = None,
    planned: Sequence[Row] = (),
    sets: Mapping[str, str] | None = None,
) -> Meta:
    """A plan of exactly these rows; all methods on every item."""
    items: dict[str, dict[int, dict[str, dict[str, None]]]] = {}
    for one in (*rows, *planned):
        items.setdefault(one.data, {}).setdefault(one.seed, {}).setdefault(one.part, {})[one.item] = None
    known = tuple(m if isinstance(m, PlannedMethod) else PlannedMethod(name=m, use=m, of=m) for m in methods)
    plain = make_meta(name=name, report=dict(report or {}))
    spec = plain.spec
    if sets:
        spec = spec.model_copy(update={"data": tuple(Data(set=of, label=data) for data, of in sets.items())})
    return plain.model_copy(
        update={
            "spec": spec,
            "items": {d: {s: {p: tuple(i) for p, i in x.items()} for s, x in y.items()} for d, y in items.items()},
            "methods": dict.fromkeys(items, known),
            "notes": dict(notes or {}),
            "fingerprint": f"{name:0<16}",
            "commit": "0123456789abcdef",
            "created": "2026-01-01T00:00:00+00:00",
            "version": "0.0.0",
        }
    )


def keep(folder: Path) -> None:
    """A study of two methods on ten cases, in a folder."""
    rows = [
        *answers("maci", "++++++++-+"), *answers("single", "++-+-++--+"),
        *answers("maci", "++++", part="dev"), *answers("single", "+-+-", part="dev"),
    ]  # fmt: skip
    folder.mkdir(parents=True)
    with SqliteStore(folder / "results.sqlite") as store:
        store.begin(meta_of(rows, ["maci", "single"], name="made"))
        for row in rows:
            store.put(row)


def keep_many(folder: Path, methods: int = 30) -> None:
    """A study of many methods on two data sets, each right a little less often than the one before."""
    names = ["maci", "majority_vote", *(f"method-{i:02}" for i in range(methods - 2))]
    rows = []
    for data in ("first", "second"):
        for i, name in enumerate(names):
            right = 36 - i
            more: dict[str, Any] = {"data": data, "usage": Usage(prompt=500 + 100 * i, generated=200), **course(right)}
            rows += answers(name, "+" * right + "-" * (40 - right), **more) + answers(name, "+-", part="dev", data=data)
    planned = [PlannedMethod(name=name, use=name if i < 2 else "average", of=name) for i, name in enumerate(names)]
    folder.mkdir(parents=True)
    with SqliteStore(folder / "results.sqlite") as store:
        store.begin(meta_of(rows, planned, name="many"))
        for row in rows:
            store.put(row)


def course(seed: int) -> dict[str, Any]:
    """Two rounds of two agents."""
    beliefs = {"x": belief("a"), "y": belief("b" if seed % 2 else "a")}
    step = {"belief": belief("a"), "q": 0.5, "d": 0.1, "cl": 0.5, "beliefs": beliefs}
    return {"course": (step, step, step), "rounds": 2}
