"""Keys: where they are found, whom they are for, and that nothing shows them."""

from __future__ import annotations

import base64
import copy
import os
import pickle
from base64 import b64encode
from pathlib import Path

import pytest

from maci.errors import ConfigError, WrongKey
from maci.llm.keys import Key, find_key, key_help, redact, scrub

SECRET = "sk-proj-Zx81kQpL0vTT93aa"
posix = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")


def keys_toml(folder: Path, text: str, mode: int = 0o600) -> dict[str, str]:
    path = folder / "keys.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return {"MACI_KEYS": str(path)}


def no_file(folder: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(folder), "APPDATA": str(folder), "HOME": str(folder)}


def test_a_key_is_shown_by_nothing_but_reveal():
    key = Key(SECRET, "OPENAI_API_KEY")
    shown = [repr(key), str(key), f"{key}", f"{[key]}", repr(copy.deepcopy(key)), repr(copy.copy({"key": key}))]
    assert all(SECRET not in text and "OPENAI_API_KEY" in text for text in shown)
    assert key.reveal() == SECRET
    with pytest.raises(TypeError, match="look it up again"):
        pickle.dumps(key)


@pytest.mark.parametrize("value", ["", "  ", "sk-a\nb", "sk a", "sk-ключ"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(value: str):
    with pytest.raises(WrongKey, match="from OPENAI_API_KEY") as caught:
        Key(value, "OPENAI_API_KEY")
    assert not value.strip() or value not in str(caught.value)


def test_the_environment_comes_before_the_file(tmp_path: Path):
    environ = keys_toml(tmp_path, 'openai = "sk-file"')
    assert find_key("openai", environ=environ).reveal() == "sk-file"
    assert find_key("openai", environ={**environ, "OPENAI_API_KEY": " sk-env "}).reveal() == "sk-env"
    assert find_key("openai", environ={**environ, "OPENAI_API_KEY": ""}).reveal() == "sk-file"


def test_gemini_has_two_variables_and_the_first_counts(tmp_path: Path):
    environ = {**no_file(tmp_path), "GOOGLE_API_KEY": "g2"}
    assert find_key("gemini", environ=environ).reveal() == "g2"
    assert find_key("gemini", environ={**environ, "GEMINI_API_KEY": "g1"}).reveal() == "g1"


def test_a_key_goes_to_no_host_but_its_own(tmp_path: Path):
    environ = {**no_file(tmp_path), "OPENAI_API_KEY": "sk-openai", "OPENROUTER_API_KEY": "sk-or"}
    assert find_key("openai", "https://llm.example.org/v1", environ=environ) is None
    assert find_key("openai", "http://127.0.0.1:8000/v1", environ=environ) is None
    assert find_key("openai", "https://openrouter.ai/api/v1", environ=environ).reveal() == "sk-or"
    assert find_key("openai", "https://api.openai.com/v1/", environ=environ).reveal() == "sk-openai"


def test_a_server_of_ones_own_has_its_key_by_host_or_by_key_env(tmp_path: Path):
    environ = {**keys_toml(tmp_path, '"LLM.example.org:8443" = "mine"'), "MY_KEY": "named"}
    assert find_key("openai", "https://llm.example.org:8443/v1", environ=environ).reveal() == "mine"
    assert find_key("openai", "https://llm.example.org/v1", environ=environ) is None
    assert find_key("openai", "https://elsewhere.example/v1", key_env="MY_KEY", environ=environ).reveal() == "named"


def test_key_env_that_is_not_set_says_so(tmp_path: Path):
    with pytest.raises(WrongKey, match=r"key_env is 'MY_KEY'.*not set"):
        find_key("openai", key_env="MY_KEY", environ={**no_file(tmp_path), "OPENAI_API_KEY": "sk-1"})


def test_a_misspelt_provider_in_the_file_is_said_and_a_host_is_none(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"opnai in .*keys\.toml is no provider: did you mean openai\?"):
        find_key("openai", environ=keys_toml(tmp_path, 'opnai = "sk-1"'))
    assert find_key("openai", environ=keys_toml(tmp_path, '"openai.example" = "sk-1"\nbox = "sk-2"')) is None


def test_without_a_file_there_are_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_key("anthropic", environ=no_file(tmp_path)) is None


def test_a_file_that_is_named_must_be_there(tmp_path: Path):
    with pytest.raises(ConfigError, match="no such file: correct it or unset it"):
        find_key("openai", environ={"MACI_KEYS": str(tmp_path / "none.toml")})


@posix
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_file_others_may_read_is_refused_with_the_command_to_run(tmp_path: Path, mode: int):
    with pytest.raises(ConfigError, match=r"chmod 600 .*keys\.toml"):
        find_key("openai", environ=keys_toml(tmp_path, f'openai = "{SECRET}"', mode))


@pytest.mark.parametrize(
    "text", [f'openai = "{SECRET}', f"openai = {SECRET}", f'openai = ["{SECRET}"]', f'[openai]\nkey = "{SECRET}"']
)
def test_a_broken_file_is_named_and_its_content_is_not(tmp_path: Path, text: str):
    with pytest.raises(ConfigError, match=r"keys.toml") as caught:
        find_key("openai", environ=keys_toml(tmp_path, text))
    assert SECRET not in str(caught.value) and "…" in str(caught.value)


def test_help_names_the_variable_and_the_file(tmp_path: Path):
    environ = {"MACI_KEYS": "my/keys.toml"}
    assert "ANTHROPIC_API_KEY" in key_help("anthropic", environ=environ)
    assert "keys.toml" in key_help("anthropic", environ=environ)
    own = key_help("openai", "https://llm.example.org/v1", environ=environ)
    assert "key_env" in own and '"llm.example.org" = "…"' in own
    near = key_help("openai", "http://127.0.0.1:9/v1", environ=environ)
    assert near.startswith("export OPENAI_BASE_URL=http://127.0.0.1:9/v1 and its key as OPENAI_API_KEY, or ")
    assert 'key_env = "SERVER_KEY"' in near and '"127.0.0.1:9" = "…"' in near
    assert key_help("vllm", "http://127.0.0.1:9/v1", environ=environ).startswith("put its key into a variable such as")


@pytest.mark.parametrize(
    "said",
    [
        f"Incorrect API key provided: {SECRET}.",
        f"header 'Bearer {SECRET}' is wrong",
        f"key {SECRET[:12]}… is wrong",
        f"key ending in {SECRET[-9:]} is wrong",
        f'{{"key":"{SECRET}"}}',
        "Incorrect API key provided: sk-proj-****************93aa",
        f"{SECRET.upper()} {SECRET.lower()}",
        f"spaced {' '.join(SECRET)}",
        f"reversed {SECRET[::-1]}",
        f"encoded {b64encode(SECRET.encode()).decode()}",
        f"encoded with others {b64encode(f'me:{SECRET}!'.encode()).decode()}",
        f"in digits {SECRET.encode().hex().upper()}",
        "Bearer abcdefghij",
        "key AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    ],
)
def test_redact_removes_the_key_its_parts_and_what_looks_like_one(said: str):
    shown = redact(said, Key(SECRET))
    assert "***" in shown
    for i in range(len(SECRET) - 7):
        assert SECRET[i : i + 8] not in shown
    compact = shown.replace(" ", "").casefold()
    forms = (SECRET, SECRET[::-1], SECRET.encode().hex())
    assert not any(form.casefold() in compact for form in forms)
    assert (
        b64encode(SECRET.encode()).decode()[4:-4] not in shown
        and b64encode(f"me:{SECRET}".encode()).decode()[8:-4] not in shown
    )
    assert "abcdefghij" not in shown and "SyD-9tSrke72" not in shown and "93aa" not in shown


@pytest.mark.parametrize(
    "form",
    [
        SECRET.upper(),
        SECRET[::-1],
        " ".join(SECRET),
        "-".join(SECRET.upper()),
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(b"Bearer " + SECRET.encode()).decode(),
        base64.urlsafe_b64encode(b"x:" + SECRET.encode()).decode(),
        SECRET.encode().hex(),
        "".join(f"%{byte:02X}" for byte in SECRET.encode()),
    ],
)
def test_redact_knows_the_key_in_other_forms(form: str):
    shown = redact(f"Your key {form} is not accepted", Key(SECRET))
    assert "***" in shown and shown.startswith("Your key ") and shown.endswith(" is not accepted")
    assert not any(form[i : i + 12] in shown for i in range(len(form) - 11))


def test_redact_leaves_other_words_alone():
    said = "The model `gpt-4o-mini` does not exist: max_tokens is 100, risk-averse task_key"
    assert redact(said, Key(SECRET)) == said


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz", "wxyz"])
def test_a_secret_is_found_in_base32_wherever_it_begins(before: str) -> None:
    secret = "sk-canary-4711"
    coded = base64.b32encode(f"{before}{secret}{before}".encode()).decode()
    for text in (coded, coded.lower()):
        left = scrub(text, [secret])
        assert "***" in left and len(left) < len(coded) - len(secret)


@pytest.mark.parametrize("form", ["&#{0};", "&#x{0:x};", "&#0{0}", "\\u{0:04x}", "\\x{0:02x}"])
def test_a_secret_is_found_where_its_letters_are_escaped(form: str) -> None:
    secret = "sk-canary-4711"
    every = "".join(form.format(ord(letter)) for letter in secret)
    some = "".join(form.format(ord(letter)) if letter == "-" else letter for letter in secret)
    assert scrub(f"a {every} b {some} c", [secret]) == "a *** b *** c"
    assert scrub("sk&lowbar;canary&period;4711", ["sk_canary.4711"]) == "***"
