"""What a model's name says about it: its family and its price.

**Family.** A judge must be of another family than the debaters (SPEC 5). A family is whoever trained the weights, because models
share mistakes through the same data, the same teachers and the same preferences. So every size and year of a maker's models is
one family; Gemma is Google's, trained on the same data and distilled from Gemini; a fine-tune belongs to the weights it started
from, a distilled model to the teacher it is named after.

>>> family("openrouter/meta-llama/llama-3.1-8b-instruct:free"), family("local//data/Qwen2.5-1.5B-Instruct-Q4_K_M.gguf")
('llama', 'qwen')
>>> family("openai/house-special-7b-instruct")
'house-special'

**Price.** Known models are in an offline table, others cost what the user states, local ones cost nothing.

>>> price = Price(input=3.0, output=15.0, cached=0.3)
>>> round(price.usd(Usage(prompt=2000, cached=1500, generated=100)), 6)
0.00345
>>> round(price.at_most(prompt=2000, generated=100), 6)
0.0075
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from maci.errors import ConfigError
from maci.llm.usage import Usage

FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "ai2": "olmo molmo tulu",
        "ai21": "jamba jurassic",
        "amazon": "titan nova",
        "anthropic": "claude",
        "baidu": "ernie",
        "bytedance": "doubao seed",
        "cohere": "command aya c4ai",
        "deepseek": "deepseek",
        "eleuther": "pythia gpt-j gpt-neo",
        "google": "gemini gemma medgemma codegemma shieldgemma palm learnlm",
        "ibm": "granite",
        "internlm": "internlm",
        "llama": "llama codellama vicuna alpaca",
        "microsoft": "phi mai",
        "minimax": "minimax",
        "mistral": "mistral mixtral ministral magistral codestral devstral pixtral voxtral zephyr",
        "moonshot": "kimi moonshot moonlight",
        "nvidia": "nemotron minitron",
        "openai": "gpt chatgpt davinci codex o1 o3 o4",
        "perplexity": "sonar",
        "qwen": "qwen qwq qvq",
        "smollm": "smollm",
        "tencent": "hunyuan",
        "tii": "falcon",
        "xai": "grok",
        "yi": "yi",
        "zhipu": "glm chatglm",
    }
)
"""Family → the words its models' names are made of. Of several in one name the first decides."""

_MAKERS: Mapping[str, str] = MappingProxyType(
    {
        "ai21": "ai21",
        "allenai": "ai2",
        "amazon": "amazon",
        "anthropic": "anthropic",
        "baidu": "baidu",
        "bytedance": "bytedance",
        "cohere": "cohere",
        "deepseek": "deepseek",
        "deepseek-ai": "deepseek",
        "gemini": "google",
        "google": "google",
        "meta-llama": "llama",
        "microsoft": "microsoft",
        "mistral": "mistral",
        "mistralai": "mistral",
        "moonshotai": "moonshot",
        "nvidia": "nvidia",
        "qwen": "qwen",
        "x-ai": "xai",
        "xai": "xai",
        "z-ai": "zhipu",
    }
)
"""Who stands before the model's name; ``openai`` is not here, since any server that speaks its API is reached under that name."""

_WORDS = {word: name for name, words in FAMILIES.items() for word in words.split()}
_WORD = re.compile(rf"(?<![a-z0-9])({'|'.join(sorted(map(re.escape, _WORDS), key=len, reverse=True))})(?![a-z])")
_SUFFIX = re.compile(
    r"[-_.:@](gguf|ggml|awq|gptq|exl2|mlx|fp?16|bf16|f32|fp8|int[48]|[234568]bit|i?q\d\w*|\d+-of-\d+|v?\d[\d.]*[bmk]?|a\d+b|\d+x\d+b"
    r"|instruct|chat|it|base|latest|free|preview|tiny|mini|small|medium|large|xl|20\d\d-\d\d(-\d\d)?)$"
)


def family(name: str) -> str:
    """The family of the model named ``provider/model``; a name that is not in the table is a family of its own."""
    *before, last = [part for part in name.lower().replace("\\", "/").split("/") if part] or [""]
    if last.startswith("ft:"):  # a fine-tune: ft:BASE:organisation:name:id
        last = last.split(":")[1]
    if found := _WORD.search(last):
        return _WORDS[found[1]]
    for part in reversed(before):
        if part in _MAKERS and before[0] != "local":  # there, it is a folder
            return _MAKERS[part]
    while (shorter := _SUFFIX.sub("", last)) != last and shorter:
        last = shorter
    return last


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
        f'no price is known for {name}: give `price` under [models."{name}"] in maci.toml, or under models in the panels '
        "file (input and output, dollars per million tokens), or use --budget-tokens"
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
