r"""The encoders whose weights MACI pins: one that is part of every install, and those that onnxruntime computes.

:class:`WordLlamaEncoder` takes the mean of static token vectors (WordLlama, 256 dimensions):

    φ(text) = v / ‖v‖,   v = mean over tokens of table[token]

Word order plays no part, so it is fast and never needs a GPU, a download or a second thread. Table and vocabulary are WordLlama's own
files. The wheel of MACI carries them in ``maci_wordllama`` (``hatch_build.py``), and they are read here without that package and the
hub clients it needs. :class:`Pieces` cuts a text into the same tokens as the library ``tokenizers``.

:class:`OnnxEncoder` has sentence encoders with int8 weights:

    φ(text) = v / ‖v‖,   v = Σ_j m_j h_j / Σ_j m_j      (``mean``)
                         v = h_0, the special piece before the text (``first``; often called CLS)
                         v = h of the last word piece (``last``)

where h are the last hidden states of the first word pieces, as many as the model was trained for, and m is the attention mask.

=====================  =======================================  =======  ===========
name                   weights                                  pooling  word pieces
=====================  =======================================  =======  ===========
``minilm``             all-MiniLM-L6-v2                         mean     256
``minilm-last``        the same                                 last     256
``arctic``             snowflake-arctic-embed-s; a query is     first    512
                       told apart by words put before it
=====================  =======================================  =======  ===========
"""

from __future__ import annotations

import heapq
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from maci.errors import ModelError, installed
from maci.evidence.encode import unit
from maci.llm.local import weights

WORDLLAMA = (
    "weights/l2_supercat_256.safetensors",
    "tokenizers/l2_supercat_tokenizer_config.json",
)
"""Table and vocabulary in the folder of the package ``wordllama``, and in ``maci_wordllama``."""


class WordLlamaEncoder:
    """WordLlama's table, from the wheel of MACI; in a checkout that was not installed, from the package ``wordllama``."""

    name = "wordllama-l2-supercat-256/0.4"

    def __init__(self) -> None:
        try:
            table, vocabulary = (_wordllama() / file for file in WORDLLAMA)
            self._table = _mapped(table, "embedding.weight")
            self._pieces = Pieces(json.loads(vocabulary.read_text(encoding="utf-8"))["model"])
        except (OSError, ValueError, LookupError) as error:
            raise ModelError(
                f"the encoder 'wordllama' cannot be loaded ({error}): install MACI again from "
                "where you installed it, as in `pip install --force-reinstall .`"
            ) from error

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text. A row depends on its own text only, to the last bit."""
        rows = np.zeros((len(texts), self._table.shape[1]), dtype=np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                self._table[self._pieces.ids(text)].astype(np.float32).mean(axis=0, out=rows[row])
        return unit(rows)


def _mapped(path: Path, tensor: str) -> NDArray[np.float16]:
    """A table of half-precision numbers in a safetensors file, mapped: only rows of words that come up are ever in memory."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(size))[tensor]
    if about["dtype"] != "F16":
        raise ValueError(f"{path} holds {about['dtype']}, not half-precision numbers")
    start = 8 + size + about["data_offsets"][0]
    return np.asarray(np.memmap(path, np.dtype("<f2"), "r", start, tuple(about["shape"])))


def _wordllama() -> Path:
    for package in ("maci_wordllama", "wordllama"):
        found = find_spec(package)
        if found is not None and found.submodule_search_locations:
            return Path(next(iter(found.submodule_search_locations)))
    raise FileNotFoundError("the folder 'maci_wordllama' is not beside the package 'maci'")


