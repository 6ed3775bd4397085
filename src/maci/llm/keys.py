"""Keys: found in the environment or in a file, sent to whom they belong, shown to nobody.

A key is looked up for the service a request goes to, so that a key for one host never reaches another: ``openai/…`` with another
``base_url`` gets OPENAI_API_KEY only where ``key_env`` says so, or where OPENAI_BASE_URL names the same address on this machine. The
file is ``$MACI_KEYS``, else ``keys.toml`` in the user's configuration folder; its entries are named after a service or a host::

    openai = "sk-…"
    "llm.example.org" = "…"

>>> key = Key("sk-secret", "OPENAI_API_KEY")
>>> key, str(key), key.reveal()
(Key(from OPENAI_API_KEY), 'Key(from OPENAI_API_KEY)', 'sk-secret')
>>> redact("your key sk-secret is wrong", key)
'your key *** is wrong'
"""

from __future__ import annotations

import ipaddress
import os
import re
from base64 import b32encode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5
from math import lcm
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn
from urllib.parse import SplitResult, quote, unquote, urlsplit

from maci.errors import ConfigError, InputError, WrongKey, near
from maci.files.parse import parse
from maci.paths import keys_file


class Key:
    """A secret. Its text is what :meth:`reveal` gives and nothing else does: not repr, str, a copy or a pickle."""

    __slots__ = ("_value", "source")

    def __init__(self, value: str, source: str = "the caller") -> None:
        value = value.strip()
        if not value or not value.isascii() or not value.isprintable() or " " in value:
            raise WrongKey(
                f"the key from {source} is empty or has characters a key cannot have (a space, a line break): copy it again"
            )
        self._value, self.source = value, source

    def reveal(self) -> str:
        """The key itself, for a request header."""
        return self._value

    def __repr__(self) -> str:
        return f"Key(from {self.source})"

    def __copy__(self) -> Key:
        return self

    def __deepcopy__(self, memo: object) -> Key:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written anywhere: look it up again where it is needed")


@dataclass(frozen=True, slots=True)
class Service:
    """Somewhere models are served: its name in ``name/model``, its address, and where its key may be."""

    name: str
    base_url: str
    variables: tuple[str, ...] = ()
    """Environment variables, the first that is set counts; none: it wants no key."""


