"""Who can answer what the plan asks: a case's hidden findings, a corpus, a Python function, an HTTP endpoint, a person.

===============================  ======================  ======================================================================
``--source``                     class                   where its answers come from
===============================  ======================  ======================================================================
``hidden``                       :class:`Hidden`         the case's own ``hidden:`` findings; what is not among them is unknown
``hidden:closed``                :class:`Hidden`         the same where that list is complete; what is not among them is absent
``corpus:PATH``                  :class:`CorpusSource`   an index made by `maci index`, searched with the plan's queries; the
                                                         debate's evidence gate decides whether to admit what is found
``python:module:function``       :class:`Called`         a function of your own
``http://…``, ``https://…``      :class:`HttpSource`     an endpoint: the item is sent as JSON by POST; the answer is JSON
                                                         (``verdict`` and ``text``) or plain text
``ask``                          :class:`Person`         the person at the terminal, who is shown the best next question
===============================  ======================  ======================================================================
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from maci.acquisition.answers import ALIKE, AnswerSource, SourceReply, asks_which, read_answer, same_subject
from maci.acquisition.plan import Item
from maci.cases.case import Case
from maci.config import plugins
from maci.errors import EnvironmentError_, InputError
from maci.evidence.corpus import Corpus
from maci.evidence.encode import Encoder
from maci.evidence.lexical import terms
from maci.evidence.retrieve import Retriever
from maci.evidence.span import Span
from maci.llm.keys import credentials_in, scrub, without_credentials
from maci.llm.offline import check_here
from maci.render.markup import clean


def load_source(name: str, case: Case, encoder: Encoder, headers: Mapping[str, str] | None = None) -> AnswerSource:
    """The source of this name; ``headers`` go with every question to an endpoint."""
    scheme, _, rest = name.partition(":")
    if name == "hidden" or name == "hidden:closed":
        return Hidden(case.hidden, encoder, closed=rest == "closed")
    if name == "ask":
        return Person(ask_at_terminal)
    if scheme in ("http", "https") and rest.startswith("//"):
        return HttpSource(name, headers=headers)
    if scheme == "corpus" and rest:
        return CorpusSource(Corpus.open(Path(rest)), encoder, name=name)
    if scheme == "python" and rest.count(":") == 1:
        return Called(load_function(*rest.split(":")), name)
    if (made := plugins.load("sources", scheme)) is not None:
        found: AnswerSource = made(rest, case, encoder)
        return found
    raise InputError(
        f"--source {without_credentials(name)!r} is not known: use hidden, hidden:closed, corpus:PATH, ask, http://…, or "
        "python:module:function"
    )


_SHARED = 0.75
"""Share of the asked subject's terms that a finding's name or text must hold where the encoder does not decide."""


class Hidden(AnswerSource):
    """Answers from ``Case.hidden``: name of a finding → what it shows.

    What matches no finding is unknown; with ``closed``, where the list is known to be complete, it is absent.
    """

    kinds = ("question", "test", "history", "monitoring")

    def __init__(self, hidden: Mapping[str, str], encoder: Encoder, *, closed: bool = False) -> None:
        if not hidden and not closed:
            raise InputError("--source hidden: the case has no hidden findings (key `hidden:`, name → what it shows)")
        self.name = "hidden:closed" if closed else "hidden"
        self.sure = closed
        self._hidden, self._encoder, self._closed = dict(hidden), encoder, closed
        self._names = list(hidden)
        self._vectors = encoder.encode(self._names) if self._names else np.zeros((0, 1), np.float32)

    def menu(self) -> tuple[str, ...]:
        """Names of the findings; none where the list is complete, for then anything can be asked."""
        return () if self._closed else tuple(self._hidden)

    async def answer(self, item: Item) -> SourceReply:
        """The finding that was asked for."""
        found = self._find(item.subject)
        if found is None:
            return SourceReply(verdict="absent" if self._closed else "unknown")
        reply = read_answer(self._hidden[found], replace(item, subject=found))
        verdict = (
            "told" if reply.verdict == "stopped" else reply.verdict
        )  # "stop" is a finding here, not a person's wish
        words = verdict == "told" or reply.read
        named = found if found.endswith("?") else f"{found}:"  # a finding may be named as the question for it
        return replace(reply, verdict=verdict, text=f"{named} {self._hidden[found]}" if words else reply.text)

    def _find(self, subject: str) -> str | None:
        if not self._names:
            return None
        if subject in self._hidden:
            return subject
        wanted = set(terms(subject))
        exact = [name for name in self._names if set(terms(name)) == wanted]
        if exact:
            return exact[0]
        likeness = self._vectors @ self._encoder.encode([subject])[0]
        best = int(np.argmax(likeness))
        if likeness[best] >= ALIKE and same_subject(subject, self._names[best], float(likeness[best])):
            return self._names[best]
        shares = {
            name: len(wanted & set(terms(f"{name} {text}"))) / len(wanted) if wanted else 0.0
            for name, text in self._hidden.items()
            if read_answer(text).verdict == "told"  # only prose can speak of more than its name
        }
        nearest = max(shares, key=lambda name: shares[name], default=None)
        return nearest if nearest is not None and shares[nearest] >= _SHARED else None


class CorpusSource(AnswerSource):
    """Search over spans; what was handed out once is not handed out again. ``k``: passages an answer has."""

    kinds = ("retrieval",)

    def __init__(self, spans: Iterable[Span], encoder: Encoder, *, k: int = 4, name: str = "corpus") -> None:
        self.name, self._k = name, k
        self._retriever = Retriever(spans, encoder)
        self._given: set[str] = set()

    async def answer(self, item: Item) -> SourceReply:
        """The best passages for the item's query that were not given before."""
        found = self._retriever.retrieve(item.query or item.text, self._k + len(self._given), 100_000)
        fresh = tuple(span for span, _ in found if span.id not in self._given)[: self._k]
        if not fresh:
            return SourceReply(verdict="unknown", text="there is nothing more in the corpus")
        self._given |= {span.id for span in fresh}
        return SourceReply(verdict="told", text="\n".join(span.text for span in fresh), spans=fresh)


