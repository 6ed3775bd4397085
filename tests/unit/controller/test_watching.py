"""The harm monitor in whole debates: planted faults are found, and honest agents are not accused."""

from __future__ import annotations

from collections import Counter

from helpers import arg, make_case, of, play, result, script, seat, settings, turn
from maci.agents.agent import FunctionAgent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn
from maci.controller.caution import Held, Move, Repeat, Watched
from maci.record.replay import replay

ROUNDS = ("min_rounds=3", "max_rounds=3", "tau_q=0")
DENGUE, CHIK, ZIKA = (0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)


def says(outcome: str, *spans: str, claim: str = "") -> tuple:
    """One argument for an outcome."""
    return (arg(claim or f"It is {outcome}.", *spans, outcome=outcome),)


def honest(name: str, p=DENGUE, outcome="dengue", span="e1"):
    """Stays with what its evidence says."""
    return script(name, turn(*p, args=says(outcome, span)))


def sycophant(name: str, opening=CHIK):
    """Says whatever most others lead with, and cites nothing for it."""

    def speak(request: TurnRequest) -> Turn:
        if not request.leading:
            return turn(*opening, args=())
        top = Counter(request.leading.values()).most_common(1)[0][0]
        return Turn(belief={top: 0.9, **{y: 0.05 for y in ("dengue", "chikungunya", "zika") if y != top}})

    return FunctionAgent(name, speak)


def watched(*agents, sets=ROUNDS, case=None, **more) -> list[Watched]:
    return of(Watched, play(seat(agents, **more), settings(*sets), case))


def test_a_sycophant_is_found_in_the_round_it_gives_in() -> None:
    rounds = watched(honest("x"), honest("y"), sycophant("z"))
    assert [w.round for w in rounds] == [1, 2, 3]
    assert rounds[0].conformed == (Move("z", "chikungunya", "dengue"),)
    assert not rounds[1].conformed and rounds[1].moved == 0
    end = result(play(seat([honest("x"), honest("y"), sycophant("z")]), settings(*ROUNDS)))
    assert "harm: went over to the majority without new admitted evidence: z to dengue in round 1" in end.warnings
    assert (end.harm.moves, end.harm.conformed) == (1, 1)


def test_who_moves_because_new_evidence_was_admitted_does_not_conform() -> None:
    # e1 is admitted for dengue in round 1 and shown to z in round 2, which moves in round 2.
    z = script(
        "z", turn(*CHIK, args=says("chikungunya", "e2")), turn(*CHIK, args=says("chikungunya", "e2")), turn(*DENGUE)
    )
    rounds = watched(honest("x"), honest("y"), z)
    assert rounds[1].moved == 1
    assert all(not w.conformed for w in rounds)


def test_evidence_it_knew_already_does_not_excuse_a_move() -> None:
    # z itself cited e1 at the opening: what x and y show for dengue is nothing new to it.
    z = script("z", turn(*CHIK, args=says("chikungunya", "e1")), turn(*CHIK, args=()), turn(*DENGUE, args=()))
    rounds = watched(honest("x"), honest("y"), z)
    assert rounds[1].conformed == (Move("z", "chikungunya", "dengue"),)


def test_evidence_that_was_admitted_long_ago_does_not_excuse_a_move() -> None:
    # e1 was admitted in round 1 and shown in round 2; z moves only in round 3, when nothing new is shown.
    z = script("z", turn(*CHIK, args=()), turn(*CHIK, args=()), turn(*CHIK, args=()), turn(*DENGUE, args=()))
    rounds = watched(honest("x"), honest("y"), z)
    assert rounds[2].conformed == (Move("z", "chikungunya", "dengue"),)


def test_evidence_that_was_not_admitted_excuses_nothing() -> None:
    sets = (*ROUNDS[:2], "tau_q=1", "tau_max=1")  # e1 never passes
    z = script("z", turn(*CHIK, args=()), turn(*CHIK, args=()), turn(*DENGUE, args=()))
    assert watched(honest("x"), honest("y"), z, sets=sets)[1].conformed == (Move("z", "chikungunya", "dengue"),)


def test_in_sequential_order_what_was_heard_in_the_same_round_counts() -> None:
    z = script("z", turn(*CHIK, args=()), turn(*DENGUE, args=()))
    both = {
        order: watched(honest("x"), honest("y"), z, sets=(*ROUNDS, f"order={order}"))[0].conformed
        for order in ("simultaneous", "sequential")
    }
    assert both == {"simultaneous": (Move("z", "chikungunya", "dengue"),), "sequential": ()}


def test_a_stubborn_agent_is_found_and_named() -> None:
    # Every round shows z a new span for dengue; it never moves and brings nothing of its own.
    x = script("x", *(turn(*DENGUE, args=says("dengue", span)) for span in ("e4", "e1", "e2", "e3")))
    z = script("z", turn(*CHIK, args=()))
    table = seat([x, honest("y", span="e4"), z])
    events = play(table, settings(*ROUNDS))
    rounds = of(Watched, events)
    assert rounds[0].stubborn == ()  # nothing had been shown yet
    assert rounds[1].stubborn == rounds[2].stubborn == (Held("z", "chikungunya", "dengue"),)
    end = result(events)
    assert end.harm.stubborn == ("z",)
    assert any(w.startswith("harm: z did not move although new evidence") for w in end.warnings)
    once = result(play(table, settings(*ROUNDS, "stubborn_rounds=3")))
    assert once.harm.stubborn == ()