SERVICES: Mapping[str, Service] = MappingProxyType(
    {
        service.name: service
        for service in (
            Service("openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
            Service("anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",)),
            Service("gemini", "https://generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
            Service("openrouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
            Service("groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
            Service("mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
            Service("deepseek", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
            Service("together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
            Service("xai", "https://api.x.ai/v1", ("XAI_API_KEY",)),
            Service("azure", "", ("AZURE_OPENAI_API_KEY",)),
            Service("ollama", "http://127.0.0.1:11434/v1"),
            Service("lmstudio", "http://127.0.0.1:1234/v1"),
            Service("vllm", "http://127.0.0.1:8000/v1"),
            Service("llamacpp", "http://127.0.0.1:8080/v1"),
        )
    }
)
"""What is known by name. All but anthropic and gemini speak the OpenAI-compatible API. Azure has an address for each customer."""

ADDRESSES: Mapping[str, str] = MappingProxyType(
    {
        "openai": "OPENAI_BASE_URL",
        "anthropic": "ANTHROPIC_BASE_URL",
        "gemini": "GOOGLE_GEMINI_BASE_URL",
        "ollama": "OLLAMA_HOST",
        "azure": "AZURE_OPENAI_ENDPOINT",
    }
)
"""Provider → the environment variable with which people say where it is."""


def address_of(provider: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Where the environment says a provider is; ``None`` where it says nothing.

    Ollama's variable is also what its server listens on, so it may lack the scheme, the port or a host one can connect to.

    >>> address_of("ollama", {"OLLAMA_HOST": "0.0.0.0"}), address_of("openai", {})
    ('http://127.0.0.1:11434/v1', None)
    """
    variable = ADDRESSES.get(provider, "")
    given = environ.get(variable, "").strip().rstrip("/")
    if not given:
        return None
    bare = provider == "ollama" and "://" not in given
    parts = address_parts(f"http://{given}" if bare else given)
    if parts is None:
        example = "127.0.0.1:11434" if provider == "ollama" else "http://127.0.0.1:8000/v1"
        raise ConfigError(f"{variable} is {given!r}, which is no address: write it like {example}, or unset it")
    if provider != "ollama":
        return given
    host = (parts.hostname or "127.0.0.1").replace("0.0.0.0", "127.0.0.1")  # noqa: S104
    port = parts.port or (11434 if bare else 443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}/v1"


def address_parts(url: str) -> SplitResult | None:
    """An address in its parts; ``None`` where it cannot be one.

    >>> address_parts("http://127.0.0.1:8000/v1").port
    8000
    >>> address_parts("http://127.0.0.1:8[]x"), address_parts("http://127.0.0.1:99999")
    (None, None)
    """
    try:
        parts = urlsplit(url)
        return parts if parts.port is None or parts.port else None
    except ValueError:  # odd brackets, a port that is none
        return None


def is_public(url: str) -> bool:
    """Whether it is the address of a server, with nothing in it to be kept secret.

    >>> is_public("http://127.0.0.1:8000/v1"), is_public("http://ana:word@example.org"), is_public("")
    (True, False, False)
    """
    parts = address_parts(url)
    return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def find_key(
    provider: str,
    base_url: str | None = None,
    *,
    key_env: str | None = None,
    environ: Mapping[str, str] = os.environ,
    who: str = "",
) -> Key | None:
    """The key for a provider at an address; ``None`` where there is none. ``who`` is the model that wants it, for the message.

    >>> find_key("openai", environ={"OPENAI_API_KEY": "sk-1", "MACI_KEYS": os.devnull})
    Key(from OPENAI_API_KEY)
    >>> find_key("openai", "http://127.0.0.1:8000/v1", environ={"OPENAI_API_KEY": "sk-1", "MACI_KEYS": os.devnull})
    """
    if key_env is not None:
        if not environ.get(key_env, "").strip():
            raise WrongKey(
                f"{who}{': ' if who else ''}key_env is {key_env!r}, and that environment variable is not set: "
                f"export {key_env}=…, or correct it"
            )
        return Key(environ[key_env], key_env)
    service = service_at(provider, base_url)
    for variable in service.variables if service else ():
        if environ.get(variable, "").strip():
            return Key(environ[variable], variable)
    path, named = _read(environ)
    for entry in (*((service.name,) if service else ()), host_of(base_url or (service.base_url if service else ""))):
        if entry in named:
            return Key(named[entry], f"{entry} in {path}")
    return None


def service_at(provider: str, base_url: str | None = None) -> Service | None:
    """The service a provider at an address is; ``None`` for any other server."""
    if base_url is None:
        return SERVICES.get(provider)
    if not base_url:
        return None
    where = urlsplit(base_url).scheme, host_of(base_url)  # a key for https is not sent in the clear
    known = ((service, urlsplit(service.base_url).scheme) for service in SERVICES.values())
    return next((service for service, scheme in known if (scheme, host_of(service.base_url)) == where), None)


def owner_of(variable: str) -> Service | None:
    """The service whose key an environment variable holds.

    >>> owner_of("GOOGLE_API_KEY").name, owner_of("MY_KEY")
    ('gemini', None)
    """
    return next((service for service in SERVICES.values() if variable.upper() in service.variables), None)


def key_help(provider: str, base_url: str | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """What to do to have a key for a provider at an address.

    >>> key_help("gemini", environ={"MACI_KEYS": "keys.toml"})
    'export GEMINI_API_KEY=…, or put gemini = "…" into keys.toml'
    """
    service, path = service_at(provider, base_url), keys_file(environ)
    if service and service.variables:
        return f'export {service.variables[0]}=…, or put {service.name} = "…" into {path}'
    filed = f'put "{host_of(base_url or "")}" = "…" into {path}'
    if not base_url or not is_loopback(base_url):
        return f"name its environment variable with key_env, or {filed}"
    usual = SERVICES[provider].variables if provider in ADDRESSES and provider in SERVICES else ()
    pair = f"export {ADDRESSES[provider]}={base_url} and its key as {usual[0]}, or " if usual else ""
    return f'{pair}put its key into a variable such as SERVER_KEY and set key_env = "SERVER_KEY", or {filed}'


def host_of(url: str) -> str:
    """Host and port of an address, as a key file and the limits name it.

    >>> host_of("https://api.openai.com/v1"), host_of("http://127.0.0.1:8000/v1")
    ('api.openai.com', '127.0.0.1:8000')
    """
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine.

    >>> is_loopback("http://localhost:1234/v1"), is_loopback("http://[::1]:80"), is_loopback("http://127.0.0.1.example.org")
    (True, True, False)
    """
    return is_loopback_host(urlsplit(url).hostname or "")


def is_loopback_host(host: str) -> bool:
    """Whether only this machine can reach a host.

    Only ``localhost`` itself counts among names: what ends in ``.localhost`` may be looked up elsewhere.

    >>> [is_loopback_host(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "192.168.1.5", "a.localhost")]
    [True, True, True, False, False, False]
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name
        return host.casefold() == "localhost"


def _read(environ: Mapping[str, str]) -> tuple[Path, Mapping[str, str]]:
    """The file and what is in it. Never says a value: a broken line may hold a key."""
    path = keys_file(environ)
    try:
        if os.name == "posix" and path.is_file() and path.stat().st_mode & 0o077:
            raise ConfigError(f"{path} holds keys and others may read it: run `chmod 600 {path}`")
        entries = parse(path.read_text(encoding="utf-8"), "TOML", str(path))
    except FileNotFoundError:
        if environ.get("MACI_KEYS"):
            raise ConfigError(f"MACI_KEYS is {path}, and there is no such file: correct it or unset it") from None
        return path, {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read ({type(error).__name__}): correct it or remove it") from None
    except ConfigError:
        raise
    except InputError as error:
        where = re.search(r"at line \d+", str(error))
        raise ConfigError(
            f'{path} is not TOML ({where[0] if where else "at its end"}): write one key a line, as in openai = "…"'
        ) from None
    for name, value in entries.items():
        if not isinstance(value, str):
            raise ConfigError(f'{name} in {path} is not a text: write it as {name} = "…"')
        own = name.lower() in SERVICES or re.search(r"[.:]", name)  # a provider or a host
        if not own and (meant := near(name.lower(), SERVICES)):
            raise ConfigError(f"{name} in {path} is no provider: {meant}")
    return path, {name.lower(): value for name, value in entries.items() if value.strip()}


_LOOKS_LIKE_ONE = re.compile(r"\b(?:sk|gsk|xai|hf)[-_][\w*.-]{6,}|AIza[\w*-]{16,}|(?<=[Bb]earer )\S{6,}")
_WORD = re.compile(r"[^\s\"'`,;:(){}<>\[\]]+")


def redact(text: str, key: Key | None = None) -> str:
    """A text without the key, without parts of it, and without anything that looks like one.

    Whoever echoes a key may do so in another form: in capitals, reversed, spaced out, in hex, base64 or percent-encoded.
    """
    if key is not None:
        secret = key.reveal()
        text = scrub(text, [secret])
        forms = (secret.casefold(), secret.casefold()[::-1])
        parts = {form[i : i + 8] for form in forms for i in range(len(form) - 7)}
        text = _WORD.sub(lambda word: "***" if any(part in word[0].casefold() for part in parts) else word[0], text)
    return _LOOKS_LIKE_ONE.sub("***", text)


_FEWEST = 6
"""Characters of a secret that is also looked for in other forms; of a shorter one every chance likeness would be taken out."""


def scrub(text: str, secrets: Iterable[str]) -> str:
    r"""A text without secrets, also in upper case, spaced, reversed, escaped (for a URL, HTML or a program), in hexadecimal digits, in
    base64 or in base32.

    >>> scrub("CANARY-7 c a n a r y - 7 7-yranac Y2FuYXJ5LTc= canary", ["canary-7"])
    '*** *** *** *** canary'
    >>> scrub("&#99;anar&#x79;&#45;7 mnqw4ylspewto=== canary\\u002d7", ["canary-7"])
    '*** *** ***'
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
        if len(secret) >= _FEWEST:
            text = _forms(secret).sub("***", text)
    return text


@lru_cache(maxsize=64)
def _forms(secret: str) -> re.Pattern[str]:
    spaced = (r"[\s.,:_|-]{0,3}".join(map(_letter, word)) for word in (secret, secret[::-1]))
    data = secret.encode()
    written = (re.escape(quote(secret, safe="")), "".join(f"%{byte:02x}" for byte in data), data.hex())
    inside = [form for core in _cores(data, b64encode, 6) for form in (core, core.translate(_URL_SAFE))]
    base64 = f"(?:{'|'.join(map(re.escape, dict.fromkeys(inside)))})[A-Za-z0-9+/_-]{{0,2}}={{0,2}}"
    base32 = f"(?:{'|'.join(_cores(data, b32encode, 5))})[A-Z2-7]?={{0,6}}"
    return re.compile(f"(?i:{'|'.join((*spaced, *written, base32))})|{base64}")


def _cores(data: bytes, encode: Callable[[bytes], bytes], bits: int) -> Iterator[str]:
    """What data look like in a code of so many ``bits`` a letter, after any number of other bytes: letters that are theirs alone."""
    for before in range(lcm(bits, 8) // 8):
        whole = encode(b"-" * before + data).decode()
        yield whole[-(-8 * before // bits) : 8 * (before + len(data)) // bits]


@lru_cache(maxsize=256)
def _letter(letter: str) -> str:
    """A letter as it is, as an HTML entity, or as an escape of a program."""
    code = ord(letter)
    named = "".join(f"|&{re.escape(name)}" for name, means in html5.items() if means == letter and name.endswith(";"))
    escape = f"|\\\\u00{code:02x}|\\\\x{code:02x}" if code < 256 else ""
    return f"(?:{re.escape(letter)}|&#0*{code};?|&#x0*{code:x};?{named}{escape})"


_URL_SAFE = str.maketrans("+/", "-_")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^\s\"'<>`]+")
_TOKEN = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}")


def without_credentials(text: str) -> str:
    """A text whose URLs may be shown: without passwords, values of their queries, and parts of their paths that look like a token.

    >>> without_credentials("--source https://me:pw@host:8000/ask?api_key=abc&n=1#x and https://t0ken@host/")
    '--source https://me:***@host:8000/ask?api_key=***&n=*** and https://***@host/'
    """
    return _URL.sub(lambda url: _shown(url[0]), text)


def _shown(url: str) -> str:
    scheme, _, rest = url.partition("://")
    rest = rest.partition("#")[0]
    rest, asked, query = rest.partition("?")
    place, slash, path = rest.partition("/")
    who, at, host = place.rpartition("@")
    name, colon, _ = who.partition(":")
    shown = f"{name}:***@" if colon else "***@" if at else ""
    pairs = (f"{part.partition('=')[0]}=***" if "=" in part else "***" for part in query.split("&"))
    return f"{scheme}://{shown}{host}{slash}{_TOKEN.sub('***', path)}{asked}{'&'.join(pairs) if asked else ''}"


def credentials_in(url: str) -> tuple[str, ...]:
    """What :func:`without_credentials` leaves out of a URL.

    >>> credentials_in("https://me:pw%21@host/ask?api_key=abc")
    ('pw%21', 'pw!', 'abc')
    """
    parts = urlsplit(url)
    own = [(parts.password if parts.password is not None else parts.username) or ""]
    own += [part.partition("=")[2] or part for part in parts.query.split("&")]
    own += [parts.fragment, *_TOKEN.findall(parts.path)]
    return tuple(dict.fromkeys(form for value in own for form in (value, unquote(value)) if form))


def headers_from(given: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Headers of an endpoint, from ``NAME=VARIABLE``: what they hold stands in the environment, not on the command line.

    >>> headers_from(["Authorization=ASK_TOKEN"], {"ASK_TOKEN": "Bearer abc"})
    {'Authorization': 'Bearer abc'}
    """
    found = {}
    for each in given:
        name, _, variable = each.partition("=")
        if not re.fullmatch(r"[A-Za-z0-9-]+", name) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
            raise ConfigError(
                "--source-header takes NAME=VARIABLE, a header and the environment variable that holds its value"
            )
        value = environ.get(variable, "").strip()
        if not value:
            raise ConfigError(f"--source-header {name}={variable}: the environment variable {variable} is not set")
        if not value.isprintable():
            raise ConfigError(
                f"--source-header {name}={variable}: the value of {variable} is not a single line of text"
            )
        found[name] = value
    return found