class _Declaring(AnswerSource):
    """A source that may say with an answer what it has."""

    _menu: tuple[str, ...] = ()

    def menu(self) -> tuple[str, ...]:
        """What it said last."""
        return self._menu

    def _heard(self, reply: SourceReply) -> SourceReply:
        self._menu = reply.menu or self._menu
        return reply


class Called(_Declaring):
    """Asks a function ``f(item)``: it returns a :class:`SourceReply`, a text, a truth value, ``None`` (unknown) or a table with
    ``verdict`` and ``text``, and ``menu`` if it has a list of what can be asked for; or a coroutine of one of these.
    """

    def __init__(self, function: Callable[[Item], Any], name: str = "python") -> None:
        self.name, self._function = name, function

    async def answer(self, item: Item) -> SourceReply:
        """What the function says; one that is not asynchronous runs in a thread."""
        if inspect.iscoroutinefunction(self._function):
            said = await self._function(item)
        else:
            said = await asyncio.to_thread(self._function, item)
            if inspect.isawaitable(said):
                said = await said
        return self._heard(as_reply(said, item))


def as_reply(said: Any, item: Item | None = None) -> SourceReply:
    """Whatever an answer is given as, as a reply.

    >>> as_reply(True).verdict, as_reply(None).verdict, as_reply({"verdict": "absent"}).verdict
    ('present', 'unknown', 'absent')
    """
    match said:
        case SourceReply():
            return said
        case None:
            return SourceReply(verdict="unknown")
        case bool():
            return SourceReply(verdict="present" if said else "absent")
        case str() | int() | float():
            return read_answer(str(said), item)
        case Mapping():
            verdict, text = said.get("verdict"), str(said.get("text", said.get("answer", "")))
            listed = said.get("menu", ())
            menu = tuple(map(str, listed)) if isinstance(listed, list | tuple) else ()
            if verdict is None or (verdict == "told" and text):
                return replace(read_answer(text, item), menu=menu)
            if verdict not in ("present", "absent", "told", "unknown", "stopped"):
                raise InputError(f"verdict is {verdict!r}: use present, absent, told, unknown or stopped")
            return SourceReply(verdict=verdict, text=text, menu=menu)
        case _:
            raise InputError(
                f"the source gave {type(said).__name__}: give a text, true or false, null, or verdict and text"
            )


