"""Which answer is given: the debate's or round 0's, at all or not at this risk, alone or as a set."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from maci.belief import Vector
from maci.controller.caution import Harm, PredictionSet
from maci.controller.dissent import support
from maci.controller.reading import widen
from maci.controller.state import State
from maci.moderator.conformal import prediction_set, threshold

__all__ = ["abstention", "predicted", "restored"]


def restored(state: State, answer: str, found: Harm | None) -> Vector | None:
    """The openings' mixture, where `harm.rollback` prefers it to the debate's; else ``None``.

    The debate has left the openings' answer y⁽⁰⁾ for y, and S(y) < S(y⁽⁰⁾) (``worse``) or S(y) ≤ S(y⁽⁰⁾) (``unearned``).
    """
    rule = state.config.harm.rollback
    if rule == "off" or found is None or found.opening_answer == answer:
        return None
    gap = found.support - found.opening_support
    if gap < 0 or (rule == "unearned" and gap <= 0):
        opening = np.array(list(state.memory.opening.values()))
        return widen(opening, len(state.labels))
    return None


def abstention(state: State, answer: str, p: Mapping[str, float], *, known: bool) -> str | None:
    """Why no answer is given at the risk level asked for; ``None`` where one is.

    Evidence is admitted in rounds: where none was held (`maci ask` stopped before), confidence alone decides.
    """
    asked = state.config.answer
    least = max(
        (x for x in (asked.min_confidence, None if asked.risk is None else 1 - asked.risk) if x is not None),
        default=None,
    )
    if least is None and asked.min_q is None:
        return None
    if least is not None and p[answer] < least - 1e-9:
        raw = "" if known else ", not calibrated"
        digits = next(n for n in range(2, 18) if f"{p[answer]:.{n}f}" != f"{least:.{n}f}" or n == 17)
        return f"p of {answer} is {p[answer]:.{digits}f}{raw}, below {least:.{digits}f}"
    if asked.need_evidence and state.history and not support(state.memory.grounds.values(), answer):
        return f"no admitted evidence speaks for {answer}"
    if asked.min_q is not None:
        q = state.history[-1].q if state.history else None
        if q is None or q < asked.min_q:
            return f"evidence quality Q is {'undefined' if q is None else f'{q:.2f}'}, below {asked.min_q:.2f}"
    return None


def predicted(state: State, p: Mapping[str, float], *, debated: bool) -> tuple[PredictionSet | None, str]:
    """The conformal prediction set of a calibrated debate, and what there is to say about it."""
    known = state.config.calibration
    if not known.conformal:
        return None, ""
    if not debated:
        return None, "no prediction set: what it promises was calibrated on whole debates, and this answer is not one's"
    asked = state.config.answer.coverage
    found = threshold(known.conformal, asked)
    labels, values = list(p), np.array(list(p.values()))
    if found is None:
        everything = tuple(labels[i] for i in np.argsort(-values, kind="stable"))
        note = (
            f"prediction set: {known.conformal_n} calibration cases are too few for a coverage of {asked:g}, so it holds every "
            f"outcome; at most {max(known.conformal, key=float)} can be promised"
        )
        return PredictionSet(outcomes=everything, coverage=1.0, score=known.score, n=known.conformal_n), note
    level, limit = found
    kept = tuple(labels[i] for i in prediction_set(values, limit, known.score))
    return PredictionSet(outcomes=kept, coverage=level, score=known.score, n=known.conformal_n), ""
