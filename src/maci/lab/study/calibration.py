r"""The one calibration that every method of a study gets, learnt from its own development answers.

p'_y ∝ ((1 − ε) p_y + ε/\|𝒴\|)^{1/T}: ε gives outcomes of probability 0 a share, T softens (> 1) or sharpens (< 1) the rest (Guo et
al. 2017, *ICML*). Both are those of the highest likelihood on the answers to the ``dev`` part of the same data set, seed and method;
the ``test`` part is never looked at. Neither changes the order of outcomes, so accuracy and ranks stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maci.errors import InputError
from maci.lab.study.metrics import FLOOR
from maci.lab.study.rows import Row
from maci.moderator.belief import Vector

ENOUGH = 20
"""Scored dev answers below which nothing is learnt."""
T_RANGE = (0.1, 10.0)
E_RANGE = (1e-6, 0.5)
"""ε is searched here and at 0."""
_ZOOMS = 4


class Learner(NamedTuple):
    """Whose calibration."""

    data: str
    seed: int
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """T and ε, and what they rest on."""

    temperature: float = 1.0
    epsilon: float = 0.0
    n: int = 0
    """Dev answers learnt from."""
    note: str = ""
    """Why it is not to be trusted, where it is not."""

    def apply(self, belief: Mapping[str, float]) -> dict[str, float]:
        """The calibrated belief; outcomes keep their order.

        >>> Calibration(temperature=0.5).apply({"a": 0.6, "b": 0.4})["a"].__round__(3)
        0.692
        """
        if self.temperature == 1 and self.epsilon == 0:
            return dict(belief)
        p = np.array(list(belief.values()), dtype=float)
        mixed = (1 - self.epsilon) * p / p.sum() + self.epsilon / len(p)
        with np.errstate(divide="ignore"):
            logs = np.log(mixed) / self.temperature
        weights = np.exp(logs - logs.max())
        return dict(zip(belief, (weights / weights.sum()).tolist(), strict=True))


IDENTITY = Calibration()


def fit(beliefs: Sequence[Mapping[str, float]], gold: Sequence[str]) -> Calibration:
    """T and ε of the highest likelihood: a grid over both, then finer grids about its best point.

    A gold outcome that the belief does not name (an open space) has the same likelihood whatever they are, so such answers teach
    nothing and are not counted. Fewer than 20 others: the identity, with a note.

    >>> fit([{"a": 0.9, "b": 0.1}] * 10, ["a"] * 10).note
    'not calibrated: 10 dev answers name the truth, 20 are needed'
    """
    if len(beliefs) != len(gold):
        raise InputError(f"beliefs has {len(beliefs)} entries and gold {len(gold)}: give one of each per answer")
    named = [(p, y) for p, y in zip(beliefs, gold, strict=True) if y in p]
    n = len(named)
    if n < ENOUGH:
        return Calibration(n=n, note=f"not calibrated: {n} dev answers name the truth, {ENOUGH} are needed")
    p, there, place = _padded(named)
    (t0, t1), (e0, e1) = np.log(T_RANGE).tolist(), np.log(E_RANGE).tolist()
    ts, es = np.linspace(t0, t1, 25), np.linspace(e0, e1, 14)
    best = _best(p, there, place, ts, np.array([-np.inf, *es]))
    step_t, step_e = ts[1] - ts[0], es[1] - es[0]
    for _ in range(_ZOOMS):
        _, t, e = best
        near_t = np.clip(t + step_t * np.linspace(-1, 1, 9), t0, t1)
        near_e = np.array([-np.inf]) if e == -np.inf else np.clip(e + step_e * np.linspace(-1, 1, 9), e0, e1)
        best = min(best, _best(p, there, place, near_t, near_e))
        step_t, step_e = step_t / 4, step_e / 4
    loss, t, e = best
    unity = _best(p, there, place, np.zeros(1), np.array([-np.inf]))
    if unity[0] <= loss:
        return Calibration(n=n)
    at_end = [name for name, there in (("T", min(t - t0, t1 - t) < 1e-6), ("ε", e1 - e < 1e-6)) if there]
    note = f"{' and '.join(at_end)} at the end of the range searched" if at_end else ""
    return Calibration(temperature=round(float(np.exp(t)), 6), epsilon=round(float(np.exp(e)), 9), n=n, note=note)


def _padded(named: Sequence[tuple[Mapping[str, float], str]]) -> tuple[Vector, NDArray[np.bool_], NDArray[np.int64]]:
    """(n, widest) probabilities, where there is an outcome, and which is gold."""
    width = max(len(p) for p, _ in named)
    table, there = np.zeros((len(named), width)), np.zeros((len(named), width), dtype=bool)
    for i, (p, _) in enumerate(named):
        values = np.array(list(p.values()), dtype=float)
        table[i, : len(p)], there[i, : len(p)] = values / values.sum(), True
    place = np.array([list(p).index(y) for p, y in named], dtype=np.int64)
    return table, there, place


def _best(
    p: Vector, there: NDArray[np.bool_], place: NDArray[np.int64], ts: Vector, es: Vector
) -> tuple[float, float, float]:
    """(mean NLL, ln T, ln ε) of the best point of a grid; of equals the first."""
    found = []
    rows = np.arange(len(p))
    inverse = np.exp(-ts)[:, None, None]
    for e in es.tolist():
        epsilon = float(np.exp(e))
        mixed = np.where(there, (1 - epsilon) * p + epsilon / there.sum(axis=1, keepdims=True), 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(mixed)
        gold = np.broadcast_to(logs[rows, place], (len(ts), len(p))) * inverse[:, :, 0]
        top = logs.max(axis=1, keepdims=True)
        total = np.log(np.exp((logs - top) * inverse).sum(axis=2)) + top[:, 0] * inverse[:, :, 0]
        nll = -np.maximum(gold - total, np.log(FLOOR)).mean(axis=1)
        i = int(nll.argmin())
        found.append((float(nll[i]), float(ts[i]), e))
    return min(found)


def calibrations(rows: Iterable[Row]) -> dict[Learner, Calibration]:
    """The calibration of every method, data set and seed that has rows; only answered ``dev`` rows with a gold outcome teach."""
    taught: dict[Learner, list[tuple[Mapping[str, float], str]]] = {}
    for row in rows:
        lessons = taught.setdefault(Learner(row.data, row.seed, row.method), [])
        if row.part == "dev" and row.status == "done" and row.belief is not None and row.gold is not None:
            lessons.append((row.belief, row.gold))
    return {who: fit([p for p, _ in some], [y for _, y in some]) for who, some in taught.items()}
