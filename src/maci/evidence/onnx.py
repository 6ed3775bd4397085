"""Sentence encoders with int8 weights through onnxruntime:

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

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from maci.errors import ModelError, installed
from maci.evidence.encode import unit
from maci.llm.local import weights

_DIMENSIONS = 384
_BATCH_PIECES = 2048
"""Word pieces, padding included, per call: short texts go many at a time, long ones a few."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What tells one of these encoders from another."""

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
