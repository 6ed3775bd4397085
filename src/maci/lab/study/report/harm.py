"""What debate does to those who take part: who goes along, what is spoiled, whether agreement was earned, who speaks first."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from maci.calibration.stats import Estimate, estimate
from maci.lab.study.report.arena import Answered, Arena, Entrant
from maci.lab.study.report.course import debaters, flips
from maci.lab.study.report.estimates import Estimates, bounded
from maci.lab.study.report.tables import by_method, table
from maci.render.report import Cell, Column, ReportTable, count


def harm_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """Moves of the agents' leads: to the majority, without evidence, from right to wrong and back."""

    def cells(entrant: Entrant) -> list[Cell]:
        some = entrant.picked(lambda a: len(a.row.course) > 1)
        counted = [_moves(a) for a in some.answers]
        moves, along = ([float(pair[i]) for pair in counted] for i in (0, 1))
        watched = [(h, case) for a, case in zip(some.answers, some.cases, strict=True) if (h := a.row.harm) is not None]
        where = [case for _, case in watched]
        blind = (
            _rate([h.conformed for h, _ in watched], [h.moves for h, _ in watched], where, estimates)
            if watched
            else None
        )
        turns = [(*pair, case) for a, case in zip(some.answers, some.cases, strict=True) for pair in _flips(a)]
        return [
            count(len(some.places)),
            estimate(estimates.mean(moves, some.cases), "mean"),
            estimate(_rate(along, moves, some.cases, estimates), "share"),
            estimate(blind, "share"),
            *flips(turns, estimates),
        ]

    return table(
        "harm",
        "Harm: what debate does to the agents",
        (
            Column(key="n", title="debates", about="that had a round after the openings"),
            Column(key="moves", title="moves", about="changes of an agent's leading outcome, for each debate"),
            Column(key="to_majority", title="to the majority %", about="of the moves: to what most others led with"),
            Column(
                key="conformity",
                title="conformity %",
                better="less",
                about="of the moves: to the majority, and no new admitted evidence for it; only where evidence is admitted",
            ),
            Column(key="agents_harmed", title="right → wrong", about="moves of an agent, round by round"),
            Column(key="agents_mended", title="wrong → right"),
            Column(key="agents_harmed_share", title="harmed %", better="less", about="of the turns after a right one"),
            Column(key="agents_mended_share", title="mended %", better="more", about="of the turns after a wrong one"),
        ),
        by_method(arena, cells, debaters(arena)),
        "Every agent's leading outcome from round to round; intervals by case. The answer itself: `From opening to end`.",
    )


def _rate(above: Sequence[float], below: Sequence[float], cases: Sequence[Hashable], estimates: Estimates) -> Estimate:
    """Σ above / Σ below, undefined where nothing moved."""
    keep = [i for i, n in enumerate(below) if n]
    return estimates.ratio([above[i] for i in keep], [below[i] for i in keep], [cases[i] for i in keep])


def _moves(answer: Answered) -> tuple[int, int]:
    """(changes of a lead, of them to the former majority's)."""
    return len(answer.moves), sum(answer.moves)


def _flips(answer: Answered) -> list[tuple[bool, bool]]:
    """(right before, right now) of every agent and round; nothing where the truth is not known."""
    gold = answer.row.gold
    return [] if gold is None else [(was == gold, now == gold) for was, now in answer.turns]


def hollow_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """Of the debates that came to agree: how many consensuses are hollow, and which of them are right."""

    def cells(entrant: Entrant) -> list[Cell] | None:
        some = entrant.picked(lambda a: a.row.harm is not None and a.row.gold is not None and _came_to_agree(a))
        agreed = [
            (a.row.harm is not None and a.row.harm.hollow, a.scored.correct is True, case)
            for a, case in zip(some.answers, some.cases, strict=True)
        ]
        parts = [[(right, case) for is_, right, case in agreed if is_ is hollow] for hollow in (True, False)]
        shares = [estimate(estimates.share_of(part), "share") for part in parts]
        rate = estimate(estimates.share_of([(hollow, case) for hollow, _, case in agreed]), "share")
        return [count(len(agreed)), rate, count(len(parts[0])), *shares] if agreed else None

    return table(
        "hollow",
        "Harm: hollow consensus",
        (
            Column(
                key="agreed",
                title="came to agree",
                about="debates whose openings led with different outcomes, and whose end did not",
            ),
            Column(key="hollow", title="hollow %", better="less", about="D fell while neither O nor Q rose"),
            Column(key="hollow_n", title="hollow"),
            Column(key="acc1:hollow", title="right if hollow %", better="more"),
            Column(key="acc1:solid", title="right if solid %", better="more"),
        ),
        by_method(arena, cells, debaters(arena)),
    )


