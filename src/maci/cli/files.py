"""Writing results: check before the work whether they can be written; errors name the file and the next step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from maci.errors import EnvironmentError_, InputError


def check_folder(folder: Path) -> None:
    """Raise where a folder is not there and cannot be made, or cannot be written to. Makes nothing."""
    there = next((each for each in (folder, *folder.parents) if _exists(each)), Path())
    if not there.is_dir():
        raise InputError(f"--out {folder}: {there} is a file, not a folder; give another --out")
    if not os.access(there, os.W_OK | os.X_OK):
        raise EnvironmentError_(f"--out {folder}: {there} cannot be written to; give another --out")


def check_file(file: Path) -> None:
    """The same for a file in a folder, which may be there and is then written over."""
    check_folder(file.parent)
    if file.is_dir():
        raise InputError(f"--out {file} is a folder; name a file")
    if file.exists() and not os.access(file, os.W_OK):
        raise EnvironmentError_(f"--out {file} cannot be written over; give another --out")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder above it may not be entered
        return False


@contextmanager
def writing(path: Path, advice: str = "; name another folder with --out") -> Iterator[None]:
    """An error of the operating system inside names the file, the reason and what to do."""
    try:
        yield
    except OSError as error:
        raise EnvironmentError_(f"cannot write {path}: {error.strerror}{advice}") from error


def make_folder(out: Path) -> None:
    """Make the folder of the results."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentError_(f"cannot make the folder {out}: {error.strerror}; name another with --out") from error


def save(path: Path, text: str) -> Path:
    """Write a page; its folder is made if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise EnvironmentError_(f"cannot write {path} ({error.strerror}): choose another --out") from error
    return path