def test_a_herd_of_five_is_found() -> None:
    # Two say dengue, three follow whoever leads; nobody cites anything.
    herd = [
        script(f"h{i}", turn(*p, args=()), turn(0.98, 0.01, 0.01, args=()))
        for i, p in enumerate((DENGUE, DENGUE, DENGUE, CHIK, ZIKA))
    ]
    events = play(seat(herd), settings(*ROUNDS))
    first = of(Watched, events)[0]
    assert {m.agent for m in first.conformed} == {"h3", "h4"}
    assert first.collapsed and first.hollow and first.new_spans == 0
    end = result(events)
    assert end.harm.hollow and end.harm.collapses == (1,)
    said = " ".join(end.warnings)
    assert "hollow consensus" in said and "grew much surer in round 1" in said


def test_honest_agreement_raises_no_warning() -> None:
    # y meets e1 and comes round with evidence of its own; O rises from 0 to 1.
    x = script("x", turn(*DENGUE, args=says("dengue", "e1")), turn(*DENGUE, args=says("dengue", "e1", "e4")))
    y = script(
        "y",
        turn(*CHIK, args=says("chikungunya", "e2")),
        turn(*CHIK, args=says("chikungunya", "e2")),
        turn(*DENGUE, args=says("dengue", "e1", "e4", claim="The new finding settles it.")),
    )
    end = result(play(seat([x, y]), settings(*ROUNDS[:1], "max_rounds=3", "tau_q=0", "repeats=1")))
    assert end.answer == "dengue"
    assert not [w for w in end.warnings if w.startswith("harm:")]
    assert not end.harm.hollow


def test_repeated_steps_are_named_with_what_they_repeat() -> None:
    x = script("x", turn(*DENGUE, args=says("dengue", "e1", claim="A long claim about fever and pain.")))
    y = script(
        "y",
        turn(*CHIK, args=()),
        turn(*CHIK, args=says("chikungunya", "e2", claim="Joints hurt.")),
        turn(*CHIK, args=says("chikungunya", "e2", claim="Wholly other words.")),  # the same citations
        turn(*CHIK, args=says("chikungunya", "e2", "e3", claim="Joints hurt.")),  # something new
    )
    rounds = watched(x, y)
    assert rounds[0].repeated == ()  # the opening is not judged, so round 1 may say it again
    assert rounds[1].repeated == (Repeat("2A1", "1A1"), Repeat("2B1", "1B1"))
    assert rounds[2].repeated == (Repeat("3A1", "1A1"),)


def test_another_agents_words_are_repetition_but_its_evidence_is_not() -> None:
    x = script("x", turn(*DENGUE, args=says("dengue", "e1", claim="Fever and pain.")))
    y = script("y", turn(*DENGUE, args=()), turn(*DENGUE, args=()), turn(*DENGUE, args=says("dengue", "e1", claim="fever and PAIN")),
               turn(*DENGUE, args=says("dengue", "e1", claim="Another reading of it.")))  # fmt: skip
    rounds = watched(x, y, sets=(*ROUNDS, "consensus=false"))
    assert Repeat("2B1", "1A1") in rounds[1].repeated
    assert [r for r in rounds[2].repeated if r.argument == "3B1"] == [Repeat("3B1", "2B1")]  # its own citations again


def test_flips_are_seen_where_the_truth_is_known() -> None:
    case = make_case(gold="chikungunya")
    rounds = watched(honest("x"), honest("y"), sycophant("z"), case=case)
    assert (rounds[0].harmed, rounds[0].mended, rounds[0].mixture) == (("z",), (), "same")
    z = script("z", turn(*DENGUE, args=()), turn(0.02, 0.96, 0.02, args=()))
    pair = watched(script("x", turn(0.4, 0.35, 0.25, args=())), z, case=case, sets=(*ROUNDS, "dispersion.gate=off"))
    assert (pair[0].harmed, pair[0].mended, pair[0].mixture) == ((), ("z",), "mended")
    assert watched(honest("x"), sycophant("z"))[0].harmed is None


def test_openings_and_their_seats_are_kept_for_seat_effects() -> None:
    end = result(play(seat([honest("x"), honest("y"), sycophant("z")]), settings(*ROUNDS)))
    assert list(end.harm.openings.items()) == [("x", "dengue"), ("y", "dengue"), ("z", "chikungunya")]
    assert end.harm.opening_answer == "dengue"


def test_watching_can_be_switched_off_and_the_minority_report_stays() -> None:
    events = play(seat([honest("x"), honest("y", CHIK, "chikungunya", "e2")]), settings(*ROUNDS, "harm.enabled=false"))
    assert not of(Watched, events) and result(events).harm is None
    assert result(events).dissent is not None


def test_what_is_watched_replays() -> None:
    events = play(seat([honest("x"), honest("y"), sycophant("z")]), settings(*ROUNDS), make_case(gold="zika"))
    assert replay(events).complete
