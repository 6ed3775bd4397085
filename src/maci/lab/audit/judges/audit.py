"""The audit itself: plan what is asked, ask, and work out every figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maci import __version__
from maci.agents.agent import Judge
from maci.agents.judges.crit import shuffled
from maci.calibration.stats import RESAMPLES, Estimate, Sampling, share
from maci.controller.inputs import Seat
from maci.errors import InputError
from maci.lab.audit.judges import agreement, swaps
from maci.lab.audit.judges.agreement import Ratings, panel_mean
from maci.lab.audit.judges.asking import JudgeCall, JudgeReplies, ask_all
from maci.lab.audit.judges.items import PROBES, Docket, Subject, again
from maci.lab.audit.judges.report import JudgeCheck, Level, findings, verdict
from maci.lab.audit.judges.swaps import JudgeSwap, OrderSwap, PairJudge, Pairs, order_swap
from maci.llm.budget import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """How much is asked."""

    probes: tuple[str, ...] = tuple(PROBES)
    probed: int = 50
    """Arguments of each probe (the paper's order swap has 50)."""
    repeats: int = 2
    """How often each of them is asked again."""
    seed: int = 0
    resamples: int = RESAMPLES


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFigures:
    """What was found of one judge; effects are in points of CRIT."""

    name: str
    family: str
    mean: float | None
    """Of its plain scores."""
    spread: Estimate
    """Standard deviation of its plain scores: how far it tells arguments apart."""
    constant: bool
    """It gave every argument the same score."""
    abstained: Estimate
    with_rest: Estimate
    alpha_without: float | None
    order: OrderSwap
    """Pieces and reasons turned round."""
    batch: OrderSwap
    """The batch asked backwards."""
    position: Estimate
    pairs: Pairs | None
    """For a judge that compares."""
    own_family: Estimate
    length: Estimate
    padded: Estimate
    signed: Estimate
    signed_by_family: Mapping[str, Estimate]
    within: Estimate
    noise: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of `maci audit judges`."""

    verdict: Level
    findings: tuple[JudgeCheck, ...]
    arguments: int
    debates: int
    cases: int
    alpha: Estimate
    alpha_levelled: Estimate
    """α after every judge's mean is set to the common one: what is left when judges differ in level only."""
    pearson: Estimate
    spearman: Estimate
    swap_forgiven: Estimate
    swap_counted: Estimate
    swaps: tuple[JudgeSwap, ...]
    order: OrderSwap
    """Of the panel's mean."""
    judges: tuple[JudgeFigures, ...]
    notes: tuple[str, ...]
    calls: int
    tokens: int
    usd: float
    complete: bool
    """Everything planned was asked; else the ceiling came first."""
    seed: int
    resamples: int
    version: str = __version__


def planned(
    batches: Sequence[Docket], seats: Callable[[Docket], Sequence[Judge]], plan: ProbePlan
) -> tuple[list[JudgeCall], list[Subject], NDArray[np.float64]]:
    """Every question in the order it is put, the items, and the place of each item in its batch (judges, items).

    The plain scores come first: if the ceiling ends the work, they are there.
    """
    items = [item for batch in batches for item in batch.items]
    number = {item.id: i for i, item in enumerate(items)}
    seated = [list(seats(batch)) for batch in batches]
    place = np.full((len(seated[0]), len(items)), np.nan)
    asks: dict[str, list[JudgeCall]] = {"plain": [], "batch": [], "further": []}
    probed = set(shuffled([item.id for item in items], seed=plan.seed, round=0, slot="probes")[: plan.probed])
    for batch, judges in zip(batches, seated, strict=True):
        by_id = {item.id: item for item in batch.items}
        for j, judge in enumerate(judges):
            order = [by_id[i] for i in shuffled(list(by_id), seed=plan.seed, round=0, slot=judge.name)]
            put = partial(JudgeCall, judge=j, seat=judge)
            asks["plain"] += [put(item=number[x.id], probe="plain", request=x.request) for x in order]
            if not judge.stateless and "batch" in plan.probes:
                asks["batch"] += [put(item=number[x.id], probe="batch", request=x.request) for x in order[::-1]]
            if not judge.stateless and len(order) > 1:
                place[j, [number[x.id] for x in order]] = np.arange(len(order)) / (len(order) - 1)
            for x in order:
                if x.id in probed:
                    asks["further"] += [put(item=number[x.id], **how) for how in _probes(x, plan)]
    return [call for calls in asks.values() for call in calls], items, place


def _probes(item: Subject, plan: ProbePlan) -> Iterator[dict[str, Any]]:
    """How an argument is asked again, one at a time; the order of a batch is no question of its own."""
    for probe in plan.probes:
        if probe != "batch" and (request := PROBES[probe](item)) is not None:
            yield {"probe": probe, "request": request}
    for sample in range(1, plan.repeats + 1):
        yield {"probe": "again", "sample": sample, "request": again(item, sample)}


def rated(
    asks: Sequence[JudgeCall],
    asked: JudgeReplies,
    items: Sequence[Subject],
    judges: Sequence[Seat],
    place: NDArray[np.float64],
) -> Ratings:
    """Replies as a table."""
    found = {(ask.probe, ask.sample): np.full(place.shape, np.nan) for ask in asks}
    for ask, score in asked.scores(asks):
        found[ask.probe, ask.sample][ask.judge, ask.item] = score
    return Ratings(
        judges=tuple(judges),
        items=tuple(items),
        plain=found.get(("plain", 0), np.full(place.shape, np.nan)),
        variants={probe: table for (probe, sample), table in found.items() if probe in PROBES},
        again=tuple(table for (probe, _), table in sorted(found.items(), key=lambda e: e[0]) if probe == "again"),
        place=place,
    )


def figures(ratings: Ratings, plan: ProbePlan, pairs: Mapping[str, Pairs] | None = None) -> Audit:
    """Every figure that scores alone decide."""
    sampling = ratings.sampling(plan.seed, plan.resamples)
    plain, turned = ratings.plain, ratings.variant("turned")
    both = np.where(np.isfinite(turned), plain, np.nan)
    result = Audit(
        verdict="unknown",
        findings=(),
        arguments=int(np.isfinite(plain).any(axis=0).sum()),
        debates=len({item.debate for item in ratings.items}),
        cases=len({item.case for item in ratings.items}),
        alpha=agreement.alpha(plain, sampling),
        alpha_levelled=agreement.alpha(agreement.levelled(plain), sampling),
        pearson=agreement.pairwise(plain, sampling, by_rank=False),
        spearman=agreement.pairwise(plain, sampling, by_rank=True),
        swap_forgiven=swaps.swap_rate(ratings, sampling, counted=False),
        swap_counted=swaps.swap_rate(ratings, sampling, counted=True),
        swaps=swaps.judge_swap(ratings),
        order=order_swap(panel_mean(both), panel_mean(turned), sampling),
        judges=tuple(
            _figures(ratings, j, sampling, (pairs or {}).get(seat.name)) for j, seat in enumerate(ratings.judges)
        ),
        notes=(),
        calls=0,
        tokens=0,
        usd=0.0,
        complete=True,
        seed=plan.seed,
        resamples=plan.resamples,
    )
    checks = findings(result)
    return replace(result, findings=checks, verdict=verdict(checks))


def _figures(ratings: Ratings, j: int, sampling: Sampling, pairs: Pairs | None) -> JudgeFigures:
    plain, seat = ratings.plain, ratings.judges[j]
    own = plain[j][np.isfinite(plain[j])]
    rest = np.delete(plain, j, axis=0)
    without = agreement.alpha_of(rest)(np.arange(plain.shape[1])[None])[0] if len(rest) > 1 else np.nan
    return JudgeFigures(
        name=seat.name,
        family=seat.family,
        mean=float(own.mean()) if len(own) else None,
        spread=agreement.spread(plain[j], sampling),
        constant=len(own) > 1 and agreement.constant(own),
        abstained=share(plain.shape[1] - len(own), plain.shape[1], "arguments"),
        with_rest=agreement.with_rest(plain, j, sampling),
        alpha_without=float(without) if np.isfinite(without) else None,
        order=order_swap(plain[j], ratings.variant("turned")[j], sampling),
        batch=order_swap(plain[j], ratings.variant("batch")[j], sampling),
        position=swaps.position(ratings, j, sampling),
        pairs=pairs,
        own_family=swaps.own_family(ratings, j, sampling),
        length=swaps.length(ratings, j, sampling),
        padded=swaps.shift(plain[j], ratings.variant("padded")[j], sampling),
        signed=swaps.shift(plain[j], ratings.variant("signed")[j], sampling),
        signed_by_family=swaps.shift_by_family(ratings, j, "signed", sampling) if "signed" in ratings.variants else {},
        within=swaps.within(ratings, j, sampling),
        noise=swaps.noise(ratings, j, sampling),
    )


@dataclass(slots=True)
class AuditRun:
    """An audit with all it rests on."""

    audit: Audit
    asks: list[JudgeCall]
    asked: JudgeReplies
    ratings: Ratings


async def audit(
    batches: Sequence[Docket],
    seats: Callable[[Docket], Sequence[Judge]],
    plan: ProbePlan | None = None,
    *,
    ledger: Ledger | None = None,
    notes: Sequence[str] = (),
    told: Callable[[JudgeReplies, int], object] = lambda asked, of: None,
) -> AuditRun:
    """Ask and work out. ``seats`` gives the judges of a batch, the same number and names for every batch."""
    own = plan or ProbePlan()
    asks, items, place = planned(batches, seats, own)
    judges = [Seat(judge.name, judge.family) for judge in seats(batches[0])]
    if twice := next((name for name, n in Counter(seat.name for seat in judges).items() if n > 1), None):
        raise InputError(f"two judges are named {twice!r}, and could not be told apart: give each a `name` of its own")
    asked = await ask_all(asks, ledger or Ledger(), lambda so_far: told(so_far, len(asks)))
    compared, comparing = swaps.pairs_of(batches, own.probed), Ledger(parent=ledger)
    pairs = {
        judge.name: await swaps.presented_both_ways(
            judge, compared, ledger=comparing, seed=own.seed, resamples=own.resamples
        )
        for judge in seats(batches[0])
        if isinstance(judge, PairJudge)
    }
    ratings = rated(asks, asked, items, judges, place)
    said = (*notes, *asked.ended(len(asks), "questions were put"))
    if comparing.reached is not None:
        said = (*said, "The ceiling came before all pairs were compared both ways.")
    usage = asked.usage + comparing.spent
    result = replace(
        figures(ratings, own, pairs),
        notes=said,
        calls=len(asked.answers),
        tokens=usage.tokens,
        usd=usage.usd,
        complete=not asked.short and comparing.reached is None,
    )
    return AuditRun(result, asks, asked, ratings)
