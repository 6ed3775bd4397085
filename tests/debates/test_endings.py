"""Every warning of an ending: one scripted debate that brings it about, and one that differs in a single thing and does not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from helpers import arg, judge, make_case, of, play, result, script, seat, settings, turn
from maci.agents.judges.crit import JudgeAbstained, ScoreRequest
from maci.cases.case import Document
from maci.controller.decisions import Finished, Weighed
from maci.record.replay import replay
from maci.story.words import stop_of

ROUNDS = ("min_rounds=2", "max_rounds=2", "tau_q=0")
THREE = ("min_rounds=3", "max_rounds=3", "tau_q=0")


def says(outcome: str, *spans: str):
    return (arg(f"It is {outcome}, because of {' and '.join(spans)}.", *spans, outcome=outcome),)


def mute(request: ScoreRequest) -> float:
    raise JudgeAbstained("cannot say")


def by_claim(**scores: float) -> Callable[[ScoreRequest], float]:
    return lambda request: scores[request.argument.claim]


def two(x, y, *sets: str, judges=None, **changes) -> Finished:
    """x and y, each a turn for every round (or one turn for all), to the end; the record replays."""
    lines = [each if isinstance(each, list) else [each] for each in (x, y)]
    case = make_case(**changes)
    events = play(seat([script("x", *lines[0]), script("y", *lines[1])], judges, case), settings(*sets), case)
    assert replay(events).complete
    return result(events)


def swinging(then: float) -> Finished:
    """x's scores turn in round 2, or stay where they are."""
    names = {"xa": 0.9, "xb": then, "ya": 0.6, "yb": 0.6}
    x, y = (
        [turn(*p, args=[arg(f"{who}{n}", "e4")]) for n in "aab"] for who, p in (("x", (0.9, 0.1)), ("y", (0.1, 0.9)))
    )
    return two(x, y, "max_rounds=2", judges=[judge(score=by_claim(**names))])


def even(p: float) -> Finished:
    """Both agents hold the same, with the same citation."""
    return two(turn(p, 1 - p), turn(p, 1 - p))


def close(*x: float) -> Finished:
    """y leads with chikungunya by a little and never moves; x holds the given p of dengue, round by round."""
    return two([turn(p, 1 - p) for p in x], turn(0.45, 0.55))


def crossing(x: float) -> Finished:
    """The judges agree all along; the beliefs still move in round 2, so that nothing has stalled for two rounds in round 3."""
    own = [turn(p, 1 - p) for p in (0.1, 0.1, x, x)]
    return two(own, [turn(0.25, 0.75), turn(0.25, 0.75), turn(0.45, 0.55)], "tau_stop=2", "epsilon_d=0.2", "tv_max=0.3")


def supported(*for_chikungunya: str) -> Finished:
    """The answer, dengue, rests on e1."""
    x = turn(0.9, 0.1, args=says("dengue", "e1"))
    return two(x, turn(0.3, 0.7, args=says("chikungunya", *for_chikungunya)), *ROUNDS, judges=[judge(score=0.5)])


def one_falls_silent(*y) -> Finished:
    return two(turn(0.9, 0.1), list(y), *ROUNDS)


def three(z, *sets: str) -> Finished:
    """x and y hold dengue; z opens with zika."""
    agents = [script("x", turn(0.8, 0.1, 0.1)), script("y", turn(0.8, 0.1, 0.1)), script("z", *z)]
    return result(play(seat(agents), settings(*ROUNDS, *sets)))


def grows(*then) -> Finished:
    """Both are in doubt for two rounds, and sure after them."""
    first, last = turn(0.4, 0.3, 0.3, args=[arg("Maybe.", "e4")]), turn(0.98, 0.01, 0.01, args=list(then))
    return two([first, first, first, last], [first, first, first, last], *THREE)


def meets(x: str) -> Finished:
    """y comes over to x, who cites something else than y, or the same."""
    own = [turn(0.9, 0.1, args=[arg("It is.", "e4")]), *2 * [turn(0.9, 0.1, args=[arg("It is.", x)])]]
    other = [turn(0.1, 0.9, args=[arg("No.", "e1")]), *2 * [turn(0.9, 0.1, args=[arg("Yes.", "e1")])]]
    return two(own, other, *ROUNDS)


def restates(*cited: str) -> Finished:
    """x says the same in every round, with the given citation."""
    lines = [turn(0.9, 0.1, args=[arg("It is so.", span)]) for span in ("e4", *cited)]
    return two(lines, turn(0.8, 0.2, args=()), *THREE)


def left(rule: str) -> Finished:
    """Both leave dengue, shown with two spans, for chikungunya, shown with one."""
    first = turn(0.8, 0.2, args=says("dengue", "e1", "e4"))
    return two([first, first, turn(0.1, 0.9, args=says("chikungunya", "e2"))], [first, first, turn(0.1, 0.9, args=())],
               *ROUNDS, f"rollback={rule}")  # fmt: skip


NEW = turn(0.1, 0.1, 0.8, args=())
GOES = turn(0.8, 0.1, 0.1, args=())
BACKED = turn(0.8, 0.1, 0.1, args=says("dengue", "e1"))

