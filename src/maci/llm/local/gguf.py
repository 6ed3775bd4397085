"""What can be read off a GGUF file without loading it: the context it was trained for, and a fingerprint.

The format: a header, then keys with typed values, then tensors. Of the keys, those about the architecture come before the
tokenizer's long lists in every file the converters write, so reading stops there.
"""

from __future__ import annotations

import hashlib
import re
import struct
from pathlib import Path
from typing import BinaryIO

from maci.errors import ModelError

__all__ = ["fingerprint", "parts", "training_context"]

_SIZES = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _LIST = 8, 9
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
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"{path} is not a GGUF file: download it again, or correct the path")
            file.read(4 + 8)  # version, number of tensors
            (keys,) = struct.unpack("<Q", file.read(8))
            for _ in range(keys):
                key, value = _text(file), _value(file)
                if key.endswith(".context_length"):
                    return int(value) if isinstance(value, int) else None
                if key.startswith("tokenizer."):
                    return None
            return None
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror}): correct the path") from error
    except (struct.error, KeyError, MemoryError, OverflowError) as error:
        raise ModelError(f"{path} breaks off in its header: download it again") from error


def _value(file: BinaryIO) -> int | float | str | None:
    """A value with its type before it; a list is passed over."""
    (kind,) = struct.unpack("<I", file.read(4))
    if kind == _STRING:
        return _text(file)
    if kind == _LIST:
        inner, count = struct.unpack("<IQ", file.read(12))
        if inner == _STRING:
            for _ in range(count):
                _text(file)
        else:
            file.seek(count * struct.calcsize(_SIZES[inner]), 1)
        return None
    value: int | float = struct.unpack(_SIZES[kind], file.read(struct.calcsize(_SIZES[kind])))[0]
    return value


def _text(file: BinaryIO) -> str:
    (size,) = struct.unpack("<Q", file.read(8))
    if size > 1 << 24:
        raise struct.error("a text this long is none")
    return file.read(size).decode("utf-8", "replace")


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
