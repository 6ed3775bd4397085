"""Whether a result can be written, asked before the work for it is done."""

from __future__ import annotations

import os
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
