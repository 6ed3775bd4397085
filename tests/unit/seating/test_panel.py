from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from hash_encoder import HashEncoder
from helpers import make_case, play
from maci.agents.agent import request_stub
from maci.cases.case import Document, load_case
from maci.errors import ConfigError, InputError
from maci.seating.tables import Tables

SCRIPT = """
evidence: [{id: e9, text: Something.}]
agents:
  - {name: x, family: fx, turns: [{belief: {yes: 1.0}, arguments: [{claim: So., outcome: yes, cite: [e9], crit: 0.7}]}]}
  - {name: y, family: fy, turns: [{belief: {no: 1.0}}]}
judges: [{name: j, family: fj, offset: 0.5}]
"""


def table(tmp_path: Path, text: str | bytes):
    file = tmp_path / "p.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Tables(str(file), HashEncoder()).table(make_case(["yes", "no"]))


def test_bare_yes_and_no_in_a_script_are_outcomes(tmp_path: Path) -> None:
    said = asyncio.run(table(tmp_path, SCRIPT).agents[0].turn(request_stub()))
    assert said.belief == {"yes": 1.0}
    assert said.arguments[0].outcome == "yes"


def test_a_scripted_judge_stays_in_range_and_abstains_on_what_it_does_not_know(tmp_path: Path) -> None:
    seated = table(tmp_path, SCRIPT)
    assert play(seated, case=make_case(["yes", "no"]))[-1].stop_reason


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "p.yaml: script: input should be a valid dictionary"),
        ("panels: {a: {}}", "is a panels file, not a script: set MACI_PANELS="),
        ("agents: []\njuges: []", "p.yaml: juges: extra inputs are not permitted"),
        ("agents: [{name: x, family: f, turns: []}]", "p.yaml: agents.0.turns"),
        ("agents: [{name: x, family: f, turns: [{belief: {a: much}}]}]", "p.yaml: agents.0.turns.0.belief.a"),
        (SCRIPT.replace("crit: 0.7", "crit: 1.7"), "crit: input should be less than or equal to 1"),
    ],
)
def test_a_bad_script_is_refused_by_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        table(tmp_path, text)
    assert says in str(error.value)


def test_a_script_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a text file"):
        table(tmp_path, b"\xff\xfe")
    with pytest.raises(InputError, match="is not valid YAML"):
        table(tmp_path, "agents: [")


@pytest.mark.parametrize("name", ["nosuch", "x" * 300, ""])
def test_an_unknown_panel_is_refused_with_the_choices(name: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown panel .* choose"):
        Tables(name, HashEncoder()).table(make_case())


def test_the_papers_panel_plays_only_its_own_cases() -> None:
    with pytest.raises(ConfigError, match="plays only the cases paper-dengue, paper-hepatitis; this case is test"):
        Tables("paper", HashEncoder()).table(make_case())
    assert [a.name for a in Tables("paper", HashEncoder()).table(load_case("paper-dengue")).agents] == [
        "gpt-4o",
        "gemini-1.5-pro",
    ]


def test_passages_of_a_case_that_name_no_outcome_are_left_out_and_the_notes_say_so() -> None:
    case = make_case(["deployment", "database"])
    texts = ["The database ran out of connections.", "A deployment ended at 13:55.", "Packet loss was nil."]

    def notes(*evidence: str) -> str:
        own = replace(case, evidence=tuple(Document(id=f"d{i}", text=text) for i, text in enumerate(evidence)))
        return "; ".join(Tables("readers", HashEncoder()).table(own).notes)

    assert "1 of the case's 3 passages names no outcome or more than one, so the readers do not use it" in notes(*texts)
    assert "no outcome" not in notes(*texts[:2])
