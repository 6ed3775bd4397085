"""Models by name: which API at which address with which key, price, family and limits."""

from __future__ import annotations

import asyncio
import os

import pytest
from pydantic import ValidationError

from fake_server import FakeServer, Faults
from fake_server.shape import Wrong
from maci.errors import ConfigError, UnknownModel, WrongKey
from maci.llm.budget import Purse
from maci.llm.cache import ResponseCache
from maci.llm.catalogue import FREE, Price
from maci.llm.client import Client
from maci.llm.model import Message, Request, Schema
from maci.llm.models import House, ModelOptions, PriceOptions
from maci.llm.providers import Anthropic, Gemini, OpenAI, Responses
from maci.llm.usage import Bound

REQUEST = Request(
    messages=(Message("system", "You debate."), Message("user", "What is it?")),
    max_tokens=200,
    schema=Schema("answer", {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}),
)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    """Neither the keys nor the addresses of whoever runs the tests."""
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL")) or name == "MACI_KEYS"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MACI_KEYS", os.devnull)


def opened(name: str, options: ModelOptions | None = None, environ: dict[str, str] | None = None) -> Client:
    house = House(options={name: options} if options else None, environ={"MACI_KEYS": os.devnull, **(environ or {})})
    model = house.model(name)
    assert isinstance(model, Client) and house.model(name) is model
    return model


@pytest.mark.parametrize(
    ("name", "kind", "origin", "family"),
    [
        ("openai/gpt-4o-mini", OpenAI, "api.openai.com", "openai"),
        ("anthropic/claude-sonnet-4-5", Anthropic, "api.anthropic.com", "anthropic"),
        ("gemini/gemini-2.5-flash", Gemini, "generativelanguage.googleapis.com", "google"),
        ("openrouter/meta-llama/llama-3.1-8b-instruct", OpenAI, "openrouter.ai", "llama"),
        ("ollama/gemma3:4b", OpenAI, "127.0.0.1:11434", "google"),
        ("vllm/Qwen/Qwen3-8B", OpenAI, "127.0.0.1:8000", "qwen"),
        ("lmstudio/phi4", OpenAI, "127.0.0.1:1234", "microsoft"),
        ("llamacpp/default", OpenAI, "127.0.0.1:8080", "default"),
        ("xai/grok-4", OpenAI, "api.x.ai", "xai"),
        ("openai/gpt-5.2-pro", Responses, "api.openai.com", "openai"),
        ("openai/gpt-5.1-codex-max", Responses, "api.openai.com", "openai"),
        ("openrouter/openai/gpt-5.2-pro", OpenAI, "openrouter.ai", "openai"),
    ],
)
def test_a_name_decides_api_address_and_family(name, kind, origin, family):
    model = opened(name)
    assert type(model.provider) is kind and model.provider.origin == origin
    assert (model.name, model.family) == (name, family)
    assert (model.price == FREE) == origin.startswith("127.")


def test_the_api_can_be_chosen_where_a_service_has_both():
    near = {"base_url": "http://127.0.0.1:9/v1"}
    assert type(opened("openai/x-pro", ModelOptions(**near)).provider) is OpenAI  # a server of one's own may lack it
    assert type(opened("vllm/x", ModelOptions(api="responses", **near)).provider) is Responses
    assert type(opened("openai/gpt-5.2-pro", ModelOptions(api="chat")).provider) is OpenAI
    with pytest.raises(ConfigError, match="has an API of its own: leave it out"):
        opened("anthropic/claude-sonnet-5", ModelOptions(api="responses"))


def test_a_model_that_only_the_responses_api_serves_says_what_to_write():
    said = "This model is only supported in v1/responses and not in v1/chat/completions."

    async def run() -> None:
        async with FakeServer() as server:
            server._measure = lambda shape, asked: (_ for _ in ()).throw(Wrong(said, status=404, kind="model"))  # type: ignore[method-assign]
            async with House(options={"openai/new": ModelOptions(base_url=f"{server.url}/v1", retries=0)}) as house:
                await house.model("openai/new").prepare(REQUEST).make(Purse(Bound(10**6)))

    with pytest.raises(UnknownModel, match=r"write `openai/new: \{api: responses\}` under `models` of a panels file"):
        asyncio.run(run())


def test_a_misspelt_provider_is_named_with_the_one_that_was_meant():
    with pytest.raises(ConfigError, match="unknown provider 'opnai': did you mean openai"):
        House().model("opnai/gpt-4o")
    with pytest.raises(ConfigError, match=r"unknown provider 'acme': the providers are anthropic, .*base_url"):
        House().model("acme/gpt-4o")


@pytest.mark.parametrize("name", ["gpt-4o-mini", "openai/", "", "/x"])
def test_an_unknown_provider_is_refused_with_those_there_are_and_an_example(name):
    with pytest.raises(ConfigError, match=r"as in openai/gpt-4o-mini .* anthropic, .*litellm, .*local") as caught:
        opened(name)
    assert repr(name) in str(caught.value)


def test_an_address_of_ones_own_has_no_known_price_unless_one_is_given():
    address = ModelOptions(base_url="http://127.0.0.1:9/v1")
    assert opened("openai/mine", address).price is None
    priced = address.model_copy(update={"price": PriceOptions(input=1, output=2)})
    assert opened("openai/mine", priced).price == Price(input=1, output=2)
    assert opened("openai/gpt-4o-mini").price is not None


def test_family_can_be_set():
    assert opened("openai/mine", ModelOptions(base_url="http://127.0.0.1:9/v1", family="llama")).family == "llama"


