"""The commands as a person types them: what they print, and what they exit with."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hash_encoder import HashEncoder
from helpers import script, seat, settings, turn, write
from maci.agents.agent import FunctionAgent
from maci.agents.argument import Turn
from maci.errors import ContentRefused, EnvironmentError_
from maci.evidence.knowledge import conditions
from maci.llm.usage import Usage
from maci.record.replay import replay
from maci.record.transcript import Transcript, read
from maci.story.whatif import other_rules

MACI = str(Path(sys.executable).parent / "maci")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, without settings from outside, with an encoder that loads at once."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MACI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())


def tables(monkeypatch: pytest.MonkeyPatch, make: Callable) -> None:
    """Seat other agents than a script can describe."""
    monkeypatch.setattr("maci.seating.tables.Tables._seat", lambda self, case, seed: make(case))


PANEL = """
evidence: [{id: e1, text: "High fever points to dengue."}]
agents:
  - name: x
    family: fx
    turns: [{belief: {yes: 0.9, no: 0.1}, arguments: [{claim: It is., cite: [e1], outcome: "yes"}]}]
  - name: y
    family: fy
    turns: [{belief: {yes: 0.8, no: 0.2}, arguments: [{claim: It seems., cite: [e1], outcome: "yes"}]}]
judges: [{name: j, family: fj}]
"""
CASE = "question: Is it dengue?\ncontext: High fever.\noutcomes: [yes, no]\ngold: yes\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "case.yaml").write_text(CASE)
    (tmp_path / "panel.yaml").write_text(PANEL)
    return tmp_path


# --- a debate, end to end ---------------------------------------------------------------------------------------------------


def test_a_debate_prints_its_answer_and_where_the_record_is(maci, files) -> None:
    ran = maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--plain")
    assert ran.code == 0 and "Round 1" not in ran.out
    assert "Answer: yes" in ran.out
    assert "Stopped after" in ran.out
    assert "run/transcript.jsonl" in ran.out and "Answer: yes, " in ran.out and " % (not calibrated), " in ran.out
    assert "`maci show run`" in ran.out or "note" not in ran.out
    assert ran.err == ""  # too short for a sign of life
    assert [f.name for f in (files / "run").iterdir()] == ["transcript.jsonl"]


def test_the_result_fits_a_screen_verdict_first_and_verbose_prints_the_rounds(maci) -> None:
    asked = ("debate", "dengue", "--plain", "--out")
    shown = maci(*asked, "short").out.splitlines()
    assert len(shown) <= 20
    first = next(i for i, line in enumerate(shown) if line.startswith("Answer: "))
    assert (first <= 3 and shown[first].endswith(" agree")) or "split" in shown[first]
    order = [next(i for i, line in enumerate(shown) if line.startswith(word)) for word in ("Why", "Against", "Stopped")]
    assert first < order[0] < order[1] < order[2]
    long = maci(*asked, "long", "--verbose").out
    assert "Round 1  dials" in long and "Openings   Q₀" in long and len(long.splitlines()) > 60


def on_screen(columns: int, rows: int, *args: str) -> list[str]:
    """The rows that a command leaves on a terminal of this size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    call = [sys.executable, "-c", "from maci.cli import main; main()", *args]
    ran = subprocess.Popen(call, stdin=theirs, stdout=theirs, stderr=theirs, env={**environ, "TERM": "xterm"})
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # Linux says so when the last writer has closed it
        while part := os.read(ours, 1 << 16):
            written += part
    os.close(ours)
    assert ran.wait() == 0
    shown = re.sub(r"\x1b\[\?1049h.*?\x1b\[\?1049l", "", written.decode(), flags=re.S)  # the live area
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).rstrip().splitlines()


LONG = [
    f"replace the {part} of the northern span before the winter and close the bridge to all lorries until that is done"
    for part in ("bearings", "deck")
]


def long_debate(folder: Path) -> tuple[str, ...]:
    """A case whose every part is long: its question, outcomes, names and arguments; it ends split, and wrong."""
    claim, source = "The inspection of the northern span found what nobody had expected to find. " * 3, "Inspector " * 6
    case = {
        "title": "The bridge over the mill stream",
        "question": "What should the council do about the bridge? " * 9,
        "context": "It was built long ago. " * 20,
        "outcomes": LONG,
        "gold": LONG[1],
    }
    agents = [
        {
            "name": f"{source}{name}".strip(),
            "family": name,
            "turns": [
                {
                    "belief": {LONG[0]: p, LONG[1]: 1 - p},
                    "arguments": [
                        {"claim": f"{name}: {claim}", "reasons": [claim], "outcome": LONG[p < 0.5], "cite": ["e1"]}
                    ],
                }
            ],
        }
        for name, p in (("one", 0.9), ("two", 0.8), ("three", 0.1), ("four", 0.2), ("five", 0.7))
    ]
    panel = {"evidence": [{"id": "e1", "text": claim}], "agents": agents, "judges": [{"name": "j", "family": "fj"}]}
    for name, content in (("long.json", case), ("panel.json", panel)):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return str(folder / "long.json"), "--panel", str(folder / "panel.json")


@pytest.mark.parametrize("case", ["dengue", "hepatitis", "tone-budget", "long"])
def test_the_result_fits_a_terminal_of_80_by_24_with_its_question_above_it(case: str, tmp_path: Path) -> None:
    named = long_debate(tmp_path) if case == "long" else (case,)
    shown = on_screen(80, 24, "debate", *named, "--out", "run")
    assert len(shown) <= 23 and max(map(len, shown)) <= 80  # the last row is the next prompt's
    assert shown[0].startswith(("Fever", "Yellow", "A budget", "The bridge over the mill stream: What should"))
    verdict = next(i for i, row in enumerate(shown) if row.startswith(("Answer", "No clear answer")))
    assert shown[verdict - 1] == "" and any(row.startswith("Stopped after ") for row in shown[verdict:])
    assert any(row.startswith("Transcript: run/transcript.jsonl") for row in shown)
    if case != "tone-budget":
        for title in ("Why  ", "Against  ", "Would change"):
            assert any(row.startswith(title) for row in shown), title
    if case in ("hepatitis", "long"):
        assert "Warning: The agents did not agree." in shown
        assert len(on_screen(80, 50, "show", "run")) > len(shown)  # all of it


def test_quiet_prints_three_lines(maci, files) -> None:
    ran = maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "-q")
    answer, course, stop = ran.out.splitlines()
    assert answer.startswith("Answer: yes, ") and "2 of 2 agree" in answer and "Known answer: yes" in answer
    assert course.startswith("Two agents began with yes.")
    assert stop.startswith("Stopped after 2 rounds") and stop.endswith("Transcript: run/transcript.jsonl")