def _came_to_agree(answer: Answered) -> bool:
    rounds = answer.leads
    return bool(rounds) and len(set(rounds[0].values())) > 1 and len(set(rounds[-1].values())) == 1


def seat_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """Whose opening becomes the answer, by seat."""

    def cells(entrant: Entrant) -> list[Cell] | None:
        found = [
            ([float(y == answer.scored.answer) for y in opening], place.case)
            for place, answer in sorted(entrant.answers.items(), key=lambda pair: pair[0])
            if answer.row.course
            and len(set(opening := [y for y in answer.leads[0].values() if y is not None])) > 1
            and answer.scored.answer in opening
        ]
        if not found:
            return None
        ends = [estimate(estimates.share_of([(wins[i], case) for wins, case in found]), "share") for i in (0, -1)]
        mean = estimates.mean([math.fsum(wins) / len(wins) for wins, _ in found], [case for _, case in found])
        return [count(len(found)), *ends, estimate(mean, "share")]

    return table(
        "seats",
        "Harm: whose opening wins",
        (
            Column(key="n", title="debates", about="whose openings differ and whose answer is one of them"),
            Column(
                key="first_seat", title="first seat's %", about="share whose answer is what the first seat opened with"
            ),
            Column(key="last_seat", title="last seat's %"),
            Column(key="any_seat", title="mean seat %", about="what a seat wins by chance"),
        ),
        by_method(arena, cells, debaters(arena)),
        (
            "Seats are held by different agents, so a row alone says who is right more often. What order does is the difference "
            "between `sequential` and `maci`, which have the same seats."
        ),
    )


def rollback_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """What falling back to the vote of the openings would have gained, for debates that did not."""

    def cells(entrant: Entrant) -> list[Cell] | None:
        some = entrant.picked(lambda a: a.row.harm is not None and a.row.gold is not None)
        if entrant.use == "maci_rollback" or not some.places:
            return None
        found = [count(len(some.places)), count(sum(map(_left, some.answers)))]
        for equal in (False, True):
            gains = [_gain(answer, equal) for answer in some.answers]
            change = estimates.mean_difference(np.array([g or 0.0 for g in gains]), some.cases)
            gain = estimate(bounded(change, len(set(some.cases)), 1.0), "points")
            found += [count(sum(g is not None for g in gains)), gain]
        return found

    return table(
        "rollback",
        "Harm: falling back to the vote of the openings",
        (
            Column(key="n", title="debates"),
            Column(key="left", title="left it", about="answers that are not the vote of the openings"),
            Column(
                key="rollback",
                title="worse",
                about="of them: with less admitted evidence than the vote of the openings",
            ),
            Column(
                key="rollback_gain",
                title="gain",
                better="more",
                about="change of Acc@1 in points if those had been rolled back",
            ),
            Column(
                key="unearned", title="no better", about="with no more admitted evidence than the vote of the openings"
            ),
            Column(key="unearned_gain", title="gain", better="more"),
        ),
        by_method(arena, cells, debaters(arena)),
        "`harm.rollback` = worse or unearned. Admitted evidence: distinct spans cited for an outcome, each at its best CRIT.",
    )


def _left(answer: Answered) -> bool:
    return answer.row.harm is not None and answer.row.harm.opening_answer != answer.scored.answer


def _gain(answer: Answered, equal: bool) -> float | None:
    """−1, 0 or 1: what the vote of the openings would have changed; ``None`` where the answer stays."""
    harm = answer.row.harm
    if harm is None or not _left(answer):
        return None
    if harm.support < harm.opening_support or (equal and harm.support <= harm.opening_support):
        return float(harm.opening_answer == answer.row.gold) - float(answer.scored.correct is True)
    return None
