"""Prices: from the offline table, from the user, or unknown; a bound is never below the price of what it bounds."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maci.errors import ConfigError
from maci.llm.catalogue import FREE, Price, no_price, price_of
from maci.llm.usage import Usage


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("prices are looked up offline")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_prices_of_well_known_models_are_in_the_table():
    assert price_of("openai/gpt-4o-mini") == Price(input=0.15, output=0.60, cached=0.075)
    claude = price_of("anthropic/claude-sonnet-4-5")
    assert claude.input == 3 and claude.output == 15 and claude.cached == 0.3 and claude.written == 3.75
    gemini = price_of("gemini/gemini-2.5-pro")
    assert gemini.input == 1.25 and gemini.longer[0][0] == 200_000 and gemini.longer[0][1].input == 2.5
    assert price_of("openrouter/openai/gpt-4o-mini").output == 0.60
    assert price_of("xai/grok-3").input > 0
    assert price_of("litellm/anthropic/claude-sonnet-4-5") == claude


def test_the_address_decides_whose_price_list_holds():
    assert price_of("openai/deepseek-chat", "https://api.deepseek.com/v1").input > 0
    assert price_of("openai/gpt-4o-mini", "https://api.openai.com/v1") == price_of("openai/gpt-4o-mini")
    assert price_of("openai/gpt-4o-mini", "https://llm.example.org/v1") is None
    assert price_of("openai/gpt-4o-mini", "http://127.0.0.1:8000/v1") is None


def test_what_runs_on_ones_own_machine_is_free():
    for name in ("local/smollm2-135m", "ollama/llama3.2", "vllm/x", "lmstudio/x", "llamacpp/x"):
        assert price_of(name) == FREE


def test_what_is_not_in_the_table_is_unknown_and_not_free():
    for name in (
        "openai/no-such-model",
        "no-such-provider/x",
        "litellm/no-such-provider/x",
        "openai/text-embedding-3-small",
    ):
        assert price_of(name) is None


def test_an_unknown_price_says_what_to_do():
    error = no_price("openai/mine")
    assert isinstance(error, ConfigError)
    assert "no price is known for openai/mine" in str(error)
    assert '`price` under [models."openai/mine"] in maci.toml' in str(error) and "--budget-tokens" in str(error)


def test_a_price_of_the_hour_is_the_dearest_of_the_day():
    """deepseek-chat was half price at night; an estimate made then must hold in the morning."""
    assert price_of("litellm/deepseek/deepseek-chat").input == 0.27


def test_cached_and_written_tokens_have_their_own_price():
    price = Price(input=1.0, output=10.0, cached=0.1, written=1.25)
    usage = Usage(prompt=1_000_000, cached=400_000, generated=100_000)
    assert price.usd(usage) == pytest.approx(600_000 * 1.25e-6 + 0.04 + 1.0)
    assert Price(input=1.0, output=10.0).usd(usage) == pytest.approx(2.0)


def test_a_long_prompt_costs_another_price_altogether():
    price = Price(input=1.0, output=2.0, request=0.5, longer=((1000, Price(input=3.0, output=6.0)),))
    assert price.usd(Usage(prompt=1000, generated=100)) == pytest.approx(0.5012)
    assert price.usd(Usage(prompt=1001, generated=100)) == pytest.approx(0.003603)


figure = st.floats(0, 1000)
rates = st.builds(
    Price,
    input=figure,
    output=figure,
    cached=st.none() | figure,
    written=st.none() | figure,
    request=st.floats(0, 1),
)
prices = st.builds(
    lambda base, longer: Price(
        input=base.input, output=base.output, cached=base.cached, written=base.written, longer=tuple(longer)
    ),
    rates,
    st.lists(st.tuples(st.integers(0, 10_000), rates), max_size=2).map(lambda tiers: sorted(tiers, key=lambda t: t[0])),
)


@given(price=prices, prompt=st.integers(0, 20_000), generated=st.integers(0, 10_000), data=st.data())
def test_nothing_within_a_bound_costs_more_than_the_bound(price, prompt, generated, data):
    used = data.draw(st.integers(0, prompt))
    usage = Usage(prompt=used, cached=data.draw(st.integers(0, used)), generated=data.draw(st.integers(0, generated)))
    assert price.usd(usage) <= price.at_most(prompt, generated) + 1e-9
