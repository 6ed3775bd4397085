"""What is fuzzed: one function for each kind of thing that strangers can hand in, up to the doors that show what came of it.

A function takes bytes. It returns where the product took them or said in its own words (:class:`~maci.errors.MaciError`) why not;
everything else it raises is a finding.
"""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from hash_encoder import HashEncoder
from helpers import arg, judge, make_case, open_debate, play, script, seat, settings, turn
from maci.agents.debater import BRIEF, Debater
from maci.agents.judges.crit import JudgeAbstained
from maci.agents.judges.llm import LlmJudge
from maci.cases.case import Case, load_case, read_cases
from maci.cases.outcomes import OutcomeSpace
from maci.config import load
from maci.errors import MaciError
from maci.evidence.corpus import Corpus
from maci.evidence.retrieve import Retriever
from maci.lab.study.spec import load_spec, parse_spec
from maci.llm.fake import FakeModel
from maci.llm.keys import Key
from maci.llm.model import Message, Request, Schema
from maci.llm.providers import Anthropic, Gemini, OpenAI
from maci.llm.providers._api import Answered, _decode
from maci.record.transcript import _GENESIS, Transcript, _chain, read
from maci.seating.file import check_trust, load_panels
from maci.seating.project import load_project
from maci.seating.tables import Tables
from maci.story import Story
from maci.story.report.html import to_html
from maci.web.app import create_app
from maci.web.server import ServerSettings

ROOT = Path(__file__).parents[2]
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


def _debated(given: Case) -> None:
    labels = given.outcomes.labels or ("a thing", "another")
    p = [1.0, *[0.5] * (len(labels) - 1)]
    turns = [
        turn(*(x / sum(p) for x in q), args=(arg("It fits.", outcome=labels[0]),), labels=labels) for q in (p, p[::-1])
    ]
    table = seat([script("ada", *[turns[0]] * 3), script("bob", *[turns[1]] * 3)], [judge()], case=given)
    _told(play(table, settings("max_rounds=2"), given))
    _told(play(Tables("readers", HashEncoder()).table(given), settings("max_rounds=2"), given))


def _told(events: Any) -> None:
    to_html(Story.of(events))


# --- transcripts ----------------------------------------------------------------------------------------------------------------


@cache
def _records() -> tuple[bytes, ...]:
    """Small debates of every kind, as the lines of their events; and the frozen one."""
    cited = arg("It fits.", "e4", outcome="dengue")
    closed = seat(
        [script("ada", *[turn(0.8, 0.1, 0.1, args=(cited,), tokens=30)] * 3), script("bob", *[turn(0.2, 0.7, 0.1)] * 3)]
    )
    opened_case = make_case(OutcomeSpace(kind="open"))
    scale = make_case(OutcomeSpace(kind="ordered", labels=("mild", "moderate", "severe"), positions=(0.0, 1.0, 2.0)))
    names = ("mild", "moderate", "severe")
    found = [
        _recorded(closed, None, "max_rounds=2"),
        _recorded(seat([script("a", turn(0.9, labels=names)), script("b", turn(0.1, 0.9, labels=names))], case=scale), scale, "min_rounds=1", "max_rounds=1"),
        _recorded(seat([script("a", turn(1.0, labels=("flu",))), script("b", turn(1.0, labels=("gout",)))], case=opened_case), opened_case, "min_rounds=1", "max_rounds=1"),
        _recorded(seat([script("ada", TimeoutError("late"), turn(0.5, 0.5)), script("bob", turn(1.0), turn(1.0))], []), None, "crit.enabled=false", "min_rounds=1", "max_rounds=1"),
    ]  # fmt: skip
    for debate in ("the-pump", "dengue"):
        with suppress(MaciError):
            given = load_case(debate)
            found.append(
                _recorded(Tables("readers", HashEncoder()).table(given), given, "min_rounds=1", "max_rounds=1")
            )
    return (*found, _unchained((ROOT / "tests/transcripts/format-6.jsonl").read_bytes()))


