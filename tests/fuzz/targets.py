"""What is fuzzed: one function for each kind of thing that strangers can hand in, up to the doors that show what came of it.

A function takes bytes. It returns where the product took them or said in its own words (:class:`~maci.errors.MaciError`) why not;
everything else it raises is a finding.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from fuzz.records import ROOT, SHORT, chained, rechained, records, transcript
from fuzz.web import http, requests
from hash_encoder import HashEncoder
from helpers import arg, judge, play, script, seat, settings, turn
from maci.agents.debater import Debater
from maci.agents.judges.crit import JudgeAbstained
from maci.agents.judges.llm import LlmJudge
from maci.agents.prompt import BRIEF
from maci.cases.case import Case, load_case, read_cases
from maci.config import load
from maci.errors import MaciError
from maci.evidence.corpus import Corpus
from maci.evidence.retrieve import Retriever
from maci.lab.study.spec import load_spec, parse_spec
from maci.llm.fake import FakeModel
from maci.llm.keys import Key
from maci.llm.model import Message, Request, Schema
from maci.llm.providers import Anthropic, Gemini, OpenAI
from maci.llm.providers._api import HttpAnswer, _decode
from maci.seating.file import check_trust, load_panels
from maci.seating.project import load_project
from maci.seating.tables import Tables
from maci.story import Story
from maci.story.report.page import to_html

Check = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to fuzz."""

    name: str
    seeds: Callable[[], list[bytes]]
    """Inputs of the kind people hand in, from which others are made."""
    check: Check


def ours(check: Check) -> Check:
    """The check, with what the product says on purpose taken for an answer."""

    def checked(data: bytes) -> None:
        with suppress(MaciError):
            check(data)

    return checked


@contextmanager
def _file(name: str, data: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="maci-fuzz-") as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        yield path


def _texts(*patterns: str) -> list[bytes]:
    return [path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def _json(*values: Any) -> list[bytes]:
    return [json.dumps(value).encode() for value in values]


# --- cases ----------------------------------------------------------------------------------------------------------------------

_CASE: dict[str, Any] = {
    "id": "c1", "title": "A pump", "question": "Which fault stopped the pump?", "context": "It stopped at night; the motor was warm.",
    "outcomes": ["worn bearing", "blocked filter", "loose cable"], "gold": "blocked filter",
    "evidence": ["The log shows a slow rise of pressure before the stop.",
                 {"text": "The filter was last changed two years ago.", "source": "note", "id": "e2", "label": "blocked filter"}],
    "hidden": {"noise": "yes", "smell": "no"},
}  # fmt: skip
_SCALE = {
    "kind": "ordered", "labels": ["mild", "moderate", "severe"], "positions": [0, 1, 2.5], "aliases": {"bad": "severe"},
    "metric": [[0, 1, 2], [1, 0, 1], [2, 1, 0]],
}  # fmt: skip


def _cases() -> list[bytes]:
    closed = {"kind": "closed", "labels": ["a", "b"], "declared": 4, "metric": [[0, 1], [1, 0]]}
    made = _json(_CASE, {**_CASE, "outcomes": _SCALE, "gold": "severe"}, {**_CASE, "outcomes": closed, "gold": "a"})
    return [
        *made,
        *_json({"question": "Why?", "outcomes": "open"}),
        b"question: Why?\noutcomes: [a, b]\ncontext: |\n  It is so.\n",
    ]


def case(data: bytes) -> None:
    """A case file, a batch of them, and the debate of one by readers."""
    for name in ("case.yaml", "case.toml") if data[:1] != b"{" else ("case.json",):
        with _file(name, data) as path:
            ours(lambda _, path=path: _debated(load_case(str(path))))(b"")
    with _file("cases.jsonl", data) as path:
        ours(lambda _: [None for _ in read_cases(path)] and None)(b"")


_READ = 8
"""One case in so many is debated by readers too: they take a hundred times as long as a script, for every new set of outcomes."""


def _debated(given: Case) -> None:
    labels = given.outcomes.labels or ("a thing", "another")
    p = [1.0, *[0.5] * (len(labels) - 1)]
    turns = [
        turn(*(x / sum(p) for x in q), args=(arg("It fits.", outcome=labels[0]),), labels=labels) for q in (p, p[::-1])
    ]
    table = seat([script("ada", *[turns[0]] * 3), script("bob", *[turns[1]] * 3)], [judge()], case=given)
    _told(play(table, settings("max_rounds=2"), given))
    if sha256(repr(given).encode("utf-8", "surrogatepass")).digest()[0] % _READ == 0:
        _told(play(_readers().table(given), settings("max_rounds=2"), given))


@cache
def _readers() -> Tables:
    """Cases without documents share what is made of the built-in ones."""
    return Tables("readers", HashEncoder())


def _told(events: Any) -> None:
    to_html(Story.of(events))


# --- replies of models ----------------------------------------------------------------------------------------------------------

_SAID = {
    "reasoning": "E4 repeats the question.",
    "arguments": [{"outcome": "dengue", "claim": "It fits.", "citations": [{"span": "E1", "quote": "High fever"}], "reasons": ["So."],
                   "opposing": ["Not so."], "effect": "supports", "answers": ["0B1"]}],
    "belief": [{"outcome": "dengue", "percent": 70}, {"outcome": "zika", "percent": 30}],
    "requests": [{"text": "Joint pain?", "kind": "history", "yes": ["chikungunya"], "no": ["dengue"]}],
}  # fmt: skip
_GRADED = {
    "pieces": ["supports"],
    "links": [80],
    "justification": "E1 says so.",
    "logic": 70,
    "relevance": 90,
    "supported": 60,
}
_BODIES: tuple[dict[str, Any], ...] = (
    {
        "choices": [
            {
                "message": {"content": json.dumps(_SAID)},
                "finish_reason": "stop",
                "logprobs": {
                    "content": [{"token": "a", "logprob": -0.1, "top_logprobs": [{"token": "a", "logprob": -0.1}]}]
                },
            }
        ],
        "model": "m",
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 5,
            "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 1},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    },
    {
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "{}"}],
        "stop_reason": "end_turn",
        "model": "m",
        "usage": {"input_tokens": 9, "cache_read_input_tokens": 1, "output_tokens": 4},
    },
    {
        "candidates": [{"content": {"parts": [{"text": "{}", "thought": False}]}, "finishReason": "STOP"}],
        "modelVersion": "m",
        "usageMetadata": {
            "promptTokenCount": 9,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 1,
            "totalTokenCount": 13,
        },
    },
    {"error": {"message": "quota", "type": "insufficient_quota", "code": 429, "status": "RESOURCE_EXHAUSTED"}},
)


