"""What this machine has to debate with: configured panels, keys, running servers, weights, memory and cores. For ``maci init``.

Only servers on this machine and on the private network are asked, without a key, for the list of their models. A provider that can
send a bill is never asked: of a key, only the name of its variable is looked at.

Keys may stand in a file such as ``.env``, which a person names (``--env-file``). Only providers' keys are read from it. Addresses are
not: a file that came with somebody else's folder must not send a key or a case elsewhere. A variable that is set in the environment
goes before the file. No value is ever printed, logged or recorded: an error names the file and the line.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from maci.errors import InputError, MaciError, ModelError, WrongKey
from maci.files.parse import opened, read_bytes
from maci.llm.keys import ADDRESSES, SERVICES, Key, address_of, find_key, host_of, is_loopback, service_at
from maci.llm.local.registry import WEIGHTS
from maci.llm.local.weights import status
from maci.seating.file import PanelFiles, find

_ENV_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$")
_ENV_MOST = 1 << 20
LOCAL_SERVERS = ("ollama", "lmstudio", "llamacpp", "vllm")
"""Servers on this machine that are known by name."""
_USUAL = {(name, SERVICES[name].base_url): "usual port" for name in LOCAL_SERVERS}
SECONDS = 2.0
"""A server on this machine answers at once or not at all."""
_NAME = re.compile(r"[\w.:/@+-]{1,120}", re.ASCII)
_OTHER_USE = re.compile(
    r"embed|(?:^|[/_-])(?:bge|e5|gte|minilm|nomic|clip|whisper|tts|dall-e|sdxl|flux|vae)(?![a-z])|rerank|moderation|guard|ocr"
)
"""Models that do not converse: embeddings, rerankers, speech, pictures, filters."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a server offers."""

    name: str
    size: int | None = None
    """Bytes of its weights, where the server says so."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered."""

    provider: str
    base_url: str
    source: str
    """Where its address is from: a variable's name, or ``usual port``."""
    models: tuple[ServedModel, ...] = ()
    locked: bool = False
    """It asks for a key, and the list of its models needs one too."""
    loading: bool = False
    """It is starting, and its model is not there yet."""


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key that was found, which alone sends nothing."""

    provider: str
    source: str
    """The variable, and the file it is in."""
    env_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to run models on."""

    cores: int
    memory: int | None
    """Bytes; ``None`` where the system does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Everything that was found."""

    panels: PanelFiles
    keys: tuple[FoundKey, ...] = ()
    servers: tuple[FoundServer, ...] = ()
    weights: tuple[str, ...] = ()
    """Models of this machine, as ``local/NAME``."""
    machine: Machine
    unasked: tuple[tuple[str, str], ...] = ()
    """Variables that name an address beyond the private network, with its host: not asked."""


async def take_inventory(
    env_file: Path | None = None, environ: Mapping[str, str] = os.environ, *, offline: bool = False
) -> Inventory:
    """Look at everything at once. ``env_file``: keys of that file count as well."""
    places = server_places(environ)
    private = {key: value for key, value in places.items() if is_private(key[1])}
    asked = (_ask(provider, url, why, environ) for (provider, url), why in private.items())
    servers = [] if offline else await asyncio.gather(*asked)
    unasked = [(why, host_of(url)) for (p, url), why in places.items() if not is_private(url) and p != "azure"]
    return Inventory(
        panels=find(project=False),
        keys=tuple(_keys(environ, env_file)),
        servers=tuple(server for server in servers if server is not None),
        weights=_weights(),
        machine=machine(),
        unasked=tuple(unasked),
    )


def server_places(environ: Mapping[str, str] = os.environ) -> dict[tuple[str, str], str]:
    """Provider and address → where the address is from. What the environment names goes before the usual ports.

    >>> server_places({"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"})[("openai", "http://127.0.0.1:8000/v1")]
    'OPENAI_BASE_URL'
    """
    named = {(p, url): variable for p, variable in ADDRESSES.items() if (url := _moved(p, environ))}
    taken = {host_of(url).replace("localhost", "127.0.0.1") for _, url in named}
    moved = {provider for provider, _ in named}
    return named | {key: why for key, why in _USUAL.items() if host_of(key[1]) not in taken and key[0] not in moved}


def _moved(provider: str, environ: Mapping[str, str]) -> str | None:
    """Where the environment says a provider is; ``None`` also where that is a service's public address."""
    url = address_of(provider, environ)
    known = None if url is None else service_at(provider, url)
    return None if known is not None and known.variables else url