def _recorded(table: Any, given: Case | None, *sets: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript.jsonl"
        with Transcript.create(path) as record:
            play(table, settings(*sets), given, record=record, opened=open_debate(table, settings(*sets), given))
        return _unchained(path.read_bytes())


def _unchained(transcript: bytes) -> bytes:
    """The events alone, one a line."""
    lines = [json.loads(line) for line in transcript.splitlines()]
    return b"\n".join(
        json.dumps({k: v for k, v in line.items() if k not in ("hash", "seq")}).encode() for line in lines
    )


def chained(events: bytes) -> bytes:
    """Lines that follow from each other, as a forger would write them."""
    before, lines = _GENESIS, []
    for number, line in enumerate(filter(None, events.split(b"\n")), 1):
        rest = b'seq":%d,' % number + line.lstrip(b" {")
        before = _chain(before, rest)
        lines.append(b'{"hash":"%s","%s\n' % (before.encode(), rest))
    return b"".join(lines)


def rechained(data: bytes) -> None:
    """A forged record whose chain holds."""
    transcript(chained(data))


def transcript(data: bytes) -> None:
    """A record at every door that shows or uses one."""
    with _file("transcript.jsonl", data) as path:
        run = path.parent / "run"
        run.mkdir()
        path = path.rename(run / "transcript.jsonl")
        try:
            read(path)
            commands, pages = _COMMANDS, _PAGES
        except MaciError:  # no door gets further than to say so
            commands, pages = _COMMANDS[:1], _PAGES[:1]
        for words in commands:
            maci(*(word.replace("RUN", str(run)) for word in words))
        asyncio.run(_visited(run.parent, pages))


_COMMANDS = (
    ("show", "RUN", "--plain"), ("show", "RUN", "--json"), ("show", "RUN", "--calls"), ("show", "RUN", "--round", "1", "--plain"),
    ("report", "RUN", "--quiet"), ("report", "RUN", "--format", "md"), ("replay", "RUN", "--plain"),
    ("replay", "RUN", "--json", "--set", "tau_q=0.1"), ("plan", "RUN", "--plain"), ("plan", "RUN", "--json"),
    ("outcome", "RUN", "--was", "dengue"), ("export", "RUN", "--out", "RUN/out.jsonl"),
    ("debate", "--resume", "--out", "RUN", "--plain", "--offline"),
)  # fmt: skip
_PARTS = (
    "",
    "/calls",
    "/replay?tau_q=0.3",
    "/report.html",
    "/report.md",
    "/result.json",
    "/controls",
    "/transcript.jsonl",
)
_PAGES = (*(f"/debates/run{part}" for part in _PARTS), "/new?from=run", "/compare?a=run&b=run")


def maci(*words: str) -> None:
    """A command in this process: raises what would be a traceback."""
    from maci.cli.app import app

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(MaciError, SystemExit):
        app(list(words), standalone_mode=True)


async def _visited(runs: Path, pages: Sequence[str]) -> None:
    transport = httpx.ASGITransport(app=create_app(ServerSettings(runs=runs)), raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642") as client:
        for path in ("/", *pages):
            answer = await client.get(path)
            assert answer.status_code != 500, path


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
    {"choices": [{"message": {"content": json.dumps(_SAID)}, "finish_reason": "stop", "logprobs": {"content": [{"token": "a", "logprob": -0.1,
     "top_logprobs": [{"token": "a", "logprob": -0.1}]}]}}], "model": "m", "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
     "prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens_details": {"reasoning_tokens": 2}}},
    {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "{}"}], "stop_reason": "end_turn", "model": "m",
     "usage": {"input_tokens": 9, "cache_read_input_tokens": 1, "output_tokens": 4}},
    {"candidates": [{"content": {"parts": [{"text": "{}", "thought": False}]}, "finishReason": "STOP"}], "modelVersion": "m",
     "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 1, "totalTokenCount": 13}},
    {"error": {"message": "quota", "type": "insufficient_quota", "code": 429, "status": "RESOURCE_EXHAUSTED"}},
)  # fmt: skip


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
        _told(
            play(seat(agents, [LlmJudge("j", model, family="j")]), settings("min_rounds=1", "max_rounds=1", "crit.k=1"))
        )
    for api in (OpenAI, Anthropic, Gemini):
        for status in (200, 400, 503):
            ours(lambda _, api=api, status=status: asyncio.run(_sent(api, status, data)))(b"")


async def _sent(api: Any, status: int, data: bytes) -> None:
    class Canned:
        async def post(self, *_: Any, **__: Any) -> Answered:
            try:
                return Answered(status, {}, _decode(data))
            except (ValueError, RecursionError):
                return Answered(status, {}, data.decode("utf-8", "replace")) if status != 200 else Answered(200, {}, {})

        async def get(self, *_: Any, **__: Any) -> Answered:
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


_SETTINGS = {"profile": "paper", "gate": {"tau_q": 0.3, "fit_tau_q": False}, "stop": {"max_rounds": 4}, "budget": {"tokens": 1000, "usd": 0.5},
             "agents": {"temperature": 0.2}, "calibration": {"temperature": {"a": 1.5}}, "plan": {"acquire": 2}}  # fmt: skip
