"""The family of a model by its name: a judge must be of another family than the debaters (SPEC 5).

A family is who trained the weights, because that is what two models share their mistakes through: the same data, the same teachers,
the same preferences. So every size and year of a maker's models is one family; Gemma is Google's, trained on the same data and
distilled from Gemini; a fine-tune belongs to the weights it started from, a distilled model to the teacher it is named after.

>>> family("openrouter/meta-llama/llama-3.1-8b-instruct:free"), family("local//data/Qwen2.5-1.5B-Instruct-Q4_K_M.gguf")
('llama', 'qwen')
>>> family("openai/house-special-7b-instruct")
'house-special'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

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
