"""The panels file: where it is looked for, what it may say, and what it may not hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from maci.errors import ConfigError, InputError
from maci.llm.keys import SERVICES
from maci.paths import config_dir
from maci.seating import choose
from maci.seating.file import find, load_panels
from maci.seating.spec import PanelSpec

FILE = """
panels:
  clinic:
    about: two against a third
    agents:
      - openai/gpt-4o-mini
      - {model: anthropic/claude-x, name: sceptic, persona: You doubt., belief: sampled, draws: 10, temperature: 0.2, max_tokens: 900}
    judges: [gemini/gemini-2.5-flash, reader]
    set: {budget.usd: 0.5, max_rounds: 3}
models:
  openai/my-vllm:
    {base_url: "http://127.0.0.1:8000/v1", key_env: MY_KEY, family: llama, price: {input: 0.1, output: 0.4}, concurrency: 8}
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MACI_PANELS", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def write(text: str, path: str = "maci-panels.yaml") -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_a_named_panel_is_resolved_with_its_models_and_settings() -> None:
    write(FILE)
    panel = choose("clinic")
    assert isinstance(panel, PanelSpec)
    assert [seat.model for seat in panel.agents] == ["openai/gpt-4o-mini", "anthropic/claude-x"]
    sceptic = panel.agents[1]
    assert (sceptic.name, sceptic.belief, sceptic.draws, sceptic.temperature, sceptic.max_tokens) == (
        "sceptic",
        "sampled",
        10,
        0.2,
        900,
    )
    assert panel.judges is not None
    assert [seat.model for seat in panel.judges] == [
        "gemini/gemini-2.5-flash",
        "reader/letters",
        "reader/words",
        "reader/phrases",
    ]
    assert panel.settings == {"budget.usd": 0.5, "max_rounds": 3}
    assert panel.models["openai/my-vllm"].price.output == 0.4


def test_the_folder_s_own_file_hides_the_users_name_by_name() -> None:
    write("panels: {a: {agents: [x/1, x/2]}}")
    write("panels: {a: {agents: [y/1, y/2]}, b: {agents: [y/1, y/2]}}", "config/maci/panels.yaml")
    found = find()
    assert found.spec("a").agents[0].model == "x/1"
    assert found.spec("b").agents[0].model == "y/1"
    assert found.panels["b"][1] == config_dir() / "panels.yaml"


def test_maci_panels_names_the_only_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write("panels: {a: {agents: [x/1, x/2]}}")
    other = write("panels: {c: {agents: [x/1, x/2]}}", "other.yaml")
    monkeypatch.setenv("MACI_PANELS", str(other))
    assert list(find().panels) == ["c"]
    monkeypatch.setenv("MACI_PANELS", "nowhere.yaml")
    with pytest.raises(ConfigError, match=r"MACI_PANELS is nowhere.yaml, and there is no such file"):
        find()


def test_without_a_file_there_are_no_panels_and_an_empty_file_is_fine() -> None:
    assert not find().panels
    write("")
    assert not find().panels


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- x", "a panels file is a table with the keys panels and models"),
        ("panls: {}", "unknown key 'panls': did you mean panels?"),
        ("panels: {a: {agnts: [x/1]}}", "unknown key 'panels.a.agnts': did you mean agents?"),
        ("panels: {a: {}}", "panels.a.agents is missing"),
        ("panels: {a: {agents: [x/1]}}", "a panel needs at least two agents"),
        ("panels: {a: {agents: [x/1, {name: y}]}}", "panels.a.agents.1.model is missing"),
        ("panels: {a: {agents: [x/1, {model: x/2, temperature: 3}]}}", "panels.a.agents.1.temperature is 3"),
        ("panels: {a: {agents: [x/1, {model: x/2, belief: felt}]}}", "panels.a.agents.1.belief is 'felt'"),
        ("panels: {a: {agents: [x/1, x/2], judges: [3]}}", "panels.a.judges.0 is 3"),
        ("panels: {a: {agents: [x/1, x/2], set: {tau_q: 7}}}", "panels.a.set: gate.tau_q = 7 is out of range"),
        ("panels: {readers: {agents: [x/1, x/2]}}", "panels.readers: this name is taken by a built-in panel"),
        ("models: {x/1: {url: y}}", "unknown key 'models.x/1.url'"),
        ("models: {x/1: {base_url: y}}", "models.x/1.base_url must begin with http:// or https://"),
        ("models: {x/1: {price: {input: -1, output: 1}}}", "models.x/1.price.input is -1"),
        ("models: {x/1: {concurrency: 0}}", "models.x/1.concurrency is 0"),
    ],
)
def test_what_is_wrong_is_said_by_file_place_and_remedy(text: str, says: str) -> None:
    file = write(text)
    with pytest.raises(ConfigError) as error:
        load_panels(file)
    assert str(error.value).startswith("maci-panels.yaml: ")
    assert says in str(error.value)


