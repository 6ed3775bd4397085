"""``maci init`` and the project file it writes, against servers on this machine that behave like the APIs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fake_server import FakeServer
from hash_encoder import HashEncoder
from maci.config import Config
from maci.llm.keys import is_loopback
from maci.llm.providers import Http
from maci.record.replay import replay
from maci.record.transcript import read
from maci.seating import discover
from maci.seating.discover import Machine, ServedModel
from maci.seating.project import data_folder
from serving import CuttingServer, LoadingServer, LockedServer, MumblingServer, serving

USUAL = dict(discover._USUAL)
SECRET = "sk-this-is-the-key-of-the-tests"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a case, no keys, servers, weights and settings from outside, an encoder that loads at once."""
    here = tmp_path / "work"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in os.environ:
        if name.startswith(("MACI_", "OLLAMA_", "AZURE_")) or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "MACI_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())
    monkeypatch.setattr("maci.seating.discover._USUAL", {})
    monkeypatch.setattr("maci.seating.discover._weights", lambda: ())
    Path("case.yaml").write_text(
        "question: Who repairs the roof of the shop?\ncontext: Water comes through the ceiling.\noutcomes: [landlord, tenant]\n"
        "evidence: ['The landlord maintains the roof.', 'The tenant keeps the interior in good order.']\n",
        encoding="utf-8",
    )


