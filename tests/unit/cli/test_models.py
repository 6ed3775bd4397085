"""``maci debate`` and ``maci doctor`` with models, against a server on this machine that behaves like the APIs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fake_server import FakeServer, Faults
from hash_encoder import HashEncoder
from maci.controller.inputs import Lost, Requested, Sent, TurnFailed, TurnTaken
from maci.record.replay import replay
from maci.record.transcript import read
from maci.seating.models import READERS_JUDGE


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, no keys and settings from outside, an encoder that loads at once."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("MACI_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    for name in ("XDG_CONFIG_HOME", "MACI_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("MINE", "sk-this-is-the-key-of-the-tests")
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())


@pytest.fixture
def maci(maci: Callable[..., Any]) -> Callable[..., Any]:
    """The command, which never shows the key."""

    def run(*args: object) -> Any:
        ran = maci(*args)
        assert "sk-this-is-the-key" not in ran.out + ran.err
        return ran

    return run


@contextmanager
def serving(**how: Any) -> Iterator[FakeServer]:
    """A fake server in a thread of its own, and a panels file that leads to it."""
    server, loop, up, over = FakeServer(**how), asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with server:
            up.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert up.wait(10)
        panels(server.url)
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
        loop.close()


def panels(url: str) -> None:
    own = f"{{base_url: '{url}/v1', key_env: MINE, retries: 1, price: {{input: 1, output: 2}}}}"
    Path("maci-panels.yaml").write_text(
        "panels:\n  pair: {agents: [openai/alpha, openai/beta], judges: [vllm/gamma], set: {max_rounds: 2}}\n"
        f"models: {{openai: {own}, vllm: {{base_url: '{url}/v1', retries: 1}}}}\n",
        encoding="utf-8",
    )
    Path("case.yaml").write_text(
        "question: Is it dengue?\ncontext: High fever and a rash.\noutcomes: [dengue, measles]\n"
        "evidence: ['Dengue brings high fever.', 'Measles brings a rash.']\n",
        encoding="utf-8",
    )


PAIR = ("debate", "case.yaml", "--panel", "pair", "--out", "run")


# --- a debate ---------------------------------------------------------------------------------------------------------------


def test_a_debate_of_models_ends_with_an_answer_and_says_what_it_cost(maci) -> None:
    with serving() as server:
        ran = maci(*PAIR, "--json")
        assert (ran.code, ran.err) == (0, "")
        found = json.loads(ran.out)
        counted = server.counts.values()
        assert found["tokens"] == sum(c.prompt + c.generated for c in counted)
    assert found["answer"] in {"dengue", "measles"}
    assert found["usd"] > 0
    assert found["prompt_tokens"] + found["generated_tokens"] == found["tokens"]
    assert 0 < found["judge_tokens"] < found["tokens"]
    assert maci("replay", "run").code == 0
    opened = read(Path("run/transcript.jsonl")).opened
    assert opened.panel == "pair"
    assert opened.table is not None
    assert [seat["model"] for seat in opened.table["agents"]] == ["openai/alpha", "openai/beta"]


def test_the_transcript_holds_no_key(maci) -> None:
    with serving():
        maci(*PAIR, "--quiet")
    assert b"sk-this" not in Path("run/transcript.jsonl").read_bytes()


def test_a_repeated_debate_asks_nobody_and_costs_nothing(maci) -> None:
    with serving() as server:
        first = json.loads(maci(*PAIR, "--json").out)
        asked = sum(count.requests for count in server.counts.values())
        again = json.loads(maci("debate", "case.yaml", "--panel", "pair", "--out", "again", "--json").out)
        assert sum(count.requests for count in server.counts.values()) == asked
        assert again["usd"] == 0
        assert again["distribution"] == first["distribution"]
        maci("debate", "case.yaml", "--panel", "pair", "--out", "third", "--no-cache", "--quiet")
        assert sum(count.requests for count in server.counts.values()) > asked


def test_replies_can_be_kept_elsewhere(maci) -> None:
    with serving():
        maci(*PAIR, "--cache", "here.sqlite", "--quiet")
        assert Path("here.sqlite").exists()
        assert not Path("maci_cache/replies.sqlite").exists()
        assert maci(*PAIR, "--cache", "a.sqlite", "--no-cache").code == 2


NAMED = ("debate", "case.yaml", "--agents", "openai/alpha,openai/beta", "--set", "max_rounds=2", "--out", "run")


def test_agents_by_name_are_judged_by_a_configured_model_of_another_family(maci) -> None:
    with serving():
        ran = maci(*NAMED, "--plain")
    assert ran.code == 0, ran.err
    assert "No judges were named (--judges): vllm/gamma judges, a model you have configured" in ran.out
    opened = read(Path("run/transcript.jsonl")).opened
    assert [judge.name for judge in opened.judges] == ["vllm/gamma"] and opened.notes == ()


def test_a_configured_model_that_cannot_be_asked_is_no_judge(maci) -> None:
    with serving():
        file = Path("maci-panels.yaml")
        file.write_text(file.read_text(encoding="utf-8").replace("[vllm/gamma]", "[anthropic/gamma]"), encoding="utf-8")
        ran = maci(*NAMED, "--json")
    assert ran.code == 0, ran.err
    assert [judge.family for judge in read(Path("run/transcript.jsonl")).opened.judges] == ["surface"] * 3


def test_a_file_of_the_working_directory_cannot_have_a_case_judged_on_its_own_host(maci) -> None:
    with serving():
        file = Path("maci-panels.yaml")
        text = file.read_text(encoding="utf-8").replace("[vllm/gamma]", "[openrouter/gamma]")
        strange = ", openrouter: {base_url: 'https://models.example.org/v1'}}"
        file.write_text(text.rstrip()[:-1] + strange + "\n", encoding="utf-8")
        ran = maci(*NAMED, "--json")
    assert ran.code == 0, ran.err
    assert [judge.family for judge in read(Path("run/transcript.jsonl")).opened.judges] == ["surface"] * 3


def test_where_one_family_is_configured_the_reader_judges_score_and_the_result_says_so(maci) -> None:
    with serving():
        file = Path("maci-panels.yaml")
        file.write_text(file.read_text(encoding="utf-8").replace("judges: [vllm/gamma], ", ""), encoding="utf-8")
        ran = maci(*NAMED, "--plain", "--verbose")
        result = json.loads(maci(*NAMED[:-1], "again", "--json").out)
    assert ran.code == 0, ran.err
    assert "no model of another family is configured, so the three reader judges scored" in ran.out
    assert READERS_JUDGE in result["warnings"]
    assert "reader judges scored" in maci("report", "run", "--format", "md").out
    assert "judges letters, words, phrases" in ran.out


def test_judges_none_is_crit_free(maci) -> None:
    with serving():
        ran = maci(*PAIR, "--judges", "none", "--plain", "--verbose")
    assert ran.code == 0, ran.err
    assert "judges none (CRIT-free)" in ran.out


def test_a_panels_settings_come_first_and_flags_go_before_them(maci) -> None:
    with serving():
        assert json.loads(maci(*PAIR, "--json", "--set", "stop.consensus=false", "--no-cache").out)["rounds"] <= 2
        maci(
            "debate",
            "case.yaml",
            "--panel",
            "pair",
            "--out",
            "b",
            "--set",
            "min_rounds=1",
            "--set",
            "max_rounds=1",
            "--quiet",
        )
    assert read(Path("run/transcript.jsonl")).opened.config.stop.max_rounds == 2
    assert read(Path("b/transcript.jsonl")).opened.config.stop.max_rounds == 1


def test_a_ceiling_in_dollars_is_kept_by_the_servers_own_count(maci) -> None:
    with serving() as server:
        endless = ("--set", "max_rounds=8", "--set", "stop.consensus=false", "--set", "tau_stop=50")
        ran = maci(*PAIR, "--judges", "none", "--budget-usd", "0.03", "--json", "--no-cache", *endless)
        count = next(iter(server.counts.values()))
    found = json.loads(ran.out)
    assert found["stop_reason"] == "budget"
    assert found["usd"] == pytest.approx((count.prompt * 1 + count.generated * 2) / 1e6)
    assert 0 < found["usd"] <= 0.03


def test_a_ceiling_in_dollars_needs_prices(maci) -> None:
    with serving():
        Path("maci-panels.yaml").write_text("models: {openai: {base_url: 'http://127.0.0.1:1/v1', key_env: MINE}}")
        ran = maci(
            "debate", "case.yaml", "--agents", "openai/alpha,openai/beta", "--judges", "none", "--budget-usd", "1"
        )
    assert ran.code == 2
    assert "no price is known for openai/alpha" in ran.err
    assert not list(Path().rglob("transcript.jsonl"))


# --- what can go wrong: one message, the next step, exit 3 ------------------------------------------------------------------

FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "wrong key": ({"keys": ["another"]}, "does not accept the key from MINE"),
    "unknown model": ({"models": ["delta"]}, "has no such model"),
    "refused content": ({"faults": Faults(refused=1.0)}, "refuses this content"),
    "context overflow": ({"context": 100}, "cannot read a prompt this long"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_what_goes_wrong_is_said_once_with_the_next_step(maci, what: str) -> None:
    how, says = FAULTS[what]
    with serving(**how):
        ran = maci(*PAIR, "--plain")
    assert ran.code == 3
    assert (ran.out + ran.err).count(says) == 1
    assert says in ran.err
    assert "127.0.0.1" in ran.err
    steps = ("maci doctor", "reword the case", "lower evidence.context_tokens")
    assert any(step in ran.err for step in steps)


def test_a_host_that_is_not_there_is_said_once(maci) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        panels(f"http://127.0.0.1:{free.getsockname()[1]}")
    ran = maci(*PAIR, "--plain")
    assert ran.code == 3
    assert (ran.out + ran.err).count("no connection to 127.0.0.1") == 1
    assert "is the server running at http://127.0.0.1" in ran.err


def test_a_missing_key_is_said_before_anything_is_written(maci) -> None:
    ran = maci("debate", "dengue", "--agents", "mistral/a,openai/b", "--out", "run")
    assert ran.code == 3
    assert "mistral/a: there is no key for mistral: export MISTRAL_API_KEY=…" in ran.err
    assert not Path("run").exists()


def test_a_judge_of_the_same_family_is_refused_with_the_flag_that_allows_it(maci) -> None:
    with serving():
        args = (
            "debate",
            "case.yaml",
            "--agents",
            "openai/gpt-a,openai/beta",
            "--judges",
            "openai/gpt-b",
            "--out",
            "run",
            "--plain",
        )
        ran = maci(*args)
        assert ran.code == 2
        assert "--set crit.same_family=true" in ran.err
        assert not Path("run").exists()
        assert maci(*args, "--set", "crit.same_family=true", "--set", "max_rounds=2").code == 0
    assert "shares the family" in maci("show", "run", "--plain").out


def test_an_unknown_provider_is_wrong_use(maci) -> None:
    ran = maci("debate", "dengue", "--agents", "nosuch/a,openai/b")
    assert ran.code == 2
    assert "the providers are" in ran.err


def test_judges_of_a_judge_that_always_fails_are_complained_of_once_a_debate(maci) -> None:
    with serving(answer=lambda body: "no" if "grades" in json.dumps(body.get("response_format", "")) else None):
        ran = maci(*PAIR, "--plain", "--set", "max_rounds=3")
    assert ran.out.count("the answer is not a JSON object") == 1


# --- resuming ---------------------------------------------------------------------------------------------------------------


def test_a_debate_cut_short_is_resumed_from_its_own_record(maci) -> None:
    with serving() as server:
        maci(*PAIR, "--quiet", "--no-cache")
        path = Path("run/transcript.jsonl")
        whole = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(whole[: len(whole) // 2]))
        Path("maci-panels.yaml").unlink()  # only the record says now where the models are
        asked = sum(count.requests for count in server.counts.values())
        assert maci("debate", "--resume", "--out", "run", "--json", "--no-cache").code == 2
        ran = maci("debate", "--resume", "--out", "run", "--json", "--no-cache", "--trust-record")
        assert ran.code == 0, ran.err
        assert sum(count.requests for count in server.counts.values()) > asked
    events = read(path).events
    assert replay(events).complete
    ran = maci("debate", "--resume", "--out", "run", "--agents", "a/b,c/d")
    assert ran.code == 2
    assert "--agents a/b,c/d (recorded: --panel pair)" in ran.err


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_says_how_to_go_on_and_the_resumed_debate_counts_what_was_under_way(
    tmp_path: Path, stop: signal.Signals
) -> None:
    def start(*args: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "from maci.cli import main; main()", *args, "--json"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with serving(delay=60.0) as server:
        record = tmp_path / "run" / "transcript.jsonl"
        with start(*PAIR) as ran:
            while not (record.exists() and b'"sent"' in record.read_bytes()):
                assert ran.poll() is None
                time.sleep(0.02)
            ran.send_signal(stop)
            out, err = ran.communicate(timeout=60)
        assert (ran.returncode, out) == (130, "")
        assert "maci debate --resume --out run" in err and "Traceback" not in err
        server.delay = 0.0
        with start("debate", "--resume", "--out", "run") as again:
            out, err = again.communicate(timeout=120)
    assert (again.returncode, err) == (0, "")
    found, events = json.loads(out), read(record).events
    assert [type(event) for event in events].count(Lost) == 1
    assert found["lost_tokens"] == sum(call.tokens for call in next(e for e in events if isinstance(e, Sent)).calls)
    assert replay(events).complete


# --- --dry-run --------------------------------------------------------------------------------------------------------------


def test_a_dry_run_sends_nothing_and_estimates_every_round(maci) -> None:
    with serving() as server:
        ran = maci("debate", "case.yaml", "--panel", "pair", "--dry-run", "--json")
        assert not server.counts
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert [row["round"] for row in found["rounds"]] == [0, 1, 2]
    assert [row["calls"] for row in found["rounds"]] == [2, 2 + 2 * 2 * 3, 2 + 2 * 2 * 3]
    assert 300 < found["recommendation"]["tokens"] < 3000
    so_far = [row["so_far"]["tokens"] for row in found["rounds"]]
    assert so_far == sorted(so_far) and so_far[0] > 0
    for opening in found["openings"]:
        assert 0 < opening["expected"]["tokens"] <= opening["most"]["tokens"]
    assert found["rounds"][-1]["so_far"]["usd"] > 0
    assert (found["rounds_within"], found["unpriced"]) == (2, [])
    assert not Path("run").exists()


def test_a_dry_run_in_words_names_seats_evidence_ceilings_and_assumptions(maci) -> None:
    with serving():
        ran = maci("debate", "case.yaml", "--panel", "pair", "--dry-run", "--budget-tokens", "6000", "--plain")
    for word in (
        "agent openai/alpha, family",
        "judge vllm/gamma",
        "Evidence:",
        "at most",
        "In all:",
        "The ceiling (6,000 tokens)",
        "Assumed:",
    ):
        assert word in ran.out
    assert maci("debate", "case.yaml", "--panel", "pair", "--dry-run", "--resume", "--out", "run").code == 2


def test_a_dry_run_needs_no_key_and_leaves_dollars_out_where_a_price_is_unknown(maci) -> None:
    ran = maci(
        "debate",
        "dengue",
        "--agents",
        "openai/gpt-4o-mini,mistral/unheard-of",
        "--judges",
        "none",
        "--dry-run",
        "--json",
    )
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["unpriced"] == ["mistral/unheard-of"]
    assert found["rounds"][0]["expected"]["usd"] is None


def test_the_estimate_is_near_what_such_a_debate_then_costs(maci) -> None:
    """Not of the models' words, which nobody knows, but of everything that is sent to them."""
    with serving():
        found = json.loads(maci("debate", "case.yaml", "--panel", "pair", "--dry-run", "--json").out)
        cost = json.loads(maci(*PAIR, "--json", "--set", "gate.q_gate=false", "--set", "gate.crit_gate=false").out)
    rounds = {row["round"]: row["so_far"]["tokens"] for row in found["rounds"]}
    assert 0.5 < cost["tokens"] / rounds[cost["rounds"]] < 2


