"""What is redacted reaches no record, on whichever door a case comes in."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hash_encoder import HashEncoder
from helpers import script, turn
from maci import run
from maci.cases.case import load_case
from maci.errors import CaseError
from maci.seating.seating import PanelChoice
from maci.web import ServerSettings
from study_helpers import make_study
from web_helpers import Browser, tables, visit

GONE = ("context", "sources", "ids")
OPTIONS = [word for field in GONE for word in ("--redact", field)]
SETTINGS: dict[str, Any] = {"evidence.redact": "context, sources, ids", "answer.force": True}
EVIDENCE = [
    {"text": f"{name} hurts {n} times", "source": "CANARY-SOURCE", "id": f"CANARY-{name}-{n}"}
    for n in range(3)
    for name in ("Alpha", "Beta")
]
CASES = [
    {"id": f"CANARY-ID-{n}", "question": f"Which of both, {n}?", "context": "CANARY-CONTEXT hurts", "outcomes": ["alpha", "beta"],
     "evidence": EVIDENCE, "gold": "alpha"}
    for n in range(20)
]  # fmt: skip


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, CASES)), encoding="utf-8")
    Path("case.json").write_text(json.dumps(CASES[0]), encoding="utf-8")


def nothing_kept(folder: Path) -> bool:
    """Whether there are files, and neither they nor their names have what was to be taken out."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return bool(found) and not any(b"CANARY" in path.read_bytes() or "canary" in str(path).lower() for path in found)


@pytest.mark.parametrize(
    "words",
    [
        ("debate", "case.json", "--out", "runs/one", "--force"),
        ("ask", "case.json", "--out", "runs/one", "--force"),
        ("batch", "cases.jsonl", "--out", "runs", "--force"),
        ("calibrate", "cases.jsonl", "--runs", "runs", "--yes", "--set", "force=true"),
    ],
    ids=lambda words: words[0],
)
def test_commands_redact(maci, tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = maci(*words, *OPTIONS)
    assert ran.code == 0, ran.err
    assert nothing_kept(tmp_path / "runs")


def test_the_environment_redacts_where_no_option_does(maci, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MACI_EVIDENCE_REDACT", SETTINGS["evidence.redact"])
    assert maci("debate", "case.json", "--out", "runs/one", "--force").code == 0
    assert nothing_kept(tmp_path / "runs")
    monkeypatch.setenv("MACI_EVIDENCE_REDACT", "colour")
    ran = maci("debate", "case.json", "--out", "runs/two", "--force")
    assert ran.code == 2 and "colour" in ran.err


@pytest.mark.parametrize("objects", [False, True])
def test_python_redacts(tmp_path: Path, objects: bool) -> None:
    agents = [script(name, *[turn(0.9, 0.1, labels=("alpha", "beta"))] * 9) for name in "xy"] if objects else None
    told = run("case.json", agents, settings=SETTINGS, record=tmp_path / "runs" / "one")
    assert nothing_kept(tmp_path / "runs")
    assert any("redacted before anything was sent: context, sources, ids" in warning for warning in told.warnings)


def test_a_server_redacts_whatever_a_visitor_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [{"text": "It is so.", "source": "CANARY-SOURCE", "id": "CANARY-1"}]
    said = [{"role": "system", "content": "CANARY-CONTEXT"}, {"role": "user", "content": "Is it so?"}]
    asked = {"model": "readers", "messages": said, "outcomes": ["yes", "no"], "evidence": texts}

    async def debate(browser: Browser) -> None:
        answer = await browser.client.post("/v1/chat/completions", json=asked)
        assert answer.status_code == 200, answer.text
        await browser.end(await browser.start(context="CANARY-CONTEXT", settings="evidence.redact=title"))

    with tables(monkeypatch):
        visit(tmp_path / "runs", debate, redact=GONE)
    assert nothing_kept(tmp_path / "runs") and len(list((tmp_path / "runs").glob("*/transcript.jsonl"))) == 2


@pytest.mark.parametrize("door", ["form", "environment", "panel"])
def test_a_servers_folders_are_not_named_by_ids_that_settings_redact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    choice = PanelChoice(panel="readers", sets=("evidence.redact=context,sources,ids",) if door == "form" else ())
    if door == "environment":
        monkeypatch.setenv("MACI_EVIDENCE_REDACT", "context,sources,ids")
    if door == "panel":
        panels = tmp_path / "panels.yaml"
        own = {"agents": ["reader"] * 2, "judges": ["reader"], "set": {"evidence.redact": "context,sources,ids"}}
        panels.write_text(json.dumps({"panels": {"own": own}}), encoding="utf-8")
        monkeypatch.setenv("MACI_PANELS", str(panels))
        choice = PanelChoice(panel="own")

    async def debate(browser: Browser) -> None:
        run = await browser.desk.start(load_case("case.json"), choice)
        assert "canary" not in run.id.lower()
        await browser.end(run.id)

    with tables(monkeypatch):
        visit(tmp_path / "runs", debate)
    assert nothing_kept(tmp_path / "runs")


def test_fields_that_no_case_has_are_refused_before_a_server_starts(maci, tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="colour"):
        ServerSettings(runs=tmp_path, redact=("colour",))
    ran = maci("serve", "--redact", "colour", "--port", "0")
    assert ran.code == 2 and "colour" in ran.err


def test_a_study_redacts(tmp_path: Path) -> None:
    from maci.lab.study.worker import Worker

    study = make_study(tmp_path, set={"evidence.redact": "context,ids"})
    group = Worker(study).group("tiny", 0)
    cases = [item.case for item in group.items.values()]
    assert {case.context for case in cases} == {"[redacted]"} and all(case.id for case in cases)
    assert {case.redacted for case in cases} == {("context",)}  # they keep their ids, and do not say otherwise
    asyncio.run(Worker(study).aclose())