@pytest.mark.parametrize(("flags", "shown"), [((), True), (("-q",), False), (("--json",), False)])
def test_a_long_debate_into_a_pipe_says_on_standard_error_which_round_it_is_in(
    maci, files, monkeypatch, flags: tuple[str, ...], shown: bool
) -> None:
    monkeypatch.setattr("maci.cli.view._PATIENCE", 0.0)
    ran = maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", *flags)
    lines = [line for line in ran.err.splitlines() if " finished after " in line]
    assert [line.partition(" finished")[0].partition(" of")[0] for line in lines] == (
        ["Openings", "Round 1", "Round 2"] if shown else []
    )
    assert all(": yes " in line and line.endswith("%") for line in lines)
    assert " finished after " not in ran.out


def test_where_nobody_leads_the_first_line_says_so(maci, tmp_path) -> None:
    (tmp_path / "even.yaml").write_text("question: Which?\noutcomes: [ash, elm, oak]\n")
    beliefs = (
        "{ash: 0.36, elm: 0.32, oak: 0.32}",
        "{ash: 0.32, elm: 0.35, oak: 0.33}",
        "{ash: 0.34, elm: 0.28, oak: 0.38}",
    )
    agents = "".join(
        f"  - {{name: {n}, family: f{n}, turns: [{{belief: {b}}}]}}\n" for n, b in zip("xyz", beliefs, strict=True)
    )
    (tmp_path / "trio.yaml").write_text(f"agents:\n{agents}judges: [{{name: j, family: fj}}]\n")
    ran = maci("debate", "even.yaml", "--plain", "--panel", "trio.yaml", "--out", "run")
    [first] = [line for line in ran.out.splitlines() if line.startswith("No clear answer: ")]
    assert first.count("%") == 2 and "(not calibrated), split 1–1–1" in first and "\nAnswer: " not in ran.out
    assert ran.out.count("% overall): ") == 2
    assert maci("debate", "even.yaml", "--panel", "trio.yaml", "--out", "other", "-q").out.startswith(
        "No clear answer: "
    )


def test_json_prints_exactly_one_object_and_nothing_else(maci, files) -> None:
    ran = maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("\n") == 1
    found = json.loads(ran.out)
    assert {"answer", "distribution", "stop_reason", "rounds", "tokens", "transcript", "warnings"} <= found.keys()
    assert found["answer"] == "yes"
    assert found["distribution"]["yes"] + found["distribution"]["no"] == pytest.approx(1)
    assert Path(found["transcript"]) == Path("run/transcript.jsonl")
    assert found["stop_reason"] == "consensus"


def test_without_out_each_run_gets_a_folder_of_its_own(maci, files) -> None:
    for _ in range(2):
        assert maci("debate", "case.yaml", "--panel", "panel.yaml", "--quiet").code == 0
    assert len(list((files / "maci-runs").glob("*/transcript.jsonl"))) == 2


def test_the_same_seed_gives_the_same_record_but_for_the_clock(maci, files) -> None:
    for name in ("a", "b"):
        maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", name, "--seed", "5", "--quiet")
    one, two = (read(Path(name) / "transcript.jsonl").events[1:] for name in ("a", "b"))
    assert one == two


def test_a_question_on_the_command_line_is_a_case(maci, files) -> None:
    ran = maci(
        "debate", "--question", "Is it?", "--outcomes", "yes,no", "--panel", "panel.yaml", "--out", "run", "--json"
    )
    assert json.loads(ran.out)["answer"] == "yes"
    ran = maci("debate", "--question", "Is it?", "--panel", "panel.yaml", "--out", "open", "--json")
    assert json.loads(ran.out)["answer"] == "yes"


def test_a_question_without_outcomes_says_what_the_readers_choose_from(maci) -> None:
    asked = (
        "debate",
        "--question",
        "Which disease brings fever and pain behind the eyes?",
        "--set",
        "max_rounds=2",
        "--json",
    )
    said = f"No outcomes are named, so the readers choose among the {len(conditions())} conditions"
    ran = maci(*asked, "--out", "open")
    assert said in ran.err and '--outcomes "a,b,c"' in ran.err and "Possible outcomes" in ran.err
    assert set(json.loads(ran.out)["distribution"]) <= {*(c.name for c in conditions()), "other"}
    assert said not in maci(*asked, "--out", "quiet", "--quiet").err
    assert said not in maci(*asked, "--out", "named", "--outcomes", "Gout,Measles").err


@pytest.mark.parametrize("question", ["What is 17 times 3?", "Who won the match?", "Should we buy or lease the van?"])
def test_readers_refuse_an_open_question_that_is_not_about_what_they_know(maci, question: str) -> None:
    ran = maci("debate", "--question", question, "--out", "run", "--json")
    assert ran.code == 2 and not ran.out and not Path("run").exists()
    assert "word statistics cannot decide this case (no outcomes are named" in ran.err and "`maci init`" in ran.err
    assert ran.err.rstrip().endswith(
        "Name the outcomes, or use a language model (`maci init`). To see the readers' guess all the same, add `--force`."
    )
    assert (
        maci("debate", question, "--out", "run", "--json").err == ran.err
    )  # words in the place of a case are the question


def test_words_in_the_place_of_a_case_are_the_question(maci) -> None:
    ran = maci("debate", "Which disease is it?", "--outcomes", "Gout,Measles", "--dry-run", "--json")
    assert ran.code == 0, ran.err
    ran = maci("debate", "Which disease is it?", "--question", "Which?")
    assert ran.code == 2 and "not both" in ran.err
    for name in ("my roof.yaml", "dengu"):
        assert "no case file and no built-in case" in maci("debate", name).err


VAN = """
question: Which van should we buy?
context: We need a van for heavy loads in the city.
outcomes: [Alba, Brix, Corso]
evidence:
  - Alba carries 900 kg and costs 20,000.
  - Brix carries 700 kg.
"""
WHY = (
    "Word statistics cannot decide this case (2 texts for 3 outcomes, with 1 about Alba, 1 about Brix, none about Corso; "
    "each outcome needs at least 3, and `label` says what a text is about)."
)


