"""Judges against people on public pairs of arguments: ukp_convarg, by topic sides, beside "the longer one wins".

A judge scores each argument by itself: the topic side is the question and the argument is the claim. Reader judges score only what
is cited, so they are given the argument itself as the cited piece, and the other arguments of the side as their library. That form
was chosen on the development topic sides (the argument's sentences as pieces, or the other arguments as the case, did worse there).

*Does the judge add to length?* A logistic model of who wins from both differences (log length, score), fitted on all topic sides
but one and tested on that one, beside the same with length alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from maci.agents.agent import Judge
from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.agents.judges.crit import ScoreRequest
from maci.agents.judges.reader import ReaderJudge, reader_judges
from maci.calibration.stats import Estimate, Indices, estimate, share
from maci.calibration.stats.paired import Rows
from maci.calibration.temperature import fit_logistic
from maci.controller.requests import call_seed
from maci.errors import InputError
from maci.evidence.span import Span
from maci.lab.audit.judges.agreement import Agreement, hit, hits_by_group, pair_accuracy, panel_mean
from maci.lab.audit.judges.asking import JudgeCall, JudgeReplies, ask_all
from maci.lab.datasets import load
from maci.llm.budget import Ledger
from maci.moderator.belief import Vector
from maci.render.report import Line, Report, ReportTable, Section, columns, count, show, text
from maci.story.words import plural

SETS = ("ukp_convarg",)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two arguments for one side, and whether people chose the first."""

    side: str
    first: str
    second: str
    first_wins: bool
    dev: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """One judge (or the panel's mean) against people."""

    judge: str
    accuracy: Estimate
    test: Estimate
    """On the topic sides that no choice was made on."""
    less_length: Estimate
    """Accuracy minus that of "the longer one wins"."""
    with_length: Estimate
    """Length and score together, minus length alone, each fitted on the other topic sides."""
    by_side: dict[str, Estimate]
    """Topic side → accuracy; Wilson, as if its pairs were independent, which they are not quite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanComparison:
    """What came of `maci audit judges --human`."""

    data: str
    pairs: int
    arguments: int
    sides: int
    longer: Estimate
    longer_test: Estimate
    longer_by_side: dict[str, Estimate]
    judges: tuple[Versus, ...]
    abstained: int
    tokens: int
    usd: float
    complete: bool
    notes: tuple[str, ...]


def pairs(data: Path | None, per_topic: int = 0) -> list[Pair]:
    """The pairs of ukp_convarg."""
    task = load("ukp_convarg", data, options={"per_topic": per_topic})
    found = []
    for dev, items in ((True, task.dev), (False, task.test)):
        for item in items:
            first, second = item.case.context.removeprefix("Argument 1: ").split("\n\nArgument 2: ", 1)
            found.append(Pair(str(item.group), first, second, item.case.gold == item.case.outcomes.labels[0], dev))
    return found


def _asks(
    chosen: Sequence[Pair], judges: Sequence[Judge] | None
) -> tuple[list[JudgeCall], list[tuple[str, str]], list[str]]:
    """The questions, the arguments (side, text), and the judges' names."""
    sides: dict[str, dict[str, None]] = {}
    for pair in chosen:
        sides.setdefault(pair.side, {}).update({pair.first: None, pair.second: None})
    asks, texts, names = [], list[tuple[str, str]](), list[str]()
    for side, arguments in sides.items():
        topic = side.replace("-", " ").replace("_", ", ")
        at_hand = judges or reader_judges(list(map(Span.of, arguments)))
        names = [judge.name for judge in at_hand]
        for said in arguments:
            for j, judge in enumerate(at_hand):
                reads = isinstance(judge, ReaderJudge)
                request = ScoreRequest(
                    question=Question(
                        f"How convincing is this argument on: {topic}?", topic if reads else "", "closed", ()
                    ),
                    argument=Argument(claim=said),
                    spans=(Span.of(said),) if reads else (),
                    seed=call_seed("convarg", side, said),
                )
                asks.append(JudgeCall(judge=j, item=len(texts), probe="plain", seat=judge, request=request))
            texts.append((side, said))
    return asks, texts, names


def folds(features: Rows, wins: Vector, groups: Sequence[str]) -> Vector:
    """Of each pair, the prediction (log odds that the first wins) of a logistic model fitted on the other groups; no intercept, so
    that it does not matter which argument is named first. Weights are kept small by a ridge of 1e-3.
    """
    named = np.array(groups)
    found = np.empty(len(wins))
    for group in dict.fromkeys(groups):
        inside = named == group
        x, y = features[~inside], wins[~inside]
        size = x.std(axis=0)
        size[size == 0] = 1.0
        found[inside] = features[inside] / size @ fit_logistic(x / size, y, np.zeros(x.shape[1]), 1e-3 * len(y))
    return found


