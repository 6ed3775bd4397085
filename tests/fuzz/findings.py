"""What comes of inputs: how many there were, and each kind of failure once, with an input made small."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from time import monotonic, process_time

from maci.llm.offline import heed_environment

HANG = 20
"""Seconds of computing that one input may take."""
_TRIES = 150
"""Of making an input smaller."""


def place(error: BaseException) -> str:
    """The type of an error and the last line of the product on its way: one finding, however many inputs."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/maci/" in frame.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {last.filename.rpartition('/maci/')[2]}:{last.name}"


def smaller(data: bytes, same: Callable[[bytes], bool]) -> bytes:
    """A part of an input that does the same: whole lines are left out, then pieces."""
    tries = _TRIES
    for split in (b"\n", b""):
        parts = data.split(split) if split else [data[i : i + 1] for i in range(len(data))]
        size = max(1, len(parts) // 2)
        while tries > 0 and len(parts) > 1:
            for start in range(0, len(parts), size):
                tries -= 1
                left = split.join(parts[:start] + parts[start + size :])
                if tries > 0 and left and same(left):
                    parts, data = left.split(split) if split else [left[i : i + 1] for i in range(len(left))], left
                    break
            else:
                if size == 1:
                    break
                size //= 2
    return data


class Run:
    """What comes of the inputs."""

    def __init__(self, check: Callable[[bytes], None], out: Path) -> None:
        heed_environment()  # MACI_OFFLINE is set: what an input names is not asked
        self._check, self._out = check, out
        self.inputs, self._began, self._written = 0, monotonic(), 0.0
        self._found: dict[str, str] = {}

    def one(self, data: bytes) -> None:
        """Try an input; libFuzzer calls this."""
        self.inputs += 1
        began = process_time()
        what = self._fails(data)
        if not what and process_time() - began > HANG:
            what = f"takes more than {HANG} s of computing"
        if what and what not in self._found:
            small = smaller(data, lambda part: self._fails(part) == what)
            self._found[what] = name = sha256(small).hexdigest()[:12]
            (self._out / "inputs").mkdir(exist_ok=True)
            (self._out / "inputs" / name).write_bytes(small)
            self.write()
        if monotonic() - self._written > 0.5:
            self.write()

    def _fails(self, data: bytes) -> str:
        try:
            self._check(data)
        except Exception as error:
            return place(error)
        return ""

    def write(self) -> None:
        """For the runner, which reads it when this process is over."""
        self._written = monotonic()
        told = {"inputs": self.inputs, "seconds": self._written - self._began, "found": self._found}
        part = self._out / "told.part"
        part.write_text(json.dumps(told), encoding="utf-8")
        part.replace(self._out / "told.json")