def test_readers_withhold_what_word_statistics_cannot_decide(maci) -> None:
    Path("van.yaml").write_text(VAN, encoding="utf-8")
    ran = maci("debate", "van.yaml", "--out", "run", "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["answer"]) == (0, None)
    assert (
        f"{found['abstained']}." == WHY  # the reason only: what to do is for each door to say
    )
    assert any("do not trust the distribution" in warning for warning in found["warnings"])
    shown = maci("debate", "van.yaml", "--out", "plain", "--plain").out
    said = f"{WHY} Use a language model (`maci init`). To see the readers' guess all the same, add `--force`."
    assert f"Answer withheld: {said}" in shown and "Best guess" not in shown and "Known answer" not in shown
    assert "no answer after" in maci("replay", "run").out


CAR = """
question: {}
context: It squeals from the front wheels when stopping, the pads are thin and the pedal vibrates.
outcomes: [battery, brakes]
evidence:
  - {{label: battery, text: "Engine turns over slowly, lights are dim, a jump start helps."}}
  - {{label: battery, text: "Clicking when the key is turned, lights dim, old battery."}}
  - {{label: battery, text: "Lights fade when the key is turned, nothing but clicking until a jump start."}}
  - {{label: battery, text: "Dim lights, slow engine, clicking after a cold night."}}
  - {{label: brakes, text: "Grinding when stopping, the pedal vibrates, pads worn to metal."}}
  - {{label: brakes, text: "Squeal from the wheels when stopping, pads are thin."}}
  - {{label: brakes, text: "The pedal is soft and stopping takes long, worn pads."}}
  - {{label: brakes, text: "Wheels squeal, the pedal vibrates, thin pads."}}
"""


def test_readers_answer_what_a_case_is_like_and_withhold_what_more_is_asked(maci) -> None:
    for question, answer in (("What is wrong with the car?", "brakes"), ("What is not wrong with the car?", None)):
        Path("car.yaml").write_text(CAR.format(question), encoding="utf-8")
        found = json.loads(maci("debate", "car.yaml", "--json").out)
        assert found["answer"] == answer, found["abstained"]
    assert "its question asks for more than what the case is like: “not”" in found["abstained"]


def test_force_gives_their_answer_and_is_on_record(maci) -> None:
    Path("van.yaml").write_text(VAN, encoding="utf-8")
    ran = maci("debate", "van.yaml", "--out", "run", "--json", "--force")
    found = json.loads(ran.out)
    assert found["answer"] in {"Alba", "Brix", "Corso"} and found["abstained"] is None
    assert any("2 texts for 3 outcomes" in w and w.endswith("because it was asked for") for w in found["warnings"])
    assert "all equal" in maci("replay", "run").out
    again = maci("debate", "van.yaml", "--resume", "--out", "run", "--json", "--force")
    assert json.loads(again.out)["answer"] == found["answer"]
    maci("debate", "van.yaml", "--out", "held", "--json")
    other = maci("debate", "van.yaml", "--resume", "--out", "held", "--force")
    assert other.code == 2 and "--force True (recorded: False)" in other.err


def test_every_result_of_readers_says_that_they_match_words(maci) -> None:
    said = "the readers compare words and do not reason"
    ran = maci("debate", "dengue", "--out", "run", "--json")
    assert json.loads(ran.out)["answer"] == "Dengue fever" and any(said in w for w in json.loads(ran.out)["warnings"])
    assert said[4:] in maci("debate", "dengue", "--out", "plain", "--plain").out
    maci("report", "run", "--out", "page.html")
    assert said[4:] in Path("page.html").read_text(encoding="utf-8")
    played = maci("debate", "paper-dengue", "--panel", "paper", "--json", "--out", "played")
    assert not any(said in warning for warning in json.loads(played.out)["warnings"])


def test_a_scale_is_printed_in_its_order_and_what_leads_is_marked(maci) -> None:
    out = maci("debate", "tone-budget", "--out", "run", "--plain", "--verbose", "--force", "--set", "max_rounds=2").out
    p = read(Path("run/transcript.jsonl")).events[-1].distribution
    first = max(p, key=lambda label: p[label])
    rows = [f"  {p[label]:5.2f}  {label}{'  (leads)' if label == first else ''}" for label in p]
    assert list(p) == ["-2", "-1", "0", "+1", "+2"] and "\n".join(rows) in out
    beliefs = [line for line in out.splitlines() if line.startswith("  all agents")]
    assert beliefs and all(line.count("(leads)") == 1 and line.index("-2 ") < line.index("+2 ") for line in beliefs)
    assert "−" not in out  # programs read it


def test_show_and_replay_read_what_debate_wrote(maci, files) -> None:
    maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--quiet")
    shown = maci("show", "run", "--plain")
    assert shown.code == 0
    for word in ("Openings", "Round 1", "admitted 1A1 x: It is.", "CL", "τ_Q", "Answer: yes", "consensus"):
        assert word in shown.out
    again = maci("replay", "run/transcript.jsonl")
    assert again.code == 0
    assert "all equal" in again.out
    assert json.loads(maci("replay", "run", "--json").out)["ok"] is True
    assert json.loads(maci("show", "run", "--json").out)
    assert "Round 1" not in maci("show", "run", "--round", "2", "--plain").out


def test_replay_of_a_debate_that_came_to_nothing_says_so(maci, files) -> None:
    maci("debate", "dengue", "--budget-tokens", "10", "--out", "run", "--quiet")
    for more in ((), ("--set", "max_rounds=3")):
        ran = maci("replay", "run", *more)
        assert ran.code == 0 and "no answer" in ran.out and "None" not in ran.out


def test_replay_under_other_settings_says_when_and_that_it_is_off_policy(maci, files) -> None:
    maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--quiet")
    (files / "other.toml").write_text("[stop]\nconsensus = false\nmax_rounds = 2\n")
    ran = maci("replay", "run", "--config", "other.toml")
    assert ran.code == 0
    assert "off-policy" in ran.out
    found = json.loads(maci("replay", "run", "--set", "consensus=false", "--set", "max_rounds=2", "--json").out)
    assert [row["stop_reason"] for row in found["rules"]] == ["consensus", "max_rounds"]
    undecided = json.loads(maci("replay", "run", "--set", "consensus=false", "--json").out)
    assert undecided["decided"] is False
    free = maci("replay", "run", "--set", "crit.enabled=false")
    assert free.code == 0


def test_replay_keeps_what_was_set_for_the_debate_and_changes_only_what_is_named(maci, files) -> None:
    rules = ("--set", "consensus=false", "--set", "min_rounds=3", "--set", "max_rounds=3", "--set", "crit.k=1")
    maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--quiet", *rules)
    found = json.loads(maci("replay", "run", "--set", "min_rounds=2", "--set", "max_rounds=2", "--json").out)
    # with the usual three scores an argument (crit.k) the record of one would never have closed a round
    assert [row["rounds"] for row in found["rules"]] == [3, 2] and found["decided"]
    usual = read(Path("run/transcript.jsonl")).events[0].config
    assert other_rules(usual, "paper").crit.k == 1 and other_rules(usual, "paper").profile == "paper"
    assert other_rules(usual) == usual


def test_config_lists_every_setting_with_symbol_and_range(maci) -> None:
    ran = maci("config", "--plain", "--set", "tau_q=0.6")
    assert "gate.tau_q = 0.6 (default 0.5); τ_Q; between 0 and 1" in ran.out
    rows = {row["key"]: row for row in json.loads(maci("config", "--profile", "paper", "--json").out)}
    assert rows["dispersion.gate"]["value"] == "all"
    assert maci("config").code == 0
    short = maci("config", "--plain", "--set", "max_rounds=1")
    assert short.err.strip() == "min_rounds was lowered from 2 to 1, because max_rounds is 1."
    assert "stop.min_rounds = 1 (default 2)" in short.out


def test_cases_lists_them_and_gives_the_schema(maci) -> None:
    assert "paper-hepatitis" in maci("cases", "--plain").out
    assert "question" in json.loads(maci("cases", "--schema", "--json").out)["properties"]


# --- wrong use: exit 2, the argument named, nothing written -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["debate"], "what shall be debated?"),
        (["debate", "case.yaml", "--question", "q"], "give a CASE or --question, not both"),
        (["debate", "nosuch"], "no case file and no built-in case named 'nosuch'"),
        (["debate", "x" * 300], "no case file"),
        (["debate", "bad.yaml"], "bad.yaml is not valid YAML"),
        (["debate", "latin.yaml"], "latin.yaml is not a text file (UTF-8)"),
        (["debate", "noquestion.yaml"], "question is missing"),
        (["debate", "typo.yaml"], "unknown key 'outcoms': did you mean outcomes?"),
        (["debate", "type.yaml"], "outcomes is 3"),
        (["debate", "one.yaml"], "at least two outcomes"),
        (["debate", "case.yaml", "--panel", "paper"], "the panel `paper` plays only the cases"),
        (["debate", "case.yaml", "--panel", "panel.yaml", "--corpus", "."], "cannot use --corpus"),
        (["debate", "case.yaml", "--panel", "nosuch"], "unknown panel 'nosuch': choose"),
        (["debate", "case.yaml", "--panel", "latin.yaml"], "is not a text file"),
        (["debate", "case.yaml", "--panel", "bad.yaml"], "is not valid YAML"),
        (["debate", "case.yaml", "--panel", "case.yaml"], "case.yaml: agents: field required"),
        (["debate", "case.yaml", "--panel", "empty.yaml"], "empty.yaml: script"),
        (["debate", "case.yaml", "--panel", "alone.yaml"], "a debate needs at least two agents, got 1"),
        (["debate", "case.yaml", "--panel", "unjudged.yaml"], "there are no judges"),
        (["debate", "case.yaml", "--panel", "panel.yaml", "--set", "tau_q=7"], "gate.tau_q = 7 is out of range"),
        (["debate", "case.yaml", "--panel", "panel.yaml", "--set", "tau=7"], "unknown setting 'tau'"),
        (["debate", "case.yaml", "--panel", "panel.yaml", "--set", "tau_q"], "write key=value"),
        (["debate", "case.yaml", "--panel", "panel.yaml", "--profile", "papr"], "unknown profile 'papr'"),
        (["debate", "case.yaml", "--panel", "panel.yaml", "--config", "bad.toml"], "bad.toml is not valid TOML"),
        (["debate", "case.yaml", "--panel", "panel.yaml", "--config", "none.toml"], "none.toml"),
        (["debate", "case.yaml", "--panel", "panel.yaml", "--budget-tokens", "-1"], "budget-tokens"),
        (["debate", "--resume"], "--resume needs --out"),
        (["debate", "case.yaml", "--resume", "--out", "run"], "nothing to resume"),
        (["debate", "--resume", "--out", "nowhere"], "nothing to resume"),
        (
            ["debate", "surrogate.json", "--panel", "panel.yaml"],
            "surrogate.json has '\\ud800', which is not text that UTF-8 can write",
        ),
        (["show", "nowhere.jsonl"], "cannot read the transcript nowhere.jsonl"),
        (["replay", "nowhere.jsonl"], "cannot read the transcript"),
        (
            ["config", "--set", "max_rounds=1", "--set", "min_rounds=2"],
            "stop.min_rounds = 2 is above stop.max_rounds = 1",
        ),
        (["nosuch"], "No such command"),
        (["debate", "--nosuch"], "No such option"),
    ],
)
def test_wrong_use_exits_2_names_the_argument_and_writes_nothing(maci, files, args, says) -> None:
    (files / "bad.yaml").write_text("question: [")
    (files / "bad.toml").write_text("x = ")
    (files / "latin.yaml").write_bytes("question: Männer\n".encode("latin-1"))
    (files / "noquestion.yaml").write_text("outcomes: [a, b]\n")
    (files / "typo.yaml").write_text("question: q\noutcoms: [a, b]\n")
    (files / "type.yaml").write_text("question: q\noutcomes: 3\n")
    (files / "one.yaml").write_text("question: q\noutcomes: [a]\n")
    (files / "empty.yaml").write_text("")
    (files / "alone.yaml").write_text(PANEL.split("  - name: y")[0] + "judges: [{name: j, family: fj}]\n")
    (files / "unjudged.yaml").write_text(PANEL.split("judges:")[0])
    (files / "surrogate.json").write_text('{"question": "\\ud800", "outcomes": ["yes", "no"]}')
    if args[0] == "debate" and "--out" not in args:
        args = [*args, *(["--out", "run"] if "--resume" not in args else [])]
    ran = maci(*args)
    assert ran.code == 2
    assert says in " ".join(ran.err.replace("│", " ").split())
    assert ran.out == ""
    assert not list(files.rglob("transcript.jsonl"))  # the place stays free for the corrected command


