"""Items for people: blind on the way out, joined again on the way in."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from maci.errors import InputError
from maci.lab.audit import write_blind
from maci.lab.audit.contentiousness.debates import LEVELS, Sitting, Spoken
from maci.lab.audit.contentiousness.patterns import style
from maci.lab.audit.contentiousness.people import FIELDS, blind, guesses, read_guesses


def turns() -> list[Spoken]:
    found = []
    for topic in ("garden", "harbour", "library"):
        for level in LEVELS:
            text = f"A turn in the {topic}, number {len(found)}."
            said = style(text, 1)
            assert said is not None
            found.append(Spoken(Sitting(topic=topic, seed=0, level=level), "agent-x", 1, text, said))
    return found


@pytest.mark.parametrize("name", ["items.csv", "items.jsonl"])
def test_a_file_for_people_tells_nothing_but_the_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_blind(blind(turns(), seed=1), FIELDS, path)
    body = path.read_text(encoding="utf-8")
    assert "0.9" not in body and "stance" not in body and "agent-x" not in body and "seed" not in body
    rows = (
        list(csv.DictReader(body.splitlines())) if name.endswith("csv") else [json.loads(x) for x in body.splitlines()]
    )
    assert len(rows) == 15 and set(rows[0]) == {"item", "text", "guess"}
    assert [row["text"] for row in rows] != [turn.text for turn in turns()]  # in a drawn order
    assert set(read_guesses(path, 5).values()) == {None}


def fill(path: Path, guess: dict[str, str]) -> Path:
    rows = [{**row, "guess": guess.get(row["text"], "")} for row in blind(turns(), seed=1)]
    write_blind(rows, FIELDS, path)
    return path


def level_of(turn: Spoken) -> int:
    return sorted(LEVELS).index(turn.sitting.level) + 1


def test_people_who_hear_every_level_are_always_right(tmp_path: Path) -> None:
    path = fill(tmp_path / "filled.csv", {turn.text: str(level_of(turn)) for turn in turns()})
    found = guesses(turns(), LEVELS, read_guesses(path, 5), np.random.default_rng(0), resamples=200)
    assert (found.n, found.empty, found.unknown, found.chance) == (15, 0, 0, 0.2)
    assert found.right.value == 1.0 and found.rho.value == pytest.approx(1.0) and found.auc.value == 1.0


def test_partial_guesses_are_scored_by_hand(tmp_path: Path) -> None:
    chosen = turns()[:4]  # levels 0.9, 0.7, 0.5, 0.3: 5, 4, 3, 2
    path = fill(tmp_path / "some.jsonl", dict(zip([t.text for t in chosen], ["5", "5", "3", "1"], strict=True)))
    found = guesses(turns(), LEVELS, read_guesses(path, 5), np.random.default_rng(0), resamples=200)
    assert found.n == 4 and found.empty == 11 and found.right.value == 0.5
    # ranks of 5 4 3 2 are 4 3 2 1, of 5 5 3 1 are 3.5 3.5 2 1: covariance 4.5 over sqrt(5 · 4.5)
    assert found.rho.value == pytest.approx(4.5 / np.sqrt(5 * 4.5))


@pytest.mark.parametrize(
    ("body", "said"),
    [("item,text,guess\nx,t,9\n", "from 1 to 5"), ("item,text\nx,t\n", "guess"), ("item,guess\nx,1\nx,2\n", "twice")],
)
def test_what_people_wrote_wrong_is_named_by_row(tmp_path: Path, body: str, said: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(body, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_guesses(path, 5)


def test_guesses_about_other_debates_are_refused() -> None:
    with pytest.raises(InputError, match="this very audit"):
        guesses(turns(), LEVELS, {"nobody": 3}, np.random.default_rng(0), resamples=20)
