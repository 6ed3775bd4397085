"""One way to set a table: what cases share is made once, and no case reads the documents of another."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fake_house import FakeHouse
from hash_encoder import HashEncoder
from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.config import load
from maci.seating import table as seating_table
from maci.seating.spec import AgentSpec, PanelSpec
from maci.seating.tables import Tables

DOORS = Case(
    question="Which door is open?",
    outcomes=OutcomeSpace(labels=("left door", "right door")),
    context="The bell rings twice.",
    evidence=(Document("Two rings open the left door.", id="l"), Document("One ring opens the right door.", id="r")),
)
OTHER = replace(
    DOORS, evidence=(Document("Two rings open the right door.", id="o"), Document("Left door: one ring.", id="p"))
)
SPEC = PanelSpec(name="two", agents=(AgentSpec(model="fake/a"), AgentSpec(model="fake/b")), judges=())
FREE = load(sets=["crit.enabled=false"], environ={})


def read(tables: Tables, case: Case) -> set[str]:
    found = tables.table(case).evidence.retrieve(case.context, 10, 4000)
    return {span.id for span in found.spans}


def both() -> tuple[Tables, Tables]:
    return Tables("readers", HashEncoder()), Tables(SPEC, HashEncoder(), FREE, FakeHouse())


def test_no_case_is_given_the_documents_of_another() -> None:
    for tables in both():
        assert {"l", "r"} <= read(tables, DOORS) and not {"o", "p"} & read(tables, DOORS)
        assert {"o", "p"} <= read(tables, OTHER) and not {"l", "r"} & read(tables, OTHER)
        assert {"l", "r"} <= read(tables, DOORS) and not {"o", "p"} & read(tables, DOORS)


def test_cases_with_the_same_documents_share_what_is_made_of_them() -> None:
    for tables in both():
        asked_otherwise = replace(DOORS, context="The bell rings once.")
        assert tables.table(DOORS).encoder is tables.table(asked_otherwise).encoder
        assert tables.table(DOORS).encoder is not tables.table(OTHER).encoder


def test_a_table_says_which_panel_sits_there() -> None:
    readers, models = (tables.table(DOORS) for tables in both())
    assert (readers.panel, readers.spec) == ("readers", None)
    assert models.panel == "two" and [seat["model"] for seat in models.spec["agents"]] == ["fake/a", "fake/b"]


def test_a_debate_names_the_commit_of_the_checkout_it_runs_from():
    root = Path(seating_table.__file__).resolve().parents[3]
    if not (root / ".git").exists():
        pytest.skip("not a checkout")
    head = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    named = seating_table.commit()
    assert named is not None and named.removesuffix("+dirty") == head.stdout.strip()


def test_naming_the_commit_locks_nobody_out_of_their_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", *who, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    file = tmp_path / "file"
    file.write_text("one")
    for words in (("init",), ("add", "."), ("commit", "-m", "first")):
        git(*words)
    os.utime(file, (1e9, 1e9))  # looks changed until it is read: git would write its index anew, under a lock
    index = tmp_path / ".git" / "index"
    before = index.read_bytes()
    monkeypatch.setattr(seating_table, "__file__", str(tmp_path / "src" / "maci" / "seating" / "table.py"))
    named = seating_table.commit.__wrapped__
    assert named() == git("rev-parse", "HEAD")
    assert index.read_bytes() == before
    file.write_text("two")
    assert named() == f"{git('rev-parse', 'HEAD')}+dirty"
