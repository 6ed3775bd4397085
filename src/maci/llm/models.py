"""Models by name, with everything they share: connections, the response cache, the limits of each origin.

::

    openai/gpt-4o-mini          anthropic/claude-sonnet-4-5     gemini/gemini-2.5-flash
    openrouter/…  groq/…  mistral/…  deepseek/…  together/…  xai/…      other services with the OpenAI-compatible API
    ollama/…  lmstudio/…  vllm/…  llamacpp/…                            servers on this machine, at their usual address
    local/smollm2-135m  local//path/to/model.gguf                       on this machine (extra `local`)
    azure/DEPLOYMENT                                                    Azure OpenAI, at AZURE_OPENAI_ENDPOINT
    bedrock/MODEL  litellm/provider/model                               the long tail (extra `litellm`)

What is to be set for one model is in its :class:`ModelOptions`, under its name; under a provider's name, it is for all of that
provider's models that have none of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from maci.config import plugins
from maci.errors import ConfigError, near
from maci.llm.cache import ResponseCache
from maci.llm.catalogue import Price, family, price_of
from maci.llm.client import Client
from maci.llm.keys import SERVICES, address_of, address_parts, find_key, is_loopback
from maci.llm.limits import Limiter
from maci.llm.model import Provider
from maci.llm.offline import heed_environment, is_offline
from maci.llm.reasoning import Reasoning

if TYPE_CHECKING:
    from maci.llm.providers import Http


_OWN_MACHINE = frozenset({"local", "ollama", "lmstudio", "llamacpp", "vllm"})
_PATIENCE, _OWN_PATIENCE = 120.0, 600.0
"""Seconds for one attempt: of a hosted model, and of one on this machine."""


class StrictOptions(BaseModel):
    """What a person may write, and nothing else."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PriceOptions(StrictOptions):
    """Dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    written: float | None = Field(default=None, ge=0)


def _public(url: str) -> str:
    if not re.match(r"https?://[^/\s]+", url):
        raise ValueError("must begin with http:// or https://")
    if "@" in url.split("/")[2]:
        raise ValueError(
            "must not hold a user name or password: put the key in an environment variable and name it with key_env"
        )
    if address_parts(url) is None:
        raise ValueError("is no address: write it like http://127.0.0.1:8000/v1")
    return url.rstrip("/")


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or re.match(r"(?i)sk_|gsk_|hf_", name):
        raise ValueError(
            "is the name of an environment variable, not a key: put the key into one and write its name here"
        )
    return name


class ModelOptions(StrictOptions):
    """Where a model is, and what nobody else knows of it; under a provider's name, of all its models."""

    base_url: Annotated[str, AfterValidator(_public)] | None = Field(
        default=None, description="address of the server, such as http://127.0.0.1:8000/v1"
    )
    key_env: Annotated[str, AfterValidator(_variable)] | None = Field(
        default=None, description="name of the environment variable that holds the key"
    )
    api: Literal["chat", "responses"] | None = Field(
        default=None,
        description="which of OpenAI's APIs the server is asked through; left out: chat, for models that need it responses",
    )
    family: str | None = Field(default=None, description="the model family, where the name does not tell it")
    price: PriceOptions | None = Field(
        default=None, description="dollars per million tokens, where the price table has none"
    )
    concurrency: int | None = Field(default=None, ge=1, le=10_000, description="calls under way at once")
    requests_per_minute: float | None = Field(default=None, gt=0, description="the account's limit")
    tokens_per_minute: float | None = Field(default=None, gt=0, description="the account's limit")
    timeout: float | None = Field(default=None, gt=0, le=86_400, description="seconds for one attempt")
    retries: int = Field(default=4, ge=0, le=100, description="attempts after the first")
    reasoning: Reasoning | None = Field(
        default=None, description="how much the model thinks before it answers; its own default if left out"
    )
    extra: dict[str, Any] = Field(default={}, description="parameters sent with every request")
    context: int | None = Field(default=None, ge=256, description="tokens of context of a local model")
    parallel: int | None = Field(default=None, ge=1, le=256, description="sequences a local model works on at once")


def price_for(name: str, options: ModelOptions, environ: Mapping[str, str] = os.environ) -> Price | None:
    """What the user says a model costs, or the price list of whoever serves it; ``None`` where nobody knows."""
    if options.price is not None:
        return Price(**options.price.model_dump())
    prefix, base_url = name.partition("/")[0], options.base_url
    base_url = base_url or address_of(prefix, environ)
    proxy = base_url is not None and is_loopback(base_url) and prefix not in _OWN_MACHINE
    return None if proxy else price_of(name, base_url)


