"""Habits of debaters, estimated from debates on record.

A *habit* is a number that the simulation needs, such as how often an agent gives up a right answer because the others disagree.
:func:`from_recorded` counts them in debates that models really had, turn by turn (:class:`~maci.lab.datasets.Task`), where nothing
was cited and nobody judged; :func:`from_stories` in records of MACI, where citations, gates and judges are on record too.
What no record tells is *assumed*: its estimate has n = 0 and says so.

:func:`predict` puts habits to the test on recorded debates that they were not estimated from. The openings and the order of speakers
are those on record; only what agents do when they meet another answer is predicted. Predicted and recorded are compared where habits
could be wrong: how many answers are right at the end, how often a right answer was given up, and how often a wrong one.

>>> HABITS["yields_right"].about
'alone with a right answer, gives it up to what others say, without new evidence'
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from maci.calibration.stats.estimate import Estimate, as_json, wilson
from maci.calibration.stats.resampling import bootstrap, mean_of, ratio_of
from maci.errors import InputError
from maci.lab.datasets import TaskItem
from maci.story import Round, Story
from maci.story.model import Statement

SHIPPED = Path(__file__).with_name("habits.json")
"""The habits that the package brings."""
ASSUMED = "assumed"
"""Method of a habit that no record was counted for."""


@dataclass(frozen=True, slots=True)
class Habit:
    """A number that describes how agents or judges behave."""

    about: str
    assumed: float
    """Its value where no record tells it."""


HABITS: Mapping[str, Habit] = {
    "skill": Habit("is right in its opening", 0.6),
    "together": Habit("shares one draw of the opening with all others, so that they are right or wrong together", 0.3),
    "lure": Habit("of two wrong openings, both name the same outcome", 0.5),
    "again": Habit("another sample of the same agent repeats its first", 0.7),
    "sure_right": Habit("probability of its leading outcome when that is right", 0.75),
    "sure_wrong": Habit("probability of its leading outcome when that is wrong", 0.65),
    "yields_right": Habit("alone with a right answer, gives it up to what others say, without new evidence", 0.1),
    "yields_wrong": Habit("alone with a wrong answer, gives it up to what others say, without new evidence", 0.2),
    "backed": Habit("rate of yielding if another agent holds the same answer, as a multiple of that of one alone", 0.3),
    "follows_right": Habit("gives up a right answer when new evidence is shown for another", 0.3),
    "follows_wrong": Habit("gives up a wrong answer when new evidence is shown for another", 0.5),
    "cites": Habit("its citations exist", 0.9),
    "fit_true": Habit("fit q of evidence cited for the true outcome", 0.5),
    "fit_false": Habit("fit q of evidence cited for another outcome", 0.42),
    "fit_spread": Habit("standard deviation of q among arguments for the same kind of outcome", 0.12),
    "crit_true": Habit("CRIT of arguments for the true outcome, mean over judges", 0.62),
    "crit_false": Habit("CRIT of arguments for another outcome, mean over judges", 0.55),
    "crit_spread": Habit("standard deviation of that mean among arguments for the same kind of outcome", 0.1),
    "crit_noise": Habit("standard deviation of one judge's score about the mean of all", 0.1),
}
"""Name → what it says, and what is assumed where no record tells it."""

Habits = Mapping[str, Estimate]
"""Every habit with its interval."""


def assumed() -> dict[str, Estimate]:
    """All habits as they are assumed, before anything was counted."""
    nowhere = float("nan")
    return {name: Estimate(habit.assumed, nowhere, nowhere, 0, ASSUMED) for name, habit in HABITS.items()}


def known(*sources: Habits) -> dict[str, Estimate]:
    """All habits: of each, what the first source that counted it says, or what is assumed."""
    found = assumed()
    for source in reversed(sources):
        found |= {name: each for name, each in source.items() if each.defined and each.n}
    return found


def read(path: Path) -> dict[str, Estimate]:
    """Habits from a file that :func:`write` wrote."""
    try:
        rows = json.loads(path.read_text("utf-8"))["habits"]
        return {name: _estimate(rows[name]) for name in HABITS}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} has no habits: {type(error).__name__}: {error}. `maci lab habits` writes such a file"
        ) from error


def _estimate(row: Mapping[str, Any]) -> Estimate:
    low, high = (float("nan") if row[end] is None else float(row[end]) for end in ("low", "high"))
    return Estimate(float(row["value"]), low, high, int(row["n"]), str(row["how"]), str(row.get("unit", "")))


def write(path: Path, habits: Habits, *, made_by: str) -> None:
    """Habits as JSON, with the command that made them."""
    text = json.dumps({"made_by": made_by, "habits": as_json(dict(habits), 6)}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", "utf-8")


# --- counting -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stand:
    """An agent that stood against others for one turn, and what it did."""

    debate: int
    right: bool
    """Its answer before the turn was right."""
    gave_up: bool
    """It went over to what most of those who disagreed said."""
    evidence: bool
    """Evidence that it had not seen was shown for their answer."""
    others: int
    """How many other agents had an answer."""
    backed: bool
    """One of them had the same."""


def from_recorded(debates: Iterable[TaskItem], openings: Iterable[TaskItem]) -> dict[str, Estimate]:
    """What models that really debated tell: who yielded; nothing was cited there.

    ``openings`` are first answers to all questions, debated or not: where only disagreements were debated, those debates would
    make agents look less alike than they are.
    """
    first = [item for item in openings if item.recorded is not None]
    stands = [stand for number, item in enumerate(debates) for stand in _stands(number, item)]
    said, golds = [_answers(item) for item in first], [str(item.case.gold) for item in first]
    choice = [len(item.case.outcomes.labels) > 2 for item in first]
    return {**_openings(said, golds, choice), **_yielding(stands)}


def _answers(item: TaskItem) -> dict[str, str]:
    assert item.recorded is not None
    return {model: turn.answer for model, turn in item.recorded.openings.items() if turn.answer is not None}


def _stands(number: int, item: TaskItem) -> Iterator[Stand]:
    """The turns of a recorded debate in which an agent that had an answer met another one."""
    now = _answers(item)
    for model, turn in () if item.recorded is None else item.recorded.turns:
        others = [answer for name, answer in now.items() if name != model]
        theirs = _most_common([answer for answer in others if answer != now.get(model)])
        if model in now and theirs is not None and turn.answer is not None:
            yield Stand(
                number, now[model] == item.case.gold, turn.answer == theirs, False, len(others), now[model] in others
            )
        if turn.answer is not None:
            now[model] = turn.answer


def _most_common(answers: Sequence[str]) -> str | None:
    """The answer given most often, the first of equals."""
    return max(answers, key=answers.count) if answers else None


def _openings(
    openings: Sequence[Mapping[str, str]], golds: Sequence[str], choice: Sequence[bool]
) -> dict[str, Estimate]:
    """How often openings are right, and how much agents are right together; ``choice``: there are two wrong outcomes or more."""
    right = [[answer == gold for answer in said.values()] for said, gold in zip(openings, golds, strict=True)]
    wrong = [[answer for answer in said.values() if answer != gold] for said, gold in zip(openings, golds, strict=True)]
    pairs = [pair for said, several in zip(wrong, choice, strict=True) if several for pair in combinations(said, 2)]
    flat = [hit for row in right for hit in row]
    return {
        "skill": wilson(sum(flat), len(flat)),
        "together": _together(right),
        "lure": wilson(sum(a == b for a, b in pairs), len(pairs)),
    }


def _together(right: Sequence[Sequence[bool]]) -> Estimate:
    """The correlation of being right between two agents of one debate, by resampling debates."""
    rows = np.array([row for row in right if len(row) == max(map(len, right), default=0)], float)
    if len(rows) < 2 or rows.shape[1] < 2:
        return Estimate(float("nan"), float("nan"), float("nan"), len(rows), "fewer than two debates of several agents")

    def mean_correlation(drawn: Any) -> Any:
        some = rows[drawn]
        centred = some - some.mean(axis=-2, keepdims=True)
        pairs = list(combinations(range(rows.shape[1]), 2))
        cov = np.mean([(centred[..., a] * centred[..., b]).mean(axis=-1) for a, b in pairs], axis=0)
        spread = np.mean(
            [np.sqrt(centred[..., a].var(axis=-1) * centred[..., b].var(axis=-1)) for a, b in pairs], axis=0
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(spread > 0, cov / spread, np.nan)

    return bootstrap(mean_correlation, len(rows), _rng())


def _yielding(stands: Sequence[Stand]) -> dict[str, Estimate]:
    """How often agents gave up: by whether they were right, were shown new evidence, and stood alone."""
    pressed = [stand for stand in stands if not stand.evidence]
    found = {"backed": _backed([stand for stand in pressed if stand.others > 1])}
    for name, evidence, right in (
        ("yields_right", False, True),
        ("yields_wrong", False, False),
        ("follows_right", True, True),
        ("follows_wrong", True, False),
    ):
        some = [stand for stand in stands if (stand.evidence, stand.right) == (evidence, right)]
        found[name] = _rate(some if evidence else [stand for stand in some if not stand.backed])
    return found


def _backed(stands: Sequence[Stand]) -> Estimate:
    """The rate of giving up of agents that another agreed with over that of agents alone, where both could be."""
    counts: dict[int, np.ndarray] = defaultdict(lambda: np.zeros((2, 2)))
    for stand in stands:
        counts[stand.debate][int(stand.backed)] += (stand.gave_up, 1)
    rows = np.array(list(counts.values())).reshape(-1, 2, 2)

    def ratio(drawn: Any) -> Any:
        total = rows[drawn].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            alone, backed = (total[:, side, 0] / total[:, side, 1] for side in (0, 1))
            return np.where(alone > 0, backed / alone, np.nan)

    if len(rows) < 2:
        return Estimate(float("nan"), float("nan"), float("nan"), 0, "fewer than two debates of three agents or more")
    return replace(bootstrap(ratio, len(rows), _rng()), unit="debates")


def _rate(stands: Sequence[Stand]) -> Estimate:
    """The share that gave up; debates are resampled, because the turns of one are not independent."""
    debates: dict[int, list[bool]] = defaultdict(list)
    for stand in stands:
        debates[stand.debate].append(stand.gave_up)
    if len(debates) < 2 or len({hit for row in debates.values() for hit in row}) < 2:
        return replace(wilson(sum(stand.gave_up for stand in stands), len(stands)), unit="turns")
    hits, turns = [sum(row) for row in debates.values()], [len(row) for row in debates.values()]
    return replace(bootstrap(ratio_of(hits, turns), len(debates), _rng()), unit="debates")


# --- records of MACI ------------------------------------------------------------------------------------------------------------


def from_stories(stories: Iterable[Story]) -> dict[str, Estimate]:
    """What records of MACI tell, of those whose known answer is among the outcomes."""
    told = [(story, gold) for story in stories if (gold := story.gold_among(story.rounds[0].mixture)) is not None]
    openings = [{agent: _lead(belief) for agent, belief in story.rounds[0].beliefs.items()} for story, _ in told]
    golds = [gold for _, gold in told]
    stands = [stand for number, (story, gold) in enumerate(told) for stand in _met(number, story, gold)]
    choice = [len(story.rounds[0].mixture) > 2 for story, _ in told]
    found = {**_openings(openings, golds, choice), **_yielding(stands)}
    tops = [(max(p.values()), _lead(p) == gold) for story, gold in told for p in story.rounds[0].beliefs.values()]
    for name, right in (("sure_right", True), ("sure_wrong", False)):
        found[name] = _mean([top for top, hit in tops if hit is right])
    return {**found, **_arguments(told)}


def _lead(belief: Mapping[str, float]) -> str:
    return max(belief, key=lambda outcome: belief[outcome])


def _met(number: int, story: Story, gold: str) -> Iterator[Stand]:
    """The turns in which an agent met others that led with something else."""
    for before, now in zip(story.closed, story.closed[1:], strict=False):
        shown = _shown(story, before)
        for agent, belief in now.beliefs.items():
            if agent not in before.beliefs or agent in now.abstained:
                continue
            own = _lead(before.beliefs[agent])
            others = [_lead(p) for name, p in before.beliefs.items() if name != agent]
            theirs = _most_common([lead for lead in others if lead != own])
            if theirs is not None:
                yield Stand(
                    number,
                    own == gold,
                    _lead(belief) == theirs,
                    theirs in shown.get(agent, ()),
                    len(others),
                    own in others,
                )


def _shown(story: Story, last: Round) -> dict[str, set[str]]:
    """Agent → outcomes for which others had evidence admitted in this round that it had not met before."""
    earlier = [item for item in story.said.values() if item.round < last.number]
    known = {c.span for item in earlier for c in item.citations}
    own = {
        agent: {c.span for item in last.said if item.agent == agent for c in item.citations} for agent in story.agents
    }
    found: dict[str, set[str]] = defaultdict(set)
    for item in last.admitted:
        new = {c.span for c in item.citations if c.verified} - known
        if item.argument.outcome is not None and not item.argument.against:
            for agent in story.agents:
                if agent != item.agent and new - own[agent]:
                    found[agent].add(item.argument.outcome)
    return found


def _arguments(told: Sequence[tuple[Story, str]]) -> dict[str, Estimate]:
    """What is known of arguments: whether citations exist, and how fit and scores tell truth from error."""
    said = [(item, gold) for story, gold in told for item in story.said.values() if item.admission is not None]
    cited = [c.verified for item, _ in said for c in item.citations if c.verified is not None]
    found = {"cites": wilson(sum(cited), len(cited))}
    sides: dict[bool, list[Statement]] = {True: [], False: []}
    for item, gold in said:
        if item.argument.outcome is not None and not item.argument.against and not item.repeats:
            sides[item.argument.outcome == gold].append(item)
    for what, of in (("fit", _fit), ("crit", _crit)):
        both = {side: [x for item in items if (x := of(item)) is not None] for side, items in sides.items()}
        found |= {f"{what}_true": _mean(both[True]), f"{what}_false": _mean(both[False])}
        found[f"{what}_spread"] = _spread([*_centred(both[True]), *_centred(both[False])])
    scores = [[w.score.composite for w in item.scores if w.score is not None] for item, _ in said]
    return {**found, "crit_noise": _spread([x for row in scores if len(row) > 1 for x in _centred(row)])}


def _fit(item: Statement) -> float | None:
    return None if item.admission is None else item.admission.q


def _crit(item: Statement) -> float | None:
    return None if item.admission is None else item.admission.crit


def _rng() -> np.random.Generator:
    """Every interval is drawn alike, whatever else was estimated before."""
    return np.random.default_rng(0)


def _centred(values: Sequence[float]) -> list[float]:
    return (np.asarray(values, float) - np.mean(values)).tolist() if len(values) > 1 else []


def _mean(values: Sequence[float] | np.ndarray) -> Estimate:
    if len(values) < 2:
        return Estimate(float("nan"), float("nan"), float("nan"), len(values), "fewer than two values")
    return bootstrap(mean_of(values), len(values), _rng())


def _spread(deviations: Sequence[float]) -> Estimate:
    """The root mean square of deviations."""
    if len(deviations) < 2:
        return Estimate(float("nan"), float("nan"), float("nan"), len(deviations), "fewer than two arguments")
    squares = np.square(deviations)
    found = bootstrap(mean_of(squares), len(squares), _rng())
    value, low, high = np.sqrt([found.value, max(found.low, 0.0), found.high])
    return replace(found, value=float(value), low=float(low), high=float(high))


# --- what a debate does to a vote ------------------------------------------------------------------------------------------------


def convergence(items: Iterable[TaskItem]) -> dict[str, Estimate]:
    """Recorded debates of three agents or more: agents and their vote, before the first turn and after the last, in the same debates.

    A tie is right by its share. Agents that come closer to each other can be right more often while their vote is right less often.
    """
    rows = []
    for item in items:
        now, gold = _answers(item), str(item.case.gold)
        if item.recorded is None or len(now) < 3 or not item.recorded.turns:
            continue
        before = list(now.values())
        now |= {model: turn.answer for model, turn in item.recorded.turns if turn.answer is not None}
        after = list(now.values())
        rows.append(
            (*(_right(said, gold) for said in (before, after)), *(_voted(said, gold) for said in (before, after)))
        )
    columns = np.array(rows).reshape(-1, 4).T
    agents, ended, vote, last = columns
    return {
        "agents, openings": _mean(agents),
        "agents, end": _mean(ended),
        "vote, openings": _mean(vote),
        "vote, end": _mean(last),
        "agents, end less openings": _mean(ended - agents),
        "vote, end less openings": _mean(last - vote),
    }


def _right(said: Sequence[str], gold: str) -> float:
    return said.count(gold) / len(said)


def _voted(said: Sequence[str], gold: str) -> float:
    most = max(map(said.count, said))
    leading = {answer for answer in said if said.count(answer) == most}
    return (gold in leading) / len(leading)


# --- predicting ------------------------------------------------------------------------------------------------------------------

DRAWS = 200
"""Simulations of each debate."""
SAID = {
    "right": "answers that are right at the end",
    "spoilt": "turns against others in which a right answer became a wrong one",
    "mended": "turns against others in which a wrong answer became a right one",
}
"""What is predicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One figure of one set of debates."""

    what: str
    predicted: float
    low: float
    high: float
    """95 % of what debates of the predicted habits give, chance included."""
    recorded: Estimate

    @property
    def holds(self) -> bool:
        """Whether the recorded figure is among what was predicted."""
        return self.low <= self.recorded.value <= self.high


@dataclass(slots=True)
class _Tally:
    right: int = 0
    answers: int = 0
    spoilt: int = 0
    from_right: int = 0
    mended: int = 0
    from_wrong: int = 0

    def share(self, what: str) -> tuple[int, int]:
        """Hits and tries."""
        return {
            "right": (self.right, self.answers),
            "spoilt": (self.spoilt, self.from_right),
            "mended": (self.mended, self.from_wrong),
        }[what]


def predict(items: Sequence[TaskItem], habits: Habits, *, seed: int = 0) -> tuple[Prediction, ...]:
    """Recorded figures beside those that debates of these habits give."""
    debates = [item for item in items if item.recorded is not None and item.recorded.turns]
    recorded = _Tally()
    for item in debates:
        _played(item, recorded, None, None)
    rates = {name: habits[name].value for name in ("yields_right", "yields_wrong", "backed")}
    rng = np.random.default_rng(seed)
    drawn: list[_Tally] = []
    for _ in range(DRAWS):
        tally = _Tally()
        for item in debates:
            _played(item, tally, rates, rng)
        drawn.append(tally)
    return tuple(_prediction(what, recorded, drawn) for what in SAID)


def _prediction(what: str, recorded: _Tally, drawn: Sequence[_Tally]) -> Prediction:
    shares = [hits / tries if tries else np.nan for hits, tries in (tally.share(what) for tally in drawn)]
    low, high = np.nanquantile(shares, [0.025, 0.975])
    return Prediction(
        what=what, predicted=float(np.nanmean(shares)), low=float(low), high=float(high),
        recorded=wilson(*recorded.share(what)),
    )  # fmt: skip


def _played(item: TaskItem, tally: _Tally, rates: Mapping[str, float] | None, rng: np.random.Generator | None) -> None:
    """The turns of a debate as they were recorded, or as the habits give them; counted into ``tally``."""
    assert item.recorded is not None
    gold = str(item.case.gold)
    now = {model: turn.answer for model, turn in item.recorded.openings.items() if turn.answer is not None}
    for model, turn in item.recorded.turns:
        others = [answer for name, answer in now.items() if name != model]
        theirs = _most_common([answer for answer in others if answer != now.get(model)])
        said = turn.answer
        if model in now and theirs is not None:
            was_right = now[model] == gold
            if rates is not None and rng is not None and said is not None:
                rate = rates["yields_right" if was_right else "yields_wrong"]
                gave_up = rng.random() < rate * (rates["backed"] if now[model] in others else 1)
                said = theirs if gave_up else now[model]
            if said is not None:
                tally.from_right += was_right
                tally.from_wrong += not was_right
                tally.spoilt += was_right and said != gold
                tally.mended += not was_right and said == gold
        elif rates is not None and model in now:
            said = now[model]
        if said is not None:
            now[model] = said
    tally.answers += len(now)
    tally.right += sum(answer == gold for answer in now.values())
