"""Shallow features, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import arg, turn
from maci.lab.audit.contentiousness.patterns import Style, ngrams, sentences, spoken, style


def test_features_of_a_text_counted_by_hand() -> None:
    # 16 words, 4 sentences; hedges: may, perhaps, if; orders: Check, Do
    text = "It may be dengue. Check the blood if bleeding starts!\nDo not wait. Perhaps tests help."
    assert style(text, 2) == Style(16, 100 * 3 / 16, 0.5, 100 * 2 / 16)


def test_an_empty_text_has_no_style() -> None:
    assert style("  … ", 3) is None


@pytest.mark.parametrize(
    ("sentence", "orders"),
    [("Consider malaria.", 1.0), ("Please consider malaria.", 1.0), ("Don't wait!", 1.0), ("The doctors consider it.", 0.0),
     ("Considering this, wait.", 0.0)],
)  # fmt: skip
def test_a_sentence_orders_where_it_begins_with_a_plain_verb(sentence: str, orders: float) -> None:
    found = style(sentence, 0)
    assert found is not None and found.imperatives == orders


def test_what_is_spoken_is_claims_and_reasons_without_quotes() -> None:
    said = spoken(turn(1.0, args=[arg("It  fits.", "e4", opposing=("But no.",))]))
    assert said == "It fits.\nBecause.\nBut no."
    assert sentences(said) == ["It fits.", "Because.", "But no."]


def test_ngrams_count_runs_of_characters_and_forget_case_and_space() -> None:
    one, two, other = ngrams(["High  fever", "high fever", "zzz"])
    assert np.allclose(one, two) and one @ other == 0
    # " ab ": 3 + 2 + 1 runs of 2, 3, 4 characters, each once: equal weights of norm 1
    (row,) = ngrams(["ab"])
    assert np.count_nonzero(row) == 6 and row.max() == pytest.approx(1 / np.sqrt(6))
    assert not ngrams([""]).any() or np.linalg.norm(ngrams([""])) == pytest.approx(1.0)