# --- maci panels, maci doctor -----------------------------------------------------------------------------------------------


def test_panels_lists_them_with_where_they_are_from(maci) -> None:
    panels("http://127.0.0.1:9")
    ran = maci("panels", "--plain")
    for word in (
        "readers  [built in]",
        "paper",
        "pair  [maci-panels.yaml]",
        "agents openai/alpha, openai/beta",
        "judges vllm/gamma",
    ):
        assert word in ran.out
    found = json.loads(maci("panels", "--json").out)
    rows = {row["name"]: row for row in found["panels"]}
    assert rows["pair"]["judges"] == ["vllm/gamma"]
    models = {row["name"]: row for row in found["models"]}
    assert models["openai"]["key_env"] == "MINE" and models["vllm"]["source"] == "maci-panels.yaml"


@pytest.mark.parametrize(
    ("service", "models"),
    [
        ("openai", ("alpha", "beta", "gamma")),  # nobody knows by their names that they think
        ("openai", ("gpt-6", "gpt-6-mini", "gpt-7")),
        ("anthropic", ("alpha", "beta", "gamma")),
        ("anthropic", ("claude-opus-5", "claude-sonnet-5", "claude-haiku-5")),
        ("gemini", ("alpha", "beta", "gamma")),
        ("gemini", ("gemini-3-flash", "gemini-2.5-flash", "gemini-4-flash")),
    ],
)
def test_models_that_think_complete_a_debate_with_default_settings(maci, service: str, models: tuple[str, ...]) -> None:
    with serving(thinks=1500, quotes=True, agrees=True) as server:
        address = server.url + ("/v1" if service == "openai" else "")
        one, two, judge = (f"{service}/{model}" for model in models)
        families = {one: "alpha", two: "beta", judge: "gamma"}
        entries = (
            f"{name}: {{base_url: '{address}', key_env: MINE, family: {family}}}" for name, family in families.items()
        )
        Path("maci-panels.yaml").write_text(f"models: {{{', '.join(entries)}}}\n", encoding="utf-8")
        ran = maci("debate", "case.yaml", "--agents", f"{one},{two}", "--judges", judge, "--out", "run", "--json")
        count = next(iter(server.counts.values()))
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert found["answer"] in {"dengue", "measles"} and found["rounds"] >= 2
    assert found["stop_reason"] not in {"budget", "error"} and found["tokens"] == count.prompt + count.generated
    events = read(Path("run/transcript.jsonl")).events
    assert events[0].config.budget.tokens == 100_000 > found["tokens"]
    assert not any(isinstance(event, TurnFailed) for event in events)
    thought = [r.thought for e in events if isinstance(e, Requested) and e.kind == "score" for r in e.requests]
    assert thought and max(thought) < 100  # judges are asked not to: their form has the steps of their reasoning in it
    assert maci("replay", "run").code == 0


