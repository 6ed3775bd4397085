"""Every error MACI raises on purpose, in one tree.

::

    MaciError                   exit  meaning
    ├── InputError               2    the caller gave something that cannot be used
    │   ├── ConfigError          2    unknown key, value out of range, profile for another encoder
    │   ├── CaseError            2    a case that cannot be debated (no question, one outcome, …)
    │   ├── BeliefError          2    not a distribution over the outcome space
    │   └── EvidenceError        2    a corpus, index or span that cannot be read
    │       └── Undecidable      2    the readers match words, and that cannot decide this case
    ├── CheckFailed              1    a check ran and its verdict is no
    │   ├── TranscriptError      1    a record that was edited, reordered or is not one of ours
    │   └── ReplayMismatch       1    a recorded number that cannot be recomputed
    ├── EnvironmentError_        3    something outside: provider, weights, disk, missing extra
    │   ├── MissingExtra         3    an optional package is needed and not installed
    │   └── ModelError           3    weights or a provider that do not answer
    │       ├── WrongKey         3    the provider does not accept the key, or there is none
    │       ├── UnknownModel     3    the provider has no such model
    │       ├── Unreachable      3    no connection: nothing was sent
    │       ├── RateLimited      3    too many requests, come back later
    │       ├── Overloaded       3    the provider's own fault (5xx): the model may have begun
    │       ├── Interrupted      3    sent, and no whole answer came: reset, time-out, cut short, not the API's format
    │       ├── ContentRefused   3    the provider or the model will not answer this
    │       ├── ContextOverflow  3    the prompt is longer than the model can read
    │       ├── BadRequest       3    the provider refuses the request's form (a parameter it does not know)
    │       └── BadReply         3    an answer that cannot be used, even after one repair
    └── BudgetError              4    the budget ended the work before a first answer

A message names the argument, its value and the next step a person can take. The command line turns
each class into its exit code in exactly one place, :func:`exit_code`.
"""

from __future__ import annotations

import difflib
import errno
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal


class MaciError(Exception):
    """Base of everything raised on purpose; ``exit`` is the process exit code it stands for."""

    exit = 1
    about = ""
    """The field of a form or a request that it is about, where that is known."""
    fatal = False
    """Nothing that needs what failed can succeed: a debate with it is over."""
    retry_after: float | None = None
    """Seconds after which to ask again, where that is known; of a provider's error, what it asked us to wait."""


@contextmanager
def concerning(field: str) -> Iterator[None]:
    """Errors that are raised within are about this field, unless they say more closely what they are about."""
    try:
        yield
    except MaciError as error:
        error.about = error.about or field
        raise


class InputError(MaciError):
    exit = 2


class ConfigError(InputError):
    """An unknown key, a value out of range, a profile for another encoder."""


class CaseError(InputError):
    """A case that cannot be debated: no question, one outcome."""


class BeliefError(InputError):
    """Not a distribution over the outcome space."""


class EvidenceError(InputError):
    """A corpus, index or span that cannot be read."""


class Undecidable(EvidenceError):
    """The readers match words, and that cannot decide this case. The message ends with “use a language model”: a door adds where
    to find one there.

    ``guess``: the readers have a guess, and a door adds how to see it.
    """

    def __init__(self, message: str, *, guess: bool = False) -> None:
        super().__init__(message)
        self.guess = guess


class CheckFailed(MaciError):
    exit = 1


class TranscriptError(CheckFailed):
    """A record that was edited or reordered, or is not one of ours."""


class ReplayMismatch(CheckFailed):
    """A recorded number that cannot be recomputed."""


class EnvironmentError_(MaciError):
    exit = 3


class MissingExtra(EnvironmentError_):
    """An optional dependency is not installed."""

    fatal = True

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package!r}: {install(extra)}")
        self.package, self.extra = package, extra


def installed(module: str, extra: str, purpose: str) -> Any:
    """A module of an optional dependency; where it is not installed the error says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra((error.name or module).partition(".")[0], extra, purpose) from error


class ModelError(EnvironmentError_):
    """Weights or a provider that do not answer.

    ``retry``: the same request may succeed later. ``charged``: it may have cost something although nothing came of it.
    ``fatal``: no request to this model can succeed.
    """

    retry = charged = False


class WrongKey(ModelError):
    fatal = True


class UnknownModel(ModelError):
    fatal = True


class Unreachable(ModelError):
    retry = True


class RateLimited(ModelError):
    retry = True

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Overloaded(RateLimited):
    charged = True


class Interrupted(ModelError):
    retry = charged = True


class ContentRefused(ModelError):
    charged = True


class ContextOverflow(ModelError):
    """The prompt is longer than the model can read."""


class BadRequest(ModelError):
    """The provider refuses the request's form: a parameter it does not know."""


class BadReply(ModelError):
    """An answer that cannot be used, even after one repair."""


class BudgetError(MaciError):
    exit = 4

    def __init__(self, message: str, resource: Literal["tokens", "usd", "seconds"] = "tokens") -> None:
        super().__init__(message)
        self.resource = resource


