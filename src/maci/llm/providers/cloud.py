"""Models that a cloud serves under its own address and rules: Azure OpenAI, and Amazon Bedrock through litellm.

Neither was ever tried against the real service here: the requests follow the published documentation and are tested against a
server on this machine. ``maci doctor --live`` tries them with your account.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from maci.errors import ConfigError
from maci.llm.keys import Key, is_loopback
from maci.llm.providers._errors import Peer
from maci.llm.providers.litellm import LiteLLM
from maci.llm.providers.openai import OpenAI

_VERSION = "2024-10-21"
"""Azure's dated API that is generally available; ``extra: {api-version: …}`` or OPENAI_API_VERSION names another."""


class Azure(OpenAI):
    """``azure/DEPLOYMENT`` at AZURE_OPENAI_ENDPOINT: OpenAI's API with Azure's address, ``api-version`` and ``api-key`` header.

    An address that ends in ``/v1`` is Azure's newer API without versions.
    """

    API = "azure-openai"
    PROVIDER = "azure"

    def __init__(self, *, options: dict[str, Any] | None = None, **given: Any) -> None:
        rest = dict(options or {})
        named = rest.pop("api-version", None) or os.environ.get("OPENAI_API_VERSION")
        self._version = str(named or _VERSION)
        super().__init__(options=rest, **given)
        self.identity = {**self.identity, "version": self._version}
        if not self._peer.base_url.endswith("/v1"):
            self._root = self._peer.base_url.removesuffix("/openai") + "/openai"
            place = f"/deployments/{quote(self.model, safe='')}{self._PATH}"
            self._url = f"{self._root}{place}?api-version={quote(self._version, safe='')}"

    def _meet(self, base_url: str | None, key: Key | None) -> tuple[Peer, str]:
        if base_url is None:
            raise ConfigError(
                f"azure/{self.model}: no address is known: set AZURE_OPENAI_ENDPOINT=https://RESOURCE.openai.azure.com, or give "
                "base_url in your own panels file (docs/panels.md)"
            )
        peer, _ = super()._meet(base_url, key)
        return peer, "azure" if key is None and not is_loopback(base_url) else ""

    def _headers(self) -> dict[str, str]:
        key = self._peer.key
        return {} if key is None else {"api-key": key.reveal()}


class Bedrock(LiteLLM):
    """``bedrock/MODEL``, as Amazon names its models. litellm signs the requests with the AWS credentials that boto3 finds."""

    API = "litellm"
    PROVIDER = "bedrock"

    def __init__(self, *, model: str, **given: Any) -> None:
        super().__init__(model=f"bedrock/{model}", **given)

    def _meet(self, base_url: str | None, key: Key | None) -> tuple[Peer, str]:
        peer, lacks = super()._meet(base_url, key)
        step = "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION_NAME, or sign in with the AWS command line"
        return Peer(name=self.model, host=peer.host, base_url=peer.base_url, key=peer.key, key_help=step), lacks