def test_an_unknown_environment_variable_exits_2(maci, files, monkeypatch) -> None:
    monkeypatch.setenv("MACI_GATE_TAU", "0.5")
    ran = maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run")
    assert ran.code == 2
    assert "MACI_GATE_TAU; did you mean MACI_GATE_TAU_" in ran.err


def test_an_existing_transcript_is_refused_and_untouched(maci, files) -> None:
    maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--quiet")
    before = (files / "run" / "transcript.jsonl").read_bytes()
    ran = maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "exists: continue it with `maci debate --resume --out" in ran.err
    assert (files / "run" / "transcript.jsonl").read_bytes() == before


# --- checks that fail: exit 1 -----------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished debate that the panel of these tests did not play."""
    path = tmp_path / "run" / "transcript.jsonl"
    write(path, seat([script("x", turn(0.8, 0.2)), script("y", turn(0.2, 0.8))]), settings("max_rounds=2"))
    return path


def test_an_edited_transcript_exits_1_and_names_the_line(maci, run) -> None:
    lines = run.read_text().splitlines(keepends=True)
    run.write_text("".join([*lines[:3], lines[3].replace("0.8", "0.9", 1), *lines[4:]]))
    for command in ("replay", "show"):
        ran = maci(command, run)
        assert (ran.code, ran.out) == (1, "")
        assert "line 4: the chain is broken here" in ran.err


