"""The two cases printed in the paper, played by the scripted panel: 3 and 4 rounds (D3)."""

import asyncio
import json
from dataclasses import replace

import pytest

from hash_encoder import HashEncoder
from maci.cases.case import load_case
from maci.cases.outcomes import OutcomeSpace
from maci.config import build
from maci.controller.decisions import Finished, Gated, Planned
from maci.controller.dials import Measured
from maci.debating.loop import debate
from maci.files.parse import load
from maci.seating.table import opening
from maci.seating.tables import _PAPER, Tables, script_of


def play(name, profile="default", **dials):
    case = load_case(name)
    table = Tables("paper", HashEncoder()).table(case)
    config = build(profile, {f"dials.{key}": value for key, value in dials.items()})

    async def events():
        return [event async for event in debate(opening(case, table, config), table)]

    return asyncio.run(events())


@pytest.mark.parametrize(
    ("name", "rounds", "answer", "disagreement"),
    [
        ("paper-dengue", 3, "Dengue Fever", [1.0, 0.180, 0.0]),
        ("paper-hepatitis", 4, "Hepatitis C", [0.226, 0.12, 0.04, 0.03]),
    ],
)
def test_printed_case(name, rounds, answer, disagreement):
    events = play(name)
    result = events[-1]
    assert isinstance(result, Finished)
    assert (result.stop_reason, result.rounds, result.answer) == ("consensus", rounds, answer)
    measured = [event.d for event in events if isinstance(event, Measured)]
    assert measured == pytest.approx(disagreement, abs=2e-3)


def test_the_literal_rules_do_not_stop_where_the_paper_says_they_did():
    # both printed cases stop while r_D is far from ε_D (D3): under the literal rules they run on
    assert play("paper-dengue", "paper")[-1].rounds > 3
    assert play("paper-hepatitis", "paper")[-1].rounds > 4


PAPER_ITEMS = {
    "paper-dengue": {
        ("history", None): {"Recent travel to a region with dengue"},
        ("question", None): {"Bleeding or bruising?"},
        ("retrieval", None): {"How often such joint pain lasts for months"},
        ("test", "laboratory"): {
            "Complete blood count: low platelets", "NS1 antigen", "IgM and IgG serology", "PCR for viral RNA", "Virus in the urine",
        },
    },
    "paper-hepatitis": {
        ("history", None): {"Injection drug use", "Blood transfusions", "Alcohol and medicines"},
        ("monitoring", None): {"Encephalopathy: confusion or drowsiness", "Coagulopathy: bruises without a cause"},
        ("test", "imaging"): {"Abdominal ultrasound: widened bile ducts"},
        ("test", "laboratory"): {
            "Hepatitis C serology", "Hepatitis A and B serology", "Liver enzymes and bilirubin: a cholestatic pattern",
            "Complete blood count: low platelets", "Clotting time (INR)",
        },
    },
}  # fmt: skip
"""What the paper's plans list for its two cases, by kind."""


def planned(events):
    """The plan of a debate."""
    (plan,) = [event for event in events if isinstance(event, Planned)]
    return plan


def asked_for(events):
    """The items of the plan that agents asked for, in their order."""
    return [item for item in planned(events).items if "agents" in item.origin]


@pytest.mark.parametrize("name", PAPER_ITEMS)
def test_the_plan_keeps_types_and_ranks_what_the_paper_lists(name):
    events = play(name)
    items = asked_for(events)
    kinds = {(item.kind, item.subkind) for item in items}
    assert {kind: {i.text for i in items if (i.kind, i.subkind) == kind} for kind in kinds} == PAPER_ITEMS[name]
    assert all(item.separates and item.expected_information_gain > 0 for item in items)
    by_gain, asked = planned(events).items[:6], planned(events).items[6:]
    for rank in ([i.added_gain / i.cost for i in by_gain], [i.gain_per_cost for i in asked]):
        assert rank == sorted(rank, reverse=True)


@pytest.mark.parametrize("name", PAPER_ITEMS)
def test_another_name_for_the_case_and_its_outcomes_changes_nothing(name, tmp_path):
    case = load_case(name)
    names = {label: f"Outcome {chr(ord('A') + n)}" for n, label in enumerate(case.outcomes.labels)}
    script = load(_PAPER.read_text(encoding="utf-8"), "YAML")[name]
    renamed = replace(
        case, id="other", title="Another title", gold=None, outcomes=OutcomeSpace(labels=tuple(names.values()))
    )
    for agent in script["agents"]:
        for said in agent["turns"]:
            said["belief"] = {names[label]: p for label, p in said["belief"].items()}
            said["arguments"] = [{**a, "outcome": names.get(a["outcome"], a["outcome"])} for a in said["arguments"]]
            said["requests"] = [
                {**r, **{side: [names[label] for label in r.get(side, ())] for side in ("positive", "negative")}}
                for r in said.get("requests", ())
            ]
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    table = script_of(str(path), renamed).table(renamed, HashEncoder())

    async def events():
        return [event async for event in debate(opening(renamed, table, build("default", {})), table)]

    before, after = asked_for(play(name)), asked_for(asyncio.run(events()))
    assert [(i.kind, i.subkind, i.text) for i in after] == [(i.kind, i.subkind, i.text) for i in before]
    assert [i.expected_information_gain for i in after] == pytest.approx([i.expected_information_gain for i in before])
    assert [i.separates for i in after] == [tuple(names[label] for label in i.separates) for i in before]


@pytest.mark.parametrize(
    ("name", "printed", "own"),
    [
        ("paper-dengue", [0.9, 0.7, 0.5], [0.8, 0.6, 0.4]),
        ("paper-hepatitis", [0.9, 0.7, 0.5, 0.3], [0.7, 0.5, 0.3, 0.1]),
    ],
)
def test_a_printed_case_started_at_09_runs_the_printed_course(name, printed, own):
    def levels(**dials):
        return [event.dials.cl for event in play(name, schedule="course", **dials) if isinstance(event, Gated)]

    assert levels(cl_first=0.9) == printed
    assert levels() == own  # from where Q₀ and D₀ put it (SPEC 6)
    assert [e.dials.cl for e in play(name, schedule="plateau", cl_first=0.9) if isinstance(e, Gated)] != printed
