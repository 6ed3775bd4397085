"""Azure's address, version and header, and Bedrock by name; against a server on this machine."""

from __future__ import annotations

import pytest

from fake_server import FakeServer
from maci.errors import ConfigError, MissingExtra, WrongKey
from maci.llm.keys import Key, address_of, find_key
from maci.llm.models import House, ModelOptions
from maci.llm.providers import Http
from maci.llm.providers.openai import Azure
from provider_helpers import ASK, SECRET, with_server


def test_azure_is_asked_at_the_deployment_with_its_own_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_VERSION", raising=False)

    async def test(server: FakeServer, http: Http) -> None:
        azure = Azure(model="my gpt", base_url=server.url, http=http, key=Key(SECRET, "AZURE_OPENAI_API_KEY"))
        assert (await azure.send(ASK)).text
        path, headers, body = server.seen[-1]
        assert path == "/openai/deployments/my gpt/chat/completions"
        assert headers["api-key"] == SECRET
        assert "Authorization" not in headers
        assert body["model"] == "my gpt"
        newer = Azure(model="m", base_url=f"{server.url}/openai/v1", http=http, key=Key(SECRET, "AZURE_OPENAI_API_KEY"))
        await newer.send(ASK)
        assert server.seen[-1][0] == "/openai/v1/chat/completions"

    with_server(test)


def test_the_version_of_azures_api_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_VERSION", "2025-01-01-preview")
    named = Azure(model="m", base_url="https://me.openai.azure.com", key=Key("k", "X"))
    assert named._url.endswith("/openai/deployments/m/chat/completions?api-version=2025-01-01-preview")
    other = Azure(model="m", base_url="https://me.openai.azure.com", key=Key("k", "X"), options={"api-version": "2"})
    assert other._url.endswith("?api-version=2")
    assert other.options == {}
    assert named.identity != other.identity


def test_azure_needs_an_address_and_its_key_goes_there_only() -> None:
    with pytest.raises(ConfigError, match="AZURE_OPENAI_ENDPOINT"):
        House(environ={"AZURE_OPENAI_API_KEY": SECRET}).model("azure/m")
    environ = {
        "AZURE_OPENAI_API_KEY": SECRET,
        "AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/",
        "MACI_KEYS": "/dev/null",
    }
    provider = House(environ=environ).model("azure/m").provider
    assert isinstance(provider, Azure)
    assert provider._headers() == {"api-key": SECRET}
    assert provider.origin == "me.openai.azure.com"
    assert find_key("azure", "https://other.openai.azure.com", environ=environ) is None


def test_azure_without_a_key_says_so() -> None:
    async def test(server: FakeServer, http: Http) -> None:
        azure = Azure(model="m", base_url="https://me.openai.azure.com", http=http)
        with pytest.raises(WrongKey):
            await azure.send(ASK)

    with_server(test)


def test_bedrock_goes_through_litellm_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "bedrock/anthropic.claude-3-5-haiku-20241022-v1:0"
    pytest.importorskip("litellm")
    model = House(environ={}).model(name)
    assert (model.name, model.family) == (name, "anthropic")
    assert model.price is not None
    assert model.provider.identity["model"] == name
    monkeypatch.setattr("importlib.util.find_spec", lambda package: None)
    with pytest.raises(MissingExtra):
        House(environ={}).model(name)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("127.0.0.1:1234", "http://127.0.0.1:1234/v1"),
        (":1234", "http://127.0.0.1:1234/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("https://box.lan", "https://box.lan:443/v1"),
        ("[::1]:1234", "http://[::1]:1234/v1"),
    ],
)
def test_ollamas_variable_is_read_as_ollama_does(given: str, address: str) -> None:
    assert address_of("ollama", {"OLLAMA_HOST": given}) == address


def test_an_address_and_a_key_of_the_environment_are_a_pair() -> None:
    environ = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_API_KEY": SECRET}
    provider = House(environ=environ).model("anthropic/claude-haiku-4-5").provider
    assert provider.origin == "127.0.0.1:9"
    assert House(environ=environ).model("anthropic/claude-haiku-4-5").price is None  # a proxy may charge anything
    with pytest.raises(ConfigError, match="OLLAMA_HOST"):
        House(environ={"OLLAMA_HOST": "127.0.0.1:port"}).model("ollama/m")


@pytest.mark.parametrize("odd", ["http://127.0.0.1:8[]x", "http://127.0.0.1:99999/v1", "http://127.0.0.1:0"])
def test_an_address_that_cannot_be_one_is_named(odd: str) -> None:
    for variable, model in (("OPENAI_BASE_URL", "openai/m"), ("OLLAMA_HOST", "ollama/m")):
        with pytest.raises(ConfigError, match=variable):
            House(environ={variable: odd}).model(model)
    with pytest.raises(ValueError, match="is no address"):
        ModelOptions(base_url=odd)