class House:
    """Opens models and lets go of all they hold: ``async with House(...) as house: house.model("openai/gpt-4o-mini")``."""

    def __init__(
        self,
        *,
        cache: ResponseCache | None = None,
        options: Mapping[str, ModelOptions] | None = None,
        environ: Mapping[str, str] = os.environ,
        offline: bool = False,
        fetches: bool = True,
    ) -> None:
        """``offline``, or MACI_OFFLINE: reach nothing but this machine. ``fetches``: weights that are missing are fetched."""
        heed_environment()
        self.cache, self._offline = cache, offline or is_offline(environ)
        self._fetches = fetches
        self._options, self._environ = dict(options or {}), environ
        self._models: dict[str, Client] = {}
        self._limiters: dict[tuple[object, ...], Limiter] = {}
        self._https: dict[float, Http] = {}

    def model(self, name: str) -> Client:
        """The model named ``provider/model``; the same object each time. Nothing is sent yet.

        Where its ``price`` is ``None`` a ceiling in dollars cannot be kept: raise :func:`maci.llm.catalogue.no_price`.
        """
        if name not in self._models:
            self._models[name] = self._open(name)
        return self._models[name]

    async def aclose(self) -> None:
        """Let go of providers, connections and the cache."""
        models, self._models = list(self._models.values()), {}
        https, self._https = list(self._https.values()), {}
        try:
            for client in models:
                await client.aclose()
        finally:
            for http in https:
                await http.aclose()
            if self.cache is not None:
                await self.cache.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _open(self, name: str) -> Client:
        prefix, _, model = name.partition("/")
        known = [*SERVICES, "local", "litellm", "bedrock"]
        if not prefix or not model:
            raise ConfigError(
                f"model {name!r} is not of the form provider/model, as in openai/gpt-4o-mini or local/smollm2-135m: "
                f"the providers are {', '.join(sorted(known))}"
            )
        if prefix not in known and prefix not in plugins.names("providers"):
            known += plugins.names("providers")
            hint = near(prefix, known, f"the providers are {', '.join(sorted(known))}")
            raise ConfigError(
                f"{name}: unknown provider {prefix!r}: {hint} (a server of your own that speaks OpenAI's API is openai/NAME "
                "with a base_url: docs/panels.md)"
            )
        options = self._options.get(name) or self._options.get(prefix) or ModelOptions()
        base_url, key_env = options.base_url, options.key_env
        named = None
        with suppress(
            *() if base_url is None else (ConfigError,)
        ):  # with an address of its own, a broken variable is no matter
            named = address_of(prefix, self._environ)
        if named and (base_url is None or (base_url == named and is_loopback(named))):  # address and key are a pair
            base_url = named
            key_env = key_env or next((v for v in SERVICES[prefix].variables if self._environ.get(v)), None)
        seconds = options.timeout or (_OWN_PATIENCE if prefix in _OWN_MACHINE else _PATIENCE)
        provider = self._provider(prefix, model, options, base_url, key_env, seconds)
        return Client(
            provider,
            family=options.family or family(name),
            cache=self.cache,
            limiter=self._limiter(provider, prefix, options),
            price=price_for(name, options, self._environ),
            retries=options.retries,
            reasoning=options.reasoning,
            offline=self._offline,
            timeout=seconds + 5
            if prefix in ("local", "litellm", "bedrock")
            else None,  # the others' connections have one
        )

    def _provider(
        self,
        prefix: str,
        model: str,
        options: ModelOptions,
        base_url: str | None,
        key_env: str | None,
        seconds: float,
    ) -> Provider:
        if prefix == "local":
            from maci.llm.local.provider import LocalProvider

            return LocalProvider(
                model,
                self._http(seconds),
                context=options.context,
                parallel=options.parallel,
                extra=options.extra,
                offline=self._offline or not self._fetches,
            )
        from maci.llm.providers import OWN_API, OpenAI, Responses

        key = None
        own = OWN_API.get(prefix) or (None if prefix in SERVICES else plugins.load("providers", prefix))
        if own is not None and options.api is not None:
            raise ConfigError(
                f"{prefix}/{model}: api is {options.api!r}, and {prefix} has an API of its own: leave it out"
            )
        needed = prefix == "openai" and base_url is None and Responses.needed(model)
        speaks = Responses if options.api == "responses" or (needed and options.api is None) else OpenAI
        if prefix in SERVICES or key_env:  # litellm looks for keys itself
            key = find_key(prefix, base_url, key_env=key_env, environ=self._environ, who=f"{prefix}/{model}")
        return (own or speaks)(
            model=model,
            http=self._http(seconds),
            base_url=base_url,
            key=key,
            provider=prefix,
            options=options.extra,
        )

    def _http(self, seconds: float) -> Http:
        """Connections with a time-out; most models have the same one and share them."""
        if seconds not in self._https:
            from maci.llm.providers import Http

            self._https[seconds] = Http(total=seconds, offline=self._offline)
        return self._https[seconds]

    def _limiter(self, provider: Provider, prefix: str, options: ModelOptions) -> Limiter:
        """Models of one origin share its limits, unless they have been given other ones."""
        who = provider.name if prefix == "local" else provider.origin
        rates = (options.concurrency or provider.parallel, options.requests_per_minute, options.tokens_per_minute)
        if (who, *rates) not in self._limiters:
            concurrency, requests, tokens = rates
            self._limiters[(who, *rates)] = Limiter(
                who, concurrency=concurrency, requests_per_minute=requests, tokens_per_minute=tokens
            )
        return self._limiters[(who, *rates)]