async def compare(
    chosen: Sequence[Pair],
    judges: Sequence[Judge] | None = None,
    *,
    ledger: Ledger | None = None,
    seed: int = 0,
    resamples: int = 10_000,
    told: Callable[[JudgeReplies, int], object] = lambda asked, of: None,
) -> HumanComparison:
    """Score every argument once and compare; ``judges=None`` are the reader judges."""
    if not chosen:
        raise InputError("there are no pairs to compare")
    asks, texts, names = _asks(chosen, judges)
    asked = await ask_all(asks, ledger or Ledger(), lambda so_far: told(so_far, len(asks)))
    scores = np.full((len(names), len(texts)), np.nan)
    for ask, score in asked.scores(asks):
        scores[ask.judge, ask.item] = score
    if len(names) > 1:
        scores, names = np.vstack([scores, panel_mean(scores)]), [*names, "mean of the judges"]
    number = {text: i for i, text in enumerate(texts)}
    a = np.array([number[pair.side, pair.first] for pair in chosen])
    b = np.array([number[pair.side, pair.second] for pair in chosen])
    size = np.array([float(len(text)) for _, text in texts])
    accuracy = partial(pair_accuracy, seed=seed, resamples=resamples)
    sides, longer = [pair.side for pair in chosen], _hits(size[a] - size[b], chosen)
    return HumanComparison(
        data="ukp_convarg", pairs=len(chosen), arguments=len(texts), sides=len(set(sides)),
        longer=accuracy(longer, sides), longer_test=accuracy(*_on_test(longer, chosen)),
        longer_by_side=_by_side(longer, sides),
        judges=tuple(_versus(name, own, size, a, b, chosen, accuracy) for name, own in zip(names, scores, strict=True)),
        abstained=sum(answer.score is None for answer in asked.answers.values()),
        tokens=asked.usage.tokens, usd=asked.usage.usd, complete=not asked.short,
        notes=asked.ended(len(asks), "arguments were scored"),
    )  # fmt: skip


def _hits(ahead: Vector, chosen: Sequence[Pair]) -> list[float]:
    return [hit(x, 1 if pair.first_wins else -1) for x, pair in zip(ahead.tolist(), chosen, strict=True)]


def _by_side(hits: Sequence[float], sides: Sequence[str]) -> dict[str, Estimate]:
    """Two ties count as one hit; a single one left over counts as none."""
    return {str(side): share(int(above), below, "pairs") for side, (above, below) in hits_by_group(hits, sides).items()}


def _on_test(hits: Sequence[float], chosen: Sequence[Pair]) -> tuple[list[float], list[str]]:
    """The hits on the topic sides that no choice was made on, and these sides."""
    rows = [i for i, pair in enumerate(chosen) if not pair.dev]
    return [hits[i] for i in rows], [chosen[i].side for i in rows]


def _versus(
    judge: str, own: Vector, size: Vector, a: Indices, b: Indices, chosen: Sequence[Pair],
    accuracy: Callable[[Sequence[float], Sequence[str]], Estimate],
) -> Versus:  # fmt: skip
    """``accuracy``: the share of hits, topic sides resampled; of differences, that of two accuracies over the same pairs."""
    rows = np.flatnonzero(np.isfinite(own[a]) & np.isfinite(own[b]))
    kept = [chosen[i] for i in rows.tolist()]
    a, b = a[rows], b[rows]
    sides = [pair.side for pair in kept]
    ahead, length = own[a] - own[b], np.log(size[a]) - np.log(size[b])
    hits, longer = _hits(ahead, kept), _hits(size[a] - size[b], kept)
    added: list[float] = []
    if len(set(sides)) > 1:
        wins = np.array([float(pair.first_wins) for pair in kept])
        both = _hits(folds(np.column_stack([length, ahead]), wins, sides), kept)
        added = [x - y for x, y in zip(both, _hits(folds(length[:, None], wins, sides), kept), strict=True)]
    return Versus(
        judge=judge,
        accuracy=accuracy(hits, sides),
        test=accuracy(*_on_test(hits, kept)),
        less_length=accuracy([x - y for x, y in zip(hits, longer, strict=True)], sides),
        with_length=accuracy(added, sides[: len(added)]),
        by_side=_by_side(hits, sides),
    )


def build_report(found: HumanComparison, about: str) -> Report:
    """Judges against people on a public set."""
    last = found.judges[-1]
    choices = ReportTable(
        key="choices", title="Which of two arguments people found more convincing", first="",
        columns=columns("all topic sides", "test topic sides", "minus length", "length + judge, minus length"),
        lines=(
            Line(name="the longer one wins", cells=(
                estimate(found.longer, "percent"), estimate(found.longer_test, "percent"), text(""), text(""),
            )),
            *(
                Line(name=v.judge, cells=(
                    estimate(v.accuracy, "percent"), estimate(v.test, "percent"), estimate(v.less_length, "points"),
                    estimate(v.with_length, "points"),
                ))
                for v in found.judges
            ),
        ),
        notes=(
            f"{found.pairs:,} pairs of {found.arguments:,} arguments, {found.sides} topic sides, which are resampled. The last "
            "column is fitted on the other topic sides. Length in characters; ties count half.",
        ),
    )  # fmt: skip
    sides = ReportTable(
        key="sides", title=f"By topic side ({last.judge})", first="topic side", columns=columns("pairs", "judge", "longer"),
        lines=tuple(
            Line(name=side, cells=(count(x.n), estimate(x, "percent"), estimate(found.longer_by_side[side], "percent")))
            for side, x in sorted(last.by_side.items())
        ),
    )  # fmt: skip
    section = Section(key=found.data, title=found.data, tables=(choices, sides))
    return Report(
        title="Judges against people", verdict=("Do judges choose as people do?",), notes=found.notes,
        sections=(section,), facts=(("made by", about),),
    )  # fmt: skip


def people_table(found: Sequence[Agreement], human: Estimate, raters: int) -> ReportTable:
    """Judges against people's own scores."""
    among = show(estimate(human)) if human.defined else f"– ({human.how})"
    return ReportTable(
        key="people", title="Against people", first="judge",
        columns=columns("Spearman", "pairs of one case", "AUC", "n"),
        lines=tuple(
            Line(name=a.judge, cells=(
                estimate(a.rho), estimate(a.pairs, "percent"), estimate(a.auc),
                text(f"{plural(a.rho.n, 'argument')}, {plural(a.pairs.n, 'pair')}"),
            ))
            for a in found
        ),
        notes=(f"{plural(raters, 'rater')}; people among themselves: α {among}.",),
    )  # fmt: skip
