"""What debate does to those who take part: who goes along, what is spoiled, whether agreement was earned, who speaks first."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from maci.calibration.stats import Estimate
from maci.lab.study.report.arena import Answered, Arena, Entrant, Place
from maci.lab.study.report.course import debaters
from maci.lab.study.report.estimates import Estimates, bounded
from maci.moderator.harm import majority
from maci.render.report import Cell, Column, Line, Table, count, estimate

_TIE = 1e-9


def _lead(p: Mapping[str, float]) -> str | None:
    """The leading outcome; none of equals."""
    top = max(p.values())
    first = [y for y, x in p.items() if x >= top - _TIE]
    return first[0] if len(first) == 1 else None


def _leads(answer: Answered) -> list[dict[str, str | None]]:
    """Of each agent after every round."""
    return [{agent: _lead(p) for agent, p in step.beliefs.items()} for step in answer.row.course]


def _line(entrant: Entrant, arena: Arena, cells: Sequence[Cell]) -> Line:
    return Line(
        name=entrant.name, source="reference" if entrant.name == arena.reference else "ours", cells=tuple(cells)
    )


def harm_table(arena: Arena, estimates: Estimates) -> Table | None:
    """Moves of the agents' leads: to the majority, without evidence, from right to wrong and back."""
    lines = []
    for entrant in debaters(arena):
        places = [place for place in sorted(entrant.answers) if len(entrant.answers[place].row.course) > 1]
        moves, along, blind, watched = [], [], [], []
        spoiled: list[tuple[float, Place]] = []
        mended: list[tuple[float, Place]] = []
        for place in places:
            answer = entrant.answers[place]
            n, went = _moves(answer)
            moves.append(float(n))
            along.append(float(went))
            if answer.row.harm is not None:
                watched.append((answer.row.harm.conformed, answer.row.harm.moves, place))
            for was, now in _flips(answer):
                (spoiled if was else mended).append((float(was != now), place))
        cases = [p.case for p in places]
        blind = [x for x, _, _ in watched]
        cells = [
            count(len(places)),
            estimate(estimates.mean(moves, cases), "mean"),
            estimate(_rate(along, moves, cases, estimates), "share"),
            estimate(_rate(blind, [n for _, n, _ in watched], [p.case for _, _, p in watched], estimates), "share")
            if watched
            else Cell(kind="share"),
            count(int(sum(x for x, _ in spoiled))),
            count(int(sum(x for x, _ in mended))),
            estimate(estimates.share([x for x, _ in spoiled], [p.case for _, p in spoiled]), "share"),
            estimate(estimates.share([x for x, _ in mended], [p.case for _, p in mended]), "share"),
        ]
        lines.append(_line(entrant, arena, cells))
    if not lines:
        return None
    columns = (
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
    )
    return Table(
        key="harm",
        title="Harm: what debate does to the agents",
        columns=columns,
        lines=tuple(lines),
        notes=(
            "Every agent's leading outcome from round to round; intervals by case. The answer itself: `From opening to end`.",
        ),
    )


def _rate(above: Sequence[float], below: Sequence[float], cases: Sequence[Hashable], estimates: Estimates) -> Estimate:
    """Σ above / Σ below, undefined where nothing moved."""
    keep = [i for i, n in enumerate(below) if n]
    return estimates.ratio([above[i] for i in keep], [below[i] for i in keep], [cases[i] for i in keep])


def _moves(answer: Answered) -> tuple[int, int]:
    """(changes of a lead, of them to the former majority's)."""
    moves = went = 0
    rounds = _leads(answer)
    for before, after in pairwise(rounds):
        for agent, now in after.items():
            was = before.get(agent)
            if was is not None and now is not None and was != now:
                moves += 1
                went += now == majority(before, agent)
    return moves, went


def _flips(answer: Answered) -> list[tuple[bool, bool]]:
    """(right before, right now) of every agent and round; nothing where the truth is not known."""
    gold, rounds = answer.row.gold, _leads(answer)
    if gold is None:
        return []
    return [
        (before[agent] == gold, now == gold)
        for before, after in pairwise(rounds)
        for agent, now in after.items()
        if agent in before
    ]