def is_private(url: str) -> bool:
    """Whether an address is on this machine or its private network, where nobody sends a bill.

    >>> is_private("http://192.168.1.7:8000/v1"), is_private("http://gpu-box:8000"), is_private("https://llm.example.org/v1")
    (True, True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or is_loopback(url) or host.endswith((".local", ".lan", ".internal", ".home.arpa"))


async def _ask(provider: str, base_url: str, source: str, environ: Mapping[str, str]) -> FoundServer | None:
    """What a server offers; ``None`` where there is none, or something else answers.

    A key goes to a server on this machine only, and only the one that the environment names beside its address.
    """
    from maci.llm.providers import Http
    from maci.llm.providers._errors import Peer

    http = Http(connect=SECONDS / 2, total=SECONDS, largest=1 << 20)
    peer = Peer(name=provider, host=host_of(base_url), base_url=base_url)
    root = base_url.removesuffix("/v1")
    pages = {"ollama": [f"{root}/api/tags"], "gemini": [f"{root}/v1beta/models"], "anthropic": [f"{root}/v1/models"]}
    try:
        for page in [*pages.get(provider, ()), f"{base_url}/models"]:
            with suppress(ModelError):
                code, _, answer, _ = await http.get(page, {}, peer)
                variable = "OPENAI_API_KEY" if source == "OPENAI_BASE_URL" and is_loopback(base_url) else ""
                if code in (401, 403) and environ.get(variable):
                    key = Key(environ[variable], variable)
                    code, _, answer, _ = await http.get(page, {"Authorization": f"Bearer {key.reveal()}"}, peer)
                if code in (401, 403):
                    return FoundServer(provider, base_url, source, locked=True)
                if code == 503 and "loading" in str(answer).lower():  # as llama-server says it
                    return FoundServer(provider, base_url, source, loading=True)
                if code == 200 and (offered := _offered(answer)) is not None:
                    return FoundServer(provider, base_url, source, offered)
        return None
    finally:
        await http.aclose()


def _offered(answer: Any) -> tuple[ServedModel, ...] | None:
    """The models of a list; ``None`` where it is no such list. A server may say anything: odd names are left out."""
    rows = None
    if isinstance(answer, dict):
        rows = answer["data"] if isinstance(answer.get("data"), list) else answer.get("models")
    if not isinstance(rows, list):
        return None
    found: dict[str, ServedModel] = {}
    for row in rows[:1000]:
        name = (row.get("id") or row.get("name")) if isinstance(row, dict) else None
        if isinstance(name, str):
            name = name.removeprefix("models/")
            size = row.get("size")
            if _NAME.fullmatch(name) and "//" not in name and not _OTHER_USE.search(name.lower()):
                found[name] = ServedModel(name, size if isinstance(size, int) and size > 0 else None)
    return tuple(found.values())


def _keys(environ: Mapping[str, str], env_file: Path | None) -> list[FoundKey]:
    filed: Mapping[str, Key] = {} if env_file is None else read_env_file(env_file)
    found = []
    for name, service in SERVICES.items():
        if not service.variables or _moved(name, environ):  # there, the key belongs to that address
            continue
        with suppress(WrongKey):
            if (key := find_key(name, environ=environ)) is not None:
                found.append(FoundKey(name, key.source))
                continue
        if variable := next((each for each in service.variables if each in filed), None):
            found.append(FoundKey(name, filed[variable].source, env_file))
    return found


def _weights() -> tuple[str, ...]:
    from importlib.util import find_spec

    if find_spec("xllamacpp") is None:
        return ()
    found = []
    for name, weight in WEIGHTS.items():
        with suppress(MaciError):
            if weight.extra == "local" and status(name).present:
                found.append(f"local/{name}")
    return tuple(found)


def machine() -> Machine:
    """Cores this process may use, and the memory of the machine or of its container."""
    from maci.llm.local.provider import cores

    memory: int | None = None
    with suppress(OSError, ValueError, AttributeError):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
        memory = limit if memory is None else min(memory, limit)
    return Machine(cores(), memory)


def key_variables() -> frozenset[str]:
    """The variables that hold the keys of the services known by name."""
    return frozenset(variable for service in SERVICES.values() for variable in service.variables)


def read_env_file(path: Path, names: Iterable[str] = ()) -> Mapping[str, Key]:
    """The keys in a file, by the names of their variables; ``names`` are read beside those of the known services."""
    wanted = key_variables() | set(names)
    with opened(path, "the file of keys ") as file:
        raw = read_bytes(file, str(path), _ENV_MOST)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file (UTF-8): save it as UTF-8") from None
    found = {}
    for line in text.splitlines():
        match = _ENV_LINE.match(line)
        if match is None or match[1] not in wanted:
            continue
        value = _value(match[2])
        if value:
            found[match[1]] = Key(value, f"{match[1]} in {path}")
    return found


def _value(text: str) -> str:
    """What stands after the equals sign: quotes are taken off, and a comment after a space."""
    if len(text) > 1 and text[0] in "\"'" and (end := text.find(text[0], 1)) > 0:
        return text[1:end].strip()
    return re.sub(r"\s+#.*", "", text).strip()


def use_env_file(path: Path, environ: MutableMapping[str, str] = os.environ) -> tuple[str, ...]:
    """Use the keys of a file for this process; the variables that came from it, by name."""
    used = []
    for name, key in read_env_file(path).items():
        if not environ.get(name, "").strip():
            environ[name] = key.reveal()
            used.append(name)
    return tuple(used)