@pytest.fixture
def maci(maci: Callable[..., Any]) -> Callable[..., Any]:
    """The command, which never shows the key."""

    def run(*args: object) -> Any:
        ran = maci(*args)
        assert SECRET not in ran.out + ran.err
        return ran

    return run


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every address a request was made to; one beyond this machine gets no further."""
    asked: list[str] = []
    real = Http._exchange

    async def noted(self: Http, method: str, url: str, *rest: Any) -> Any:
        asked.append(url)
        assert is_loopback(url), f"a request left this machine: {url}"
        return await real(self, method, url, *rest)

    monkeypatch.setattr(Http, "_exchange", noted)
    return asked


def project() -> dict[str, Any]:
    return tomllib.loads(Path("maci.toml").read_text(encoding="utf-8"))


QUICK = ("--set", "max_rounds=2", "--json")


# --- what is found ------------------------------------------------------------------------------------------------------------


def test_a_running_server_debates_after_init(maci, monkeypatch, hosts) -> None:
    with serving("alpha", "beta", "gamma", "nomic-embed-text") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        ran = maci("init", "--yes")
        assert ran.code == 0, ran.err
        assert "OpenAI-compatible server at 127.0.0.1" in ran.out
        assert f"sends the case and its evidence only to {server.url[7:]}, on this machine." in ran.out
        assert "If a server there is a gateway, it may forward them." in ran.out
        assert "Nothing leaves this machine" not in ran.out
        assert project()["panel"] == {"agents": ["openai/alpha", "openai/beta"], "judges": ["openai/gamma"]}
        assert maci("init", "--yes", "--force", "--quiet").out.splitlines()[0].startswith("Wrote maci.toml. Next: ")
        monkeypatch.delenv("OPENAI_BASE_URL")  # the file knows the address
        ran = maci("debate", "case.yaml", "--out", "run", *QUICK)
        assert ran.code == 0, ran.err
        assert sum(count.requests for count in server.counts.values()) > 0
    assert json.loads(ran.out)["answer"] in {"landlord", "tenant"}
    opened = read(Path("run/transcript.jsonl")).opened
    assert [seat["model"] for seat in opened.table["agents"]] == ["openai/alpha", "openai/beta"]
    assert all(map(is_loopback, hosts))


def test_a_server_at_a_usual_port_debates_without_any_variable(maci, monkeypatch, hosts) -> None:
    assert ("llamacpp", "http://127.0.0.1:8080/v1") in USUAL
    with serving("alpha", "beta", "gamma") as server:
        monkeypatch.setattr("maci.seating.discover._USUAL", {("llamacpp", f"{server.url}/v1"): "usual port"})
        assert maci("init", "--yes").code == 0
        assert project()["panel"] == {"agents": ["llamacpp/alpha", "llamacpp/beta"], "judges": ["llamacpp/gamma"]}
        ran = maci("debate", "case.yaml", *QUICK)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["answer"] in {"landlord", "tenant"}
    assert all(map(is_loopback, hosts))


def test_ollama_is_found_where_its_variable_says(maci, monkeypatch) -> None:
    with serving("llama3.1:8b", "qwen2.5:7b", "gemma2:9b") as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url.removeprefix("http://"))
        assert "start it with OLLAMA_CONTEXT_LENGTH=16384" in maci("init", "--yes").out
        found = json.loads(maci("init", "--yes", "--force", "--json").out)
        assert found["panel"]["agents"] == ["ollama/gemma2:9b", "ollama/llama3.1:8b"]  # the largest first
        assert found["panel"]["judges"] == ["ollama/qwen2.5:7b"]
        assert found["panel"]["paid"] is False
        assert found["estimate"]["usd"] == 0
        ran = maci("debate", "case.yaml", *QUICK)
    assert ran.code == 0, ran.err


def test_servers_that_speak_other_apis_debate_too(maci, monkeypatch) -> None:
    with serving("claude-like", "other") as first, serving("gemini-like") as second:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", first.url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", second.url)
        ran = maci("init", "--yes")
        assert "Anthropic-compatible server at 127.0.0.1" in ran.out
        assert project()["panel"] == {
            "agents": ["anthropic/claude-like", "anthropic/other"],
            "judges": ["gemini/gemini-like"],
        }
        ran = maci("debate", "case.yaml", *QUICK)
        assert ran.code == 0, ran.err
        assert first.counts and second.counts


def test_the_debate_says_in_one_line_who_debates_and_why(maci, monkeypatch) -> None:
    with serving("alpha", "beta", "gamma") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        maci("init", "--yes")
        ran = maci("debate", "case.yaml", "--plain", "--set", "max_rounds=2")
        batch = maci("batch", cases(), "--plain", "--set", "max_rounds=2")
    line = "openai/alpha and openai/beta debate and openai/gamma judges, as maci.toml says."
    assert line in ran.out.splitlines()
    assert line in batch.err.splitlines()


def cases() -> str:
    row = {"question": "Who pays?", "outcomes": ["landlord", "tenant"], "evidence": ["The landlord pays for the roof."]}
    Path("cases.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return "cases.jsonl"


def test_a_broken_debate_of_the_project_is_resumed(maci, monkeypatch) -> None:
    with serving("alpha", "beta", "gamma") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        maci("init", "--yes")
        whole = json.loads(maci("debate", "case.yaml", "--out", "run", *QUICK).out)
        record = Path("run/transcript.jsonl")
        lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
        record.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
        ran = maci("debate", "--resume", "--out", "run", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["distribution"] == whole["distribution"]


def test_ask_uses_the_project_and_says_so(maci, monkeypatch) -> None:
    with serving("alpha", "beta", "gamma") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        maci("init", "--yes")
        ran = maci("ask", "case.yaml", "--plain", "--set", "max_rounds=2")
        judged = maci("debate", "case.yaml", "--plain", "--set", "max_rounds=2", "--judges", "none")
    assert ran.code == 0, ran.err
    assert "openai/alpha and openai/beta can debate and openai/gamma judges, as maci.toml says." in ran.out
    assert "(CRIT-free), the debaters as maci.toml says, the judges as --judges says." in " ".join(judged.out.split())


def test_a_server_with_one_model_debates_without_judges_and_is_warned_about(maci, monkeypatch) -> None:
    with serving("only-7b") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        ran = maci("init", "--yes")
        assert "Only one model family (only) was found, so nobody scores the arguments" in ran.out
        assert "openai/only-7b debates against itself." in ran.out
        assert project()["panel"] == {"agents": ["openai/only-7b", "openai/only-7b"], "judges": []}
        ran = maci("debate", "case.yaml", "--plain", "--set", "max_rounds=2")
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert "openai/only-7b and openai/only-7b#2 (the same model twice) debate and nobody scores the arguments" in said
    assert "nobody scores the arguments (CRIT-free), as maci.toml says." in ran.out


def test_a_debate_that_fails_on_replies_from_the_cache_says_how_to_ask_again(maci, monkeypatch) -> None:
    with serving("only-7b", kind=MumblingServer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        maci("init", "--yes")
        first, again = maci("debate", "case.yaml", *QUICK), maci("debate", "case.yaml", *QUICK)
    assert first.code == again.code == 3
    assert "gave no usable answer" in first.err and "--no-cache" not in first.err
    assert "came from the response cache: add --no-cache to ask the models again" in again.err


@pytest.mark.parametrize("kind", [FakeServer, LockedServer])
def test_a_server_that_wants_the_key_beside_its_address_gets_it_on_this_machine(
    maci, monkeypatch, hosts, kind: type[FakeServer]
) -> None:
    """Whether or not it lists its models to everybody; the file says where, and never where the key is."""
    with serving("alpha", "beta", "gamma", keys=[SECRET], kind=kind) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        found = json.loads(maci("init", "--yes", "--json").out)
        assert found["panel"]["agents"] == ["openai/alpha", "openai/beta"]
        assert SECRET not in Path("maci.toml").read_text(encoding="utf-8")
        assert project()["models"]["openai/alpha"] == {"base_url": f"{server.url}/v1"}
        ran = maci("debate", "case.yaml", *QUICK)
        assert ran.code == 0, ran.err
        for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
            monkeypatch.delenv(variable)
        hosts.clear()
        ran = maci("debate", "case.yaml", "--no-cache", *QUICK)  # in another shell the file alone says where
        assert ran.code == 3 and "wants a key and was sent none" in ran.err, ran.err
        assert f"export OPENAI_BASE_URL={server.url}/v1 and its key as OPENAI_API_KEY, or " in ran.err, ran.err
        assert hosts and all(url.startswith(server.url) for url in hosts)
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)  # which is OpenAI's here, and stays unsent
        assert "wants a key and was sent none" in maci("debate", "case.yaml", "--no-cache", *QUICK).err


def test_models_named_beside_an_address_on_this_machine_are_written_with_it(maci, monkeypatch, hosts) -> None:
    with serving("alpha", "beta", keys=[SECRET]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        for more in ((), ("--force",)):  # the second time the file to be replaced has the address
            ran = maci("init", "--yes", "--agents", "openai/alpha,openai/beta", "--judges", "none", *more)
            assert ran.code == 0, ran.err
            assert "may forward them" in ran.out and "as long as" not in ran.out
            at = {"base_url": f"{server.url}/v1"}
            assert project()["models"] == {"openai/alpha": at, "openai/beta": at}
        assert (
            'give `price` under [models."NAME"] in maci.toml' in maci("debate", "case.yaml", "--dry-run", "--plain").out
        )
        monkeypatch.delenv("OPENAI_BASE_URL")
        maci("debate", "case.yaml", *QUICK)
    assert hosts and all(map(is_loopback, hosts))


def test_an_address_that_the_file_may_not_name_is_said_to_stay_in_the_environment(maci, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://192.0.2.7:8000/v1")
    ran = maci("init", "--yes", "--offline", "--agents", "openai/alpha,openai/beta", "--judges", "none")
    assert ran.code == 0, ran.err
    assert "as long as OPENAI_BASE_URL names 192.0.2.7:8000; without it, MACI sends to api.openai.com." in ran.out
    text = Path("maci.toml").read_text(encoding="utf-8")
    assert "# OPENAI_BASE_URL says where the server is; without it, requests go to api.openai.com" in text


def test_weights_and_a_server_sit_at_one_table(maci, monkeypatch) -> None:
    monkeypatch.setattr("maci.seating.discover._weights", lambda: ("local/smollm2-135m", "local/qwen2.5-coder-1.5b"))
    with serving("llama-8b") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        ran = maci("init", "--yes")
    assert project()["panel"] == {"agents": ["openai/llama-8b"] * 2, "judges": ["local/qwen2.5-coder-1.5b"]}
    assert "weights local/smollm2-135m (too weak to debate)" in ran.out
    assert "Small models argue badly: local/qwen2.5-coder-1.5b." in ran.out


def test_a_configured_panel_goes_before_everything_found(maci, monkeypatch) -> None:
    Path("maci-panels.yaml").write_text(
        "panels: {shop: {agents: [reader/lexical, reader/bayesian], judges: [reader]}}", encoding="utf-8"
    )
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert maci("init", "--yes").code == 0
    assert project() == {"panel": "shop"}
    ran = maci("debate", "case.yaml", "--plain")
    assert "lexical and bayesian debate and letters, words and phrases judge, as maci.toml says." in ran.out


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_a_prompt_that_ollama_cut_is_a_warning(maci, monkeypatch, provider: str) -> None:
    """Whichever of its two doors is used."""
    with serving("llama3.1:8b", "qwen2.5:7b", "gemma2:9b", kind=CuttingServer) as server:
        if provider == "ollama":
            monkeypatch.setenv("OLLAMA_HOST", server.url)
        else:
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        maci("init", "--yes")
        first = json.loads(maci("debate", "case.yaml", "--out", "run", *QUICK).out)
        again = json.loads(maci("debate", "case.yaml", *QUICK).out)  # from the response cache
    cut = [each for each in first["warnings"] if "the prompt was cut" in each]
    assert [each.partition(":8b: ")[0].partition(":9b: ")[0] for each in cut] == [
        f"{provider}/gemma2",
        f"{provider}/llama3.1",
    ]
    assert "counted 300 tokens in a prompt of" in cut[0]
    assert "OLLAMA_CONTEXT_LENGTH" in cut[0]
    assert [each for each in again["warnings"] if "the prompt was cut" in each] == cut
    replay(read(Path("run/transcript.jsonl")).events)


def test_weights_that_do_not_fit_into_memory_together_are_not_seated_together(maci, monkeypatch) -> None:
    """MACI keeps all weights of a panel loaded: 1.2 times 0.5 and 1.1 GB."""
    small, large = "local/qwen2.5-coder-0.5b", "local/qwen2.5-coder-1.5b"
    monkeypatch.setattr("maci.seating.discover._weights", lambda: (small, large))
    for memory, agents, said in (
        (64e9, [large, small], ""),
        (1.5e9, [small, small], f"{large} is not seated: with {small} it needs about 1.9 of 1.5 GB of memory."),
        (1.2e9, [small, small], f"weights {large} (too large for the memory)"),
    ):
        monkeypatch.setattr("maci.seating.discover.machine", lambda memory=memory: Machine(4, int(memory)))
        ran = maci("init", "--yes", "--force")
        assert project()["panel"]["agents"] == agents, ran.out
        assert said in ran.out and ("not seated" in ran.out) == (memory < 64e9)
    monkeypatch.setattr("maci.seating.discover.machine", lambda: Machine(4, int(1.5e9)))
    ran = maci("init", "--yes", "--force", "--agents", f"{small},{large}", "--judges", "none")
    assert "need about 1.9 of 1.5 GB of memory together. Choose smaller ones." in ran.out
    monkeypatch.setattr("maci.seating.discover.machine", lambda: Machine(4, 1000))
    ran = maci("init", "--yes", "--force")
    assert ran.code == 3 and "No language model was found that can debate" in ran.out


def test_models_that_a_server_cannot_hold_together_are_warned_about(maci, monkeypatch) -> None:
    offered = [ServedModel("llama-8b", 5_000_000_000), ServedModel("qwen-7b", 4_500_000_000)]
    monkeypatch.setattr("maci.seating.discover._offered", lambda answer: tuple(offered))
    monkeypatch.setattr("maci.seating.discover.machine", lambda: Machine(4, 8_000_000_000))
    with serving("llama-8b", "qwen-7b") as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        ran = maci("init", "--yes")
    assert "need about 11.4 of 8.0 GB of memory together. A server then loads them again and again" in ran.out


def test_the_time_that_weights_take_goes_by_the_cores(maci, monkeypatch) -> None:
    monkeypatch.setattr("maci.seating.discover._weights", lambda: ("local/qwen2.5-coder-1.5b",))
    said = []
    for cores in (1, 4):
        monkeypatch.setattr("maci.seating.discover.machine", lambda cores=cores: Machine(cores, None))
        ran = maci("init", "--yes", "--force")
        said.append(next(line for line in ran.out.splitlines() if line.startswith("A typical debate")))
    assert "if calls take 75 s on 1 core and they run one after another" in said[0]
    assert "if calls take 19 s on 4 cores" in said[1]


# --- keys ---------------------------------------------------------------------------------------------------------------------


def test_one_key_makes_a_panel_without_judges_and_sends_nothing(maci, monkeypatch, hosts) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    ran = maci("init", "--yes")
    assert ran.code == 0, ran.err
    assert hosts == []
    assert project()["panel"] == {"agents": ["openai/gpt-4o-mini", "openai/gpt-4.1-mini"], "judges": []}
    assert project()["budget"]["usd"] > 0
    assert "Only one model family (openai) was found" in ran.out
    assert "A debate sends the case and its evidence to api.openai.com." in ran.out
    assert "$0." in next(line for line in ran.out.splitlines() if line.startswith("A typical debate"))
    assert SECRET not in Path("maci.toml").read_text(encoding="utf-8")


def test_two_keys_make_a_panel_with_a_judge_of_the_other_family(maci, monkeypatch, hosts) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    assert maci("init", "--yes").code == 0
    panel = project()["panel"]
    assert panel == {"agents": ["openai/gpt-4o-mini", "openai/gpt-4.1-mini"], "judges": ["anthropic/claude-haiku-4-5"]}
    assert hosts == []


def test_three_keys_make_two_families_and_a_judge_of_a_third(maci, monkeypatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, SECRET)
    ran = maci("init", "--yes")
    assert project()["panel"] == {
        "agents": ["openai/gpt-4o-mini", "anthropic/claude-haiku-4-5"],
        "judges": ["gemini/gemini-2.5-flash"],
    }
    assert "Warning" not in ran.out


def test_a_key_beside_a_local_server_is_not_used_unless_named(maci, monkeypatch, hosts) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    with serving("alpha", "beta", "gamma") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        ran = maci("init", "--yes")
        assert "not used, because it is paid (`maci init --use anthropic` uses it)" in ran.out
        assert "anthropic" not in Path("maci.toml").read_text(encoding="utf-8")
        assert maci("init", "--yes", "--force", "--use", "openai,anthropic").code == 0
        assert maci("init", "--yes", "--force", "--use", "anthropic").code == 0
    assert project()["panel"]["agents"] == ["anthropic/claude-haiku-4-5"] * 2


def test_the_official_address_in_the_environment_changes_nothing(maci, monkeypatch, hosts) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.com/v1")
    assert maci("init", "--yes").code == 0
    assert project()["panel"]["agents"] == ["openai/gpt-4o-mini", "openai/gpt-4.1-mini"]
    assert hosts == []


def test_an_address_elsewhere_is_named_and_not_asked(maci, monkeypatch, hosts) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://llm.example.org/v1")
    ran = maci("init", "--yes")
    assert "OPENAI_BASE_URL names llm.example.org, which was not asked; name its models with --agents" in ran.out
    assert not Path("maci.toml").exists()
    assert hosts == []


def test_a_key_alone_sends_nothing_in_a_debate(maci, monkeypatch, hosts) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    ran = maci("debate", "case.yaml", "--plain")
    assert ran.code == 0, ran.err
    assert "Three embedded readers debate, because no panel is named and there is no maci.toml." in ran.out
    assert "OPENAI_API_KEY is set, but a variable alone sends nothing: `maci init` proposes a panel." in ran.out
    assert hosts == []
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "`maci init` looks for language models" in maci("debate", "case.yaml", "--plain").out


def test_a_key_in_an_env_file_is_used_where_the_file_is_named(maci, monkeypatch) -> None:
    Path(".env").write_text(f"# keys\nexport OPENAI_API_KEY='{SECRET}'\nOPENAI_BASE_URL=https://evil.example/v1\n")
    ran = maci("init", "--yes")
    assert "key for OpenAI: OPENAI_API_KEY in .env" in ran.out
    assert "Next: maci debate CASE --env-file .env" in ran.out
    assert "evil" not in ran.out
    ran = maci("debate", "case.yaml")
    assert ran.code == 3
    assert "there is no key for openai" in ran.err
    monkeypatch.setenv("OPENAI_API_KEY", "")  # so that what the command sets is undone after the test
    assert maci("debate", "case.yaml", "--env-file", ".env", "--dry-run").code == 0
    assert os.environ["OPENAI_API_KEY"] == SECRET
    assert "OPENAI_BASE_URL" not in os.environ


def test_both_ceilings_of_the_file_are_named_and_why_the_one_is_above_the_usual(maci, monkeypatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, SECRET)
    ran = maci("init", "--yes")
    budget, usual = project()["budget"], Config().budget.tokens
    assert budget["tokens"] > usual
    said = f"The file sets a ceiling of {budget['tokens']:,} tokens and ${budget['usd']:.2f} for each debate: all 8 rounds are"
    assert said in ran.out and f"and the usual ceiling is {usual:,}." in ran.out
    found = json.loads(maci("init", "--yes", "--force", "--json", "--budget-tokens", "9000").out)
    assert found["budget"] == project()["budget"] == {**budget, "tokens": 9000}
    ran = maci("init", "--yes", "--force", "--budget-tokens", "9000", "--budget-usd", "0.2")
    assert "The file sets a ceiling of 9,000 tokens and $0.20 for each debate." in ran.out


def test_the_folder_of_the_data_sets_is_written(maci, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    Path("sets").mkdir()
    assert maci("init", "--yes", "--data", "sets").code == 0
    assert project()["data"] == "sets" and data_folder() == Path("sets")
    assert maci("init", "--yes", "--force", "--data", "nosuch").code == 2


# --- in a process of its own ----------------------------------------------------------------------------------------------------


def maci_process(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The command in a new process; skips where this machine has servers of its own at the usual ports."""
    command = [sys.executable, "-m", "maci", *args]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if re.search("Ollama at|LM Studio at|llama-server at|vLLM at", ran.stdout):
        pytest.skip("a server of this machine was found")
    return ran


