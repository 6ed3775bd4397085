"""Plans: ranking, what separates, shifts, who asked, nothing to ask."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from maci.acquisition.answers import same_subject
from maci.acquisition.features import Features
from maci.acquisition.finding import kind_of
from maci.acquisition.gain import Utilities
from maci.acquisition.plan import AgentInquiry, Proposal, Residual, make_plan, tables_of
from maci.acquisition.proposals import Surveyor, distinct, known
from maci.agents.argument import Inquiry
from maci.agents.library import Library
from maci.cli.ending import plan_lines
from maci.config.sections import Plan
from maci.evidence.encode import load_encoder
from maci.evidence.span import Span

LABELS = ("Flu", "Cold", "Gout")


def ask(subject: str, *present: float, **more: object) -> Proposal:
    table = {label: (share, 1 - share) for label, share in zip(LABELS, present, strict=True)}
    return Proposal(
        **{"id": subject, "kind": "question", "text": f"Any {subject}?", "subject": subject, "table": table,
           "otherwise": (0.5, 0.5), **more}
    )  # type: ignore[arg-type]  # fmt: skip


def test_items_are_ranked_by_what_they_add_and_say_what_answers_would_do():
    plan = make_plan(LABELS, np.array([0.5, 0.4, 0.1]), [ask("hum", 0.5, 0.5, 0.5), ask("fever", 0.9, 0.1, 0.1)])
    (item,) = plan.items
    assert item.subject == "fever"
    assert item.separates == ("Flu", "Cold", "Gout")
    assert item.expected == {"Flu": "present (0.90)", "Cold": "absent (0.90)", "Gout": "absent (0.90)"}
    present, absent = item.shifts  # P(present) = .45 + .04 + .01 = .5
    assert (present.probability, present.leader, present.after) == pytest.approx((0.5, "Flu", 0.9))
    assert (absent.leader, absent.before, absent.after, absent.changes) == ("Cold", 0.4, pytest.approx(0.72), True)
    assert item.gain_per_cost == item.expected_information_gain == plan.joint_gain


def test_what_one_case_says_is_still_asked_of_the_next():
    """What the built-in knowledge proposes for some outcomes is made once; what a case says is left out for that case alone."""

    def asked(text: str) -> set[str]:
        open_ = Residual(question="?", text=text, labels=("Dengue fever", "Malaria"), p=(0.5, 0.5))
        return {proposal.subject for proposal in known(open_, {})}

    everything = asked("")
    assert everything - asked("She has had a high fever and chills.") >= {"chills"}
    assert asked("") == everything


def test_only_outcomes_that_are_still_possible_are_asked_about():
    open_ = Residual(question="?", text="", labels=("Dengue fever", "Malaria"), p=(1.0, 0.0))
    assert all(set(proposal.table) == {"Dengue fever"} for proposal in known(open_, {}))


def test_tables_made_at_once_are_those_of_each():
    many = [ask("fever", 0.9, 0.1, 0.3), ask("rash", 0.2, 0.7, 0.1, answers=("a", "b"), otherwise=(0.4, 0.4))]
    three = replace(many[0], answers=("a", "b", "c"), table={"Cold": (0.1, 0.2, 0.3)}, otherwise=(0.2, 0.2, 0.2))
    found = tables_of([many[0], three, many[1]], LABELS)
    assert found[0].tolist() == [[0.9, 1 - 0.9], [0.1, 0.9], [0.3, 0.7]]
    np.testing.assert_allclose(found[1], [[1 / 3] * 3, [1 / 6, 2 / 6, 3 / 6], [1 / 3] * 3])
    assert found[2].shape == (3, 2)


def test_cost_counts_and_a_dear_item_below_its_price_is_left_out():
    p = np.array([0.5, 0.5, 0.0])
    cheap, dear = ask("fever", 0.8, 0.2, 0.5), ask("biopsy", 0.9, 0.1, 0.5, kind="test")
    assert [i.subject for i in make_plan(LABELS, p, [dear, cheap]).items] == ["fever", "biopsy"]
    assert make_plan(LABELS, p, [dear, cheap], Plan(costs={"test": 1.0})).items[0].subject == "biopsy"
    assert [i.subject for i in make_plan(LABELS, p, [dear, cheap], Plan(price=0.2)).items] == ["fever"]


def test_nothing_worth_asking_says_why():
    sure = make_plan(LABELS, np.array([1.0, 0.0, 0.0]), [ask("fever", 0.9, 0.1, 0.1)])
    assert sure.items == ()
    assert "Flu is all but certain" in sure.note
    open_ = make_plan(LABELS, np.array([0.5, 0.5, 0.0]), [ask("hum", 0.5, 0.5, 0.5)])
    assert open_.items == ()
    assert open_.note == "No question is worth asking: the best would reduce the uncertainty by less than 0.01 bits."
    assert "no agent proposed one" in make_plan(LABELS, np.array([0.5, 0.5, 0.0]), []).note
    dear = make_plan(LABELS, np.array([0.5, 0.5, 0.0]), [ask("hum", 0.6, 0.4, 0.5)], Plan(price=0.1))
    assert dear.note == "No question is worth its cost: the best would reduce the uncertainty by only 0.029 bits."


def test_utilities_rank_by_value_not_by_bits():
    """Bits favour the question that splits Flu from Cold; only Gout is treated otherwise."""
    p = np.array([0.45, 0.45, 0.1])
    split, gout = ask("fever", 0.95, 0.05, 0.5), ask("toe", 0.02, 0.02, 0.9)
    rest = Utilities(actions=("rest", "drug"), table=((0, 0, -10), (-1, -1, 5)))
    plan = make_plan(LABELS, p, [split, gout], utilities=rest)
    assert make_plan(LABELS, p, [split, gout]).items[0].subject == "fever"
    assert [item.subject for item in plan.items] == ["toe"]
    # now the best is to drug (−0.4, against −1.0 for resting). "toe" present: drug, .1·.9·5 − .9·.02·1 = .432; absent: rest,
    # −10·.1·.1 = −.1 (drugging: .05 − .882). Together .332, which is .732 better than −.4.
    assert plan.items[0].value == pytest.approx(0.732)


def test_arguments_that_asked_are_named():
    item = ask("fever", 0.9, 0.1, 0.1, evidence=("s-1",), requests=("2A",))
    backing = {"1A1": frozenset({"1A", "s-1"}), "2A1": frozenset({"2A", "s-9"}), "2B1": frozenset({"2B", "s-7"})}
    (found,) = make_plan(LABELS, np.array([0.5, 0.4, 0.1]), [item], backing=backing).items
    assert found.asked_for_by == ("1A1", "2A1")


def test_one_meaning_is_one_item_and_keeps_who_asked():
    counted = ask("skin rash", 0.9, 0.1, 0.1, origin=("corpus",))
    guessed = ask("rash of the skin", 0.7, 0.3, 0.5, id="x", assumed=True, requests=("1B",), origin=("agents",))
    (one,) = distinct([guessed, counted], None)
    assert (one.id, one.origin, one.requests) == ("skin rash", ("corpus", "agents"), ("1B",))


def test_meaning_is_compared_by_the_encoder_but_not_across_opposites():
    encoder = load_encoder()
    a, b, c = encoder.encode(["stomach pain", "stomach ache", "weight loss"])
    assert same_subject("stomach pain", "stomach ache", max(0.86, float(a @ b)))
    assert not same_subject("stomach pain", "weight loss", float(a @ c))
    assert not same_subject("weight gain", "weight loss", 0.99)
    assert not same_subject("type 1", "type 2", 0.99)


def library(*texts: tuple[str, str], outcomes: tuple[str, ...] = LABELS) -> Library:
    return Library([Span.of(text, "notes", 0, label) for text, label in texts], outcomes, load_encoder())


LISTS = library(
    ("high fever, chills, dry cough", "Flu"), ("high fever, body aches, dry cough", "Flu"),
    ("runny nose, sneezing, dry cough", "Cold"), ("runny nose, sore throat", "Cold"),
    ("swollen toe, severe pain, redness", "Gout"), ("swollen toe, warm skin", "Gout"),
)  # fmt: skip


def test_rates_of_phrases_are_counted_and_smoothed():
    features = Features(LISTS.spans, LISTS.subject, LISTS.outcomes, smoothing=1.0)
    words = [f.words for f in features.all]
    row = features.present[words.index("dry cough")]
    base = 3.5 / 7  # in 3 of 6 texts, (k + ½) / (n + 1)
    assert row.tolist() == pytest.approx([(2 + base) / 3, (1 + base) / 3, base / 3])


def test_a_finding_counts_only_for_outcomes_that_have_lists():
    told = library(
        ("high fever, chills", "Flu"), ("The nose of the patient was running for a week.", "Cold"), ("high fever, chills", "Flu"),
    )  # fmt: skip
    assert Features(told.spans, told.subject, told.outcomes).listed == {"Flu"}
    found = Surveyor(told).survey(residual(text="Somebody is ill.")).candidates
    assert not [proposal for proposal in found if "corpus" in proposal.origin]


def test_names_of_outcomes_are_not_findings():
    told = library(
        ("Flu season, high fever", "Flu"), ("flu, fever", "Flu"), ("old age, fever", "Flu"),
        ("gout attack, toe pain", "Gout"), ("gout, pain", "Gout"),
    )  # fmt: skip
    words = {f.words for f in Features(told.spans, told.subject, told.outcomes).all}
    assert not any("gout" in word or "flu" in word for word in words)
    assert {"high fever", "fever", "toe pain", "pain"} <= words


PROSE = library(
    ("The rent was paid late in May. The south wall is damp.", "Flu"),
    ("The rent stays unpaid. Nobody has seen the south wall.", "Flu"),
    ("The keys came back on time. The job log shows no visit.", "Cold"),
    ("All keys came back. A visit stands in the job log.", "Cold"),
)


def test_prose_is_not_cut_into_findings():
    assert Features(PROSE.spans, PROSE.subject, PROSE.outcomes).all == ()
    texts = [c.text for c in Surveyor(PROSE).survey(residual(text="A lease ended.")).candidates]
    assert texts and not any(text.startswith("Any sign of") for text in texts)


TITLES = library(
    ("Annual report\nSewer operation report for August and September", "Flu"),
    ("Sewer operation report, August\nThe pumps of the sewer ran at night.", "Flu"),
    ("The lab screened for 212 pesticides. No pesticide was found in the brook.", "Cold"),
    ("Pesticide screening: see table. The lab found no pesticide in the pond.", "Cold"),
)


def test_titles_and_what_the_case_says_are_not_quoted():
    def quoted(text: str) -> list[str]:
        found = Surveyor(TITLES).survey(residual(text=text)).candidates
        return [answer for c in found if "contrast" in c.origin for answer in c.answers[:2]]

    said = quoted("Fish died.")
    assert said[0] == "The pumps of the sewer ran at night" and "pesticide" in said[1]
    again = quoted(
        f"Fish died. {said[1]} and in the ditch behind the old mill, where eels, frogs, newts and toads live too."
    )
    assert again and said[1] not in again


@pytest.mark.parametrize("labelled", [True, False])
def test_what_is_quoted_says_whether_its_text_is_labelled(labelled):
    texts = [
        ("The pumps of the sewer ran with Flu at night.", "Flu"),
        ("The lab screened for Cold and found much.", "Cold"),
    ]
    spans = [Span.of(text, "test", 0, label if labelled else None) for text, label in texts]
    told = Library(spans, ("Flu", "Cold"), load_encoder())
    (asked,) = [c for c in Surveyor(told).survey(residual(text="Fish died.")).candidates if "contrast" in c.origin]
    assert asked.origin == (("contrast",) if labelled else ("contrast", "named"))
    lines = " ".join(plan_lines(make_plan(("Flu", "Cold"), np.array([0.5, 0.5]), [asked])))
    assert ("Quoted from labelled texts" in lines, "Quoted from texts that name" in lines) == (labelled, not labelled)


def test_prose_asks_which_of_two_quoted_sentences_is_closer():
    (asked,) = [
        c for c in Surveyor(PROSE).survey(residual(text="A lease ended.")).candidates if c.origin == ("contrast",)
    ]
    first, second, none = asked.answers
    texts = {label: " ".join(s.text for s in PROSE.spans if s.label == label) for label in ("Flu", "Cold")}
    assert first in texts["Flu"] and second in texts["Cold"] and none == "none of these"
    assert asked.text == f"Which is closer to this case: “{first}” or “{second}”?"
    assert asked.table["Flu"][0] > asked.table["Cold"][0] and len(asked.evidence) == 2
    again = Surveyor(PROSE).survey(residual(text="A lease ended.", asked=(asked.subject,))).candidates
    assert all(first not in c.text and second not in c.text for c in again)
    told = Surveyor(PROSE).survey(residual(text=f"{first}. {second}.")).candidates
    assert all(first not in c.answers and second not in c.answers for c in told)


def test_an_entry_that_is_a_fragment_is_not_a_finding():
    told = library(
        ("oxygen saturation stays normal, dry cough, chills, body aches, in the job log", "Flu"),
        ("south, runny nose, sore throat", "Cold"),
    )
    words = {f.words for f in Features(told.spans, told.subject, told.outcomes).all}
    assert words == {"body aches", "sore throat"}  # of those that always go together, the fullest


def residual(**more: object) -> Residual:
    return Residual(**{"question": "What is it?", "text": "cough", "labels": LABELS, "p": (0.5, 0.4, 0.1), **more})  # type: ignore[arg-type]


def test_the_corpus_proposes_what_tells_the_leading_outcomes_apart():
    survey = Surveyor(LISTS, load_encoder()).survey(residual())
    first = survey.candidates[0]
    assert first.subject in {"high fever", "runny nose"}
    assert first.text == f"Any sign of {first.subject}?"
    assert set(first.evidence) <= {span.id for span in LISTS.spans}
    assert not first.assumed


def test_what_the_case_says_or_was_asked_is_not_proposed():
    subjects = [
        c.subject for c in Surveyor(LISTS).survey(residual(text="high fever", asked=("runny nose",))).candidates
    ]
    assert "high fever" not in subjects
    assert "runny nose" not in subjects
    assert "dry cough" in subjects


def open_phrases(of: Library, text: str) -> set[str]:
    features = Features(of.spans, of.subject, of.outcomes)
    return {f.words for f, is_open in zip(features.all, features.open(text), strict=True) if is_open}


def test_a_list_mentions_a_phrase_only_where_one_entry_holds_it():
    assert {"high fever", "dry cough"} <= open_phrases(LISTS, "high pulse, mild fever, cough, dry skin")
    assert not {"high fever", "dry cough"} & open_phrases(LISTS, "cough that is dry, fever very high")
    assert {"high fever", "dry cough"}.isdisjoint(open_phrases(LISTS, "dry cough, high fever"))


def test_prose_mentions_a_finding_where_one_sentence_holds_it_in_any_order():
    lists = library(("stiff neck, high fever", "Flu"), ("swollen joint, red toe", "Gout"))
    assert "stiff neck" in open_phrases(lists, "The neck is fine. The knee is stiff. He has a swollen joint today.")
    assert not {"stiff neck", "high fever"} & open_phrases(
        lists, "The neck is very stiff, he has a fever that is high."
    )


def test_requests_and_disagreements_are_proposed_and_marked_as_assumed():
    wish = Inquiry(text="Was there an X-ray of the toe?", expected={"Gout": True, "Flu": False})
    survey = Surveyor().survey(residual(leads=("Flu", "Gout"), requests=(AgentInquiry(turn="2A", request=wish),)))
    kinds = {c.kind: c for c in survey.candidates}
    assert kinds["test"].requests == ("2A",)
    assert kinds["test"].subkind == "imaging"
    assert kinds["test"].table["Gout"][0] > 0.5 > kinds["test"].table["Flu"][0]
    assert kinds["retrieval"].filters == {"outcomes": ("Flu", "Gout")}
    assert kinds["retrieval"].origin == ("disagreement",)
    assert all(c.assumed for c in survey.candidates)


def test_what_agents_ask_for_stays_on_the_plan_below_what_brings_most():
    wishes = [Inquiry(text=f"Sign {n}", expected={"Gout": True, "Flu": False}, kind="test") for n in range(5)]
    asked = tuple(AgentInquiry(turn="1A", request=wish) for wish in wishes)
    survey = Surveyor().survey(residual(requests=asked))
    rules = Plan(size=1)
    items = make_plan(LABELS, np.array([0.5, 0.3, 0.2]), survey.candidates, rules).items
    assert len(items) == 3 and [item.kind for item in items[1:]] == ["test", "test"]
    assert all("agents" in item.origin for item in items[1:])
    own = [replace(candidate, origin=("corpus",)) for candidate in survey.candidates]
    assert len(make_plan(LABELS, np.array([0.5, 0.3, 0.2]), own, rules).items) == 1


def test_what_an_agent_asks_is_not_ranked_below_a_template():
    """The same figures: what an agent asks counts in full, a guess of ours half."""
    wish = Inquiry(text="Was the toe red?", expected={"Flu": True, "Cold": False})
    (own,) = [
        c
        for c in Surveyor().survey(residual(requests=(AgentInquiry(turn="1A", request=wish),))).candidates
        if c.requests
    ]
    template = replace(own, id="a", subject="red skin", origin=("knowledge",), requests=(), weight=None)
    p = np.array([0.5, 0.4, 0.1])
    assert make_plan(LABELS, p, [template, own]).items[0].subject == "Was the toe red"
    assert make_plan(LABELS, p, [own, template]).items[0].subject == "Was the toe red"


def test_a_question_keeps_the_words_of_the_agent_who_asked_it():
    counted = ask("skin rash", 0.9, 0.1, 0.1, origin=("corpus",))
    own = ask("rash of the skin", 0.7, 0.3, 0.5, id="x", text="Is there a rash?", assumed=True, origin=("agents",))
    for order in ([counted, own], [own, counted]):
        (one,) = distinct(order, None)
        assert (one.text, one.table, one.assumed) == ("Is there a rash?", counted.table, False)


@pytest.mark.parametrize("text", ["in the job log", "south", "loss of", "…", "While the evidence supports it"])
def test_a_fragment_is_not_asked_though_an_agent_asks_it(text):
    wish = AgentInquiry(turn="1A", request=Inquiry(text=text, expected={"Flu": True, "Cold": False}))
    assert not [c for c in Surveyor().survey(residual(requests=(wish,))).candidates if c.requests]


def test_a_request_about_no_known_outcome_is_dropped():
    wish = Inquiry(text="Is the moon full?", expected={"Werewolf": True})
    survey = Surveyor().survey(residual(p=(1.0, 0.0, 0.0), requests=(AgentInquiry(turn="2A", request=wish),)))
    assert survey.candidates == ()


@pytest.mark.parametrize(
    ("text", "kind"),
    [("MRI of the knee", "test"), ("Family history of gout", "history"), ("Monitor the weight", "monitoring"), ("rash", "question")],
)  # fmt: skip
def test_kinds_are_read_from_the_text(text, kind):
    assert kind_of(text) == kind


def test_what_is_on_a_menu_is_proposed_by_name_beside_everything_else():
    told = library(
        ("A shadow on the chest X-ray, high fever", "Flu"), ("sneezing", "Cold"), ("A swollen toe", "Gout")
    )  # fmt: skip
    menu = ("Vital Signs", "Imaging, Chest X-ray", "Skin")
    survey = Surveyor(told, load_encoder()).survey(residual(menu=menu, asked=("Skin",)))
    sections = [c for c in survey.candidates if c.origin == ("menu",)]
    assert [c.subject for c in sections] == ["Imaging, Chest X-ray", "Vital Signs"]
    assert [c.kind for c in sections] == ["test", "question"]
    assert all(c.assumed for c in sections)
    assert sections[0].table["Flu"][0] > sections[0].table["Gout"][0]
    assert all(c in sections or not c.askable for c in survey.candidates)


def test_a_question_is_mapped_to_the_menu_or_cannot_be_asked():
    wishes = ("Does a chest X-ray show a shadow?", "Is the moon full?")
    requests = tuple(
        AgentInquiry(turn="1A", request=Inquiry(text=text, expected={"Flu": True, "Cold": False})) for text in wishes
    )
    of = residual(menu=("Chest X-ray", "swollen toe", "Vital Signs"), requests=requests)
    found = {c.text: c for c in Surveyor(LISTS, load_encoder()).survey(of).candidates}
    mapped, unknown = (found[text] for text in wishes)
    assert (mapped.subject, mapped.origin, mapped.askable) == ("Chest X-ray", ("agents", "menu"), True)
    assert not unknown.askable
    assert found["Any sign of swollen toe?"].origin == ("corpus", "menu")
    assert [c.subject for c in found.values() if c.origin == ("menu",)] == ["Vital Signs"]
    assert sum(c.askable for c in found.values()) == 3
    items = make_plan(LABELS, np.array([0.5, 0.4, 0.1]), tuple(found.values()), Plan(size=20)).items
    assert {item.subject: item.askable for item in items}["Is the moon full"] is False


def test_what_stayed_unanswered_is_not_asked_again_in_other_words():
    encoder = load_encoder()
    subjects = {
        key: [c.subject for c in Surveyor(LISTS, encoder).survey(residual(asked=("dry coughing",), **more)).candidates]
        for key, more in {"no answer": {"unanswered": ("dry coughing",)}, "answered": {}}.items()
    }
    assert "dry cough" not in subjects["no answer"] and "runny nose" in subjects["no answer"]
    assert "dry cough" in subjects["answered"]
    reworded = Surveyor(LISTS, encoder).survey(residual(asked=("toe that is swollen",))).candidates
    assert "swollen toe" not in [c.subject for c in reworded]


def test_a_section_that_no_text_tells_of_is_worth_a_little_of_the_leading_outcome():
    seen = Surveyor().survey(residual(menu=("Physical Examination, Skin",))).candidates[0]
    assert seen.table == {"Flu": pytest.approx((0.7, 0.3)), "Cold": (0.5, 0.5), "Gout": (0.5, 0.5)}
    assert seen.text == "What is known about “Physical Examination, Skin”?" and seen.cost == 1
    tested = Surveyor().survey(residual(menu=("Biopsy",))).candidates[0]
    assert (tested.kind, tested.table["Flu"]) == ("test", pytest.approx((0.9, 0.1)))


def test_a_section_whose_name_is_a_question_is_asked_in_its_own_words():
    seen = Surveyor().survey(residual(menu=("Are the joints swollen?",))).candidates[0]
    assert (seen.text, seen.subject) == ("Are the joints swollen?", "Are the joints swollen?")


def test_something_to_look_up_is_proposed_however_many_questions_tell_more():
    def lists(label: str, letters: str) -> list[tuple[str, str]]:
        """Thirteen texts, each of which leaves one of thirteen signs out."""
        return [(", ".join(f"{c}{c}{c} sign" for c in letters if c != without), label) for without in letters]

    many = library(*lists("Flu", "abcdefghijklm"), *lists("Cold", "nopqrstuvwxyz"))
    survey = Surveyor(many).survey(residual())
    assert [c.kind for c in survey.candidates].count("retrieval") == 1
    assert len(survey.candidates) == 25