def test_the_environment_names_another_address_together_with_its_key():
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "sk-mine"}
    provider = opened("openai/mine", environ=environ).provider
    assert provider.origin == "127.0.0.1:9" and provider._headers() == {"Authorization": "Bearer sk-mine"}
    other = opened("openai/mine", ModelOptions(base_url="http://127.0.0.1:10/v1"), environ).provider
    assert other.origin == "127.0.0.1:10" and other._headers() == {}
    assert opened("openrouter/x/y", environ=environ).provider.origin == "openrouter.ai"


def test_a_file_that_repeats_the_address_of_the_environment_has_its_key_on_this_machine_only():
    """As `maci init` writes it: the file says where, the environment has the key of that address."""
    here, gone = "http://127.0.0.1:9/v1", "https://llm.example.org/v1"
    environ = {"OPENAI_BASE_URL": here, "OPENAI_API_KEY": "sk-mine"}
    sent = {"Authorization": "Bearer sk-mine"}
    assert opened("openai/mine", ModelOptions(base_url=here), environ).provider._headers() == sent
    assert opened("openai/mine", ModelOptions(base_url=here), {"OPENAI_API_KEY": "sk-mine"}).provider._headers() == {}
    assert opened("groq/mine", ModelOptions(base_url=here), environ).provider._headers() == {}
    broken = {**environ, "OPENAI_BASE_URL": "http://127.0.0.1:99999"}
    assert opened("openai/mine", ModelOptions(base_url=here), broken).provider._headers() == {}
    away = {**environ, "OPENAI_BASE_URL": gone}
    assert opened("openai/mine", ModelOptions(base_url=gone), away).provider._headers() == {}


def test_a_key_comes_from_the_variable_that_was_named():
    options = ModelOptions(base_url="https://llm.example.org/v1", key_env="HOUSE_KEY")
    assert opened("openai/mine", options, {"HOUSE_KEY": "k-1"}).provider._headers() == {"Authorization": "Bearer k-1"}
    with pytest.raises(WrongKey, match="HOUSE_KEY"):
        opened("openai/mine", options)


def test_options_under_a_providers_name_hold_for_all_its_models():
    house = House(
        options={"ollama": ModelOptions(base_url="http://127.0.0.1:9/v1"), "ollama/b": ModelOptions(retries=0)}
    )
    assert house.model("ollama/a").provider.origin == "127.0.0.1:9"
    assert house.model("ollama/b").provider.origin == "127.0.0.1:11434"


def test_models_of_one_origin_share_their_limits_unless_they_differ():
    options = {"openai/c": ModelOptions(concurrency=2), "openai/d": ModelOptions(concurrency=2)}
    house = House(options=options)
    a, b, c, d, e = (house.model(f"openai/{name}")._attempts.limiter for name in "abcde")
    assert a is b is e and c is d and a is not c
    assert house.model("anthropic/claude-x")._attempts.limiter is not a


def test_options_are_checked():
    for wrong in ({"basurl": "x"}, {"concurrency": 0}, {"timeout": 0}, {"price": {"input": -1, "output": 1}}):
        with pytest.raises(ValidationError):
            ModelOptions.model_validate(wrong)
    with pytest.raises(ValidationError):
        ModelOptions().retries = 3


@pytest.mark.parametrize("prefix", ["openai", "anthropic", "gemini"])
def test_over_a_real_connection_a_house_asks_once_and_counts_what_the_server_counts(prefix, tmp_path):
    async def main() -> None:
        async with FakeServer() as server:
            url = server.url + ("/v1" if prefix == "openai" else "")
            extra = {"topP": 0.9} if prefix == "gemini" else {"top_p": 0.9}
            options = {prefix: ModelOptions(base_url=url, price=PriceOptions(input=1, output=2), extra=extra)}
            async with House(cache=ResponseCache(tmp_path / "r.sqlite"), options=options) as house:
                model = house.model(f"{prefix}/m-1")
                held = Purse(model.prepare(REQUEST).bound)
                reply = await model.prepare(REQUEST).make(held)
            async with House(cache=ResponseCache(tmp_path / "r.sqlite"), options=options) as house:
                again = await house.model(f"{prefix}/m-1").prepare(REQUEST).within()
            (count,) = server.counts.values()
            assert reply.text == again.text and again.usage.free and reply.usage.kept
            assert count.requests == 1 and count.prompt + count.generated == reply.usage.tokens == held.total().tokens
            assert reply.usage.usd == held.total().usd > 0

    asyncio.run(main())


def test_over_a_real_connection_with_faults_no_purse_is_overdrawn_by_the_servers_own_count():
    async def main() -> None:
        faults = Faults(limited=0.1, limited_wait=0.1, broken=0.1, reset=0.1, cut=0.1)
        async with FakeServer(faults=faults, wait=0.01) as server:
            options = {"openai": ModelOptions(base_url=server.url + "/v1", retries=1)}
            async with House(cache=ResponseCache(), options=options) as house:
                model = house.model("openai/m-1")
                held = Purse(Bound(40_000))
                requests = [
                    Request(messages=(Message("user", f"Case {i}?"),), max_tokens=100, schema=REQUEST.schema)
                    for i in range(40)
                ]
                done = await asyncio.gather(
                    *(model.prepare(one).make(held) for one in requests), return_exceptions=True
                )
            served = sum(count.prompt + count.generated for count in server.counts.values())
            assert sum(server.faulted.values()) > 5
            assert any(not isinstance(reply, Exception) for reply in done)
            assert served <= held.total().tokens <= 40_000

    asyncio.run(main())
