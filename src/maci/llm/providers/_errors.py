"""The one place where what a server or the network says becomes an error of :mod:`maci.errors`.

:class:`Complaint` reads an answer that is not a reply: its status, and the wording of any of the APIs. :func:`lost` reads an
exception of the transport. Every error says which model at which host, what happened and what to do; what the server itself said is
cut short and cleared of keys.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from maci.errors import (
    BadRequest,
    ContentRefused,
    ContextOverflow,
    Interrupted,
    ModelError,
    Overloaded,
    RateLimited,
    UnknownModel,
    Unreachable,
    WrongKey,
)
from maci.llm.keys import Key, redact


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Whom a request goes to, for the messages."""

    name: str
    """``provider/model``."""
    host: str
    base_url: str
    key: Key | None = None
    key_help: str = ""


_CONTEXT = re.compile(
    r"context[ _](?:length|window|size|limit)|maximum context|exceed_context|exceeds? context"
    r"|(?:prompt|input|request) (?:is )?too (?:long|large)|request_too_large|exceeds the maximum number of tokens"
    r"|(?:maximum input|input) length (?:is|exceeds)|tokens to keep from the initial prompt|keep the first \d+ tokens"
    r"|longer than the model's context|reduce the length of the (?:messages|prompt|input)"
)
_CONTENT = re.compile(
    r"content_filter|content filter|content_policy|content management policy|responsibleaipolicy|moderation|flagged"
    r"|safety system|usage polic|prohibited_content|blocked by content"
)
_MODEL = re.compile(
    r"model_not_found|model_not_supported|not a valid model|(?:invalid|unknown|no such) model|\bmodel\b.{0,120}?(?:not exist|not found)"
)
_KEY = re.compile(
    r"invalid_api_key|api_key_invalid|api key (?:not valid|expired|not found)|authentication_error|invalid x-api-key"
)
_TOO_FEW = re.compile(r"higher max_(?:completion_)?tokens|output limit was reached")
_MONEY = re.compile(r"insufficient_quota|credit balance|insufficient (?:credits|balance|funds)|billing_|perday")


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """An answer that is not a reply.

    >>> said = {"error": {"message": "Rate limit reached. Please try again in 1.5s.", "code": "rate_limit_exceeded"}}
    >>> complaint = Complaint.read(429, {}, said)
    >>> complaint.kind().__name__, complaint.retry_after
    ('RateLimited', 1.5)
    """

    status: int
    said: str
    """The server's own message."""
    about: str
    """Message, code, type, parameter and reasons in lower case, to look words up in."""
    retry_after: float | None
    begun: bool = False
    """It came with status 200: the model had begun, so it may have cost something."""

    @classmethod
    def read(cls, status: int, headers: Mapping[str, str], body: Any, *, begun: bool = False) -> Complaint:
        """Read an answer in any of the shapes the servers use; ``body`` is parsed JSON, or text where it was none."""
        said, codes = _words(body)
        about = f"{codes} {said}".lower()
        return cls(status=status, said=said, about=about, retry_after=_wait(headers, about), begun=begun)

    def kind(self) -> type[ModelError]:
        """The class of error this is. Every status has one; plain ``ModelError`` stands for an account that cannot pay."""
        status, about = self.status, self.about
        if status == 402 or (status in (400, 403, 429) and _MONEY.search(about)):
            return ModelError
        if status == 401 or (status in (400, 403) and _KEY.search(about)):
            return WrongKey
        if status == 429:
            return ContextOverflow if "request too large" in about else RateLimited
        if status == 413 or (status in (400, 422, 500) and _CONTEXT.search(about)):
            return ContextOverflow
        if status in (400, 403, 422) and _CONTENT.search(about):
            return ContentRefused
        if status == 403:  # OpenAI says so of logprobs, where a model has none
            return BadRequest if "not allowed to request" in about else WrongKey
        if status in (404, 410) or (status in (400, 422) and _MODEL.search(about)):
            return UnknownModel
        if status in (408, 504, 524) or status < 300 or "json_validate_failed" in about:
            return Interrupted  # a gateway that stopped waiting does not say whether the model did
        return Overloaded if status in (409, 425) or status >= 500 else BadRequest

    @property
    def cut_off(self) -> bool:
        """Whether a model had not finished thinking when it ran into its limit."""
        return self.kind() is BadRequest and _TOO_FEW.search(self.about) is not None

    def error(self, peer: Peer) -> ModelError:
        """The error, with the next step."""
        kind = self.kind()
        if self.begun and kind in (RateLimited, Overloaded):
            kind = Interrupted
        said = _short(redact(self.said, peer.key))
        what, step = self._explain(kind, peer)
        message = f"{peer.name} at {peer.host} {what} ({self.status}{': ' + said if said else ''}): {step}"
        if issubclass(kind, RateLimited):
            limited = kind(message, self.retry_after)
            # no model can have begun: not a fault (409, 425), Anthropic's 529, or llama.cpp before its model is loaded
            if self.status < 500 or self.status == 529 or "loading model" in self.about:
                limited.charged = False
            return limited
        error = kind(message)
        if kind is ModelError:
            error.fatal = True
        return error

    def _explain(self, kind: type[ModelError], peer: Peer) -> tuple[str, str]:
        if kind is WrongKey:
            if peer.key is not None:  # where it is from is known; where keys can be is not the question
                return (
                    f"does not accept the key from {peer.key.source}",
                    "put a valid one there (copied in full, not revoked, of the right account), then run `maci doctor`",
                )
            return "wants a key and was sent none", f"{peer.key_help or 'check the key'}, then run `maci doctor`"
        if kind is BadRequest and 300 <= self.status < 400:
            return "redirects to another address", f"check base_url, which is {peer.base_url}"
        return _STEPS[kind][0], _STEPS[kind][1].format(peer=peer)