def test_show_calls_prints_what_was_asked_of_whom_and_how_it_went(maci) -> None:
    short = ("--set", "stop.min_rounds=1", "--set", "stop.max_rounds=1")
    with serving(thinks=700, refuses=["seed"]) as server:
        assert maci(*PAIR, *short).code == 0
        sent = [
            [message["content"] for message in body["messages"]]
            for _, _, body in server.seen
            if "seed" not in body and body["model"] in {"alpha", "beta"}
        ]
    asked = json.loads(maci("show", "run", "--calls", "--json").out)
    recorded = read(Path("run/transcript.jsonl"))
    taken = [event for event in recorded.events if isinstance(event, TurnTaken)]
    opening = [each for each in asked if each["round"] == 0]
    assert {each["who"] for each in opening} == {"openai/alpha", "openai/beta"} and {
        each["kind"] for each in asked
    } == {
        "turn",
        "score",
        "recommend",
    }
    for each in asked:
        assert each["attempts"] == 1 and not each["cached"] and each["without"] == ["seed"] and each["tokens"] > 0
        assert each["served"] == each["model"].partition("/")[2] and each["at"].startswith("20") and not each["error"]
        assert each["messages"][0]["role"] == "system"
    turns = [each for each in asked if each["kind"] == "turn"]
    for each in turns:  # two messages of one role are one in this API
        words = [message["content"] for message in each["messages"]]
        assert [words[0], "\n\n".join(words[1:])] in sent
    assert {each["prompt"] for each in turns} == {event.turn.prompt for event in taken}
    assert sum(each["tokens"] for each in asked) == recorded.events[-1].tokens
    cut = [each for each in asked if each["truncated"]]
    assert all(each["limit"] == 600 for each in cut)  # only judges have less room than it thinks
    text = maci("show", "run", "--calls", "--plain").out
    assert "left out: seed" in text and "700 of them thinking" in text and "High fever and a rash." in text
    once = maci("show", "run", "--calls", "--round", "0", "--plain").out
    assert "Round 0, turn: openai/alpha" in once and "Round 1" not in once
    assert [path.name for path in Path("run").glob("*.jsonl")] == ["transcript.jsonl"]
    texts = [key for event in recorded.events if isinstance(event, Requested) for key in event.texts]
    assert len(texts) == len(set(texts))  # every text once
    assert maci(*PAIR[:-1], "again", *short).code == 0  # the server is gone: every reply is in the cache
    again = json.loads(maci("show", "again", "--calls", "--json").out)
    assert again and all(each["cached"] and each["attempts"] == 0 for each in again)