def test_an_empty_folder_and_a_server_are_enough(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    with serving("alpha", "beta", "gamma") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        ran = maci_process(folder, "init", "--yes")
        assert ran.returncode == 0 and "Wrote maci.toml. Next: maci debate CASE" in ran.stdout, ran.stderr
        ran = maci_process(folder, "debate", "dengue", *QUICK)
        assert ran.returncode == 0, ran.stderr
        assert server.counts
    found = json.loads(ran.stdout)
    assert found["answer"] and found["tokens"] > 0
    (record,) = folder.glob("maci-runs/*/transcript.jsonl")
    opened = read(record).opened
    assert [seat["model"] for seat in opened.table["agents"]] == ["openai/alpha", "openai/beta"]


def test_an_empty_folder_and_nothing_at_all_is_told_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    ran = maci_process(folder, "init", "--yes")
    assert ran.returncode == 3 and "No language model was found that can debate" in ran.stdout
    assert "maci models pull" in ran.stdout and list(folder.iterdir()) == []
    ran = maci_process(folder, "debate", "dengue", "--plain")
    assert ran.returncode == 0, ran.stderr
    assert "Three embedded readers debate, because no panel is named and there is no maci.toml." in ran.stdout
    assert "Dengue" in ran.stdout


# --- nothing, and what is named -------------------------------------------------------------------------------------------------


def test_with_nothing_found_it_says_what_to_do_and_writes_nothing(maci) -> None:
    assert maci("init").code == 0  # only asked what there is
    ran = maci("init", "--yes")
    assert ran.code == 3  # told to write a file, and there is nothing to write
    assert not Path("maci.toml").exists()
    assert "no panel, no server, no weights, no key" in ran.out
    for step in (
        "Ollama",
        "OPENAI_API_KEY",
        "maci models pull",
        "embedded readers, which match words and do not reason",
    ):
        assert step in ran.out
    found = json.loads(maci("init", "--yes", "--json").out)
    assert found["panel"] is None
    assert found["file"] is None


def test_a_server_without_a_model_is_not_told_to_be_started(maci, monkeypatch) -> None:
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        ran = maci("init", "--yes")
    assert "no model is loaded" in ran.out
    assert "load a model in the server at 127.0.0.1" in ran.out
    assert "start a local server" not in ran.out


def test_a_server_that_is_still_loading_its_model_is_named_as_such(maci, monkeypatch) -> None:
    with serving(kind=LoadingServer) as server:
        monkeypatch.setattr("maci.seating.discover._USUAL", {("llamacpp", f"{server.url}/v1"): "usual port"})
        ran = maci("init", "--yes")
    assert ran.code == 3 and not Path("maci.toml").exists()
    assert "is still loading its model" in ran.out
    assert "wait until the server at 127.0.0.1" in ran.out and "start a local server" not in ran.out


def test_models_that_are_named_are_written(maci, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    ran = maci(
        "init", "--yes", "--agents", "azure/gpt-4o,azure/gpt-4o", "--judges", "openai/gpt-4o-mini", "--profile", "paper"
    )
    assert ran.code == 2  # a judge of the debaters' family
    assert maci(
        "init", "--yes", "--agents", "openai/gpt-4o,openai/o3-mini", "--judges", "gemini/gemini-2.5-flash",
        "--profile", "paper", "--budget-usd", "0.2",
    ).code == 0  # fmt: skip
    assert project() == {
        "profile": "paper",
        "panel": {"agents": ["openai/gpt-4o", "openai/o3-mini"], "judges": ["gemini/gemini-2.5-flash"]},
        "budget": {"usd": 0.2, **{k: v for k, v in project()["budget"].items() if k == "tokens"}},
    }


@pytest.mark.parametrize(
    ("use", "said"),
    [("openai", "there is no key for it"), ("ollama", "no such server answered"), ("opnai", "nothing of that name"),
     ("azure", "name its models")],
)  # fmt: skip
def test_a_provider_that_is_not_here_is_refused(maci, use: str, said: str) -> None:
    ran = maci("init", "--yes", "--use", use)
    assert (ran.code, said in ran.err) == (2, True), ran.err


# --- writing --------------------------------------------------------------------------------------------------------------------


def test_a_file_that_is_there_is_not_overwritten(maci, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    Path("maci.toml").write_text("profile = 'paper'\n")
    ran = maci("init", "--yes")
    assert ran.code == 2
    assert "is here already and is not overwritten" in ran.err
    assert project() == {"profile": "paper"}
    assert maci("init", "--yes", "--force").code == 0
    assert "panel" in project()


def test_a_broken_file_can_be_replaced(maci, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    Path("maci.toml").write_text("panel = [")
    assert maci("debate", "case.yaml").code == 2
    assert maci("init", "--yes", "--force").code == 0


@pytest.mark.parametrize("force", [True, False])
def test_on_a_full_disk_the_file_stays_as_it_was(monkeypatch, force: bool) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    before = "profile = 'paper'\n" * 3
    if force:
        Path("maci.toml").write_text(before)
    ran = subprocess.run(
        [sys.executable, "-m", "maci", "init", "--yes", *(["--force"] if force else [])],
        capture_output=True, text=True, timeout=120, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40)),
    )  # fmt: skip
    assert ran.returncode == 3 and "cannot write maci.toml: File too large" in ran.stderr
    assert [path.name for path in Path().iterdir() if "toml" in path.name] == (["maci.toml"] if force else [])
    assert not force or Path("maci.toml").read_text() == before


def test_a_link_is_not_written_through(maci, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    target = tmp_path / "elsewhere.toml"
    Path("maci.toml").symlink_to(target)
    assert maci("init", "--yes").code == 2
    assert maci("init", "--yes", "--force").code == 0
    assert not target.exists()
    assert not Path("maci.toml").is_symlink()


def test_without_a_terminal_it_asks_nothing_and_writes_nothing(maci, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    ran = maci("init")
    assert ran.code == 2
    assert "run `maci init --yes`" in ran.err
    assert not Path("maci.toml").exists()
    assert maci("init", "--json").code == 0
    assert not Path("maci.toml").exists()


def test_a_server_with_odd_names_writes_only_what_can_be_a_name(maci, monkeypatch) -> None:
    with serving(
        'x"]\n[models.openai]\nbase_url = "http://evil', "a b", "alpha", "https://evil.example/m", "beta"
    ) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        ran = maci("init", "--yes")
    assert ran.code == 0, ran.err
    assert project()["panel"] == {"agents": ["openai/alpha"] * 2, "judges": ["openai/beta"]}
    assert "evil" not in Path("maci.toml").read_text(encoding="utf-8")


def test_the_doctor_looks_at_the_project_file_and_its_panel(maci, monkeypatch) -> None:
    with serving("alpha", "beta", "gamma") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        maci("init", "--yes")
        ran = maci("doctor", "--plain")
    assert ran.code == 0, ran.out
    assert "maci.toml names the panel" in ran.out
    assert re.search(r"openai/alpha +answers", ran.out)
    assert re.search(r"openai/gamma +answers", ran.out)
    Path("maci.toml").write_text("panle = 1")
    ran = maci("doctor", "--offline", "--plain")
    assert ran.code == 3
    assert "did you mean 'panel'" in ran.out