def test_a_truncated_transcript_exits_1_and_says_where_it_ends(maci, run) -> None:
    data = run.read_bytes()
    run.write_bytes(data[: len(data) // 2])
    ran = maci("replay", run.parent)
    assert ran.code == 1
    for word in ("is not complete", "it ends in round", "waiting for", "cut short", "--resume --out"):
        assert word in ran.err
    shown = maci("show", run, "--plain")
    assert shown.code == 0
    assert "The debate is unfinished" in shown.out


@pytest.mark.parametrize(
    ("data", "says"), [(b"", "holds no whole line"), (b"no\n", "opens no debate"), (b"{}\n", "opens no debate")]
)
def test_a_file_that_is_no_transcript_exits_1(maci, tmp_path, data, says) -> None:
    (tmp_path / "t.jsonl").write_bytes(data)
    ran = maci("replay", "t.jsonl")
    assert ran.code == 1
    assert says in ran.err


def test_a_result_that_was_never_written_is_owed(maci, run) -> None:
    lines = run.read_bytes().splitlines(keepends=True)
    run.write_bytes(b"".join(lines[:-1]))
    ran = maci("replay", run)
    assert ran.code == 1
    assert "it ends before its result was written" in ran.err


# --- surroundings that fail: exit 3, budget: exit 4 -------------------------------------------------------------------------


def costly(case, tokens: int = 10) -> object:
    def reply(request) -> Turn:
        return Turn(belief={"yes": 0.9, "no": 0.1}, usage=Usage(generated=tokens))

    return seat([FunctionAgent(n, reply, family=n, ceiling=tokens) for n in "xy"], case=case)


def test_a_budget_that_ends_before_an_answer_exits_4_with_a_record(maci, files, monkeypatch) -> None:
    tables(monkeypatch, costly)
    ran = maci("debate", "case.yaml", "--budget-tokens", "5", "--out", "run", "--json")
    assert ran.code == 4
    assert json.loads(ran.out)["answer"] is None
    assert json.loads(ran.out)["stop_reason"] == "budget"
    assert "raise --budget-tokens" in ran.err
    assert maci("replay", "run").code == 0


def test_a_budget_that_ends_after_an_answer_exits_0(maci, files, monkeypatch) -> None:
    tables(monkeypatch, costly)
    ran = maci("debate", "case.yaml", "--budget-tokens", "35", "--out", "run", "--json")
    assert ran.code == 0
    found = json.loads(ran.out)
    assert (found["answer"], found["stop_reason"], found["tokens"]) == (
        "yes",
        "budget",
        30,
    )  # one more turn fitted, and was kept


def test_agents_that_all_fail_exit_3(maci, files, monkeypatch) -> None:
    tables(monkeypatch, lambda case: seat([script(n, ConnectionError("no route")) for n in "xy"], case=case))
    ran = maci("debate", "case.yaml", "--out", "run", "--json")
    assert ran.code == 3
    assert json.loads(ran.out)["stop_reason"] == "error"
    assert "no agent gave an opening: x: ConnectionError: no route" in ran.err


def test_an_agent_that_fails_in_every_round_is_complained_of_once(maci, files, monkeypatch) -> None:
    refusal = ContentRefused("it refuses this content: reword the case")
    table = [
        script("x", *[turn(0.9, 0.1, labels=("yes", "no"))] * 4),
        script("y", refusal),
        script("z", turn(0.1, 0.9, labels=("yes", "no"))),
    ]
    tables(monkeypatch, lambda case: seat(table, case=case))
    ran = maci("debate", "case.yaml", "--out", "run", "--plain", "--verbose", "--set", "max_rounds=3")
    assert ran.code == 0, ran.err
    assert ran.out.count("reword the case") == 1
    assert ran.out.count("y abstained, as before") == 3
    assert maci("debate", "case.yaml", "--out", "short", "--plain").out.count("reword the case") == 1


def test_a_full_disk_exits_3_and_the_record_can_be_resumed(maci, files, monkeypatch) -> None:
    whole = Transcript.append

    def fails_later(self, event, *, sync=False) -> None:
        if self._seq == 6:
            raise EnvironmentError_(
                "cannot write: No space left on device; what is on disk can be continued with --resume"
            )
        whole(self, event, sync=sync)

    monkeypatch.setattr(Transcript, "append", fails_later)
    ran = maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--json")
    assert (ran.code, ran.out) == (3, "")
    assert "No space left on device" in ran.err
    monkeypatch.setattr(Transcript, "append", whole)
    ran = maci("debate", "--resume", "--out", "run", "--panel", "panel.yaml", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["answer"] == "yes"
    assert maci("replay", "run").code == 0


def test_a_place_that_cannot_be_written_exits_3(maci, files) -> None:
    (files / "file").write_text("")
    ran = maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "file/deep")
    assert ran.code == 3
    assert "cannot write" in ran.err


# --- resuming ---------------------------------------------------------------------------------------------------------------


def test_resume_after_a_cut_finishes_with_the_same_record(maci, files) -> None:
    maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--quiet")
    path = files / "run" / "transcript.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b'"type":"scored"')])  # in the middle of the last score
    ran = maci("debate", "--resume", "--out", "run", "--panel", "panel.yaml", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["answer"] == "yes"
    assert "cut short by a crash" in ran.err
    assert path.read_bytes() == whole


def test_resuming_a_finished_debate_prints_its_result_again(maci, files) -> None:
    first = maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--json")
    again = maci("debate", "--resume", "--out", "run", "--json")
    assert again.out == first.out


def test_resume_takes_the_options_of_the_record_and_names_those_that_differ(maci, files) -> None:
    same = ["debate", "case.yaml", "--panel", "panel.yaml", "--set", "max_rounds=5", "--budget-tokens", "9000"]
    maci(*same, "--out", "run", "--quiet")
    path = files / "run" / "transcript.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"\n", 0, whole.rindex(b'"type":"scored"')) + 1])
    (files / "other.yaml").write_text(CASE.replace("High", "Low"))
    others = ["--seed", "3", "--source", "ask", "--set", "tau_q=0.2", "--budget-tokens", "1", "--panel", "paper"]
    ran = maci("debate", "other.yaml", "--resume", "--out", "run", *others)
    assert ran.code == 2
    for words in (
        "CASE (its context)", "--seed 3 (recorded: 0)", "--source ask (recorded: none)", "--budget-tokens 1 (recorded: 9000)",
        "--set gate.tau_q 0.2 (recorded: 0.5)", "--panel paper (recorded: ", "another --out",
    ):  # fmt: skip
        assert words in ran.err
    assert len(path.read_bytes()) < len(whole)
    ran = maci(*same, "--out", "run", "--resume", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert path.read_bytes() == whole


def test_resuming_an_edited_record_exits_1_and_touches_nothing(maci, files) -> None:
    maci("debate", "case.yaml", "--panel", "panel.yaml", "--out", "run", "--quiet")
    path = files / "run" / "transcript.jsonl"
    broken = path.read_bytes().replace(b"0.9", b"0.8", 1)[:-3]
    path.write_bytes(broken)
    ran = maci("debate", "--resume", "--out", "run")
    assert ran.code == 1
    assert "the chain is broken" in ran.err
    assert path.read_bytes() == broken


# --- as a process -----------------------------------------------------------------------------------------------------------


def process(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([MACI, *args], capture_output=True, text=True, timeout=120, **more)  # type: ignore[call-overload,no-any-return]


def test_the_paper_case_runs_and_replays_as_a_process(tmp_path: Path) -> None:
    ran = process("debate", "paper-hepatitis", "--panel", "paper", "--out", "run", "--json", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    assert (found["answer"], found["rounds"]) == ("Hepatitis C", 4)
    assert process("replay", "run", cwd=tmp_path).returncode == 0
    assert process("debate", "paper-hepatitis", "--out", "run", cwd=tmp_path).returncode == 2


def test_a_case_from_standard_input_that_is_not_text_exits_2(tmp_path: Path) -> None:
    ran = subprocess.run(
        [MACI, "debate", "-", "--out", "run"], input=b"\xff\xfe", capture_output=True, cwd=tmp_path, timeout=120
    )
    assert ran.returncode == 2
    assert b"standard input is not a text file" in ran.stderr
    assert b"Traceback" not in ran.stderr


def test_a_reader_that_goes_away_is_no_error(run: Path) -> None:
    ran = subprocess.run(
        ["bash", "-c", f"{MACI} show {run} --plain | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        timeout=120,
    )
    assert ran.returncode == 0
    assert b"Traceback" not in ran.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without /dev/full")
@pytest.mark.parametrize("words", ["--help", "cases", "cases --json", "config", "show --schema", "data --json"])
def test_an_output_on_a_full_disk_is_one_line_and_exit_3(words: str) -> None:
    ran = subprocess.run(["bash", "-c", f"{MACI} {words} >/dev/full"], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 3
    assert ran.stderr == (
        "maci: standard output cannot be written to: No space left on device; free some space there, or send it elsewhere\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without /dev/full")
def test_a_debate_whose_output_is_on_a_full_disk_can_be_resumed(files: Path) -> None:
    command = f"{MACI} debate paper-hepatitis --panel paper --out run --plain >/dev/full"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=files, timeout=120)
    assert ran.returncode == 3 and len(ran.stderr.splitlines()) == 1
    assert "No space left on device" in ran.stderr and "maci debate --resume --out run" in ran.stderr
    assert process("debate", "--resume", "--out", "run", "--json", cwd=files).returncode == 0


def test_a_closed_output_is_refused_before_anything_is_done(files: Path) -> None:
    command = f"{MACI} debate paper-hepatitis --panel paper --out run >&-"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=files, timeout=120)
    assert ran.returncode == 3
    assert ran.stderr.startswith("maci: standard output is closed") and len(ran.stderr.splitlines()) == 1
    assert not (files / "run").exists()


@pytest.mark.parametrize(
    "words", [[], ["debate"], ["models"], ["models", "pull"], ["study", "run"], ["audit", "judges"]]
)
def test_h_is_short_for_help(words: list[str], maci) -> None:
    short, long = maci(*words, "-h"), maci(*words, "--help")
    assert short.code == long.code == 0 and short.out == long.out
    assert "-h, --help" in short.out


def test_a_folder_is_not_taken_for_the_case_file_it_is_called_after(files: Path, maci) -> None:
    (files / "dir.yaml").mkdir()
    ran = maci("debate", "dir.yaml")
    assert ran.code == 2 and "no case file and no built-in case named 'dir.yaml'" in ran.err
    assert "did you mean dir.yaml" not in ran.err


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("def embed(texts): raise RuntimeError('no GPU')", "failed: RuntimeError: no GPU"),
        (
            "class embed:\n  name = 'x'\n  @staticmethod\n  def encode(texts): raise OSError('gone')",
            "failed: OSError: gone",
        ),
        ("raise RuntimeError('no GPU')", "failed while it was imported: RuntimeError: no GPU"),
    ],
)
def test_an_encoder_of_ones_own_that_raises_is_one_line_and_exit_3(files: Path, module: str, says: str) -> None:
    (files / "own.py").write_text(module)
    (files / "notes.txt").write_text("Dengue is a fever.")
    ran = process("index", "notes.txt", "--encoder", "own:embed", "--quiet", cwd=files)
    assert ran.returncode == 3 and says in ran.stderr and len(ran.stderr.splitlines()) == 1


def test_a_debate_whose_reader_goes_away_is_not_done_and_says_how_to_go_on(files: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [MACI, "debate", "paper-hepatitis", "--panel", "paper", "--out", "run", "--plain"]
    with os.fdopen(writing, "wb") as pipe:
        ran = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, cwd=files, timeout=120)
    assert ran.returncode == 3
    said = "output was closed before the end; nothing that was recorded is lost. Continue with: "
    assert said + "maci debate --resume --out run" in ran.stderr and len(ran.stderr.splitlines()) == 1
    assert "Traceback" not in ran.stderr
    assert process("debate", "--resume", "--out", "run", "--json", cwd=files).returncode == 0


@pytest.mark.parametrize(
    "args", [["--help"], ["debate", "--help"], ["show", "--help"], ["replay", "--help"], ["--version"]]
)
def test_help_imports_neither_numpy_nor_an_encoder_nor_a_provider(args: list[str]) -> None:
    code = (
        "import sys\n"
        f"sys.argv = ['maci', *{args!r}]\n"
        "from maci.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'numpy', 'onnxruntime', 'wordllama', 'aiohttp', 'tokenizers', 'scipy', 'bm25s', 'yaml'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.strip() == "[]"
    assert ran.stdout


def test_declaring_every_command_imports_nothing_heavy() -> None:
    """What `maci COMMAND --help` imports, for all commands at once; their work is imported when they run."""
    code = (
        "import sys\n"
        "from maci.cli.app import COMMANDS, opened\n"
        "for name in COMMANDS:\n    opened(name)\n"
        "heavy = ('numpy', 'scipy', 'pydantic', 'aiohttp', 'asyncio', 'ssl', 'starlette', 'yaml',\n"
        "         'maci.story', 'maci.controller', 'maci.lab')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "[]", ran.stderr


def test_help_says_what_the_exit_codes_mean() -> None:
    said = " ".join(process("--help").stdout.split())
    assert "0 done, 1 a check failed, 2 wrong use or input, 3 provider or environment" in said
    assert "130 interrupted" in said


SLOW = """
import asyncio, sys
sys.path.insert(0, {tests!r})
import maci.seating.seating as command
from helpers import script, seat, turn
from maci.agents.agent import Agent
from maci.cli import main
from hash_encoder import HashEncoder
from maci.evidence.knowledge import conditions

class Slow(Agent):
    name, family = "slow", "slow"
    def ceiling(self, request): return 0
    async def turn(self, request):
        if request.round == 1 and {slow}:
            print("round 1", file=sys.stderr, flush=True)
            await asyncio.sleep(600)
        return turn(0.6, 0.4, labels=("yes", "no"))

command.load_encoder = lambda *args, **more: HashEncoder()
command.Tables._seat = lambda self, case, seed: seat([Slow(), script("y", turn(0.3, 0.7, labels=("yes", "no")))], case=case)
main()
"""


def slow(slow: bool, *args: str, cwd: Path, background: bool = False) -> subprocess.Popen[str]:
    """A debate that waits in round 1, if ``slow``; in the ``background`` Ctrl-C is ignored, else signals do what they usually do."""

    def signals() -> None:  # the tests may run in the background or under `nohup` themselves
        signal.signal(signal.SIGINT, signal.SIG_IGN if background else signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    code = SLOW.format(tests=str(Path(__file__).parents[2]), slow=slow)
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, preexec_fn=signals,
    )  # fmt: skip


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, "nohup"])
def test_ctrl_c_sigterm_and_a_closed_terminal_exit_130_and_resume_finishes_the_debate(
    files: Path, stop: signal.Signals | str
) -> None:
    with slow(True, "debate", "case.yaml", "--out", "run", "--json", cwd=files, background=stop == "nohup") as ran:
        try:
            assert ran.stderr is not None
            assert "round 1" in ran.stderr.readline()
            time.sleep(0.1)
            ran.send_signal(signal.SIGTERM if stop == "nohup" else stop)
            out, err = ran.communicate(timeout=60)
        finally:
            ran.kill()
    assert ran.returncode == 130
    assert out == ""
    assert "interrupted" in err and "maci debate --resume --out run" in err
    assert "Traceback" not in err
    recording = read(files / "run" / "transcript.jsonl")
    assert recording.torn == 0
    assert "waiting for turn slow" in replay(recording.events).where()
    with slow(False, "debate", "--resume", "--out", "run", "--json", cwd=files) as again:
        out, err = again.communicate(timeout=60)
    assert (again.returncode, err) == (0, "")
    assert json.loads(out)["answer"] in {"yes", "no"}
    whole = read(files / "run" / "transcript.jsonl").events
    assert whole[: len(recording.events)] == recording.events
    assert replay(whole).complete


def test_a_debate_being_written_cannot_be_resumed_by_another_process(files: Path) -> None:
    with slow(True, "debate", "case.yaml", "--out", "run", "--json", cwd=files) as ran:
        assert ran.stderr is not None
        assert "round 1" in ran.stderr.readline()
        other = process("debate", "--resume", "--out", "run", cwd=files)
        ran.send_signal(signal.SIGINT)
        ran.communicate(timeout=60)
    assert ran.returncode == 130
    assert other.returncode == 3
    assert "is being written by another process" in other.stderr


def test_control_characters_of_evidence_never_reach_the_terminal(maci, tmp_path) -> None:
    (tmp_path / "c.yaml").write_text(
        'question: "Which?"\noutcomes: [alpha, beta]\nevidence: ["Alpha \\e[2J\\e[H hurts", "Beta \\u202e makes hot"]\n',
        encoding="utf-8",
    )
    ran = maci("debate", "c.yaml", "--out", "o", "--force", "--verbose")
    assert ran.code == 0, ran.err
    assert "\x1b[2J" not in ran.out and "\u202e" not in ran.out
    assert "hurts" in ran.out


@pytest.mark.parametrize("left", [b"", b'{"hash":"3f', b'{"hash":"' + b"0" * 64 + b'","seq":1,"type":"op'])
def test_a_debate_that_was_killed_in_its_first_line_starts_again(maci, files, left: bytes) -> None:
    (files / "run").mkdir()
    (files / "run" / "transcript.jsonl").write_bytes(left)
    ran = maci("debate", "--resume", "--out", "run")
    assert ran.code == 2 and "before anything was recorded" in ran.err
    (files / "run" / "transcript.jsonl").write_bytes(left)
    ran = maci("debate", "dengue", "--resume", "--out", "run", "--json")
    assert ran.code == 0, ran.err
    (files / "run" / "transcript.jsonl").write_text("a note of mine")
    assert maci("debate", "dengue", "--resume", "--out", "run").code == 1
    assert (files / "run" / "transcript.jsonl").read_text() == "a note of mine"


def test_escapes_in_names_and_errors_never_reach_the_terminal(maci, tmp_path) -> None:
    evil = "a\x1b[2J\x9b1mb"
    (tmp_path / f"{evil}.yaml").write_text("question: [1]\n", encoding="utf-8")
    ran = maci("debate", f"{evil}.yaml")
    assert ran.code == 2 and "\x1b" not in ran.out + ran.err and "\x9b" not in ran.err
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / f"{evil}.html").write_text("x<![-- y", encoding="utf-8")
    (tmp_path / "docs" / "fine.txt").write_text("The barn is red.", encoding="utf-8")
    ran = maci("index", "docs", "--out", "idx")
    assert ran.code == 0 and "broken HTML" in ran.err and "\x1b" not in ran.out + ran.err
    (tmp_path / "c.yaml").write_text(
        'question: "Which\\e[2J?"\noutcomes: ["al\\e[1mpha", beta]\nevidence: ["al\\e[1mpha \\e[H hurts", "Beta makes hot"]\n',
        encoding="utf-8",
    )
    for command in (
        ["debate", "c.yaml", "--out", "o"],
        ["show", "o"],
        ["plan", "o"],
        ["replay", "o"],
        ["report", "o", "--format", "md"],
        ["debate", "c.yaml", "--out", evil],
        ["debate", "--resume", "--out", evil],
    ):
        ran = maci(*command)
        assert "\x1b" not in ran.out + ran.err and "\x9b" not in ran.out + ran.err, command


def test_two_texts_with_one_id_are_refused(maci, tmp_path) -> None:
    evidence = "[{id: e1, text: The barn is red}, {id: e1, text: The barn is blue}]"
    (tmp_path / "c.yaml").write_text(
        f"question: Which?\noutcomes: [red, blue]\nevidence: {evidence}\n", encoding="utf-8"
    )
    ran = maci("debate", "c.yaml", "--out", "o")
    assert ran.code == 2
    assert "two pieces of evidence have the id 'e1'" in ran.err


def test_a_gate_somebody_sets_is_not_fitted(maci, tmp_path) -> None:
    ran = maci("debate", "dengue", "--set", "tau_q=0.4", "--out", "o", "--plain", "--verbose")
    assert ran.code == 0, ran.err
    assert "τ_Q 0.400" in ran.out


def test_replay_compares_calibrated_probabilities_and_names_what_it_cannot_judge(maci, tmp_path) -> None:
    maci("debate", "dengue", "--out", "o", "--quiet")
    ran = maci("replay", "o", "--set", "calibration.temperature=3", "--set", "k_ret=5", "--set", "fit_tau_q=true")
    assert ran.code == 0, ran.err
    recorded, other = ran.out.splitlines()[:2]
    assert float(recorded.split("p = ")[1]) > float(other.split("p = ")[1])
    assert "evidence.k_ret" in ran.out


def test_a_round_that_never_was_is_an_error(maci, run) -> None:
    ran = maci("show", run, "--round", "99")
    assert ran.code == 2
    assert "has the rounds 0 to" in ran.err


def test_toml_is_read_from_standard_input(maci, tmp_path, monkeypatch) -> None:
    text = 'question = "Which?"\noutcomes = ["Dengue fever", "Gout"]\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ran = maci("debate", "-", "--out", "o", "--json")
    assert ran.code == 0, ran.err


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "maci", "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("maci ")


@pytest.mark.parametrize(
    ("name", "text"),
    [("deep.yaml", "[" * 25_000), ("deep.toml", ".".join("a" * 20_000) + "=1"), ("deep.json", "[" * 100_000)],
)
def test_a_file_made_to_crash_its_parser_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = process("debate", name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"maci: {name} is nested more than 64 deep (line 1): write it flatter\n"


def test_a_negative_seed_and_a_name_too_long_for_a_file_are_refused_in_words(tmp_path: Path) -> None:
    done = process("debate", "dengue", "--seed", "-1", cwd=tmp_path)
    assert done.returncode == 2 and "--seed" in done.stderr and "Traceback" not in done.stderr
    done = process("show", "i" * 5000, cwd=tmp_path)
    assert done.returncode == 2 and "longer than the name of a file can be: correct it" in done.stderr
    assert len(done.stderr) < 200 and "Traceback" not in done.stderr


def test_a_terminal_of_no_width_is_printed_to_all_the_same(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert "Dengue fever" in process("debate", "dengue", "--out", "o", cwd=tmp_path).stdout


def test_what_is_redacted_is_in_no_record_and_the_result_says_so(maci, tmp_path) -> None:
    (tmp_path / "c.yaml").write_text(
        "id: CANARY-ID\ntitle: CANARY-TITLE\nquestion: Which?\ncontext: CANARY-CONTEXT hurts\noutcomes: [alpha, beta]\n"
        "evidence: [{id: CANARY-E, text: Alpha hurts, source: CANARY-SOURCE}, {text: Beta burns, source: CANARY-SOURCE}]\n",
        encoding="utf-8",
    )
    fields = [part for field in ("context", "sources", "ids", "title") for part in ("--redact", field)]
    ran = maci("debate", "c.yaml", "--out", "o", "--json", *fields)
    assert ran.code == 0, ran.err
    assert "CANARY" not in ran.out + ran.err + (tmp_path / "o" / "transcript.jsonl").read_text()
    assert "redacted before anything was sent: context, sources, ids, title" in json.dumps(
        json.loads(ran.out)["warnings"]
    )
    assert maci("debate", "c.yaml", "--redact", "colour").code == 2


def test_hidden_findings_aliases_and_the_corpus_can_be_redacted_and_the_debate_resumed(maci, tmp_path) -> None:
    folder = tmp_path / "CANARY-FOLDER"
    folder.mkdir()
    (folder / "CANARY-FILE.txt").write_text("Alpha hurts at night and swells.", encoding="utf-8")
    (folder / "CANARY-MORE.txt").write_text("Beta burns in the morning.", encoding="utf-8")
    assert maci("index", folder, "--out", "CANARY-INDEX").code == 0
    (tmp_path / "c.yaml").write_text(
        "question: Which?\ncontext: It hurts at night.\nhidden: {CANARY-FINDING: yes}\n"
        "outcomes: {kind: closed, labels: [alpha, beta], aliases: {CANARY-ALIAS: alpha}}\n",
        encoding="utf-8",
    )
    fields = [part for field in ("sources", "hidden", "aliases") for part in ("--redact", field)]
    given = ("--corpus", "CANARY-INDEX")
    ran = maci("debate", "c.yaml", *given, "--out", "o", "--json", "--force", *fields)
    record = tmp_path / "o" / "transcript.jsonl"
    assert ran.code == 0, ran.err
    assert "CANARY" not in ran.out + ran.err + record.read_text()
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(lines[: len(lines) // 2]))  # broken off
    ran = maci("debate", "--resume", "--out", "o", "--json")
    assert ran.code == 2 and "Give --corpus again" in ran.err
    ran = maci("debate", "--resume", "--out", "o", "--json", *given)
    assert ran.code == 0, ran.err
    assert "CANARY" not in ran.out + record.read_text()
