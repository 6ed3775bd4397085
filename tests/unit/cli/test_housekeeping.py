"""``maci config KEY``, ``cases NAME``, ``prune``, ``outcome`` and ``export``."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hash_encoder import HashEncoder
from maci.cases.case import builtin_cases, load_case, parse_case
from maci.cli.cases import case_data
from maci.llm.model import fingerprint
from maci.record.replay import replay
from maci.record.transcript import read
from serving import serving


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("MACI_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())
    Path("case.yaml").write_text(
        "question: Who repairs the roof?\ncontext: Water comes through the ceiling.\noutcomes: [landlord, tenant]\n"
        "evidence: ['The landlord maintains the roof.', 'The tenant keeps the interior in good order.', 'The roof is old.']\n",
        encoding="utf-8",
    )


# --- config and cases -----------------------------------------------------------------------------------------------------------


def test_one_setting_is_shown_in_full(maci: Callable[..., Any]) -> None:
    ran = maci("config", "tau_q", "--set", "tau_q=0.4")
    assert ran.out.splitlines()[0] == "gate.tau_q = 0.4 (default 0.5)"
    assert "between 0 and 1" in ran.out
    (row,) = json.loads(maci("config", "gate.tau_q", "--json").out)
    assert (row["key"], row["value"]) == ("gate.tau_q", 0.5)
    rows = json.loads(maci("config", "budget", "--json").out)
    assert [row["key"] for row in rows] == ["budget.tokens", "budget.usd", "budget.seconds", "budget.hedge"]
    ran = maci("config", "tau_qq")
    assert (ran.code, "did you mean" in ran.err) == (2, True)
    ran = maci("config", "nosuch")  # near to nothing
    assert ran.code == 2 and "unknown setting 'nosuch': `maci config` lists every key" in ran.err


def test_settings_of_the_project_file_are_shown(maci) -> None:
    Path("maci.toml").write_text("profile = 'paper'\n[budget]\ntokens = 7000\n")
    assert json.loads(maci("config", "budget.tokens", "--json").out)[0]["value"] == 7000
    assert json.loads(maci("config", "budget.tokens", "--set", "budget.tokens=9", "--json").out)[0]["value"] == 9


def test_a_case_is_printed_as_a_file_that_is_the_same_case(maci) -> None:
    ran = maci("cases", "dengue")
    Path("copy.yaml").write_text(ran.out, encoding="utf-8")
    assert load_case("copy.yaml") == builtin_cases()["dengue"]
    assert json.loads(maci("cases", "dengue", "--json").out)["gold"] == "Dengue fever"
    assert all(parse_case(case_data(case), name) == case for name, case in builtin_cases().items())
    ran = maci("cases", "denge")
    assert (ran.code, "did you mean dengue" in ran.err) == (2, True)


# --- prune ------------------------------------------------------------------------------------------------------------------------


def age(folder: Path, days: float) -> None:
    then = time.time() - days * 86_400
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (then, then))


def run(name: str, *, finished: bool = True, days: float = 90) -> Path:
    folder = Path("maci-runs") / name
    folder.mkdir(parents=True)
    last = "finished" if finished else "gated"
    (folder / "transcript.jsonl").write_text(f'{{"hash":"0","type":"opened"}}\n{{"hash":"1","type":"{last}"}}\n')
    age(folder, days)
    return folder


def test_prune_shows_and_deletes_nothing_unless_told(maci) -> None:
    old, new, broken = run("old"), run("new", days=1), run("broken", finished=False)
    notes = Path("maci-runs/notes")
    notes.mkdir()
    (notes / "mine.txt").write_text("keep me")
    age(notes, 900)
    ran = maci("prune")
    assert ran.code == 0
    assert f"delete     0.1 kB  {old}" in ran.out
    assert "not finished, can be resumed" in ran.out
    assert "Nothing was deleted." in ran.out
    assert all(path.exists() for path in (old, new, broken, notes))
    assert json.loads(maci("prune", "--json").out)["deleted"] is False
    assert "Deleted." in maci("prune", "--yes").out
    assert [path.exists() for path in (old, new, broken, notes)] == [False, True, True, True]
    maci("prune", "--yes", "--unfinished")
    assert [path.exists() for path in (new, broken, notes)] == [True, False, True]


def test_a_run_that_somebody_works_on_or_whose_outcome_is_known_is_kept(maci) -> None:
    fcntl = pytest.importorskip("fcntl")
    busy, known = run("busy"), run("known")
    (known / "outcome.json").write_text("{}")
    age(known, 90)
    with (busy / "transcript.jsonl").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ran = maci("prune", "--yes")
    assert "(in use)" in ran.out
    assert "(its outcome is recorded)" in ran.out
    assert busy.exists() and known.exists()


def test_a_link_in_the_folder_of_runs_is_not_followed(maci, tmp_path: Path) -> None:
    target = run("old").resolve().rename(tmp_path / "elsewhere")
    Path("maci-runs/link").symlink_to(target)
    maci("prune", "--yes")
    assert (target / "transcript.jsonl").exists()


def test_a_record_that_is_a_link_or_goes_meanwhile_keeps_no_other_from_being_deleted(
    maci, tmp_path: Path, monkeypatch
) -> None:
    old, linked = run("old"), run("linked")
    (linked / "transcript.jsonl").rename(tmp_path / "elsewhere.jsonl")
    (linked / "transcript.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    (old / "gone.part").touch()
    age(old, 90)
    lstat = Path.lstat

    def raced(path: Path) -> os.stat_result:
        (old / "gone.part").unlink(missing_ok=True)
        return lstat(path)

    monkeypatch.setattr(Path, "lstat", raced)
    assert maci("prune", "--yes").code == 0
    assert not old.exists() and (tmp_path / "elsewhere.jsonl").exists()


def test_old_replies_are_deleted_and_new_ones_kept(maci, monkeypatch) -> None:
    with serving("alpha", "beta") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        maci("debate", "case.yaml", "--agents", "openai/alpha,openai/beta", "--judges", "none", "--quiet")
    file = Path("cache/replies.sqlite")
    with sqlite3.connect(file) as base:
        rows = base.execute("SELECT count(*) FROM replies").fetchone()[0]
        base.execute("UPDATE replies SET created = 5 WHERE key = (SELECT key FROM replies LIMIT 1)")
    base.close()
    ran = maci("prune", "--only", "cache", "--yes")
    assert "1 reply of a model" in ran.out
    base = sqlite3.connect(file)
    assert base.execute("SELECT count(*) FROM replies").fetchone()[0] == rows - 1
    base.close()
    assert maci("prune", "--only", "everything").code == 2


# --- outcome ----------------------------------------------------------------------------------------------------------------------


def test_how_it_turned_out_is_recorded_beside_the_run(maci) -> None:
    maci("debate", "case.yaml", "--out", "run", "--quiet", "--force")
    before = Path("run/transcript.jsonl").read_bytes()
    answer = json.loads(maci("debate", "--resume", "--out", "run", "--json").out)["answer"]
    ran = maci("outcome", "run", "--was", "LANDLORD", "--note", "court, 3 May", "--json")
    found = json.loads(ran.out)
    assert (found["was"], found["right"], found["note"]) == ("landlord", answer == "landlord", "court, 3 May")
    assert Path("run/transcript.jsonl").read_bytes() == before
    assert json.loads(Path("run/outcome.json").read_text(encoding="utf-8"))["was"] == "landlord"
    assert "It was landlord" in maci("outcome", "run").out
    assert maci("outcome", "run", "--was", "neighbour").code == 2
    ran = maci("outcome", "run", "--was", "tenant")
    assert (ran.code, "add --force" in ran.err) == (2, True)
    assert "The case itself names" not in maci("outcome", "run", "--was", "tenant", "--force").out
    assert sorted(path.name for path in Path("run").iterdir()) == ["outcome.json", "transcript.jsonl"]


def test_an_outcome_other_than_the_case_s_known_answer_is_pointed_out(maci) -> None:
    Path("known.yaml").write_text(
        f"{Path('case.yaml').read_text(encoding='utf-8')}\ngold: landlord\n", encoding="utf-8"
    )
    maci("debate", "known.yaml", "--out", "run", "--quiet", "--force")
    said = maci("outcome", "run", "--was", "tenant").out
    assert "The case itself names landlord as the known answer" in said
    assert "The case itself" not in maci("outcome", "run", "--was", "landlord", "--force").out


# --- export -----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def debated(maci, monkeypatch) -> Path:
    """Two debates of models with a judge, of which one is known to be right, and one that broke off."""
    with serving("alpha", "beta", "gamma") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        who = ("--agents", "openai/alpha,openai/beta", "--judges", "openai/gamma", "--set", "stop.consensus=false")
        for seed in (1, 2):
            ran = maci(
                "debate", "case.yaml", *who, "--seed", seed, "--out", f"runs/{seed}", "--json", "--set", "max_rounds=4"
            )
            assert ran.code == 0, ran.err
    maci("outcome", "runs/1", "--was", read(Path("runs/1/transcript.jsonl")).events[-1].answer)
    lines = Path("runs/2/transcript.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("runs/3").mkdir()
    Path("runs/3/transcript.jsonl").write_text("".join(lines[:20]), encoding="utf-8")
    return Path("runs")


def rows(ran: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def test_chats_carry_the_prompt_that_was_sent(maci, debated: Path) -> None:
    ran = maci("export", debated, "--format", "sft")
    found = rows(ran)
    assert found
    assert "left out: runs/3/transcript.jsonl (not finished)" in ran.err
    turns = {
        (run, event.round, event.agent): event.turn
        for run in ("1", "2")
        for event in read(debated / run / "transcript.jsonl").events
        if event.type == "turn"
    }
    for row in found:
        turn = turns[row["run"], row["round"], row["agent"]]
        assert row["exact"] is True
        *prompt, reply = row["messages"]
        assert reply == {"role": "assistant", "content": turn.raw}
        sent = tuple(type("M", (), each)() for each in prompt)
        assert fingerprint(sent) == turn.prompt
        state = replay(read(debated / row["run"] / "transcript.jsonl").events).state
        assert state.finished is not None


def test_pairs_prefer_what_was_admitted(maci, debated: Path) -> None:
    found = rows(maci("export", debated, "--format", "pairs"))
    assert found
    for row in found:
        assert row["chosen"][0]["content"] != row["rejected"][0]["content"]
        assert row["why"]
        assert "Question: Who repairs the roof?" in row["prompt"][0]["content"]


def test_only_debates_known_to_be_right(maci, debated: Path) -> None:
    found = rows(maci("export", debated, "--format", "arguments", "--right"))
    assert {row["run"] for row in found} == {"1"}
    assert all(row["right"] and row["was"] == row["answer"] for row in found)


def test_a_parquet_file_holds_the_same_rows(maci, debated: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    ran = maci("export", debated, "--format", "arguments", "--out", "a.parquet", "--json")
    lines = rows(maci("export", debated, "--format", "arguments"))
    assert json.loads(ran.out)["rows"] == len(lines)
    assert parquet.read_table("a.parquet").to_pylist() == lines
    assert maci("export", debated, "--out", "a.parquet").code == 2  # it is there
    assert maci("export", debated, "--out", "a.txt").code == 2
    assert maci("export", debated, "--out", "runs/1/transcript.jsonl", "--force").code == 2


OPEN = ("--set", "gate.q_gate=false", "--set", "gate.crit_gate=false")


@pytest.mark.parametrize("format", ["sft", "pairs", "arguments"])
def test_a_data_card_counts_and_explains_what_it_lies_beside(maci, debated: str, format: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    ran = maci("export", debated, "--format", format, "--out", f"hub/{format}.parquet", "--card")
    table, card = parquet.read_table(f"hub/{format}.parquet"), Path("hub/README.md").read_text(encoding="utf-8")
    assert ran.code == 0 and f"| rows | {table.num_rows:,} |" in card and f'data_files: "{format}.parquet"' in card
    assert re.findall(r"^\| `(\w+)` \|", card, re.MULTILINE) == table.column_names
    assert "null" not in {str(kind) for kind in table.schema.types} and "license:" not in card.split("---")[1]
    assert (
        maci("export", debated, "--format", format, "--out", "hub/more.parquet", "--card").code == 2
    )  # a card is there
    assert maci("export", debated, "--card").code == 2  # nothing it could lie beside


def test_readers_are_exported_in_words(maci) -> None:
    maci("debate", "case.yaml", "--out", "run", "--quiet", "--panel", "readers", *OPEN)
    found = rows(maci("export", "run"))
    assert found and not any(row["exact"] for row in found)
    assert "Evidence:" in found[0]["messages"][0]["content"]
