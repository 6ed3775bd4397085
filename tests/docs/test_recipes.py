"""The recipes of ``examples/`` that need no other library: the gate of pull requests, the container file, headers for editors."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fake_server import FakeServer
from maci.cases.case import load_case
from maci.files.parse import read
from maci.seating.file import load_panels
from maci.seating.project import load_project
from serving import serving

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def test_every_convention_names_a_test_that_is_there() -> None:
    table = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8").split("\n## ")[0]
    head, _, *rows = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("|")]
    assert len(rows) > 20 and [len(row) for row in rows] == [len(head)] * len(rows)
    for convention, _, proof in rows:
        named = re.findall(r"`(tests/[^`]*)`", proof)
        assert named, convention
        for path in named:
            assert re.search(r"^def test_", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), path


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    found: dict[str, Any] = read(EXAMPLES / "github" / "debate.yml")
    return found


def step(workflow: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (each for each in workflow["jobs"]["debate"]["steps"] if each.get("name") == name)
    return dict(found)


def test_the_workflow_gives_a_strangers_branch_neither_keys_nor_the_right_to_write(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow.get("on", workflow.get(True)) == "pull_request"  # never pull_request_target, which has secrets
    assert "head.repo.full_name == github.repository" in workflow["jobs"]["debate"]["if"]
    for each in workflow["jobs"]["debate"]["steps"]:
        assert "${{" not in each.get("run", "")  # what a stranger writes reaches no shell by substitution


def git(folder: Path, *command: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=n@example.invalid")
    return subprocess.run(["git", *identity, *command], cwd=folder, check=True, capture_output=True, text=True).stdout


def gate(workflow: dict[str, Any], folder: Path, server: FakeServer) -> subprocess.CompletedProcess[str]:
    """Run the step as a runner would, on a branch with one change."""
    git(folder, "init", "-q")
    (folder / "a.py").write_text("retries = 3\n", encoding="utf-8")
    git(folder, "add", "a.py")
    git(folder, "commit", "-qm", "before")
    base = git(folder, "rev-parse", "HEAD").strip()
    (folder / "a.py").write_text("retries = 5\n# the number of retries is documented\n", encoding="utf-8")
    git(folder, "commit", "-qam", "after")
    (folder / "bin").mkdir()
    maci = folder / "bin" / "maci"
    maci.write_text(f'#!/bin/sh\nexec {sys.executable} -m maci "$@"\n', encoding="utf-8")
    maci.chmod(0o755)
    panels = folder / "models.yaml"
    panels.write_text(f"models: {{vllm: {{base_url: '{server.url}/v1'}}}}\n", encoding="utf-8")
    environ = os.environ | {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "BASE": base, "DEBATERS": "vllm/a,vllm/b",
        "JUDGES": "none", "MACI_PANELS": str(panels), "MACI_CACHE": str(folder / "cache"),
    }  # fmt: skip
    script = step(workflow, "Debate the change")["run"]
    return subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env=environ, capture_output=True, text=True, timeout=120
    )


needs_tools = pytest.mark.skipif(not shutil.which("jq") or not shutil.which("git"), reason="jq or git is not installed")


@needs_tools
def test_the_gate_passes_or_fails_by_the_answer_of_the_debate(workflow: dict[str, Any], tmp_path: Path) -> None:
    with serving("a", "b") as server:
        done = gate(workflow, tmp_path, server)
    assert done.returncode in (0, 1), done.stderr  # 2 and more: the debate itself failed
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert result["tokens"] > 0 and set(result["distribution"]) == {"safe", "breaking"}
    passes = result["answer"] == "safe" and result["distribution"]["safe"] >= 0.7
    assert done.returncode == (0 if passes else 1), done.stderr
    assert (tmp_path / "debate" / "report.html").stat().st_size > 10_000
    assert "retries" in (tmp_path / "change" / "diff.txt").read_text(encoding="utf-8")


@needs_tools
@pytest.mark.parametrize(
    ("answer", "safe", "code"), [("safe", 0.9, 0), ("safe", 0.6, 1), ("breaking", 0.1, 1), (None, 0.5, 1)]
)
def test_only_a_sure_answer_opens_the_gate(
    workflow: dict[str, Any], tmp_path: Path, answer: str | None, safe: float, code: int
) -> None:
    last = step(workflow, "Debate the change")["run"].strip().splitlines()[-1]
    result = {"answer": answer, "distribution": {"safe": safe, "breaking": 1 - safe}}
    (tmp_path / "result.json").write_text(json.dumps(result), encoding="utf-8")
    assert subprocess.run(["bash", "-e", "-c", last], cwd=tmp_path, capture_output=True).returncode == code


def test_the_container_file_is_small_runs_without_root_and_starts_a_command_that_exists() -> None:
    text = (EXAMPLES / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line and not line.startswith("#")]
    kinds = [line.split()[0] for line in lines]
    assert kinds.count("FROM") == 1 and re.search(
        r"^FROM \S+/python:3\.\d+-slim$", text, re.MULTILINE
    )  # a tag, never latest
    assert kinds.count("RUN") == 1 and "--no-cache-dir" in text and "ADD" not in kinds
    user = next(line.split()[1] for line in lines if line.startswith("USER"))
    assert user.isdigit() and int(user) > 0 and kinds.index("USER") > kinds.index("RUN")
    assert json.loads(next(line for line in lines if line.startswith("ENTRYPOINT")).partition(" ")[2]) == ["maci"]
    command = json.loads(next(line for line in lines if line.startswith("CMD")).partition(" ")[2])
    shown = subprocess.run(
        [sys.executable, "-m", "maci", command[0], "--help"], capture_output=True, text=True, check=True
    )
    assert all(option in shown.stdout for option in command if option.startswith("--"))
    assert "KEY" not in "".join(line for line in lines if line.startswith("ENV"))


HEADER = re.compile(r"^#(?: yaml-language-server: \$schema=|:schema )(\S+)", re.MULTILINE)


@pytest.mark.parametrize("name", ["panels.yaml", "case.yaml", "complaints.toml"])
def test_an_example_names_a_schema_that_is_there_and_fits_it(name: str) -> None:
    from jsonschema import validate

    file = EXAMPLES / name
    (where,) = HEADER.findall(file.read_text(encoding="utf-8"))
    validate(read(file), json.loads((EXAMPLES / where).read_text(encoding="utf-8")))


def test_files_may_name_their_schema_as_a_key(tmp_path: Path) -> None:
    key = '"$schema" = "schemas/x.json"\n'
    (tmp_path / "case.toml").write_text(key + 'question = "Q?"\noutcomes = ["a", "b"]\n', encoding="utf-8")
    assert load_case(str(tmp_path / "case.toml")).outcomes.labels == ("a", "b")
    (tmp_path / "maci.toml").write_text(key + 'panel = "readers"\n', encoding="utf-8")
    assert load_project(tmp_path / "maci.toml").panel == "readers"
    (tmp_path / "panels.json").write_text('{"$schema": "x.json", "panels": {}}', encoding="utf-8")
    assert load_panels(tmp_path / "panels.json").panels == {}


def test_init_writes_schemas_for_editors(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "maci", "init", "--panel", "readers", "--yes", "--offline", "--schemas"]
    subprocess.run(call, cwd=tmp_path, check=True, capture_output=True)
    (where,) = HEADER.findall((tmp_path / "maci.toml").read_text(encoding="utf-8"))
    assert json.loads((tmp_path / where).read_text(encoding="utf-8"))["title"] == "ProjectFile"
    for name in ("case", "panels", "project", "study"):
        published = json.loads((ROOT / "docs" / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
        assert json.loads((tmp_path / "maci-schemas" / f"{name}.json").read_text(encoding="utf-8")) == published
    assert load_project(tmp_path / "maci.toml").panel == "readers"