_PROJECT = {"panel": {"agents": ["openai/gpt-4o", {"model": "reader/lexical", "name": "l"}], "judges": ["reader"], "set": {"max_rounds": 2}},
            "models": {"openai/gpt-4o": {"base_url": "http://127.0.0.1:8000/v1", "key_env": "OPENAI_API_KEY", "extra": {"top_p": 1}}},
            "profile": "default", "budget": {"tokens": 5, "usd": 0.1}, "set": {"stop.max_rounds": 3}}  # fmt: skip


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
    from maci.seating.file import Found

    file = load_panels(path)
    check_trust(file, path)
    found = Found({n: (p, path) for n, p in file.panels.items()}, {n: (m, path) for n, m in file.models.items()})
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


# --- HTTP -----------------------------------------------------------------------------------------------------------------------

RUN, WORD = "run", "the word of this visit"
"""A debate that is there, and what stands for the word that forms of ours carry."""


def http(data: bytes) -> None:
    """A request to the server, as JSON: method, path, query, headers, form or body."""
    try:
        asked = json.loads(data)
        asked["method"], asked["path"] = str(asked["method"]), str(asked["path"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    with tempfile.TemporaryDirectory(prefix="maci-fuzz-") as folder, _small_tables():
        (Path(folder) / RUN).mkdir()
        (Path(folder) / RUN / "transcript.jsonl").write_bytes(chained(_records()[0]))
        asyncio.run(_asked(Path(folder), asked))


@contextmanager
def _small_tables() -> Iterator[None]:
    """Every debate is held between two who speak once."""

    def made(self: Any, given: Case, seed: int) -> Any:
        labels = given.outcomes.labels or ("a thing",)
        return seat([script(name, turn(1.0, labels=labels)) for name in ("ada", "bob")], [judge()], case=given)

    with (
        patch("maci.seating.seating.load_encoder", lambda *_, **__: HashEncoder()),
        patch.object(Tables, "_seat", made),
    ):
        yield


async def _asked(runs: Path, asked: dict[str, Any]) -> None:
    guard = create_app(ServerSettings(runs=runs, studies=runs / "none"))
    transport = httpx.ASGITransport(app=guard, raise_app_exceptions=True)
    try:
        async with (
            asyncio.timeout(10),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642") as client,
        ):
            page = (await client.get("/new")).text
            word = page.partition('name="word" value="')[2].partition('"')[0]
            if (form := asked.get("form")) is not None:
                form = {str(k): word if v == WORD else str(v) for k, v in dict(form).items()}
            try:
                request = client.build_request(
                    asked["method"], asked["path"], params=asked.get("query"), headers=asked.get("headers"),
                    data=form, content=asked.get("body") if form is None else None,
                )  # fmt: skip
            except (httpx.InvalidURL, ValueError, TypeError, AttributeError):  # no client can send it
                return
            if not request.url.path.endswith("/events"):  # it would never end
                answer = await client.send(request)
                assert answer.status_code != 500, answer.text[:200]
    finally:
        await guard._app.state.desk.close()  # type: ignore[attr-defined]


def _requests() -> list[bytes]:
    form = {"word": WORD, "question": "Is it so?", "outcomes": "yes, no", "panel": "readers"}
    chat = {"model": "readers", "messages": [{"role": "user", "content": "Is it so?"}], "outcomes": ["yes", "no"]}
    return _json(
        {"method": "GET", "path": f"/debates/{RUN}/replay", "query": {"tau_q": "0.1"}},
        {"method": "POST", "path": "/debates", "form": form},
        {
            "method": "POST",
            "path": f"/debates/{RUN}/hand",
            "form": {"word": WORD, "action": "dials", "cl": "0.5", "cl_on": "on"},
        },
        {
            "method": "POST",
            "path": "/v1/chat/completions",
            "headers": {"content-type": "application/json"},
            "body": json.dumps(chat),
        },
    )


TARGETS = {
    each.name: each
    for each in (
        Target("case", _cases, case),
        Target("transcript", lambda: [chained(record) for record in _records()[:4]], ours(transcript)),
        Target("rechained", lambda: list(_records()), ours(rechained)),
        Target("reply", _replies, ours(reply)),
        Target("corpus", _corpora, ours(corpus)),
        Target(
            "config",
            lambda: _json(_SETTINGS, _PROJECT) + [b"max_rounds=3\ntau_q=0.2", b"[gate]\ntau_q = 0.3\n"],
            config,
        ),
        Target("panels", _panels, panels),
        Target("spec", _specs, spec),
        Target("http", _requests, http),
    )
}
