"""Who may be seated over the web, and what a person reads where a seat cannot be taken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fake_house import FakeHouse
from hash_encoder import HashEncoder
from helpers import make_case, settings
from maci.controller.events import FORMAT
from maci.controller.inputs import Opened, Seat
from maci.errors import InputError
from maci.evidence.corpus import update_index
from maci.record.transcript import Transcript, read
from maci.web.allowance import DailyCeilings
from maci.web.forms import choice_of, fields_of
from serving import serving
from web_helpers import Browser, entries, visit

PANELS = """
panels:
  pair: {agents: [mistral/a, mistral/b], judges: []}
  typo: {agents: [opnai/a, mistral/b], judges: []}
models: {groq/c: {}, anthropic: {retries: 1}}
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("MACI_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())
    Path("maci-panels.yaml").write_text(PANELS)
    runs = tmp_path / "runs"
    runs.mkdir()
    return runs


ASKED = {"question": "Is it?", "outcomes": "yes, no", "evidence": "yes it is\n\nno it is not"}


@pytest.mark.parametrize(
    ("fields", "marked", "says"),
    [
        ({"panel": "pair"}, "panel", "no key for mistral"),
        ({"panel": "typo"}, "panel", "did you mean openai?"),
        ({"agents": "mistral/a,mistral/b", "judges": "none"}, "agents", "no key for mistral"),
        ({"agents": "reader", "judges": "groq/c"}, "judges", "no key for groq"),
        ({"agents": "mistral/a,mistrl/b"}, "agents", "mistrl/b is not a model of this server"),
        ({"panel": "readers", "settings": "tau_q = 7"}, "settings", "out of range"),
        ({"panel": "readers", "seed": "x"}, "seed", "whole number"),
    ],
)
def test_the_form_comes_back_with_the_field_marked(
    elsewhere: Path, fields: dict[str, str], marked: str, says: str
) -> None:
    async def walk(browser: Browser) -> None:
        answer = await browser.post("/debates", {**ASKED, **fields})
        assert answer.status_code == 422 and 'role="alert"' in answer.text
        assert says in answer.text.replace("&#x27;", "'") and "Is it?" in answer.text
        assert [part.split('id="')[1].split('"')[0] for part in answer.text.split("<") if "aria-invalid" in part] == [
            marked
        ]
        assert browser.desk._running == {}

    visit(elsewhere, walk)
    assert entries(elsewhere) == []


def test_programs_are_told_in_openais_form_and_never_with_200(elsewhere: Path) -> None:
    async def walk(browser: Browser) -> None:
        asked: dict[str, Any] = {"messages": [{"role": "user", "content": "Is it?"}], "outcomes": ["yes", "no"]}
        for model, status, kind in (("pair", 503, "server_error"), ("typo", 400, "invalid_request_error")):
            for stream in (False, True):
                answer = await browser.client.post(
                    "/v1/chat/completions", json={**asked, "model": model, "stream": stream}
                )
                assert answer.status_code == status
                error = answer.json()["error"]
                assert (error["type"], error["param"]) == (kind, "model") and error["message"]

    visit(elsewhere, walk)


def test_a_debate_that_ended_in_an_error_is_no_success_for_programs(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-wrong")
    Path("maci-panels.yaml").write_text(
        "panels: {pair: {agents: [mistral/a, mistral/b], judges: []}}\n"
        "models: {mistral: {base_url: 'http://127.0.0.1:9/v1', retries: 0}}"  # nobody listens there
    )

    async def walk(browser: Browser) -> None:
        asked = {"model": "pair", "messages": [{"role": "user", "content": "Is it?"}], "outcomes": ["yes", "no"]}
        answer = await browser.client.post("/v1/chat/completions", json=asked)
        assert answer.status_code == 502 and "no connection" in answer.json()["error"]["message"]
        assert int(answer.headers["retry-after"]) > 0 and answer.headers["x-should-retry"] == "false"
        streamed = await browser.client.post("/v1/chat/completions", json={**asked, "stream": True})
        assert streamed.status_code == 502 and streamed.json()["error"]["type"] == "server_error"
        with monkeypatch.context() as late:
            late.setattr("maci.web.v1._HELD", 0.0)  # the status is out before it fails
            streamed = await browser.client.post("/v1/chat/completions", json={**asked, "stream": True})
        assert streamed.status_code == 200 and '"type": "server_error"' in streamed.text
        assert '"choices"' not in streamed.text

    visit(elsewhere, walk)


def broken(folder: Path, **more: Any) -> None:
    opened = Opened(
        format=FORMAT, case=make_case(), config=settings("crit.enabled=false"), encoder="hash/1", seed=0, version="0",
        agents=(Seat("a", "x"), Seat("b", "x")), judges=(), panel="--agents", **more,
    )  # fmt: skip
    with Transcript.create(folder / "broken" / "transcript.jsonl") as transcript:
        transcript.append(opened, sync=True)


@pytest.mark.parametrize(
    ("models", "status", "says"),
    [
        ({}, 503, "no key for mistral"),
        ({"mistral": {"base_url": "https://evil.example/v1", "key_env": "HOME"}}, 422, "--trust-record"),
    ],
)
def test_a_debate_that_cannot_be_resumed_says_why(
    elsewhere: Path, models: dict[str, Any], status: int, says: str
) -> None:
    broken(
        elsewhere, table={"agents": [{"model": "mistral/a"}, {"model": "mistral/b"}], "judges": [], "models": models}
    )

    async def walk(browser: Browser) -> None:
        answer = await browser.post("/debates/broken/resume", {})
        assert answer.status_code == status and says in answer.text

    visit(elsewhere, walk)


def test_a_record_with_a_panel_that_cannot_be_read_says_so(elsewhere: Path) -> None:
    broken(elsewhere, table={"agents": [{"model": "mistral/a"}], "of_a_later_version": 1})

    async def walk(browser: Browser) -> None:
        for answer in (
            await browser.post("/debates/broken/resume", {}),
            await browser.get("/debates/broken/report.html"),
            await browser.get("/debates/broken/report.md"),
        ):
            assert answer.status_code == 422 and "names a panel that cannot be read" in answer.text

    visit(elsewhere, walk)


@pytest.mark.parametrize("priced", [True, False])
def test_the_operators_price_of_today_decides_whether_a_debate_can_be_resumed(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, priced: bool
) -> None:
    price = {"input": 1.0, "output": 1.0}
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-wrong")
    broken(
        elsewhere,
        table={
            "agents": [{"model": "mistral/a"}, {"model": "mistral/b"}],
            "judges": [],
            "models": {} if priced else {"mistral": {"price": price}},
        },
    )
    if priced:
        Path("maci-panels.yaml").write_text(f"{PANELS.rstrip()[:-1]}, mistral: {{price: {price}}}}}")
    monkeypatch.setattr("maci.seating.seating.checked_house", lambda *args, **more: FakeHouse())

    async def walk(browser: Browser) -> None:
        answer = await browser.post("/debates/broken/resume", {})
        assert answer.status_code == (200 if priced else 503), answer.text
        assert ("price of mistral/a, mistral/b is not known" in answer.text) is not priced
        await browser.end("broken")

    visit(elsewhere, walk, ceilings=DailyCeilings(usd=5.0))


def test_an_error_nobody_foresaw_is_a_page_too(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fall(*args: object, **more: object) -> None:
        raise KeyError("sk-secret-in-a-variable")

    async def walk(browser: Browser) -> None:
        browser.client._transport.raise_app_exceptions = False  # type: ignore[attr-defined]
        answer = await browser.post("/debates", {**ASKED, "panel": "readers"})
        assert answer.status_code == 500 and "All debates" in answer.text and "sk-secret" not in answer.text

    monkeypatch.setattr("maci.seating.tables.Tables._seat", fall)
    visit(elsewhere, walk)


STRANGE = (
    "local/hf:evil/repo/x.gguf",
    "local/x/../../y.gguf",
    "local//etc/passwd",
    "local/~/x.gguf",
    "local/ ./x.gguf",
    "litellm/huggingface/https://evil.example",
)


@pytest.mark.parametrize("name", [*STRANGE, "openai/gpt-5-pro", "anthropic/claude-x", "local/smollm2-135m"])
@pytest.mark.parametrize("field", ["agents", "judges"])
def test_visitors_choose_among_the_operators_models(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, name: str, field: str
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("maci.llm.local.gguf.source_of", lambda name: opened.append(name))
    monkeypatch.setattr("maci.llm.local.provider.source_of", lambda name: opened.append(name))

    async def walk(browser: Browser) -> None:
        fields = {"agents": "reader", field: f"reader,{name}"}
        answer = await browser.post("/debates", {**ASKED, **fields})
        assert answer.status_code == 422 and "is not a model of this server" in answer.text

    visit(elsewhere, walk)
    assert opened == []


def test_configured_models_can_be_chosen_and_others_if_the_operator_says_so() -> None:
    named = "mistral/a, groq/c, reader/lexical"
    choice = choice_of({"agents": named, "judges": "none"})
    assert (choice.panel, choice.agents, choice.judges) == (None, named, "none")
    more = "openai/gpt-4o-mini,local/smollm2-135m"
    assert choice_of({"agents": more}, any_model=True).agents == more
    for name in STRANGE:
        with pytest.raises(Exception, match="not a model of this server"):
            choice_of({"agents": f"mistral/a,{name}"}, any_model=True)


def test_the_form_lists_the_models_of_the_server(elsewhere: Path) -> None:
    async def walk(browser: Browser) -> None:
        assert "This server's models: groq/c, mistral/a, mistral/b, opnai/a." in (
            await browser.get("/new")
        ).text.replace("&#x27;", "'")

    visit(elsewhere, walk)


def test_any_model_reaches_the_form_through_the_settings(elsewhere: Path) -> None:
    async def walk(browser: Browser) -> None:
        answer = await browser.post("/debates", {**ASKED, "agents": "openai/x,openai/y", "judges": "none"})
        assert answer.status_code == 422 and "no key for openai" in answer.text

    visit(elsewhere, walk, any_model=True)


# --- the project file of the server -------------------------------------------------------------------------------------------

PROJECT = """
profile = "paper"

[panel]
agents = ["openai/alpha", "openai/beta"]
judges = ["openai/gamma"]
set = {{ "stop.max_rounds" = 2 }}

[budget]
tokens = 30000
usd = 0.4

[models.openai]
base_url = "{url}/v1"
price = {{ input = 0.1, output = 0.1 }}
"""


def recorded(runs: Path, id: str | None = None) -> Opened:
    """How a debate was begun; the only one, unless it is named."""
    return read(runs / (id or next(name for name in entries(runs) if name[0] != ".")) / "transcript.jsonl").opened


def test_a_served_debate_records_the_ceilings_of_the_project_file(elsewhere: Path) -> None:
    asked = {"model": "project", "messages": [{"role": "user", "content": "Is it?"}], "outcomes": ["yes", "no"]}
    asked["evidence"] = ["yes it is", "no it is not"]

    async def walk(browser: Browser) -> None:
        models = (await browser.client.get("/v1/models")).json()["data"]
        assert [each["id"] for each in models] == ["readers", "pair", "typo", "project"]
        answer = await browser.client.post("/v1/chat/completions", json=asked)
        assert answer.status_code == 200, answer.text
        assert str(elsewhere.parent) not in answer.text

    with serving("alpha", "beta", "gamma") as server:
        Path("maci.toml").write_text(PROJECT.format(url=server.url))
        visit(elsewhere, walk)
    opened = recorded(elsewhere)
    assert (opened.panel, opened.config.profile) == ("project", "paper")
    assert (opened.config.budget.tokens, opened.config.budget.usd) == (30_000, 0.4)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (
            {"budget": {"tokens": 900_000_000}},
            "budget.tokens is 900,000,000, and the project file of this server allows 30,000",
        ),
        ({"budget": {"usd": 1000}}, "budget.usd is 1,000.0, and the project file of this server allows 0.4"),
        ({"budget_tokens": 30_001}, "budget.tokens is 30,001"),
    ],
)
def test_a_request_cannot_raise_the_ceilings_of_the_project_file(
    elsewhere: Path, own: dict[str, object], said: str
) -> None:
    Path("maci.toml").write_text('panel = "readers"\n[budget]\ntokens = 30000\nusd = 0.4\n')
    asked = {"model": "readers", "messages": [{"role": "user", "content": "Is it?"}], "outcomes": ["yes", "no"]}

    async def walk(browser: Browser) -> None:
        for address in ("chat/completions", "responses"):
            body = asked if address != "responses" else {**asked, "input": "Is it?"}
            answer = await browser.client.post(f"/v1/{address}", json=body | own)
            assert answer.status_code == 400 and said in answer.json()["error"]["message"], answer.text
            assert answer.json()["error"]["param"] == "budget"

    visit(elsewhere, walk)
    assert not [name for name in entries(elsewhere) if name[0] != "."]  # nothing was begun


@pytest.mark.parametrize(
    ("form", "about"),
    [
        ({"budget_tokens": "30001"}, "budget_tokens"),
        ({"budget_usd": "0.5"}, "budget_usd"),
        ({"settings": "budget.tokens = 900000"}, "budget_tokens"),
        ({"settings": "budget.usd = none"}, "budget_usd"),
        ({"settings": "budget.seconds = 61"}, "budget_seconds"),
    ],
)
def test_a_form_cannot_raise_the_ceilings_of_the_project_file(
    elsewhere: Path, form: dict[str, str], about: str
) -> None:
    Path("maci.toml").write_text("[budget]\ntokens = 30000\nusd = 0.4\nseconds = 60\n")
    with pytest.raises(InputError, match="project file of this server allows") as refused:
        choice_of({"panel": "readers", **form})
    assert refused.value.about == about
    lower = choice_of({"panel": "readers", "budget_tokens": "29000", "settings": "budget.seconds = 59"})
    assert (lower.settled()[1].budget.tokens, lower.settled()[1].budget.seconds) == (29_000, 59)


def test_a_request_may_lower_the_ceilings_of_the_project_file(elsewhere: Path) -> None:
    Path("maci.toml").write_text('panel = "readers"\n[budget]\ntokens = 30000\nusd = 0.4\n')
    asked = {"model": "readers", "messages": [{"role": "user", "content": "Is it?"}], "outcomes": ["yes", "no"]}

    async def walk(browser: Browser) -> None:
        own = {"budget": {"tokens": 20_000, "usd": 0.1}, "evidence": ["yes it is", "no it is not"]}
        answer = await browser.client.post("/v1/chat/completions", json=asked | own)
        assert answer.status_code == 200, answer.text

    visit(elsewhere, walk)
    assert (recorded(elsewhere).config.budget.tokens, recorded(elsewhere).config.budget.usd) == (20_000, 0.1)


def test_a_new_form_begins_with_what_the_project_file_says(elsewhere: Path) -> None:
    Path("maci.toml").write_text(PROJECT.format(url="http://127.0.0.1:9"))

    async def walk(browser: Browser) -> None:
        form = (await browser.get("/new")).text
        chosen = [part.partition('"')[0] for part in form.split('<option value="')[1:] if " selected" in part[:40]]
        assert chosen == ["", "project", "paper"]  # no built-in case, the panel, the profile
        assert 'placeholder="30000"' in form and 'placeholder="0.4"' in form
        form = (await browser.get("/new?panel=pair")).text
        assert '<option value="pair" selected' in form and '<option value="project" selected' not in form

    visit(elsewhere, walk)


@pytest.mark.parametrize("own", [(), ("budget.tokens=30000", "budget.usd=0.4"), ("budget.tokens=5", "budget.usd=7")])
def test_a_debate_on_record_is_filled_in_with_its_own_ceilings_within_those_of_the_project_file(
    elsewhere: Path, own: tuple[str, ...]
) -> None:
    Path("maci.toml").write_text("[budget]\ntokens = 30000\nusd = 0.4\n")
    before = settings(*own)
    opened = Opened(
        format=FORMAT, case=make_case(), config=before, encoder="hash/1", seed=0, version="0",
        agents=(Seat("a", "x"), Seat("b", "x")), judges=(), panel="readers",
    )  # fmt: skip
    _, config = choice_of(fields_of("x", opened, ["readers"])).settled()
    assert config.budget.tokens == min(30_000, before.budget.tokens) and config.budget.usd == 0.4


def test_a_served_debate_reads_the_index_of_the_project_and_can_be_resumed(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("notes").mkdir()
    Path("notes/a.txt").write_text("yes it is")
    update_index([Path("notes")], Path("index"))
    Path("maci.toml").write_text('corpus = "index"\n')

    Path("empty.toml").write_text("")
    index, empty = str(Path("index").resolve()), str(Path("empty.toml").resolve())

    async def walk(browser: Browser) -> None:
        id = await browser.start(panel="readers")
        await browser.end(id)
        opened = recorded(elsewhere, id)
        assert opened.corpus == index
        folder = elsewhere / "again"
        with Transcript.create(folder / "transcript.jsonl") as transcript:
            transcript.append(opened, sync=True)
        assert (await browser.post("/debates/again/resume", {})).status_code == 200
        await browser.end("again")
        assert (await browser.desk.run("again")).finished is not None
        monkeypatch.setenv("MACI_PROJECT", empty)
        with Transcript.create(elsewhere / "other" / "transcript.jsonl") as transcript:
            transcript.append(opened, sync=True)
        answer = await browser.post("/debates/other/resume", {})
        assert answer.status_code == 422 and "the corpus" in answer.text  # no longer the operator's word

    visit(elsewhere, walk)