def _replies() -> list[bytes]:
    fenced = b"Sure! ```json\n" + json.dumps(_SAID).encode() + b"\n```"
    as_table = {**_SAID, "belief": {"dengue": 70, "zika": "30 %"}}
    return [*_json(_SAID, as_table, _GRADED, *_BODIES), fenced, b"<think>hm</think>{}", b""]


def reply(data: bytes) -> None:
    """What a model says, as text and as the body of an HTTP response of each API."""
    text = data.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        value = json.loads(data)
        text = value if isinstance(value, str) else text
    model = FakeModel(replies=lambda request: text)
    agents = [
        Debater(name, model, belief=how, draws=2, length=BRIEF, family=name)
        for name, how in (("a", "verbalised"), ("b", "sampled"))
    ]
    with suppress(MaciError, JudgeAbstained):
        _told(play(seat(agents, [LlmJudge("j", model, family="j")]), settings(*SHORT, "crit.k=1")))
    for api in (OpenAI, Anthropic, Gemini):
        for status in (200, 400, 503):
            ours(lambda _, api=api, status=status: asyncio.run(_sent(api, status, data)))(b"")


async def _sent(api: Any, status: int, data: bytes) -> None:
    class Canned:
        async def post(self, *_: Any, **__: Any) -> HttpAnswer:
            try:
                return HttpAnswer(status, {}, _decode(data))
            except (ValueError, RecursionError):
                return (
                    HttpAnswer(status, {}, data.decode("utf-8", "replace"))
                    if status != 200
                    else HttpAnswer(200, {}, {})
                )

        async def get(self, *_: Any, **__: Any) -> HttpAnswer:
            return await self.post()

    schema = Schema("reply", {"type": "object", "properties": {}, "required": [], "additionalProperties": False})
    asked = Request(messages=(Message("user", "Why?"),), max_tokens=50, schema=schema, top_logprobs=2)
    made = api(model="m", http=Canned(), base_url="http://127.0.0.1:1", key=Key("sk-canary-of-the-fuzzer"))
    got = await made.send(asked)
    json.dumps({"text": got.text, "usage": got.usage.generated})


# --- files --------------------------------------------------------------------------------------------------------------------

_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page"
    b"/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>"
    b"endobj\n4 0 obj<</Length 44>>stream\nBT /F1 12 Tf 10 100 Td (The pump stopped.) Tj ET\nendstream endobj\n"
    b"trailer<</Root 1 0 R/Size 5>>\n%%EOF\n"
)
_KINDS = {
    b"T": ".txt",
    b"M": ".md",
    b"H": ".html",
    b"J": ".jsonl",
    b"C": ".csv",
    b"P": ".pdf",
    b"Q": ".parquet",
    b"V": ".tsv",
    b"O": ".json",
}


