"""Whatever names agents give, in whatever order: every name has one label, nothing is lost, and relations have two sides."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maci.cases.labels import Comparing, place_names
from maci.cases.names import relate
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config
from maci.controller.reading import read_beliefs

NAMES = (
    "pneumonia", "viral pneumonia", "bacterial pneumonia", "acute viral pneumonia", "Pneumonias", "Other", "MI", "heart attack",
    "Myocardial infarction", "acute MI", "Hepatitis A", "hepatitis B", "hepatitis", "type 2 diabetes", "T2DM", "diabetes",
    "Bank of Scotland", "Royal Bank of Scotland", "The motion passed", "The motion did not pass", "(?)x", "GERD",
)  # fmt: skip
names = st.sampled_from(NAMES) | st.text(st.sampled_from("aeioklmnrst 1(),.'-"), min_size=1, max_size=25).filter(
    lambda text: any(c.isalnum() for c in text)
)
kinds = st.sampled_from(["same", "narrower", "broader", "other"])


@given(names, names)
def test_a_relation_seen_from_the_other_side_is_the_same_relation(a: str, b: str) -> None:
    found, turned = relate(a, b), relate(b, a)
    assert (found is None) == (turned is None)
    if found is not None and turned is not None:
        assert found.kind == turned.turned.kind
    same = relate(a, a)
    assert same is not None and same.kind == "same"


@given(
    st.lists(st.dictionaries(names, st.floats(0.01, 1), min_size=1, max_size=5), min_size=1, max_size=4),
    st.dictionaries(st.permutations(NAMES).map(lambda mixed: tuple(mixed[:2])), kinds, max_size=3),
)
def test_every_name_has_one_label_and_no_probability_is_lost(stated: list[dict[str, float]], answers) -> None:
    space = OutcomeSpace(kind="open")
    by = Comparing(answers=answers)
    said = [(str(at), {name: p / sum(one.values()) for name, p in one.items()}) for at, one in enumerate(stated)]
    found = read_beliefs(said, space.start, space, Config(), by)
    assert len(set(found.labels)) == len(found.labels) and "other" in found.labels
    assert not set(found.labels) & set(found.joins)
    assert {join.label for join in found.joins.values()} <= set(found.labels)
    for p in found.beliefs:
        assert not isinstance(p, Exception) and abs(p.sum() - 1) < 1e-9
    again = place_names([name for one in stated for name in one], found.labels, space, found.joins, by)
    assert again.labels == found.labels  # known names change nothing
