"""all-MiniLM-L6-v2 with int8 weights through onnxruntime:

    φ(text) = v / ‖v‖,   v = Σ_j m_j h_j / Σ_j m_j      (``pooling="last"``: h of the last word piece instead)

where h are the last hidden states of the first 256 word pieces and m is the attention mask.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from maci.errors import ModelError, installed
from maci.evidence.encode import unit
from maci.llm.local import weights

_WEIGHTS = "minilm-l6-v2-int8"
_MAX_PIECES = 256
_DIMENSIONS = 384
_BATCH_PIECES = 2048
"""Word pieces, padding included, per call: short texts go many at a time, long ones a few."""


class MiniLMEncoder:
    """The int8 ONNX model.

    Only the weights are int8, the arithmetic is float32: beyond rounding, a text's vector does not depend on
    the texts it is batched with.
    """

    name = f"{_WEIGHTS}/1"

    def __init__(
        self,
        *,
        offline: bool = False,
        threads: int = 1,
        progress: weights.Progress | None = None,
        pooling: Literal["mean", "last"] = "mean",
    ) -> None:
        self._pooling = pooling
        if pooling == "last":
            self.name = f"{_WEIGHTS}/1/last"
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        onnxruntime, tokenizers = (
            installed("onnxruntime", "dense", "the encoder 'minilm'"),
            installed("tokenizers", "dense", "the encoder 'minilm'"),
        )
        files = weights.pull(_WEIGHTS, offline=offline, progress=progress)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(files["model.onnx"]), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer = tokenizers.Tokenizer.from_file(str(files["tokenizer.json"]))
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise ModelError(
                f"the encoder 'minilm' cannot be loaded ({error}): run `maci models remove {_WEIGHTS}` and "
                f"`maci models pull {_WEIGHTS}`, or use the encoder 'wordllama'"
            ) from error
        self._tokenizer.enable_truncation(_MAX_PIECES)
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text, in order; texts of like length are computed together."""
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        rows = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        for batch in _batches(filled, [len(pieces) for pieces in ids]):
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
        if self._pooling == "last":
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