def test_the_doctor_tries_each_model_of_a_panel_and_says_what_it_cost(maci) -> None:
    with serving(models=["alpha", "beta", "gamma"]):
        ran = maci("doctor", "--panel", "pair", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert found["ok"] is True
    said = [row["says"] for row in found["checks"] if row["subject"] == "openai/alpha"]
    assert said[0] == "key from MINE"
    assert said[1].startswith("answers, family")
    assert said[2] == "structured output: follows a JSON schema"
    assert 0 < found["tokens"] < 500 and found["usd"] > 0


def test_the_doctor_finds_what_is_wrong_and_says_the_fix(maci, monkeypatch) -> None:
    with serving(models=["alpha", "gamma"], refuses=["response_format"], answer=lambda body: '{"fine": true}'):
        ran = maci("doctor", "--panel", "pair", "--plain")
    assert ran.code == 3
    assert "problem  openai/beta" in ran.out and "has no such model" in ran.out
    assert "the server takes no schema" in ran.out
    monkeypatch.delenv("MINE")
    ran = maci("doctor", "--panel", "pair", "--plain", "--offline")
    assert ran.code == 3
    assert "key_env is 'MINE', and that environment variable is not set" in ran.out


def test_the_doctor_tries_a_debates_limits_and_says_that_a_model_thinks(maci) -> None:
    with serving(thinks=1500, refuses=["seed"], answer=lambda body: '{"outcome": "egg salad", "fine": true}') as server:
        ran = maci("doctor", "--agents", "openai/alpha,openai/alpha", "--judges", "none", "--plain")
        asked = [body["max_tokens"] for _, _, body in server.seen if "seed" not in body]
    assert ran.code == 0, ran.out
    assert asked == [600, 6600]  # a judge's limit; then with room for thinking
    assert "thinks before it answers, and was cut off at 600 tokens" in ran.out
    assert "openai/alpha@reasoning=low" in ran.out and "does not take seed" in ran.out
    with serving(thinks=1500):
        ran = maci("doctor", "--agents", "openai/alpha@reasoning=low,openai/beta", "--judges", "none", "--plain")
    assert "cut off" in ran.out.split("openai/beta", 1)[1] and ran.code == 0


def test_the_doctor_sees_that_a_judge_is_a_debaters_relative(maci) -> None:
    with serving():
        ran = maci("doctor", "--agents", "openai/gpt-a,openai/beta", "--judges", "openai/gpt-b", "--plain")
    assert ran.code == 3
    assert "problem  families" in ran.out and "--set crit.same_family=true" in ran.out


def test_the_doctor_offline_asks_nobody(maci) -> None:
    with serving() as server:
        ran = maci("doctor", "--panel", "pair", "--offline", "--plain")
        assert not server.counts
    assert ran.code == 0
    assert "not asked (--offline)" in ran.out


def test_the_doctor_gives_up_on_a_server_that_hangs(maci) -> None:
    with serving(faults=Faults(hang=1.0)):
        ran = maci("doctor", "--agents", "openai/alpha,openai/beta", "--timeout", "0.3", "--plain")
    assert ran.code == 3
    assert "no answer within 0.3 s" in ran.out


def test_the_doctor_with_nothing_named_looks_at_this_machine(maci, monkeypatch) -> None:
    monkeypatch.setattr("maci.seating.checks.local_models", list)
    ran = maci("doctor", "--plain")
    assert ran.code == 0, ran.out
    for word in ("python", "extras", "cache", "panels", "none found"):
        assert word in ran.out
    assert maci("doctor", "--panel", "readers").code == 0


def test_the_doctor_asks_a_service_that_has_a_key_what_it_serves(maci, monkeypatch) -> None:
    monkeypatch.setattr("maci.seating.checks.local_models", list)
    with serving(models=["alpha", "beta"], keys=["sk-this-is-the-key-of-the-tests"]) as server:
        ran = maci("doctor", "--plain")
        assert not any(count.served for count in server.counts.values())
    assert ran.code == 0, ran.out
    assert "ok       openai  takes the key from MINE, 2 models" in ran.out


def test_the_doctor_finds_a_broken_panels_file_and_a_key_file_others_may_read(maci, monkeypatch) -> None:
    monkeypatch.setattr("maci.seating.checks.local_models", list)
    Path("maci-panels.yaml").write_text("panls: {}")
    keys = Path("keys.toml")
    keys.write_text('openai = "sk-this-is-the-key-of-the-tests"\n')
    keys.chmod(0o644)
    monkeypatch.setenv("MACI_KEYS", "keys.toml")
    ran = maci("doctor", "--plain", "--offline")
    assert ran.code == 3
    assert "unknown key 'panls'" in ran.out
    assert "chmod 600" in ran.out


def test_weights_that_are_not_here_are_a_problem_with_the_command_that_gets_them(maci) -> None:
    ran = maci("doctor", "--agents", "local/smollm2-135m,local//nowhere/x.gguf", "--plain")
    assert ran.code == 3
    assert "maci models pull smollm2-135m" in ran.out
    assert "there is no file /nowhere/x.gguf" in ran.out


# --- what a newcomer met ----------------------------------------------------------------------------------------------------


def test_the_doctor_tries_a_single_agent(maci) -> None:
    with serving(models=["alpha"]):
        ran = maci("doctor", "--agents", "openai/alpha", "--plain")
    assert ran.code == 0, ran.out
    assert "openai/alpha" in ran.out and "answers, family" in ran.out
    assert maci("debate", "dengue", "--agents", "openai/alpha").code == 2  # a debate needs two


def test_the_doctor_lists_what_a_service_serves_up_to_twenty(maci, monkeypatch) -> None:
    monkeypatch.setattr("maci.seating.checks.local_models", list)
    with serving(models=[f"m-{n}" for n in range(25)]):
        ran = maci("doctor", "--plain")
    assert "25 models: m-0, m-1, " in ran.out and "m-19 …" in ran.out and "m-20" not in ran.out


def test_an_unknown_model_is_told_the_nearest_one(maci) -> None:
    with serving(models=["gpt-large", "beta", "gamma"]):
        ran = maci("debate", "case.yaml", "--agents", "openai/gpt-larg,openai/beta", "--judges", "none", "--out", "run")
        assert ran.code == 3
        assert "did you mean openai/gpt-large?" in ran.err
        ran = maci("debate", "case.yaml", "--agents", "openai/zzz,openai/beta", "--judges", "none", "--out", "other")
    assert "it serves gpt-large, beta, gamma" in ran.err


def test_a_key_that_is_not_accepted_is_to_be_mended_where_it_is_from(maci) -> None:
    with serving(keys=["another"]):
        ran = maci(*PAIR, "--plain")
    assert "does not accept the key from MINE" in ran.err
    assert "put a valid one there" in ran.err and "key_env" not in ran.err


def test_a_variable_that_is_not_set_names_the_model_that_wants_it(maci, monkeypatch) -> None:
    with serving():
        monkeypatch.delenv("MINE")
        ran = maci(*PAIR, "--plain")
    assert ran.code == 3
    assert ran.err.startswith("maci: openai/alpha: key_env is 'MINE'")


def test_a_dry_run_does_not_want_the_variable_that_holds_the_key(maci, monkeypatch) -> None:
    panels("http://127.0.0.1:9")
    monkeypatch.delenv("MINE")
    assert maci("debate", "case.yaml", "--panel", "pair", "--dry-run").code == 0


def test_a_misspelt_provider_is_wrong_use_with_the_right_one(maci) -> None:
    ran = maci("debate", "dengue", "--agents", "opnai/a,openai/b")
    assert ran.code == 2
    assert "unknown provider 'opnai': did you mean openai?" in ran.err


def test_where_a_price_is_unknown_no_dollars_are_claimed(maci) -> None:
    with serving() as server:
        Path("maci-panels.yaml").write_text(f"models: {{openai: {{base_url: '{server.url}/v1', key_env: MINE}}}}")
        args = ("debate", "case.yaml", "--agents", "openai/alpha,openai/beta", "--judges", "none")
        found = json.loads(maci(*args, "--out", "a", "--json").out)
        text = maci(*args, "--out", "b", "--plain").out
    assert found["usd"] is None
    assert "tokens (price unknown)" in text
    assert "tokens (price unknown)" in maci("show", "a", "--plain").out


def test_replies_from_the_cache_are_counted_and_no_ceiling_in_dollars_refuses_them(maci) -> None:
    with serving() as server:
        first = maci(*PAIR, "--plain")
        assert "from the response cache" not in first.out
        asked = sum(count.requests for count in server.counts.values())
        again = maci("debate", "case.yaml", "--panel", "pair", "--judges", "none", "--out", "c", "--plain")
        ran = maci("debate", "case.yaml", "--panel", "pair", "--out", "again", "--budget-usd", "0", "--plain")
        assert sum(count.requests for count in server.counts.values()) >= asked
    assert again.code == 0
    assert ran.code == 0, ran.err
    found = re.search(r"(\d+) of (\d+) replies from the response cache", ran.out)
    assert found is not None and found[1] == found[2] != "0"


def test_a_ceiling_that_is_too_low_is_said_once_with_what_the_first_call_needs(maci) -> None:
    with serving():
        ran = maci(*PAIR, "--plain", "--budget-tokens", "100")
        assert ran.code == 4
        assert (ran.out + ran.err).count("openai/alpha may need") == 1
        assert "tokens for the first call; the ceiling is 100; raise --budget-tokens" in ran.err
        assert "exhausted" not in ran.out
        dear = maci("debate", "case.yaml", "--panel", "pair", "--out", "b", "--plain", "--budget-usd", "0.00001")
    assert "the ceiling is $0.00001" in dear.err


def test_a_debate_that_the_budget_ended_says_how_to_go_further(maci) -> None:
    endless = ("--set", "max_rounds=8", "--set", "stop.consensus=false", "--set", "tau_stop=50")
    with serving():
        ran = maci(*PAIR, "--judges", "none", "--budget-tokens", "9000", "--plain", *endless)
    assert ran.code == 0, ran.err
    assert ran.out.casefold().count("out of tokens") == 1
    assert "the same command with a larger --budget-tokens or --budget-usd, and another --out" in ran.out


def test_an_opening_that_may_cost_more_than_the_ceiling_is_said_before(maci) -> None:
    with serving():
        args = ("debate", "case.yaml", "--panel", "pair", "--dry-run", "--budget-tokens", "2500")
        assert json.loads(maci(*args, "--json").out)["beyond"] == ["openai/alpha", "openai/beta"]
        assert maci(*args, "--plain").out.count("more than the ceiling: it may get no answer") == 2
        assert json.loads(maci("debate", "case.yaml", "--panel", "pair", "--dry-run", "--json").out)["beyond"] == []


def test_a_finished_debate_is_not_resumed_and_needs_no_key(maci, monkeypatch) -> None:
    with serving(quotes=True, agrees=True):  # so that there is a clear answer
        done = json.loads(maci(*PAIR, "--json").out)
    monkeypatch.delenv("MINE")
    before = Path("run/transcript.jsonl").read_bytes()
    ran = maci("debate", "--resume", "--out", "run", "--plain")
    assert ran.code == 0, ran.err
    assert "This debate is finished: nothing was asked" in ran.out and f"Answer: {done['answer']}" in ran.out
    assert json.loads(maci("debate", "--resume", "--out", "run", "--json").out) == done
    assert Path("run/transcript.jsonl").read_bytes() == before


def test_an_old_error_is_not_presented_as_a_new_one(maci) -> None:
    with serving(models=["delta"]):
        assert maci(*PAIR, "--plain").code == 3
    ran = maci("debate", "--resume", "--out", "run", "--plain")
    assert ran.code == 2
    assert "there is nothing to resume: the debate in run ended on 20" in ran.err
    assert "What it said then: openai/" in ran.err and "has no such model" in ran.err
    assert "start again with the command you began with and another --out" in ran.err


def test_an_interrupted_debate_is_resumed_with_the_cache_it_began_with(maci, monkeypatch) -> None:
    def interrupt(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("maci.cli.session.debate", interrupt)
    with serving():
        assert "maci debate --resume --out run --no-cache\n" in maci(*PAIR, "--no-cache", "--quiet").err
        args = ("debate", "case.yaml", "--panel", "pair", "--out", "b b", "--cache", "x y.sqlite", "--quiet")
        assert "maci debate --resume --out 'b b' --cache 'x y.sqlite'\n" in maci(*args).err


def test_local_models_are_rehearsed_without_the_extra_and_refused_before_anything_is_written(maci, monkeypatch) -> None:
    monkeypatch.setattr("maci.llm.local.provider.find_spec", lambda name: None)
    pair = ("--agents", "local/smollm2-135m,local/smollm2-135m", "--judges", "none")
    assert maci("debate", "dengue", *pair, "--dry-run").code == 0
    ran = maci("debate", "dengue", *pair, "--out", "run")
    assert ran.code == 3
    assert "local/smollm2-135m needs the package 'xllamacpp'" in ran.err and "pip install" in ran.err
    assert not Path("run").exists()
    assert "no weights of that name" in maci("debate", "dengue", "--agents", "local/smolm2,local/smolm2").err


def test_a_lone_speaker_and_silent_judges_are_cautioned_against(maci) -> None:
    def answer(body: dict[str, Any]) -> str | None:
        return "no" if body["model"] in ("beta", "gamma") else None

    with serving(answer=answer):
        found = json.loads(maci(*PAIR, "--json").out)
    assert any("only openai/alpha ever spoke" in warning for warning in found["warnings"])
    assert "caution: no judge ever scored an argument" in found["warnings"]
