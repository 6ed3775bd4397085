"""What tokens cost: an offline table for known models, the user's figure for others, nothing for local ones.

>>> price = Price(input=3.0, output=15.0, cached=0.3)
>>> round(price.usd(Usage(prompt=2000, cached=1500, generated=100)), 6)
0.00345
>>> round(price.at_most(prompt=2000, generated=100), 6)
0.0075
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from maci.errors import ConfigError
from maci.llm.usage import Usage

_PROVIDERS = {"gemini": "google"}
"""Our name of a provider → the table's, where they differ."""
_UNPAID = frozenset({"local", "ollama", "vllm", "lmstudio", "llamacpp"})
_COLUMNS = ("input_mtok", "output_mtok", "output_reasoning_mtok", "cache_read_mtok", "cache_write_mtok")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Prompt tokens that come from the provider's cache; ``None``: like any other."""
    written: float | None = None
    """Prompt tokens that the provider writes to its cache, where that costs more."""
    request: float = 0.0
    """Dollars for each request, whatever its length."""
    longer: tuple[tuple[int, Price], ...] = ()
    """For prompts of more than so many tokens, another price for the whole call; ascending."""

    def usd(self, usage: Usage) -> float:
        """What a call cost. A reply does not say how much of its prompt was written to the cache: all that did not come from it."""
        price = self
        for start, other in self.longer:
            if usage.prompt > start:
                price = other
        cached = min(usage.cached, usage.prompt)
        fresh = price.input if price.written is None else max(price.input, price.written)
        read = price.input if price.cached is None else price.cached
        return (fresh * (usage.prompt - cached) + read * cached + price.output * usage.generated) / 1e6 + price.request

    def at_most(self, prompt: int, generated: int) -> float:
        """The most a call with at most so many tokens can cost."""
        if not self.longer:
            return self._dearest(prompt, generated)
        return max(price._dearest(prompt, generated) for start, price in ((-1, self), *self.longer) if prompt > start)

    def _dearest(self, prompt: int, generated: int) -> float:
        fresh = max(self.input, self.written or 0.0, self.cached or 0.0)
        return (fresh * prompt + self.output * generated) / 1e6 + self.request


FREE = Price(input=0.0, output=0.0)
"""The price of what runs on the user's own machine."""


def price_of(name: str, base_url: str | None = None) -> Price | None:
    """The price of a model named ``provider/model``; ``None`` where nobody knows it.

    ``base_url`` decides whose price list holds where a provider is reached at another address than its own.

    >>> price_of("local/smollm2-135m") == FREE, price_of("openai/my-own-model")
    (True, None)
    """
    provider, _, model = name.partition("/")
    if provider in _UNPAID:
        return FREE
    if provider == "litellm":
        provider, _, model = model.partition("/")
    where: dict[str, Any] = (
        {"provider_api_url": base_url} if base_url else {"provider_id": _PROVIDERS.get(provider, provider)}
    )
    from genai_prices import Usage as Counts
    from genai_prices import calc_price

    now = datetime.now(UTC)
    try:
        found = calc_price(Counts(input_tokens=1, output_tokens=1), model, genai_request_timestamp=now, **where)
    except LookupError:
        return None
    tables = [found.model_price]
    if isinstance(found.model.prices, list):  # some prices depend on the hour: the day's dearest is taken
        tables += [found.model.get_prices(now + timedelta(minutes=30 * half)) for half in range(1, 48)]
    prices = [price for table in tables if (price := _read(table)) is not None]
    return max(prices, key=lambda price: price.at_most(1000, 1000), default=None)


def no_price(name: str) -> ConfigError:
    """What to say when a ceiling in dollars is set and nobody knows what a model costs."""
    return ConfigError(
        f"no price is known for {name}: give one in the panel file under models.{name}.price "
        "(input and output, dollars per million tokens), or use --budget-tokens"
    )


def _read(table: Any) -> Price | None:
    """A row of the table as a price; ``None`` where it is not a model that reads and writes text."""
    columns = {key: getattr(table, key, None) for key in _COLUMNS}
    if columns["input_mtok"] is None or columns["output_mtok"] is None:
        return None
    starts = sorted({tier.start for value in columns.values() for tier in getattr(value, "tiers", ())})
    request = float(getattr(table, "requests_kcount", None) or 0) / 1000
    prices = []
    for start in (-1, *starts):
        get = {key: _figure(value, start) for key, value in columns.items()}
        prices.append(
            Price(
                input=get["input_mtok"] or 0.0,
                output=max(get["output_mtok"] or 0.0, get["output_reasoning_mtok"] or 0.0),
                cached=get["cache_read_mtok"],
                written=get["cache_write_mtok"],
                request=request,
            )
        )
    return replace(prices[0], longer=tuple(zip(starts, prices[1:], strict=True)))


def _figure(value: Any, start: int) -> float | None:
    """A figure of the table for prompts of more than ``start`` tokens."""
    if value is None:
        return None
    figure = getattr(value, "base", value)
    for tier in getattr(value, "tiers", ()):
        if tier.start <= start:
            figure = tier.price
    return float(figure)
