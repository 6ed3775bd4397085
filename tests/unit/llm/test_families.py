"""Model name → family."""

from __future__ import annotations

import pytest

from maci.llm.catalogue import FAMILIES, family

TABLE = {
    "openai/gpt-4o-mini": "openai",
    "openai/o3-mini": "openai",
    "openai/o1": "openai",
    "openai/chatgpt-4o-latest": "openai",
    "openai/gpt-oss-20b": "openai",
    "openai/ft:gpt-4o-mini-2024-07-18:acme::x1": "openai",
    "openrouter/openai/gpt-5": "openai",
    "anthropic/claude-3-5-haiku-latest": "anthropic",
    "anthropic/next-one": "anthropic",
    "litellm/bedrock/us.anthropic.claude-3-sonnet-20240229-v1:0": "anthropic",
    "gemini/gemini-2.5-flash": "google",
    "gemini/models/gemini-2.5-pro": "google",
    "gemini/gemma-3-27b-it": "google",
    "ollama/gemma3:4b": "google",
    "ollama/llama3.2": "llama",
    "ollama/codellama:7b": "llama",
    "openrouter/meta-llama/llama-3.1-8b-instruct:free": "llama",
    "openrouter/nvidia/llama-3.1-nemotron-70b-instruct": "llama",
    "openrouter/nousresearch/hermes-3-llama-3.1-405b": "llama",
    "litellm/fireworks_ai/accounts/fireworks/models/llama-v3p1-8b-instruct": "llama",
    "local//models/Llama-3.2-1B-Instruct-Q4_K_M.gguf": "llama",
    "openrouter/deepseek/deepseek-r1-distill-llama-70b": "deepseek",
    "local/smollm2-135m": "smollm",
    "local//x/SmolLM2-135M-Instruct.Q4_1.gguf": "smollm",
    "local/qwen2.5-coder-1.5b": "qwen",
    "vllm/Qwen/Qwen3-8B-AWQ": "qwen",
    "ollama/qwq": "qwen",
    "mistral/open-mixtral-8x22b": "mistral",
    "openai/codestral-latest": "mistral",
    "openai/ministral-8b": "mistral",
    "openrouter/mistralai/something-new": "mistral",
    "openai/dolphin-2.6-mixtral-8x7b": "mistral",
    "local//m/Phi-3.5-mini-instruct-IQ4_XS.gguf": "microsoft",
    "ollama/phi4": "microsoft",
    "xai/grok-4": "xai",
    "openrouter/x-ai/grok-3": "xai",
    "openai/command-r-plus": "cohere",
    "openrouter/moonshotai/kimi-k2": "moonshot",
    "openai/glm-4.6": "zhipu",
    "openai/yi-34b-chat": "yi",
    "openai/gpt-j-6b": "eleuther",
}


@pytest.mark.parametrize(("name", "expected"), TABLE.items())
def test_family_by_name(name, expected):
    assert family(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai/house-special-7b-instruct", "house-special"),
        ("openai/House-Special-70B-chat:latest", "house-special"),
        ("local//google/house-special.Q4_K_M.gguf", "house-special"),
        ("local//x/house-special-00001-of-00003.gguf", "house-special"),
        ("vllm/acme/house-special-v2-awq", "house-special"),
        ("openai/solo-1", "solo"),
        ("openai/7b", "7b"),
        ("", ""),
    ],
)
def test_an_unknown_name_is_a_family_of_its_own_whatever_its_size(name, expected):
    assert family(name) == expected


def test_no_word_stands_for_two_families():
    words = [word for line in FAMILIES.values() for word in line.split()]
    assert len(words) == len(set(words))