_STEPS: Mapping[type[ModelError], tuple[str, str]] = {
    ModelError: (
        "has no credit or quota left for this account",
        "check the account's billing and limits, or use another model",
    ),
    UnknownModel: (
        "has no such model",
        "check the name and the base_url ({peer.base_url}); `maci doctor` lists what the server offers",
    ),
    RateLimited: (
        "limits the rate of requests",
        "wait, lower concurrency for this model, or raise the account's limit",
    ),
    Overloaded: ("has a fault of its own", "try again later, or use another model"),
    Interrupted: ("gave no whole answer", "try again; if it continues, check the server's log or use another model"),
    ContentRefused: ("refuses this content", "reword the case or its evidence, or use another model"),
    ContextOverflow: (
        "cannot read a prompt this long",
        "lower evidence.context_tokens, or use a model (or a server setting) with a longer context",
    ),
    BadRequest: (
        "refuses the form of the request",
        "check the options set for this model; `maci doctor` shows what it supports",
    ),
}


def lost(peer: Peer, error: BaseException, seconds: float = 0.0) -> ModelError:
    """What an exception of the transport means: nothing was sent, or nobody knows what became of it."""
    import aiohttp

    what = _short(redact(_cause(error), peer.key))
    if isinstance(error, aiohttp.ClientSSLError):
        step = "check base_url, this machine's clock and its certificates (SSL_CERT_FILE)"
        return Unreachable(f"{peer.name}: no safe connection to {peer.host} ({what}): {step}")
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError | aiohttp.ClientHttpProxyError):
        step = f"is the server running at {peer.base_url}, and the network or proxy up? `maci doctor` tests it"
        return Unreachable(f"{peer.name}: no connection to {peer.host} ({what}): {step}")
    if isinstance(error, aiohttp.InvalidURL):  # it may hold a password
        step = "correct base_url, or the address of the proxy in the environment (HTTPS_PROXY)"
        return ModelError(f"{peer.name}: nothing was sent to {peer.host}, an address cannot be used: {step}")
    if isinstance(error, asyncio.TimeoutError):
        limit = f" within {seconds:g} s" if seconds else ""
        step = "allow it more time, ask for fewer tokens, or use a faster model"
        return Interrupted(f"{peer.name} at {peer.host} gave no whole answer{limit}: {step}")
    return interrupted(peer, f"the connection broke, {what}")