def load_function(module: str, attribute: str) -> Callable[[Item], Any]:
    """A function by name; modules of the current folder are found too."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"--source python:{module}:{attribute}: {error}; write it as python:module:function"
        ) from error
    if not callable(found):
        raise InputError(f"--source python:{module}:{attribute} is {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


_LARGEST = 1 << 20
"""Bytes of an answer that are read; a longer one is refused."""


class HttpSource(_Declaring):
    """Asks an endpoint; a refused connection, a time-out and a 5xx are tried again, everything else is an error at once.

    Each attempt but a refused connection counts: the endpoint may have worked on it. Credentials, in the URL or in ``headers``, go to
    the endpoint alone: its name and all that comes back are without them.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        attempts: int = 3,
        pause: float = 0.5,
    ) -> None:
        self.name = without_credentials(url)
        self._url, self._headers = url, dict(headers or {})
        self._timeout, self._attempts, self._pause = timeout, attempts, pause
        values = (part for value in self._headers.values() for part in (value, value.rpartition(" ")[2]))
        self._secrets = (*credentials_in(url), *values)

    async def answer(self, item: Item) -> SourceReply:
        """What the endpoint says."""
        question = {
            "id": item.id,
            "kind": item.kind,
            "subkind": item.subkind,
            "text": item.text,
            "subject": item.subject,
            "query": item.query,
            "separates": list(item.separates),
            "expected_information_gain": item.expected_information_gain,
        }
        failure, asked = "", 1
        for attempt in range(self._attempts):
            if attempt:
                await asyncio.sleep(self._pause * 2 ** (attempt - 1))
            try:
                status, body = await self._post(question)
            except (TimeoutError, OSError) as error:
                failure = self._scrubbed(f"{type(error).__name__}: {error}".rstrip(": "))
                asked += isinstance(error, TimeoutError)
                continue
            if status >= 500:
                failure = f"HTTP {status}"
                asked += 1
                continue
            if status != 200:
                raise EnvironmentError_(
                    f"{self.name} answers HTTP {status}: {self._scrubbed(body.decode('utf-8', 'replace'))[:200]}"
                )
            reply = self._heard(as_reply(_read(self._scrubbed(body.decode("utf-8", "replace"))), item))
            again = (f"asked {asked} times ({failure})",) if asked > 1 else ()
            return replace(reply, cost=asked * item.cost, remarks=(*reply.remarks, *again))
        raise EnvironmentError_(f"{self.name} does not answer after {self._attempts} attempts ({failure})")

    def _scrubbed(self, text: str) -> str:
        return without_credentials(scrub(text.replace(self._url, self.name), self._secrets))

    async def _post(self, question: dict[str, Any]) -> tuple[int, bytes]:
        check_here(self._url)
        import aiohttp

        limit = aiohttp.ClientTimeout(total=self._timeout)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit) as session,
                session.post(self._url, json=question, headers=self._headers, allow_redirects=False) as response,
            ):
                body = await response.content.read(_LARGEST + 1)
                while len(body) <= _LARGEST and (more := await response.content.read(_LARGEST)):
                    body += more
        except aiohttp.ClientError as error:
            raise OSError(str(error)) from error
        if len(body) > _LARGEST:
            raise EnvironmentError_(f"{self.name}: the answer is larger than {_LARGEST:,} bytes and is refused")
        return response.status, body


def _read(text: str) -> Any:
    text = text.strip()
    try:
        return json.loads(text)
    except ValueError:
        return text


class Person(AnswerSource):
    """Puts an item to a person by ``ask`` (a terminal, a web page); ``None`` is that nobody is there any more.

    "yes", "no" and free text are answers, "unknown" or nothing is none, "stop" ends the questions.
    """

    name = "ask"
    person = True
    kinds = ("question", "test", "history", "monitoring")

    def __init__(self, ask: Callable[[Item], Awaitable[str | None]]) -> None:
        self._ask = ask

    async def answer(self, item: Item) -> SourceReply:
        """What the person says."""
        said = await self._ask(item)
        return SourceReply(verdict="stopped", text="no answer") if said is None else read_answer(said, item)


async def ask_at_terminal(item: Item) -> str | None:
    """Print the question on standard error and read a line from standard input."""
    which = asks_which(item)
    width = shutil.get_terminal_size((100, 24)).columns
    lines = (wrap(clean(line), width, subsequent_indent="    ") for line in question_lines(item))
    said = await _line("\n".join(("", *chain.from_iterable(lines), "> ")))
    if said is not None and which and read_answer(said, item).verdict == "present":
        said = await _line("  What exactly? Answer with a number, in your own words, or unknown.\n> ")
    return said


def question_lines(item: Item) -> Iterator[str]:
    """A question as a person is asked it: what it separates, what an answer is worth, and how to answer."""
    yield item.text
    worth = f"{item.if_answered:.2f} bits"
    if item.value_if_answered is not None:
        worth += f" and is worth {item.value_if_answered:.3g}"
    if len(item.separates) > 1:
        first, *others = item.separates
        yield f"  It separates {first} from {' and '.join(others[:2])}. An answer is expected to reduce the uncertainty by {worth}."
    which = asks_which(item)
    for number, finding in enumerate(which, 1):
        yield f"  {number}  {finding}"
    how = "with a number, none" if which else "yes, no"
    yield f"  Answer {how}, unknown, or in your own words. “stop” ends the questions."


async def _line(prompt: str) -> str | None:
    """A line of standard input, asked for on standard error; ``None`` at its end."""
    sys.stderr.write(clean(prompt))
    sys.stderr.flush()
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    try:
        loop.add_reader(sys.stdin.fileno(), _settle, ready)
    except (NotImplementedError, OSError, ValueError):  # a file, or a system whose loop cannot watch it
        line = await asyncio.to_thread(sys.stdin.readline)
    else:
        try:
            await ready
        finally:
            loop.remove_reader(sys.stdin.fileno())
        line = _unbuffered(sys.stdin.fileno())
    return line.strip() if line else None


def _unbuffered(descriptor: int) -> str:
    """One line and no more: what is read ahead into a buffer, the loop does not see coming."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return line.decode(sys.stdin.encoding or "utf-8", errors="replace")


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
