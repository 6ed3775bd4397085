"""What every encoder owes retrieval and θ."""

from __future__ import annotations

import numpy as np
import pytest

from hash_encoder import HashEncoder
from maci.evidence.encode import Encoder, load_encoder

TEXTS = ["High fever and rash.", "", "Joint pain for months", "  ", "流感", "High fever and rash."]


@pytest.fixture(scope="module", params=["fake", "wordllama"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return HashEncoder() if request.param == "fake" else load_encoder(request.param)


def test_one_unit_row_per_text_in_order_and_zero_for_nothing(encoder: Encoder) -> None:
    rows = encoder.encode(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape[0] == len(TEXTS)
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths[[0, 2, 5]] == pytest.approx(1, abs=1e-5)
    assert lengths[[1, 3]] == pytest.approx(0)
    assert np.isfinite(rows).all()


def test_a_text_has_the_same_vector_alone_and_in_company(encoder: Encoder) -> None:
    rows = encoder.encode(TEXTS)
    assert np.allclose(rows[0], rows[5], atol=1e-6)
    assert np.allclose(rows[2], encoder.encode([TEXTS[2]])[0], atol=1e-5)


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    assert encoder.encode([]).shape[0] == 0


def test_the_name_says_model_and_version(encoder: Encoder) -> None:
    assert encoder.name
    assert encoder.name == encoder.name.strip()


def test_a_text_is_nearest_to_itself(encoder: Encoder) -> None:
    rows = encoder.encode([TEXTS[0], TEXTS[2]])
    assert rows[0] @ rows[0] > rows[0] @ rows[1]