ENDINGS: dict[str, tuple[Callable[[], Finished], Callable[[], Finished]]] = {
    "undecided: dengue, chikungunya are equally probable": (lambda: even(0.5), lambda: even(0.8)),
    "undecided: chikungunya, dengue share the lead": (lambda: swinging(0.2), lambda: swinging(0.9)),
    "ended without agreement (plateau)": (lambda: close(0.55), lambda: close(0.40)),
    "ended without agreement (crit_stable)": (lambda: crossing(0.55), lambda: crossing(0.40)),
    "ended without agreement (impasse)": (
        lambda: two(turn(0.95, 0.05), turn(0.05, 0.95), "cl_max=0.5"),
        lambda: two(turn(0.95, 0.05), turn(0.95, 0.05), "cl_max=0.5"),
    ),
    "the dissent is better supported than the answer: admitted evidence S 1.00 for chikungunya, 0.50 for dengue": (
        lambda: supported("e2", "e3"),
        lambda: supported("e2"),
    ),
    "only x ever spoke": (
        lambda: one_falls_silent(RuntimeError("down")),
        lambda: one_falls_silent(turn(0.8, 0.2), RuntimeError("down")),
    ),
    "no judge ever scored an argument": (
        lambda: two(turn(0.9, 0.1), turn(0.8, 0.2), *ROUNDS, judges=[judge(score=mute)]),
        lambda: two(turn(0.9, 0.1), turn(0.8, 0.2), *ROUNDS),
    ),
    "no admitted argument speaks for dengue": (
        lambda: two(turn(0.9, 0.1, args=says("chikungunya", "e2")), turn(0.8, 0.2), *ROUNDS),
        lambda: two(turn(0.9, 0.1, args=says("dengue", "e2")), turn(0.8, 0.2), *ROUNDS),
    ),
    "the evidence hardly fits the case": (
        lambda: two(turn(0.9, 0.1), turn(0.8, 0.2), *ROUNDS, evidence=(Document("Bolts rust.", "manual", "e4"),)),
        lambda: two(turn(0.9, 0.1), turn(0.8, 0.2), *ROUNDS),
    ),
    "harm: went over to the majority without new admitted evidence: z": (
        lambda: three([NEW, GOES]),
        lambda: three([NEW, BACKED]),
    ),
    "harm: grew much surer in round 3 although no new evidence": (
        lambda: grows(arg("Surely.", "e4")),
        lambda: grows(arg("Surely.", "e1")),
    ),
    "harm: hollow consensus": (lambda: meets("e4"), lambda: meets("e1")),
    "harm: z did not move although new evidence": (
        lambda: result(play(seat([script("x", *(turn(0.8, 0.1, 0.1, args=says("dengue", f"e{n}")) for n in (1, 2, 3, 4))),
                                  script("y", turn(0.8, 0.1, 0.1, args=())), script("z", NEW)]),
                            settings(*THREE))),
        lambda: result(play(seat([script("x", turn(0.8, 0.1, 0.1, args=())), script("y", turn(0.8, 0.1, 0.1, args=())),
                                  script("z", NEW)]), settings(*THREE))),
    ),
    "arguments only restate earlier ones": (
        lambda: restates("e4", "e4", "e4"),
        lambda: restates("e4", "e1", "e2"),
    ),
    "rolled back to the round-0 vote": (lambda: left("worse"), lambda: left("off")),
}  # fmt: skip


@pytest.mark.parametrize("warning", ENDINGS)
def test_a_warning_comes_where_it_should_and_nowhere_else(warning: str) -> None:
    brought_about, spared = (make().warnings for make in ENDINGS[warning])
    assert any(warning in note for note in brought_about), brought_about
    assert not any(warning in note for note in spared), spared


def test_a_tie_is_never_a_consensus_and_its_answer_has_a_note() -> None:
    end = even(0.5)
    assert end.stop_reason == "plateau" and end.agreed is False
    assert end.tied == ("dengue", "chikungunya") and end.answer in end.tied
    assert even(0.5 + 1e-7).stop_reason == "plateau"
    assert even(0.5 + 1e-4).stop_reason == "consensus"  # ahead by more than rounding


@pytest.mark.parametrize(("end", "reason"), [(close, "plateau"), (crossing, "crit_stable")])
def test_a_settled_debate_with_unlike_leads_is_no_agreement(end, reason: str) -> None:
    apart, together = end(0.55), end(0.40)
    assert apart.stop_reason == reason and apart.agreed is False
    assert apart.detail.startswith("no agreement: ") and stop_of(apart).startswith("No agreement: ")
    assert together.agreed is True
    assert not together.detail.startswith("no agreement") and not stop_of(together).startswith("No agreement")


def test_the_move_out_of_a_tie_to_the_right_answer_counts() -> None:
    tie, moved = turn(0.5, 0.5), turn(0.85, 0.15)
    events = play(seat([script("x", tie, tie, moved), script("y", tie)]), settings("max_rounds=3"))
    assert not any(weighed.reverted for weighed in of(Weighed, events))
    d = [weighed.mixture["dengue"] for weighed in of(Weighed, events)]
    assert d[0] == 0.5 < d[-1] and all(a <= b for a, b in pairwise(d))
    assert (result(events).answer, result(events).tied) == ("dengue", ())
