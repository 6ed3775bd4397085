"""The behaviour dial in words: every step has its own, they run from confrontation to cooperation, placebos are as long."""

from __future__ import annotations

import numpy as np
import pytest

from maci.agents.contentiousness import STANCES, stance, tone
from maci.evidence.encode import load_encoder

STEPS = [round(0.1 * n, 1) for n in range(1, 10)]


def test_words_change_at_every_step_of_a_tenth() -> None:
    assert len({tone(cl) for cl in STEPS}) == 9
    assert [stance(cl).cl for cl in STEPS] == STEPS


@pytest.mark.parametrize("field", ["support", "counter", "concede"])
def test_readers_have_a_sentence_of_their_own_for_every_step(field: str) -> None:
    assert len({getattr(each, field) for each in STANCES}) == 9


def test_placebo_has_as_many_words_and_says_nothing_of_manner() -> None:
    assert [len(each.placebo.split()) for each in STANCES] == [len(each.tone.split()) for each in STANCES]
    manner = ("confront", "agree", "cooperat", "challenge", "support", "critical", "balanced", "constructive")
    assert not any(word in each.placebo.lower() for each in STANCES for word in manner)


def test_an_encoder_orders_the_words_from_cooperation_to_confrontation() -> None:
    encode = load_encoder("wordllama").encode
    combative = [
        "Attack, confront and challenge your opponents aggressively; reject their claims.",
        "hostile, combative criticism",
    ]
    friendly = [
        "Cooperate, agree and support your colleagues; build a shared synthesis.",
        "friendly, collaborative agreement",
    ]
    axis = np.mean(encode(combative), axis=0) - np.mean(encode(friendly), axis=0)
    along = encode([tone(cl) for cl in STEPS]) @ axis
    assert list(np.argsort(along)) == list(range(9))
    placebo = encode([tone(cl, "placebo") for cl in STEPS]) @ axis
    assert np.ptp(placebo) < 0.5 * np.ptp(along)