def interrupted(peer: Peer, what: str) -> Interrupted:
    """An answer that came only in part, or in no form the API knows."""
    what, step = _short(redact(what, peer.key)), _STEPS[Interrupted][1]
    return Interrupted(f"{peer.name} at {peer.host} gave no whole answer ({what}): {step}")


def refused(peer: Peer, what: str) -> ContentRefused:
    """A reply that says the model will not answer."""
    what, step = _short(redact(what, peer.key)), _STEPS[ContentRefused][1]
    return ContentRefused(f"{peer.name} at {peer.host} refuses this content ({what}): {step}")


def no_key(peer: Peer, service: str) -> WrongKey:
    """Nothing was sent: there is no key to send."""
    filed = ", or read the keys in .env with --env-file .env" if Path(".env").is_file() else ""
    return WrongKey(f"{peer.name}: there is no key for {service}: {peer.key_help}{filed}, then run `maci doctor`")


def _cause(error: BaseException) -> str:
    """What happened, without the words of libraries, which may hold addresses with passwords in them."""
    source = getattr(error, "os_error", error)
    number = getattr(source, "errno", None)
    if isinstance(number, int) and number > 0:
        return os.strerror(number)
    return str(getattr(source, "strerror", None) or getattr(error, "certificate_error", None) or type(error).__name__)


def _short(text: str) -> str:
    text = " ".join(re.sub(r"<[^<>]{0,200}>", " ", text).split())
    return text if len(text) <= 300 else text[:299] + "…"


def _words(body: Any) -> tuple[str, str]:
    """The message and the codes of an error body: OpenAI, Anthropic, Gemini, vLLM, llama.cpp, Ollama, LM Studio, OpenRouter."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return str(body or "")[:4000], ""
    error = body.get("error", body)
    if not isinstance(error, dict):
        return str(error)[:4000], str(body.get("code", ""))
    message = error.get("message") or error.get("detail") or body.get("message") or body.get("detail") or ""
    codes = [str(error.get(name) or "") for name in ("code", "type", "status", "param")]
    for detail in error.get("details") or ():
        if isinstance(detail, dict):
            codes += [str(detail.get("reason") or ""), f"retrydelay in {detail.get('retryDelay')};"]
            codes += [str(each.get("quotaId")) for each in detail.get("violations") or () if isinstance(each, dict)]
    if isinstance(extra := error.get("metadata"), dict):
        codes += [
            "moderation" if "reasons" in extra or "flagged_input" in extra else "",
            str(extra.get("error_type") or ""),
        ]
        message = f"{message} {extra.get('raw') or ''}"
    return str(message)[:4000].strip(), " ".join(codes)


_AGAIN = re.compile(r"(?:try again|retry|retrydelay) in (?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)(ms|s))?")


def _wait(headers: Mapping[str, str], about: str) -> float | None:
    """Seconds the server asked to wait, from a header or from its words."""
    try:
        if (given := headers.get("retry-after-ms")) is not None:
            return _sane(float(given) / 1000)
        if (given := headers.get("retry-after")) is not None:
            if re.fullmatch(r"\s*[\d.]+\s*", given):
                return _sane(float(given))
            return _sane((parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
    found = _AGAIN.search(about)
    if found is None or not (found[1] or found[2]):
        return None
    return _sane(60 * float(found[1] or 0) + float(found[2] or 0) / (1000 if found[3] == "ms" else 1))


def _sane(seconds: float) -> float | None:
    return min(max(0.0, seconds), 86_400.0) if seconds == seconds else None