class Pieces:
    """Byte-pair encoding with Llama 2's rules, as ``vocab`` and ``merges`` of its ``tokenizer.json`` describe them.

    A text begins with ``▁`` and each space is one; a character that the vocabulary lacks becomes its bytes in UTF-8. Of the pairs that
    may be joined the one with the lowest rank is joined first, and the leftmost of equals. No piece has ``▁`` after another character,
    so that words can be cut one by one and kept.

    >>> tiny = {"▁": 0, "a": 1, "b": 2, "ab": 3, "▁ab": 4} | {f"<0x{n:02X}>": 5 + n for n in range(256)}
    >>> Pieces({"vocab": tiny, "merges": ["a b", "▁ ab"]}).ids("ab bé")
    [4, 0, 2, 200, 174]
    """

    _WORD = re.compile("▁*[^▁]+|▁+")
    _MARKER = re.compile("(<unk>|</?s>)")

    def __init__(self, model: dict[str, Any]) -> None:
        known: dict[str, int] = model["vocab"]
        self._known = known
        self._bytes = [known[f"<0x{byte:02X}>"] for byte in range(256)]
        pairs = (pair.split(" ") for pair in model["merges"])
        self._joined = {(known[a], known[b]): (rank, known[a + b]) for rank, (a, b) in enumerate(pairs)}
        self._word = lru_cache(maxsize=1 << 15)(self._cut)

    def ids(self, text: str) -> list[int]:
        """The tokens of a text; a marker such as ``</s>`` is one token."""
        found: list[int] = []
        for part in self._MARKER.split(text):
            if self._MARKER.fullmatch(part):
                found.append(self._known[part])
            elif part:
                for word in self._WORD.findall("▁" + part.replace(" ", "▁")):
                    found += self._word(word)
        return found

    def _cut(self, word: str) -> tuple[int, ...]:
        ids: list[int] = []
        for character in word:
            if (known := self._known.get(character)) is not None:
                ids.append(known)
            else:
                ids += (self._bytes[byte] for byte in character.encode())
        end = len(ids)
        following, preceding = list(range(1, end + 1)), list(range(-1, end - 1))
        waiting: list[tuple[int, int, int, int, int]] = []

        def consider(left: int, right: int) -> None:
            if left >= 0 and right < end and (join := self._joined.get((ids[left], ids[right]))):
                heapq.heappush(waiting, (join[0], left, ids[left], ids[right], join[1]))

        for at in range(end - 1):
            consider(at, at + 1)
        while waiting:
            _, left, was, neighbour, joined = heapq.heappop(waiting)
            right = following[left]
            if ids[left] != was or right >= end or ids[right] != neighbour:
                continue  # one of the two has been joined to another since
            ids[left], ids[right] = joined, -1
            following[left] = after = following[right]
            if after < end:
                preceding[after] = left
            consider(preceding[left], left)
            consider(left, after)
        return tuple(each for each in ids if each >= 0)


_DIMENSIONS = 384
_BATCH_PIECES = 2048
"""Word pieces, padding included, per call: short texts go many at a time, long ones a few."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What tells one encoder of onnxruntime from another."""

    weights: str
    version: str
    pooling: Literal["mean", "first", "last"]
    pieces: int
    """Most word pieces of a text that are read."""
    query: str = ""
    """What is put before a text that is looked for."""
    together: bool = True
    """Whether texts may be computed together; arithmetic in int8 is scaled by the largest number of all, so there they may not."""


_KINDS = {
    "minilm": _Kind("minilm-l6-v2-int8", "1", "mean", 256),
    "minilm-last": _Kind("minilm-l6-v2-int8", "1/last", "last", 256),
    "arctic": _Kind(
        "arctic-embed-s-int8",
        "1",
        "first",
        512,
        "Represent this sentence for searching relevant passages: ",
        together=False,
    ),
}


class OnnxEncoder:
    """An int8 ONNX model by its name. Beyond rounding, a text's vector does not depend on the texts that come with it."""

    def __init__(self, name: str = "minilm", *, offline: bool = False) -> None:
        kind = self._kind = _KINDS[name]
        self.name = f"{kind.weights}/{kind.version}"
        self.query_prefix = kind.query
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        purpose = f"the encoder {name!r}"
        onnxruntime, tokenizers = (installed(package, "dense", purpose) for package in ("onnxruntime", "tokenizers"))
        files = weights.pull(kind.weights, offline=offline)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(files["model.onnx"]), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer = tokenizers.Tokenizer.from_file(str(files["tokenizer.json"]))
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise ModelError(
                f"the encoder {name!r} cannot be loaded ({error}): run `maci models remove {kind.weights}` and "
                f"`maci models pull {kind.weights}`, or use the encoder 'wordllama'"
            ) from error
        self._tokenizer.enable_truncation(kind.pieces)
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text, in order; texts of like length are computed together."""
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        rows = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        batches = _batches(filled, [len(p) for p in ids]) if self._kind.together else ([row] for row in filled)
        for batch in batches:
            rows[batch] = self._pooled([ids[row] for row in batch])
        return unit(rows)

    def _pooled(self, ids: list[list[int]]) -> NDArray[np.float32]:
        shape = (len(ids), max(map(len, ids)))
        pieces, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, own in enumerate(ids):
            pieces[row, : len(own)] = own
            mask[row, : len(own)] = 1
        feed = {"input_ids": pieces, "attention_mask": mask, "token_type_ids": np.zeros_like(pieces)}
        hidden: NDArray[np.float32] = self._session.run(None, feed)[0]
        if self._kind.pooling == "first":
            first: NDArray[np.float32] = hidden[:, 0]
            return first
        if self._kind.pooling == "last":
            last: NDArray[np.float32] = hidden[np.arange(len(ids)), mask.sum(axis=1) - 1]
            return last
        weight = mask[:, :, None].astype(np.float32)
        pooled: NDArray[np.float32] = (hidden * weight).sum(axis=1) / weight.sum(axis=1)
        return pooled


def _batches(rows: list[int], lengths: list[int]) -> Iterator[list[int]]:
    """Rows sorted by length, cut so that rows × longest stays within the budget."""
    batch: list[int] = []
    for row in sorted(rows, key=lambda row: (lengths[row], row)):
        if batch and (len(batch) + 1) * lengths[row] > _BATCH_PIECES:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
