"""Tables and charts of docs/map.md and studies/README.md, drawn from results that are under version control.

studies/map/cells.jsonl   every cell of the map (`maci lab map --cases 8 --out studies/map`)
studies/readers.json      the embedded readers on complaints and symptom lists (`python benchmarks/bench_readers.py --data DIR --json`)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from maci.calibration.stats.estimate import Estimate
from maci.lab.map import AVERAGE, AXES, METHODS, VOTE, CellResult, cells, kept, key
from maci.lab.map.pages import CONTROLS, accuracy, difference, drawings, grouped, tokens

STUDIES = Path(__file__).parents[1] / "studies"
REGIONS = ("susceptibility", "evidence")


@cache
def stored() -> tuple[CellResult, ...]:
    """The cells of the map, in the order of the sweep."""
    found = kept(STUDIES / "map" / "cells.jsonl")
    return tuple(found[key(levels)] for levels in cells())


def methods() -> str:
    """Every method over the whole map, the most accurate first."""
    rows = ["| method | accuracy | tokens a case | MACI less it, points [95 %] |", "|---|---|---|---|"]
    for use in sorted((VOTE, *(use for use, _ in METHODS)), key=lambda use: -accuracy(stored(), use)):
        name = "**`maci`**" if use == "maci" else f"`{use}`{' at the tokens of MACI' if use == VOTE else ''}"
        gap = "" if use == "maci" else points(difference(stored(), "maci", use))
        rows.append(f"| {name} | {share(accuracy(stored(), use))} | {tokens(stored(), use):,.0f} | {gap} |")
    return "\n".join(rows)


def regions() -> str:
    """MACI, the average and the vote by how readily agents yield and how much of the evidence is sound."""
    rows = [
        "| agents yield | sound evidence | MACI | average | vote | MACI less average [95 %] | MACI less vote [95 %] |",
        "|---|---|---|---|---|---|---|",
    ]
    for levels, group in grouped(stored(), *REGIONS).items():
        found = [share(accuracy(group, use)) for use in ("maci", AVERAGE, VOTE)]
        gaps = [points(difference(group, "maci", use)) for use in (AVERAGE, VOTE)]
        rows.append("| " + " | ".join([*(f"{level:.0%}".replace("%", " %") for level in levels), *found, *gaps]) + " |")
    return "\n".join(rows)


def controls() -> str:
    """What each part of the controller earns on the whole map, and where it earns most and least."""
    rows = ["| part | earns, points [95 %] | most | least |", "|---|---|---|---|"]
    for name, (use, _) in CONTROLS.items():
        levels = [
            (f"{axis.name} {level:g}", difference(group, "maci", use))
            for axis in AXES
            for (level,), group in grouped(stored(), axis.name).items()
        ]
        ends = [side(levels, key=lambda each: each[1].value) for side in (max, min)]
        said = [f"{where}: {points(found)}" for where, found in ends]
        rows.append(f"| {name} | {points(difference(stored(), 'maci', use))} | {said[0]} | {said[1]} |")
    return "\n".join(rows)


def size() -> str:
    """How many cells and cases there are."""
    return f"{len(stored())} cells of {stored()[0].cases} cases: {sum(each.cases for each in stored()):,} cases."


@cache
def readers() -> dict[str, dict[str, Any]]:
    """What the benchmark of the embedded readers found."""
    found: dict[str, dict[str, Any]] = json.loads((STUDIES / "readers.json").read_text("utf-8"))
    return found


def readers_table() -> str:
    """The embedded readers on both sets."""
    names = {"symptom2disease": "complaints, 24 diseases", "masked kaggle, 2 symptoms shown": "two symptoms of a list"}
    rows = [
        "| | debates (texts) | one reader | average of openings | debate | all evidence at once | debate less average, points |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, said in names.items():
        part = readers()[name]
        singles: Sequence[float] = list(part["singles"].values())
        alone = f"{share(min(singles))} to {share(max(singles))}"
        shares = " | ".join(share(part[what]) for what in ("average", "debate", "all_evidence"))
        value, low, high = part["debate_minus_average"]
        gap = points(Estimate(value, low, high, part["n"], ""))
        rows.append(f"| {said} | {part['n']:,} ({part['texts']}) | {alone} | {shares} | {gap} |")
    return "\n".join(rows)


def share(value: float) -> str:
    """Such as .867."""
    return f"{value:.3f}".removeprefix("0")


def points(found: Estimate) -> str:
    """A difference in points, with its interval."""
    value, low, high = (f"{100 * each:+.1f}".replace("-", "−") for each in (found.value, found.low, found.high))
    return f"{value} [{low}, {high}]"


BLOCKS = {
    "map.md": {"map-size": size, "map-methods": methods, "map-regions": regions, "map-controls": controls},
    "../studies/README.md": {"readers": readers_table},
}
"""Page below docs/ → block → what writes it."""


def charts() -> dict[str, str]:
    """Path below docs/ → drawing."""
    return {f"images/{name}": text for name, text in drawings(stored()).items()}
