"""Somebody else's record, somebody else's folder: what they can make MACI do with your keys and on your machine. Nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hash_encoder import HashEncoder
from helpers import make_case, settings
from maci.controller.events import FORMAT
from maci.controller.inputs import Opened, Seat
from maci.errors import ConfigError, MaciError, TranscriptError
from maci.evidence.encode import load_encoder
from maci.record.transcript import Transcript
from maci.seating.file import find
from maci.seating.seating import PanelChoice, reseat
from maci.seating.spec import PanelSpec
from maci.seating.trust import resumed

CANARY = "sk-canary-1234567890abcdef"
PROOF = "the-code-of-a-stranger-ran"


class Listener(ThreadingHTTPServer):
    """A stranger's host: keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.heard: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error of MACI's: nothing is printed."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Listener)
        self.server.heard.append(f"{self.path} {dict(self.headers)}")
        self.send_error(401)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stranger() -> Iterator[Listener]:
    server = Listener()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("MACI_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("SECRET", CANARY)


def record(
    models: dict[str, Any], names: tuple[str, ...] = ("openai/alpha", "openai/beta"), source: str = "", *sets: str
) -> Opened:
    """The first event of a debate of models, as a stranger may have written it."""
    table = {
        "agents": [{"model": name, "name": f"a{n}"} for n, name in enumerate(names)],
        "judges": [],
        "models": models,
    }
    agents = tuple(Seat(f"a{n}", "x") for n in range(len(names)))
    return Opened(
        format=FORMAT, case=make_case(), config=settings("crit.enabled=false", *sets),
        encoder=f"{load_encoder().name}+adapted", seed=0, version="0",
        agents=agents, judges=(), panel="--agents", table=table, source=source,
    )  # fmt: skip


def kept(opened: Opened) -> None:
    """The same as a folder that somebody was sent."""
    with Transcript.create(Path("run/transcript.jsonl")) as transcript:
        transcript.append(opened, sync=True)


def own(text: str) -> None:
    file = Path("config/maci/panels.yaml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def plant(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A module of a stranger's in the folder, which leaves a file behind when it is imported."""
    Path(f"{name}.py").write_text(
        f"from pathlib import Path\nPath({PROOF!r}).touch()\n\ndef call(given):\n    return [[1.0]] * len(given)\n"
    )
    monkeypatch.syspath_prepend(str(Path.cwd()))


# --- a record ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [(), ("--trust-record",)])
def test_a_record_never_sends_a_providers_key_to_its_own_host(maci, stranger: Listener, how: tuple[str, ...]) -> None:
    kept(record({"openai": {"base_url": stranger.url, "key_env": "OPENAI_API_KEY"}}))
    ran = maci("debate", "--resume", "--out", "run", "--plain", *how)
    assert (ran.code, stranger.heard) == (2, [])
    assert "OPENAI_API_KEY" in ran.err and f"127.0.0.1:{stranger.server_port}" in ran.err
    assert CANARY not in ran.out + ran.err


def test_a_record_sends_another_secret_to_its_host_only_after_a_yes(maci, stranger: Listener) -> None:
    kept(record({"openai": {"base_url": stranger.url, "key_env": "SECRET", "retries": 0}}))
    ran = maci("debate", "--resume", "--out", "run", "--plain")
    assert (ran.code, stranger.heard) == (2, [])
    assert "(yours: at its usual address with the usual key)" in ran.err and "--trust-record" in ran.err
    maci("debate", "--resume", "--out", "run", "--plain", "--no-cache", "--trust-record")
    assert any(CANARY in heard for heard in stranger.heard)  # the listener listens


def test_ask_has_the_same_door(maci, stranger: Listener) -> None:
    kept(record({"openai": {"base_url": stranger.url, "key_env": "SECRET"}}))
    assert maci("ask", "--resume", "--out", "run").code == 2
    assert stranger.heard == []
    assert maci("ask", "--resume", "--out", "run", "--trust-record", "--no-cache").code == 3
    assert stranger.heard


@pytest.mark.parametrize("what", ["source", "encoder"])
def test_a_record_runs_no_code(maci, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    plant(monkeypatch, f"planted_{what}")
    given = (
        (f"python:planted_{what}:call", "plan.acquire=2") if what == "source" else ("", f"encoder=planted_{what}:call")
    )
    kept(replace(record({}, (), *given), table=None, panel="readers"))
    ran = maci("debate", "--resume", "--out", "run", "--plain")
    assert ran.code == 2
    assert f"the {what} " in ran.err and f"planted_{what}:call" in ran.err
    assert not Path(PROOF).exists()
    maci("debate", "--resume", "--out", "run", "--plain", "--trust-record")
    assert Path(PROOF).exists()  # the trap works


def test_code_that_the_user_names_needs_no_further_yes() -> None:
    opened = record({}, (), "python:m:f", "plan.acquire=2", "encoder=m:call")
    opened = replace(opened, table=None, panel="readers")
    choice = PanelChoice(source="python:m:f", sets=("encoder=m:call",))
    assert resumed(opened, choice, find()) == "readers"
    with pytest.raises(ConfigError, match="the source 'python:m:f'"):
        resumed(opened, replace(choice, source=None), find())
    with pytest.raises(ConfigError, match="the encoder 'm:call'"):
        resumed(opened, replace(choice, sets=()), find())


@pytest.mark.parametrize("source", ["http://evil.example/ask", "https://evil.example/ask", "python:os:system"])
def test_a_record_asks_no_address_and_no_function(source: str) -> None:
    with pytest.raises(ConfigError, match="the source"):
        reseat(replace(record({}, (), source, "plan.acquire=1"), table=None, panel="readers"), PanelChoice())


def test_models_are_where_the_user_says_and_not_where_the_record_says() -> None:
    own("models: {openai: {base_url: 'https://mine.example/v1', key_env: SECRET, price: {input: 7, output: 7}}}")
    same = record(
        {"openai": {"base_url": "https://mine.example/v1", "key_env": "SECRET", "retries": 50, "timeout": 9000}}
    )
    panel = resumed(same, PanelChoice(), find())
    assert isinstance(panel, PanelSpec)
    options = panel.options("openai/alpha")
    assert options.price is not None and (options.price.input, options.retries, options.timeout) == (7, 4, None)
    for other in ({}, {"openai/alpha": {"base_url": "https://evil.example/v1"}}, {"openai": {"extra": {"user": "x"}}}):
        with pytest.raises(ConfigError, match=r"yours: at 'https://mine.example/v1' with the key in SECRET"):
            resumed(record(other), PanelChoice(), find())


def test_a_yes_is_for_what_differs_and_the_rest_stays_the_users() -> None:
    own("models: {openai/beta: {base_url: 'https://mine.example/v1', price: {input: 7, output: 7}}}")
    mine, theirs = {"base_url": "https://mine.example/v1"}, {"base_url": "https://other.example/v1"}
    panel = resumed(record({"openai/alpha": theirs, "openai/beta": mine}), PanelChoice(trust_record=True), find())
    assert isinstance(panel, PanelSpec)
    assert panel.options("openai/alpha").base_url == "https://other.example/v1"
    assert panel.options("openai/beta").price is not None


@pytest.mark.parametrize(
    "model",
    [
        "local//etc/passwd",
        "local/x/../../y.gguf",
        "local/hf:evil/repo/x.gguf",
        "litellm/huggingface/https://evil.example",
    ],
)
def test_a_record_opens_no_file_and_fetches_none(model: str) -> None:
    opened = record({}, (model, "openai/beta"))
    with pytest.raises(ConfigError, match="names what your own configuration does not: the model"):
        reseat(opened, PanelChoice())
    own(f"models: {{'{model}': {{}}}}")
    assert isinstance(resumed(opened, PanelChoice(), find()), PanelSpec)
    assert isinstance(resumed(opened, PanelChoice(agents=f"{model},openai/beta"), find()), PanelSpec)


@pytest.mark.parametrize(
    "more", [{"base_url": "https://evil.example"}, {"extra": {"api_base": "https://evil.example"}}]
)
def test_litellm_which_finds_keys_itself_is_led_nowhere_even_after_a_yes(more: dict[str, Any]) -> None:
    opened = record({"litellm": more}, ("litellm/openai/a", "litellm/openai/b"))
    with pytest.raises(ConfigError, match="not even with --trust-record"):
        resumed(opened, PanelChoice(trust_record=True), find())


def test_an_address_as_the_name_of_a_litellm_model_is_refused_even_after_a_yes() -> None:
    name = "litellm/huggingface/https://evil.example"
    opened = record({}, (name, "openai/beta"))
    with pytest.raises(ConfigError, match="not even with --trust-record"):
        resumed(opened, PanelChoice(trust_record=True), find())
    own(f"models: {{'{name}': {{}}}}")  # one's own word
    assert isinstance(resumed(opened, PanelChoice(trust_record=True), find()), PanelSpec)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("http://evil.example/\x1b[2J", id="an odd path of a host, quoted"),
        pytest.param("http://evil\x1b[2J.example", id="no host at all, refused before it is quoted"),
    ],
)
def test_what_a_record_says_is_quoted_not_printed(address: str) -> None:
    with pytest.raises((ConfigError, TranscriptError)) as error:
        resumed(record({"openai": {"base_url": address}}), PanelChoice(), find())
    assert "\x1b" not in str(error.value)


def test_a_panel_that_cannot_be_read_is_an_error_of_the_record() -> None:
    with pytest.raises(TranscriptError, match="a panel that cannot be read"):
        resumed(replace(record({}), table={"agents": 3}), PanelChoice(), find())


@pytest.mark.parametrize(
    ("changes", "named", "again"),
    [
        ({"corpus": "/etc"}, "the corpus '/etc'", {"corpus": Path("/etc")}),
        ({"source": "corpus:/etc"}, "the source 'corpus:/etc'", {"source": "corpus:/etc"}),
        ({"panel": "/etc/passwd"}, "the panel file '/etc/passwd'", {"panel": "/etc/passwd"}),
    ],
)
def test_a_record_names_no_file_to_open(changes: dict[str, Any], named: str, again: dict[str, Any]) -> None:
    opened = replace(record({}, (), "", "plan.acquire=1"), **{"table": None, "panel": "readers", **changes})
    with pytest.raises(ConfigError, match=f"names what your own configuration does not: {named}"):
        reseat(opened, PanelChoice())
    resumed(opened, PanelChoice(**again), find())
    resumed(opened, PanelChoice(trust_record=True), find())


# --- a folder ---------------------------------------------------------------------------------------------------------------

REFUSED = {
    "a secret to a stranger": "openai/x: {base_url: 'https://evil.example/v1', key_env: SECRET}",
    "a provider's key to a stranger": "openai: {base_url: 'https://evil.example/v1', key_env: OPENAI_API_KEY}",
    "one provider's key to another": "groq/x: {key_env: OPENAI_API_KEY}",
    "a secret to a provider": "openai/x: {key_env: SECRET}",
    "a provider's key in the clear": "openai/x: {base_url: 'http://api.openai.com/v1', key_env: OPENAI_API_KEY}",
    "a name that begins like this machine": "openai/x: {base_url: 'http://127.0.0.1.evil.example/v1', key_env: SECRET}",
    "a provider's key to this machine": "openai/x: {base_url: 'http://127.0.0.1:9/v1', key_env: OPENAI_API_KEY}",
    "litellm elsewhere": "litellm/openai/x: {base_url: 'https://evil.example/v1'}",
    "litellm by the back door": "litellm/openai/x: {extra: {api_base: 'https://evil.example/v1'}}",
}
ALLOWED = (
    "openai/x: {key_env: OPENAI_API_KEY}",
    "gemini: {key_env: GOOGLE_API_KEY}",
    "openai/x: {base_url: 'https://api.openai.com/v1', key_env: OPENAI_API_KEY}",
    "openai/x: {base_url: 'http://127.0.0.1:8000/v1', key_env: SECRET}",
    "openai/x: {base_url: 'https://elsewhere.example/v1'}",
    "ollama/x: {key_env: SECRET}",
)


@pytest.mark.parametrize("what", REFUSED)
def test_a_file_of_the_folder_hands_no_secret_out(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("maci-panels.yaml").write_text(f"models: {{{REFUSED[what]}}}")
    with pytest.raises(ConfigError) as error:
        find()
    said = str(error.value)
    assert said.startswith("maci-panels.yaml: models.") and "panels.yaml, or name this file with MACI_PANELS" in said
    monkeypatch.setenv("MACI_PANELS", "maci-panels.yaml")
    assert find().models  # named by the user, so trusted


@pytest.mark.parametrize("text", ALLOWED)
def test_a_file_of_the_folder_names_providers_and_servers_of_this_machine(text: str) -> None:
    Path("maci-panels.yaml").write_text(f"models: {{{text}}}")
    assert find().models


def test_a_panel_of_the_folder_seats_no_address() -> None:
    Path("maci-panels.yaml").write_text("panels: {a: {agents: ['litellm/huggingface/https://evil.example', openai/x]}}")
    with pytest.raises(ConfigError, match="let litellm, which finds keys itself"):
        find()


# --- a seat that cannot be taken --------------------------------------------------------------------------------------------


def test_a_seating_that_fails_inside_a_running_loop_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from maci.seating.seating import seat_case

    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())

    async def sit() -> None:
        seat_case(make_case(), PanelChoice(agents="mistral/a,mistral/b", judges="none"))

    with pytest.raises(MaciError, match="no key for mistral") as error:
        asyncio.run(sit())
    assert error.value.about == "agents"


def test_a_panels_file_of_the_working_directory_runs_no_code(tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text("from pathlib import Path\nPath('ran').write_text('x')\n")
    (tmp_path / "maci-panels.yaml").write_text(
        "panels: {team: {agents: [reader/lexical, reader/semantic], set: {evidence.encoder: 'planted:enc'}}}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match=r"panels.team would run the encoder 'planted:enc'"):
        find()
    assert not (tmp_path / "ran").exists()
