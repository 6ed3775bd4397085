"""A temperature for the panel of a study, from the answers of its debates to dev items. Nothing is debated."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np

from maci.calibration.profile import ENOUGH, TaskCalibration
from maci.calibration.worth import appraise
from maci.controller.reading import made_for
from maci.errors import InputError
from maci.lab.study.rows import Row
from maci.lab.study.store import open_store
from maci.lab.study.study import Meta, Study, resolve
from maci.lab.study.worker import Worker
from maci.llm.offline import is_offline
from maci.seating.table import opening

METHOD = "maci"


def calibration(folder: Path) -> TaskCalibration:
    """What the dev rows of the method `maci` teach: a temperature, and nothing that needs arguments, which rows do not hold.

    An item answered under several seeds counts once. Rows do not say which version of a model answered.
    """
    with open_store(folder, make=False) as store:
        meta, rows = store.meta(), list(store.rows())
    if meta is None or meta.spec.panel.recorded:
        why = (
            "it holds no study"
            if meta is None
            else "its answers were recorded elsewhere, and no panel of yours gave them"
        )
        raise InputError(f"--study {folder}: {why}")
    mine: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: row.seed):
        if row.part == "dev" and row.method == METHOD and row.belief is not None and row.gold in row.belief:
            mine.setdefault((row.data, row.item), row)
    if len(mine) < ENOUGH:
        raise InputError(
            f"--study {folder}: calibration needs at least {ENOUGH} dev items that the method `{METHOD}` answered, and it has "
            f"{len(mine)}: run it with `parts` that include dev and a higher `limit`"
        )
    beliefs = [np.array(list(row.belief.values())) for row in mine.values() if row.belief is not None]
    gold = [list(row.belief).index(str(row.gold)) for row in mine.values() if row.belief is not None]
    worth = appraise(beliefs, gold)
    right = [int(p.argmax()) == y for p, y in zip(beliefs, gold, strict=True)]
    fits = _made_for(meta, next(iter(mine.values())))
    settings = {"calibration.made_for": fits, "calibration.temperature": round(worth.temperature, 6)}
    return TaskCalibration(settings=settings, worth=worth, accuracy=float(np.mean(right)))


def _made_for(meta: Meta, row: Row) -> str:
    """The panel of the study as a debate would record it."""
    study = Study(spec=meta.spec, panel=resolve(meta.spec), offline=is_offline())
    worker = Worker(study)
    try:
        group = worker.group(row.data, row.seed)
        case = group.items[("dev", row.item)].case
        return made_for(opening(case, group.bench.panel.table(case, seed=row.seed), study.config, seed=row.seed))
    finally:
        asyncio.run(worker.aclose())
