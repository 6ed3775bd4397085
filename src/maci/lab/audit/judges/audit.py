"""The audit itself: plan what is asked, ask, and work out every figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maci import __version__
from maci.agents.agent import Judge
from maci.agents.judges.panel import shuffled
from maci.calibration.stats import RESAMPLES, Estimate, Sampling, share
from maci.controller.inputs import Seat
from maci.errors import InputError
from maci.lab.audit.judges import agreement
from maci.lab.audit.judges import swaps as bias
from maci.lab.audit.judges.asking import Ask, Asked, ask_all
from maci.lab.audit.judges.findings import Finding, Level, findings, verdict
from maci.lab.audit.judges.items import Batch, Item
from maci.lab.audit.judges.probes import PROBES, Ratings, Subject, again, panel_mean
from maci.lab.audit.judges.swaps import (
    JudgeSwap,
    OrderSwap,
    PairJudge,
    Pairs,
    judge_swap,
    order_swap,
    pairs_of,
    presented_both_ways,
    swap_rate,
)
from maci.llm.budget import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
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
    findings: tuple[Finding, ...]
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
    batches: Sequence[Batch], seats: Callable[[Batch], Sequence[Judge]], plan: Plan
) -> tuple[list[Ask], list[Item], NDArray[np.float64]]:
    """Every question in the order it is put, the items, and the place of each item in its batch (judges, items).

    The plain scores come first: if the ceiling ends the work, they are there.
    """
    items = [item for batch in batches for item in batch.items]
    number = {item.id: i for i, item in enumerate(items)}
    seated = [list(seats(batch)) for batch in batches]
    place = np.full((len(seated[0]), len(items)), np.nan)
    plain: list[Ask] = []
    back: list[Ask] = []
    further: list[Ask] = []
    probed = set(shuffled([item.id for item in items], seed=plan.seed, round=0, slot="probes")[: plan.probed])
    for batch, judges in zip(batches, seated, strict=True):
        by_id = {item.id: item for item in batch.items}
        for j, judge in enumerate(judges):
            order = shuffled(list(by_id), seed=plan.seed, round=0, slot=judge.name)
            in_turn = not judge.stateless
            for turn, identity in enumerate(order):
                item, i = by_id[identity], number[identity]
                plain.append(Ask(judge=j, item=i, probe="plain", seat=judge, request=item.request))
                if in_turn and len(order) > 1:
                    place[j, i] = turn / (len(order) - 1)
            if in_turn and "batch" in plan.probes:
                back += [
                    Ask(judge=j, item=number[i], probe="batch", seat=judge, request=by_id[i].request)
                    for i in order[::-1]
                ]
            further += [
                ask
                for identity in order
                if identity in probed
                for ask in _further(j, judge, by_id[identity], number, plan)
            ]
    return [*plain, *back, *further], items, place


def _further(j: int, judge: Judge, item: Item, number: Mapping[str, int], plan: Plan) -> list[Ask]:
    asks = []
    for probe in plan.probes:
        request = None if probe == "batch" else PROBES[probe](item)
        if request is not None:
            asks.append(Ask(judge=j, item=number[item.id], probe=probe, seat=judge, request=request))
    for sample in range(1, plan.repeats + 1):
        asks.append(
            Ask(judge=j, item=number[item.id], probe="again", sample=sample, seat=judge, request=again(item, sample))
        )
    return asks


def rated(
    asks: Sequence[Ask],
    asked: Asked,
    items: Sequence[Item],
    judges: Sequence[Seat],
    place: NDArray[np.float64],
) -> Ratings:
    """Answers as a table."""
    shape = (len(judges), len(items))
    found: dict[tuple[str, int], NDArray[np.float64]] = {}
    for number, ask in enumerate(asks):
        table = found.setdefault((ask.probe, ask.sample), np.full(shape, np.nan))
        answer = asked.answers.get(number)
        if answer is not None and answer.score is not None:
            table[ask.judge, ask.item] = answer.score.composite
    return Ratings(
        judges=tuple(judges),
        items=tuple(
            Subject(id=i.id, debate=i.debate, case=i.case, agent=i.agent, family=i.family, words=i.words) for i in items
        ),
        plain=found.get(("plain", 0), np.full(shape, np.nan)),
        variants={probe: table for (probe, sample), table in found.items() if probe in PROBES},
        again=tuple(table for (probe, _), table in sorted(found.items(), key=lambda e: e[0]) if probe == "again"),
        place=place,
    )


def figures(ratings: Ratings, plan: Plan, pairs: Mapping[str, Pairs] | None = None) -> Audit:
    """Every figure that scores alone decide."""
    sampling = ratings.sampling(plan.seed, plan.resamples)
    plain, turned = ratings.plain, _variant(ratings, "turned")
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
        swap_forgiven=swap_rate(ratings, sampling, counted=False),
        swap_counted=swap_rate(ratings, sampling, counted=True),
        swaps=judge_swap(ratings),
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


def _variant(ratings: Ratings, probe: str) -> NDArray[np.float64]:
    """The scores of a probe; all undefined where it was not asked."""
    return ratings.variants.get(probe, np.full(ratings.plain.shape, np.nan))


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
        constant=bool(len(own) > 1 and np.ptp(own) < 1e-9),
        abstained=share(plain.shape[1] - len(own), plain.shape[1], "arguments"),
        with_rest=agreement.with_rest(plain, j, sampling),
        alpha_without=float(without) if np.isfinite(without) else None,
        order=order_swap(plain[j], _variant(ratings, "turned")[j], sampling),
        batch=order_swap(plain[j], _variant(ratings, "batch")[j], sampling),
        position=bias.position(ratings, j, sampling),
        pairs=pairs,
        own_family=bias.own_family(ratings, j, sampling),
        length=bias.length(ratings, j, sampling),
        padded=bias.shift(plain[j], _variant(ratings, "padded")[j], sampling),
        signed=bias.shift(plain[j], _variant(ratings, "signed")[j], sampling),
        signed_by_family=bias.shift_by_family(ratings, j, "signed", sampling) if "signed" in ratings.variants else {},
        within=bias.within(ratings, j, sampling),
        noise=bias.noise(ratings, j, sampling),
    )


@dataclass(slots=True)
class Done:
    """An audit with all it rests on."""

    audit: Audit
    asks: list[Ask]
    asked: Asked
    items: list[Item]


async def audit(
    batches: Sequence[Batch],
    seats: Callable[[Batch], Sequence[Judge]],
    plan: Plan | None = None,
    *,
    ledger: Ledger | None = None,
    notes: Sequence[str] = (),
    told: Callable[[Asked, int], object] = lambda asked, of: None,
) -> Done:
    """Ask and work out. ``seats`` gives the judges of a batch, the same number and names for every batch."""
    own = plan or Plan()
    asks, items, place = planned(batches, seats, own)
    judges = [Seat(judge.name, judge.family) for judge in seats(batches[0])]
    if again := next((name for name, n in Counter(seat.name for seat in judges).items() if n > 1), None):
        raise InputError(f"two judges are named {again!r}, and could not be told apart: give each a `name` of its own")
    asked = await ask_all(asks, ledger or Ledger(), lambda so_far: told(so_far, len(asks)))
    comparing = Ledger(parent=ledger)
    pairs = {
        judge.name: await presented_both_ways(
            judge, pairs_of(batches, own.probed), ledger=comparing, seed=own.seed, resamples=own.resamples
        )
        for judge in seats(batches[0])
        if isinstance(judge, PairJudge)
    }
    found = figures(rated(asks, asked, items, judges, place), own, pairs)
    short = (f"The ceiling came first: {len(asked.answers):,} of {len(asks):,} questions were put ({asked.short}).",)
    said = (*notes, *(short if asked.short else ()))
    if comparing.reached is not None:
        said = (*said, "The ceiling came before all pairs were compared both ways.")
    usage = asked.usage + comparing.spent
    result = replace(
        found,
        notes=said,
        calls=len(asked.answers),
        tokens=usage.tokens,
        usd=usage.usd,
        complete=not asked.short and comparing.reached is None,
    )
    return Done(result, asks, asked, items)