def install(extra: str) -> str:
    """The command that installs an extra of this package, here.

    Never ``maci[…]`` by its name alone: on PyPI that is somebody else's project. In a clone it is the clone's own; elsewhere the
    packages that our metadata lists for the extra.
    """
    root = Path(__file__).resolve().parents[2]
    if (root / "pyproject.toml").is_file() and (root / "src" / "maci").is_dir():
        if Path(sys.prefix).resolve() == root / ".venv":
            where = "" if Path.cwd() == root else f"cd {root} && "
            return f"{where}.venv/bin/pip install -e '.[{extra}]'"
        return f"{sys.executable} -m pip install -e '{root}[{extra}]'"
    packages = _requirements(extra)
    if not packages:
        return f"install the extra `{extra}` from the source you installed MACI from, as in pip install '.[{extra}]'"
    quoted = " ".join(f"'{package}'" for package in packages)
    return f"{sys.executable} -m pip install {quoted}"


def _requirements(extra: str) -> list[str]:
    """What our own metadata lists for an extra, those of extras it includes with it."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        listed = requires("maci-debate") or []
    except PackageNotFoundError:
        return []
    found: dict[str, None] = {}
    for line in listed:
        package, _, marker = (part.strip() for part in line.partition(";"))
        if re.search(rf"""extra == ['"]{re.escape(extra)}['"]""", marker) is None:
            continue
        own = re.fullmatch(r"maci-debate\[([\w,\s-]+)\]", package)
        names = own[1].split(",") if own else ()
        found.update(dict.fromkeys([each for name in names for each in _requirements(name.strip())] or [package]))
    return list(found)


def near(name: str, known: Iterable[str], otherwise: str = "", most: int = 1) -> str:
    """What to say of a name that nobody knows: those it comes near to, or ``otherwise``. Names that share few letters are not near.

    >>> near("rouns", ["rounds", "seed"]), near("x", ["rounds"], "`maci config` lists them")
    ('did you mean rounds?', '`maci config` lists them')
    >>> near("nosuch", ["enough"], "`maci config` lists them")
    '`maci config` lists them'
    """
    found = difflib.get_close_matches(name, list(known), n=most, cutoff=0.7)
    return f"did you mean {', '.join(found)}?" if found else otherwise


def explain(
    complaints: Iterable[Mapping[str, Any]],
    known: Callable[[list[str]], Iterable[str]],
    remedy: Callable[[list[str], Mapping[str, Any]], str] = lambda *_: "",
    forms: Container[object] = (),
) -> str:
    """What is wrong with data that somebody wrote, from pydantic's ``errors()``: the complaint that got furthest, with a remedy.

    ``known``: keys that may stand at a place. ``remedy``: what to do there, or nothing. ``forms``: names of types, which are no places.
    """
    first = max(complaints, key=lambda one: (len(one["loc"]), one["type"] == "extra_forbidden"))
    path = [str(part) for part in first["loc"] if part not in forms and not str(part).startswith("function-")]
    key = ".".join(path)
    if first["type"] == "extra_forbidden":
        keys = list(known(path))
        return f"unknown key {key!r}: {near(path[-1], keys, 'the keys here are ' + ', '.join(keys))}"
    message = first["msg"].removeprefix("Value error, ")
    said = remedy(path, first) or f"{message[0].lower()}{message[1:]}"
    if first["type"] in ("missing", "value_error"):
        return f"{key} is missing: {said}" if first["type"] == "missing" else f"{key} {said}"
    return f"{key} is {first['input']!r:.60}: {said}"


def exit_code(error: BaseException) -> int:
    """The process exit code for an error.

    >>> exit_code(CaseError("no question")), exit_code(KeyboardInterrupt()), exit_code(ValueError())
    (2, 130, 1)
    """
    if isinstance(error, MaciError):
        return error.exit
    return 130 if isinstance(error, KeyboardInterrupt) else 1


_LOST = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def is_output_lost(error: OSError) -> bool:
    """Whether standard output takes nothing any more; an error that names a file is about that file.

    >>> is_output_lost(BrokenPipeError()), is_output_lost(OSError(errno.ENOSPC, "full")), is_output_lost(FileNotFoundError())
    (True, True, False)
    """
    return isinstance(error, BrokenPipeError) or (error.filename is None and error.errno in _LOST)


def is_fatal(error: BaseException) -> bool:
    """Whether nothing else can succeed either, as with a wrong key.

    >>> is_fatal(WrongKey("no")), is_fatal(CaseError("no question")), is_fatal(ValueError())
    (True, False, False)
    """
    return isinstance(error, MaciError) and error.fatal


def said(error: BaseException) -> str:
    r"""What an error says, in one line; one that is not ours says its kind too.

    >>> said(CaseError("no question")), said(ValueError("no\nquestion")), said(TimeoutError())
    ('no question', 'ValueError: no question', 'TimeoutError')
    """
    text = one_line(str(error))
    if text and isinstance(error, MaciError):  # written for people
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def one_line(text: str) -> str:
    """A text as one line that can be written as UTF-8."""
    return " ".join(text.encode("utf-8", "replace").decode().split())