def _corpora() -> list[bytes]:
    row = b'{"text": "The filter was changed.", "label": "a", "source": "log"}'
    page = b"<html><head><style>x</style></head><body><p>The pump &amp; the filter.<!-- no --></p><![CDATA[x]]></body></html>"
    seeds = {
        b"T": b"The pump stopped.\n\nThe filter was old.",
        b"M": b"# Pump\n\n- stopped",
        b"H": page,
        b"J": row + b"\n" + row,
    }
    seeds |= {
        b"C": b'text,label\n"The pump, stopped",a\n',
        b"P": _PDF,
        b"V": b"text\tlabel\nThe pump\ta\n",
        b"O": b"[" + row + b"]",
    }
    return [kind + text for kind, text in seeds.items()]


def corpus(data: bytes) -> None:
    """A document of any kind (the first letter says which), read and searched."""
    with _file(f"document{_KINDS.get(data[:1], '.txt')}", data[1:]) as path:
        spans = Corpus.read(path).spans
        Retriever(spans, HashEncoder()).retrieve("Which fault stopped the pump?", 3)


_SETTINGS = {
    "profile": "paper",
    "gate": {"tau_q": 0.3, "fit_tau_q": False},
    "stop": {"max_rounds": 4},
    "budget": {"tokens": 1000, "usd": 0.5},
    "agents": {"temperature": 0.2},
    "calibration": {"temperature": {"a": 1.5}},
    "plan": {"acquire": 2},
}
_PROJECT = {
    "panel": {
        "agents": ["openai/gpt-4o", {"model": "reader/lexical", "name": "l"}],
        "judges": ["reader"],
        "set": {"max_rounds": 2},
    },
    "models": {
        "openai/gpt-4o": {"base_url": "http://127.0.0.1:8000/v1", "key_env": "OPENAI_API_KEY", "extra": {"top_p": 1}}
    },
    "profile": "default",
    "budget": {"tokens": 5, "usd": 0.1},
    "set": {"stop.max_rounds": 3},
}


def _toml(data: bytes) -> bytes:
    """TOML, of JSON too, so that one value can be changed and the form kept."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return data
    return "\n".join(_assigned(value) if isinstance(value, dict) else ["value = 1"]).encode("utf-8", "surrogatepass")


def _assigned(table: dict[str, Any]) -> list[str]:
    return [f"{json.dumps(key)} = {_inline(value)}" for key, value in table.items() if value is not None]


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(_assigned(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(part) for part in value if part is not None) + "]"
    return {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}.get(text := json.dumps(value), text)


def config(data: bytes) -> None:
    """A settings file, a project file and ``--set``."""
    with _file("maci.toml", _toml(data)) as path:
        ours(lambda _: load(None, file=path, environ={}) and None)(b"")
        ours(lambda _: load_project(path) and None)(b"")
    text = data.decode("utf-8", "replace")
    ours(lambda _: load(None, sets=text.splitlines()[:5] or [text], environ={}) and None)(b"")


def panels(data: bytes) -> None:
    """A panels file, as one of the user's and as one that came with a folder."""
    for name in ("panels.yaml", "panels.toml"):
        with _file(name, _toml(data) if name.endswith("toml") else data) as path:
            ours(lambda _, path=path: _seated(path))(b"")


def _seated(path: Path) -> None:
    from maci.seating.file import PanelFiles

    file = load_panels(path)
    check_trust(file, path)
    found = PanelFiles({n: (p, path) for n, p in file.panels.items()}, {n: (m, path) for n, m in file.models.items()})
    for name in found.panels:
        found.spec(name)


def spec(data: bytes) -> None:
    """The spec of a study."""
    with _file("study.toml", _toml(data)) as path:
        ours(lambda _: load_spec(path) and None)(b"")
        ours(lambda _: load_spec(path, quick=True) and None)(b"")
    with suppress(ValueError, RecursionError):
        value = json.loads(data)
        if isinstance(value, dict):
            ours(lambda _: parse_spec(value, "a spec") and None)(b"")


def _specs() -> list[bytes]:
    import tomllib

    texts = _texts("examples/*.toml", "studies/*.toml")
    return [json.dumps(tomllib.loads(text.decode())).encode() for text in texts] + texts[:2]


def _panels() -> list[bytes]:
    return [*_texts("examples/panels.yaml"), *_json({"panels": {"p": _PROJECT["panel"]}, "models": _PROJECT["models"]})]


TARGETS = {
    each.name: each
    for each in (
        Target("case", _cases, case),
        Target("transcript", lambda: [chained(record) for record in records()[:4]], ours(transcript)),
        Target("rechained", lambda: list(records()), ours(rechained)),
        Target("reply", _replies, ours(reply)),
        Target("corpus", _corpora, ours(corpus)),
        Target(
            "config",
            lambda: [*_json(_SETTINGS, _PROJECT), b"max_rounds=3\ntau_q=0.2", b"[gate]\ntau_q = 0.3\n"],
            config,
        ),
        Target("panels", _panels, panels),
        Target("spec", _specs, spec),
        Target("http", requests, http),
    )
}
