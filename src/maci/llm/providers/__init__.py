"""Providers: one class for each API. Each makes one attempt at one request, see :class:`maci.llm.model.Provider`.

:class:`OpenAI` speaks to OpenAI and to every server compatible with it, :class:`Anthropic` and :class:`Gemini` to theirs,
:class:`LiteLLM` to the rest. They share an :class:`Http`, which whoever made it closes.
"""

from __future__ import annotations

from maci.llm.providers._api import Http
from maci.llm.providers.anthropic import Anthropic
from maci.llm.providers.gemini import Gemini
from maci.llm.providers.litellm import LiteLLM
from maci.llm.providers.openai import OpenAI

__all__ = ["Anthropic", "Gemini", "Http", "LiteLLM", "OpenAI"]
