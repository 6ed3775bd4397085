"""Providers: one class for each API. Each makes one attempt at one request, see :class:`maci.llm.model.Provider`.

:class:`OpenAI` and :class:`Responses` speak to OpenAI and to every server compatible with it, :class:`Anthropic` and
:class:`Gemini` to theirs, :class:`LiteLLM` to the rest. They share an :class:`Http`, which whoever made it closes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from maci.llm.model import Provider
from maci.llm.providers._api import Http
from maci.llm.providers.anthropic import Anthropic
from maci.llm.providers.gemini import Gemini
from maci.llm.providers.litellm import Bedrock, LiteLLM
from maci.llm.providers.openai import Azure, OpenAI, Responses

__all__ = ["OWN_API", "Anthropic", "Gemini", "Http", "LiteLLM", "OpenAI", "Responses"]

OWN_API: Mapping[str, Callable[..., Provider]] = MappingProxyType(
    {
        "anthropic": Anthropic,
        "azure": Azure,
        "bedrock": Bedrock,
        "gemini": Gemini,
        "litellm": LiteLLM,
    }
)
"""Providers with an API of their own, by the name before the slash; every other service speaks OpenAI's."""
