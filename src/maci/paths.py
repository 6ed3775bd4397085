"""Where MACI's files are: the one place that knows folders and the names of files in them, and that says why one cannot be written.

| variable | names | otherwise |
|---|---|---|
| ``MACI_CACHE`` | what can be fetched or computed again: replies, embeddings, weights | ``maci`` in the user's cache folder |
| ``MACI_STATE`` | what debates have taught: learned schedules | ``maci`` in the user's state folder |
| ``MACI_KEYS`` | the file of API keys | ``keys.toml`` in the user's configuration folder |
| ``MACI_PANELS`` | the only panels file to be read | ``maci-panels.yaml`` here, then ``panels.yaml`` in the configuration folder |
| ``MACI_PROJECT`` | the only project file to be read | ``maci.toml`` here, or in a folder above |
| ``MACI_DATA`` | the public data sets | none: name them with ``--data`` |

The user's folders are those of the platform: ``XDG_CACHE_HOME``, ``XDG_STATE_HOME`` and ``XDG_CONFIG_HOME`` (``~/.cache``,
``~/.local/state``, ``~/.config``) on Linux, ``~/Library`` on macOS, ``LOCALAPPDATA`` and ``APPDATA`` on Windows. Settings of a debate
have variables of their own (``maci.config``).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from maci.errors import ConfigError, EnvironmentError_, InputError

RUNS = Path("maci-runs")
"""Where debates are recorded unless ``--out`` says otherwise."""
EMBEDDINGS = "embeddings.sqlite"
"""Of a corpus, in its folder; of everything else, in the cache."""
PANELS = "maci-panels.yaml"
"""The panels file of a working directory."""
PROJECT = "maci.toml"
"""The project file, of a working directory and all folders in it."""


def cache_dir() -> Path:
    """What can be fetched or computed again."""
    return _chosen("MACI_CACHE") or _home("cache")


def state_dir() -> Path:
    """What debates have taught."""
    return _chosen("MACI_STATE") or _home("state")


def config_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's own settings."""
    return _home("config", environ)


def keys_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The file that may hold API keys."""
    return _chosen("MACI_KEYS", environ) or config_dir(environ) / "keys.toml"


def panel_files() -> Iterator[Path]:
    """The panels files there are, the one that counts most first."""
    if chosen := _chosen("MACI_PANELS"):
        if not chosen.is_file():
            raise ConfigError(f"MACI_PANELS is {chosen}, and there is no such file: correct it or unset it")
        yield chosen
        return
    yield from (path for path in (Path(PANELS), config_dir() / "panels.yaml") if path.is_file())


def project_file() -> Path | None:
    """The project file that holds here: of the working directory, or of the nearest folder above that has one.

    Above the working directory only a file of the user's own counts: anybody may write into a folder such as ``/tmp``.
    """
    if chosen := _chosen("MACI_PROJECT"):
        if not chosen.is_file():
            raise ConfigError(f"MACI_PROJECT is {chosen}, and there is no such file: correct it or unset it")
        return chosen
    here = Path.cwd()
    for folder in (here, *here.parents):
        path = folder / PROJECT
        try:
            if path.is_file() and (folder == here or _own(path)):
                return Path(PROJECT) if folder == here else path
        except OSError:  # a folder that may not be looked into
            continue
    return None


def _own(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.stat().st_uid in (os.getuid(), 0)


def data_dir(given: Path | None = None) -> Path:
    """The folder of the data sets: the one given, or MACI_DATA."""
    folder = given or _chosen("MACI_DATA")
    if folder is None or not folder.is_dir():
        raise InputError(
            f"no data sets at {folder or 'MACI_DATA (not set)'}: name their folder with --data DIR or MACI_DATA"
        )
    return folder


def replies_file() -> Path:
    """Replies of models, kept."""
    return cache_dir() / "replies.sqlite"


def embeddings_file() -> Path:
    """Embeddings that belong to no corpus."""
    return cache_dir() / EMBEDDINGS


def weights_dir(name: str) -> Path:
    """The files of one weight."""
    return cache_dir() / "weights" / name


def schedules_file() -> Path:
    """Learned schedules."""
    return state_dir() / "schedules.sqlite"


def run_dir(name: str) -> Path:
    """A new folder for a run, named after when and what."""
    return RUNS / f"{datetime.now().astimezone():%Y%m%d-%H%M%S-%f}-{name}"


def slug(text: str, empty: str = "case") -> str:
    """A text as part of a file name: letters and digits, at most 40 characters.

    >>> slug("What is it, then? (Dengue)"), slug("???")
    ('what-is-it-then-dengue', 'case')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.casefold())[:40].strip("-") or empty


def _chosen(variable: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    return Path(chosen).expanduser() if (chosen := environ.get(variable)) else None


_HOMES = {
    "cache": (("XDG_CACHE_HOME", ".cache"), "Library/Caches", ("LOCALAPPDATA", "AppData/Local"), "maci/Cache"),
    "state": (
        ("XDG_STATE_HOME", ".local/state"),
        "Library/Application Support",
        ("LOCALAPPDATA", "AppData/Local"),
        "maci",
    ),
    "config": (("XDG_CONFIG_HOME", ".config"), "Library/Application Support", ("APPDATA", "AppData/Roaming"), "maci"),
}
"""What is kept → on Linux, on macOS, on Windows, and the name there."""


def _home(kind: str, environ: Mapping[str, str] = os.environ) -> Path:
    (variable, below), mac, (named, roaming), name = _HOMES[kind]
    if sys.platform == "win32":
        return Path(environ.get(named) or Path.home() / roaming) / name
    if sys.platform == "darwin":
        return Path.home() / mac / "maci"
    return Path(environ.get(variable) or Path.home() / below) / "maci"


def check_folder(folder: Path, option: str = "--out") -> None:
    """Raise where a folder is not there and cannot be made, or cannot be written to. Makes nothing."""
    above = (folder, *folder.parents)  # Path.exists raises where a folder may not be entered
    there = next((each for each in above if os.path.exists(each)), Path())  # noqa: PTH110
    if not there.is_dir():
        raise InputError(f"{option} {folder}: {there} is a file, not a folder; give another {option}")
    if not os.access(there, os.W_OK | os.X_OK):
        raise EnvironmentError_(f"{option} {folder}: {there} cannot be written to; give another {option}")


def check_file(file: Path) -> None:
    """The same for a file in a folder, which may be there and is then written over."""
    check_folder(file.parent)
    if file.is_dir():
        raise InputError(f"--out {file} is a folder; name a file")
    if file.exists() and not os.access(file, os.W_OK):
        raise EnvironmentError_(f"--out {file} cannot be written over; give another --out")


class writing:
    """An error of the operating system within names the file or folder, the reason and what to do."""

    __slots__ = ("_advice", "_path")

    def __init__(self, path: Path, advice: str = "name another with --out") -> None:
        self._path, self._advice = path, advice

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            why = error.strerror or error
            raise EnvironmentError_(f"cannot write {self._path}: {why}; {self._advice}") from error


def save(path: Path, text: str, advice: str = "name another with --out") -> Path:
    """Write a text as it is; the folder of the file is made if need be."""
    with writing(path, advice):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return path