def hollow_table(arena: Arena, estimates: Estimates) -> Table | None:
    """Of the debates that came to agree: how many consensuses are hollow, and which of them are right."""
    lines = []
    for entrant in debaters(arena):
        agreed = []
        for place in sorted(entrant.answers):
            answer = entrant.answers[place]
            rounds = _leads(answer)
            if answer.row.harm is None or answer.row.gold is None or not rounds:
                continue
            if len(set(rounds[0].values())) > 1 and len(set(rounds[-1].values())) == 1:
                agreed.append((answer.row.harm.hollow, float(answer.scored.correct is True), place.case))
        if not agreed:
            continue
        parts = {hollow: [(right, case) for is_, right, case in agreed if is_ is hollow] for hollow in (True, False)}
        shares = [
            estimate(estimates.share([x for x, _ in parts[hollow]], [c for _, c in parts[hollow]]), "share")
            for hollow in (True, False)
        ]
        rate = estimates.share([float(h) for h, _, _ in agreed], [c for _, _, c in agreed])
        lines.append(
            _line(entrant, arena, [count(len(agreed)), estimate(rate, "share"), count(len(parts[True])), *shares])
        )
    if not lines:
        return None
    columns = (
        Column(
            key="agreed",
            title="came to agree",
            about="debates whose openings led with different outcomes, and whose end did not",
        ),
        Column(key="hollow", title="hollow %", better="less", about="D fell while neither O nor Q rose"),
        Column(key="hollow_n", title="hollow"),
        Column(key="acc1:hollow", title="right if hollow %", better="more"),
        Column(key="acc1:solid", title="right if solid %", better="more"),
    )
    return Table(key="hollow", title="Harm: hollow consensus", columns=columns, lines=tuple(lines))


def seat_table(arena: Arena, estimates: Estimates) -> Table | None:
    """Whose opening becomes the answer, by seat."""
    lines = []
    for entrant in debaters(arena):
        found = []
        for place in sorted(entrant.answers):
            answer = entrant.answers[place]
            opening = [y for y in _leads(answer)[0].values() if y is not None] if answer.row.course else []
            if len(set(opening)) > 1 and answer.scored.answer in opening:
                wins = [float(y == answer.scored.answer) for y in opening]
                found.append(((wins[0], wins[-1], math.fsum(wins) / len(wins)), place.case))
        if not found:
            continue
        cases = [case for _, case in found]
        shares = [estimate(estimates.share([wins[i] for wins, _ in found], cases), "share") for i in (0, 1)]
        mean = estimate(estimates.mean([wins[2] for wins, _ in found], cases), "share")
        lines.append(_line(entrant, arena, [count(len(found)), *shares, mean]))
    if not lines:
        return None
    columns = (
        Column(key="n", title="debates", about="whose openings differ and whose answer is one of them"),
        Column(key="first_seat", title="first seat's %", about="share whose answer is what the first seat opened with"),
        Column(key="last_seat", title="last seat's %"),
        Column(key="any_seat", title="mean seat %", about="what a seat wins by chance"),
    )
    return Table(
        key="seats",
        title="Harm: whose opening wins",
        columns=columns,
        lines=tuple(lines),
        notes=(
            "Seats are held by different agents, so a row alone says who is right more often. What order does is the difference "
            "between `sequential` and `maci`, which have the same seats.",
        ),
    )


def rollback_table(arena: Arena, estimates: Estimates) -> Table | None:
    """What falling back to the round-0 vote would have gained, for debates that did not."""
    lines = []
    for entrant in debaters(arena):
        places = [
            p
            for p in sorted(entrant.answers)
            if entrant.answers[p].row.harm is not None
            and entrant.answers[p].row.gold is not None
            and entrant.use != "maci_rollback"
        ]
        if not places:
            continue
        cases = [p.case for p in places]
        cells = [count(len(places)), count(sum(_left(entrant.answers[p]) for p in places))]
        for equal in (False, True):
            gains = [_gain(entrant.answers[p], equal) for p in places]
            back = [g for g in gains if g is not None]
            cells.append(count(len(back)))
            change = estimates.mean_difference(np.array([g or 0.0 for g in gains]), cases)
            cells.append(estimate(bounded(change, len(set(cases)), 1.0), "points"))
        lines.append(_line(entrant, arena, cells))
    if not lines:
        return None
    columns = (
        Column(key="n", title="debates"),
        Column(key="left", title="left round 0", about="answers that are not the round-0 vote"),
        Column(key="rollback", title="worse", about="of them: with less admitted evidence than the round-0 vote"),
        Column(
            key="rollback_gain",
            title="gain",
            better="more",
            about="change of Acc@1 in points if those had been rolled back",
        ),
        Column(key="unearned", title="no better", about="with no more admitted evidence than the round-0 vote"),
        Column(key="unearned_gain", title="gain", better="more"),
    )
    return Table(
        key="rollback",
        title="Harm: falling back to the round-0 vote",
        columns=columns,
        lines=tuple(lines),
        notes=(
            "`harm.rollback` = worse or unearned. Admitted evidence: distinct spans cited for an outcome, each at its best CRIT.",
        ),
    )


def _left(answer: Answered) -> bool:
    return answer.row.harm is not None and answer.row.harm.opening_answer != answer.scored.answer


def _gain(answer: Answered, equal: bool) -> float | None:
    """−1, 0 or 1: what the round-0 vote would have changed; ``None`` where the answer stays."""
    harm = answer.row.harm
    if harm is None or not _left(answer):
        return None
    if harm.support < harm.opening_support or (equal and harm.support <= harm.opening_support):
        return float(harm.opening_answer == answer.row.gold) - float(answer.scored.correct is True)
    return None
