"""``litellm/MODEL``: whatever the litellm package reaches that has no provider here (extra ``litellm``).

The request is written and the reply read as for the OpenAI-compatible API, which is what litellm speaks; it finds keys itself, in the
variables its documentation names. Its own retries, reports and look-ups of prices over the network are off: the client retries.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json, to_json

from maci.errors import MissingExtra, Unreachable
from maci.llm.keys import Key, find_key, host_of
from maci.llm.offline import check_here
from maci.llm.providers._api import HttpAnswer
from maci.llm.providers._errors import Peer, interrupted, lost
from maci.llm.providers.openai import OpenAI

_CODES = {
    "ContextWindowExceededError": "context_length_exceeded",
    "ContentPolicyViolationError": "content_policy_violation",
    "NotFoundError": "model_not_found",
    "AuthenticationError": "invalid_api_key",
    "LiteLLMUnknownProvider": "model_not_found",
}
_UNCONNECTED = ("ConnectError", "ConnectTimeout", "ClientConnectorError", "ClientConnectorDNSError")


class LiteLLM(OpenAI):
    """``litellm/PROVIDER/MODEL``, as litellm names it."""

    API = "litellm"
    PROVIDER = "litellm"

    def _meet(self, base_url: str | None, key: Key | None) -> tuple[Peer, str]:
        if importlib.util.find_spec("litellm") is None:
            raise MissingExtra("litellm", "litellm", f"litellm/{self.model}")
        service = self.model.partition("/")[0] if "/" in self.model else "openai"
        host = host_of(base_url) if base_url else f"litellm:{service}"
        # litellm finds keys itself; this one is known here so that it can be kept out of messages
        known = key or (find_key(service) if base_url is None else None)
        step = f"set the environment variable litellm's documentation names for {service}, or key_env"
        self._key, self._base_url = key, base_url
        return Peer(name=f"litellm/{self.model}", host=host, base_url=base_url or "", key=known, key_help=step), ""

    async def _post(self, body: dict[str, Any], most: int) -> HttpAnswer:
        check_here(self._base_url or self.origin, self._http.offline)
        litellm: Any = _loaded.get("litellm") or await asyncio.to_thread(_load)
        if self._key is not None:
            body["api_key"] = self._key.reveal()
        if self._base_url is not None:
            body["api_base"] = self._base_url
        try:
            reply = await litellm.acompletion(
                **body, num_retries=0, max_retries=0, drop_params=True, timeout=self._http.total, caching=False
            )
        except Exception as error:
            return self._complaint(error)
        return _bounded(_plain(reply), min(most, self._http.largest))

    def _complaint(self, error: Exception) -> HttpAnswer:
        """An error of litellm's as the answer it was, where it was one.

        It makes a 500 of a broken connection, which may have cost something, and of none at all, which has not: only an answer
        that can be found among the causes, with headers, is taken for one.
        """
        name, status = type(error).__name__, getattr(error, "status_code", None)
        chain = list(_causes(error))
        answers = [each.response for each in chain if getattr(getattr(each, "response", None), "headers", None)]
        headers: Mapping[str, str] = {}
        if answers:
            status, headers = answers[0].status_code, {str(k).lower(): str(v) for k, v in answers[0].headers.items()}
        elif any(type(each).__name__ in _UNCONNECTED or isinstance(each, ConnectionRefusedError) for each in chain):
            step = "is the server running, and the network up? `maci doctor` tests it"
            raise Unreachable(f"{self.name}: no connection to {self._peer.host}: {step}") from None
        elif name == "Timeout":
            raise lost(self._peer, TimeoutError(), self._http.total) from None
        if not isinstance(status, int) or status < 300 or (status >= 429 and not answers):
            raise interrupted(self._peer, f"{name}: {error}") from None
        return HttpAnswer(status, headers, {"error": {"message": str(error), "code": _CODES.get(name, "")}})

    async def models(self) -> tuple[str, ...]:
        """None: this package knows of models, not of what a server serves."""
        return ()

    async def aclose(self) -> None:
        """Close litellm's own sessions."""
        await super().aclose()
        if "litellm" in _loaded:
            await _loaded["litellm"].close_litellm_async_clients()


_loaded: dict[str, Any] = {}


def _load() -> Any:
    """litellm, quiet. Importing it takes seconds, warns, and would fetch a price list."""
    if "litellm" not in _loaded:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):  # they write to standard output
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import litellm
        litellm.telemetry = False
        litellm.suppress_debug_info = True
        litellm.turn_off_message_logging = True
        # its types make pydantic warn whenever one is used for the first time
        warnings.filterwarnings("ignore", r"(?s).*(?:ReadOnly|Pydantic serializer warnings)", UserWarning)
        _loaded["litellm"] = litellm
    return _loaded["litellm"]


def _plain(reply: Any) -> dict[str, Any]:
    """A reply as OpenAI's API has it: a refusal is moved back to where it came from."""
    plain: dict[str, Any] = reply.model_dump()
    for choice in plain.get("choices") or ():
        message = choice.get("message") or {}
        message.setdefault("refusal", (message.get("provider_specific_fields") or {}).get("refusal"))
    return plain


def _bounded(body: dict[str, Any], most: int) -> HttpAnswer:
    """A reply of at most so many bytes, as :class:`Http` has it: of a longer one the beginning, and its count, which is here too."""
    raw = to_json(body, fallback=str)
    if len(raw) <= most:
        return HttpAnswer(200, {}, body)
    start = from_json(raw[:most].decode("utf-8", "ignore"), allow_partial="trailing-strings")
    return HttpAnswer(200, {}, {**start, "usage": body.get("usage")}, cut=True)


def _causes(error: BaseException | None) -> Iterator[Any]:
    """An error, what it came of, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class Bedrock(LiteLLM):
    """``bedrock/MODEL``, as Amazon names its models. litellm signs the requests with the AWS credentials that boto3 finds.

    As with :class:`~maci.llm.providers.openai.Azure`, the real service was never tried here; ``maci doctor --live`` does.
    """

    API = "litellm"
    PROVIDER = "bedrock"

    def __init__(self, *, model: str, **given: Any) -> None:
        super().__init__(model=f"bedrock/{model}", **given)

    def _meet(self, base_url: str | None, key: Key | None) -> tuple[Peer, str]:
        peer, lacks = super()._meet(base_url, key)
        step = "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION_NAME, or sign in with the AWS command line"
        return Peer(name=self.model, host=peer.host, base_url=peer.base_url, key=peer.key, key_help=step), lacks