def test_a_file_that_is_no_yaml_is_refused() -> None:
    write("panels: [")
    with pytest.raises(InputError, match=r"maci-panels.yaml is not valid YAML"):
        find()


KEY = "sk-" + "abcdefghijklmnop1234"


@pytest.mark.parametrize(
    "text",
    [
        f"models: {{x/1: {{key: {KEY}}}}}",
        f"models: {{x/1: {{api_key: {KEY}}}}}",
        f"models: {{x/1: {{key_env: {KEY}}}}}",
        f"models: {{x/1: {{base_url: 'http://me:{KEY}@host/v1'}}}}",
        f"models: {{x/1: {{token: {KEY}}}}}",
        f"panels: {{a: {{agents: [x/1, {{model: x/2, api_key: {KEY}}}]}}}}",
        f"panels: {{a: {{agents: [x/1, {{model: x/2, persona: {KEY}}}]}}}}",
        f"panels: {{a: {{agents: [x/1, x/2], about: 'Bearer {KEY}'}}}}",
    ],
)
def test_a_key_in_the_file_is_refused_and_never_repeated(text: str) -> None:
    file = write(text)
    with pytest.raises(ConfigError) as error:
        load_panels(file)
    assert "environment variable" in str(error.value)
    assert KEY not in str(error.value)


def test_words_that_only_sound_like_keys_are_fine() -> None:
    file = write(
        "panels: {a: {agents: [x/1, {model: x/2, max_tokens: 500}], set: {budget.tokens: 5000}, about: a key question}}\n"
        "models: {x/1: {key_env: OPENAI_API_KEY}}"
    )
    assert load_panels(file).models["x/1"].key_env == "OPENAI_API_KEY"


def test_a_file_of_the_folder_does_not_send_a_providers_key_elsewhere() -> None:
    text = "models: {openai/x: {base_url: 'https://evil.example/v1', key_env: OPENAI_API_KEY}}"
    write(text)
    with pytest.raises(ConfigError, match=r"models.openai/x would send OPENAI_API_KEY to evil.example"):
        find()
    Path("maci-panels.yaml").unlink()
    write(text, "config/maci/panels.yaml")  # the user's own file may
    assert find().models


def test_a_model_without_a_slash_is_refused_by_place() -> None:
    write("panels: {a: {agents: [gpt, x/2]}}")
    with pytest.raises(ConfigError, match=r"maci-panels.yaml: panels.a.agents 'gpt': a model is named provider/model"):
        choose("a")


def test_the_file_shown_in_the_documents_can_be_read() -> None:
    page = (Path(__file__).parents[3] / "docs" / "panels.md").read_text(encoding="utf-8")
    shown, trial = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    write(trial)
    assert find().options["openai"].key_env == "TRIAL_KEY"
    write(shown)
    panel = choose("clinic")
    assert isinstance(panel, PanelSpec)
    assert panel.agents[1].name == "sceptic"
    assert panel.models["openai/my-vllm"].family == "llama"


def test_every_provider_there_is_stands_in_the_documents() -> None:
    page = (Path(__file__).parents[3] / "docs" / "panels.md").read_text(encoding="utf-8")
    assert [name for name in (*SERVICES, "local", "litellm", "reader") if f"`{name}`" not in page] == []
