"""Inspect runs MACI's methods as solvers: a real `inspect eval`, offline, on its mock model."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="needs the extra inspect: pip install '.[inspect]'")

from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.log import read_eval_log  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import choice  # noqa: E402

from maci.integrations.inspect import SOLVERS, belief, crit  # noqa: E402
from maci.lab.methods import names  # noqa: E402
from maci.record.transcript import read  # noqa: E402
from stage import fake_models  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # of libraries that Inspect brings
OPTIONS = ("Dengue fever", "Measles", "Gout")
GRADES = {"justification": "It follows.", "evidence": 80, "logic": 90, "relevance": 100}


def reply(messages, tools, tool_choice, config):
    """What a model would answer, by the form it is asked to fill."""
    form = config.response_schema.json_schema.properties if config.response_schema else {}
    text = (
        json.dumps({"pieces": ["supports"], "links": [90], **GRADES}) if "logic" in form else json.dumps(filled(form))
    )
    return answered(text)


def answered(text):
    """With usage: without it Inspect would fetch a tokenizer to count."""
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=200, output_tokens=50, total_tokens=250)
    return output


def filled(form):
    values = {}
    for name, schema in form.items():
        if schema.properties:
            inner = dict.fromkeys(schema.properties, 0.1)
            first = next(iter(inner), None)
            values[name] = {**inner, first: 0.8} if first is not None else {}
        elif schema.type == "array":
            values[name] = [filled(schema.items.properties)] if schema.items and schema.items.properties else []
        elif schema.enum:
            values[name] = schema.enum[0]
        elif schema.type in ("number", "integer"):
            values[name] = 80
        else:
            values[name] = "Fever and pain behind the eyes."
    return values


def sample(**more):
    return Sample(input="Fever and pain behind the eyes: which?", choices=list(OPTIONS), target="A", **more)


def run(folder, solver, scorer, **more):
    model = get_model("mockllm/model", custom_outputs=reply, memoize=False)
    task = Task(dataset=[sample(**more)], solver=solver, scorer=scorer)
    (log,) = eval(task, model=model, log_dir=str(folder), display="none")
    return log


@pytest.mark.parametrize("name", list(names()))
def test_every_method_is_a_solver_on_inspects_models(name, tmp_path):
    options = {"record": str(tmp_path / "kept")} | ({"n": 3} if name in ("majority_vote", "self_consistency") else {})
    log = run(tmp_path / "logs", SOLVERS[name](**options), [belief(), choice()])
    assert log.status == "success", log.error
    (done,) = log.samples
    assert done.error is None and done.metadata["maci"]["answer"] == "Dengue fever", done.metadata["maci"]
    assert done.scores["belief"].value == "C" and done.scores["choice"].value == "C"
    assert sum(done.metadata["maci"]["belief"].values()) == pytest.approx(1, abs=1e-4)


def test_the_log_links_the_transcript_of_a_debate(tmp_path):
    log = run(tmp_path / "logs", SOLVERS["maci"](record=str(tmp_path / "kept")), belief())
    path = Path(log.samples[0].metadata["maci"]["transcript"])
    assert path.is_relative_to(tmp_path / "kept") and read(path).events[-1].type == "finished"
    assert any(event.event == "info" and event.source == "maci" for event in log.samples[0].events)


def test_brier_and_ece_are_those_of_the_belief(tmp_path):
    log = run(tmp_path / "logs", SOLVERS["single"](record=str(tmp_path / "kept")), belief())
    p = log.samples[0].metadata["maci"]["belief"]
    found = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    assert found["brier"] == pytest.approx(sum((x - (y == "Dengue fever")) ** 2 for y, x in p.items()), abs=1e-5)
    assert found["ece"] == pytest.approx(1 - p["Dengue fever"], abs=1e-5)


def test_crit_scores_the_answer_of_any_solver(tmp_path):
    from inspect_ai.solver import generate

    log = run(tmp_path / "logs", generate(), crit(), metadata={"evidence": ["Dengue brings pain behind the eyes."]})
    score = log.samples[0].scores["crit"]
    assert score.value == pytest.approx(0.9) and score.metadata["evidence"] == pytest.approx(0.8)


def test_a_judge_that_cannot_score_leaves_the_sample_unscored(tmp_path):
    from inspect_ai.solver import generate

    model = get_model("mockllm/model", custom_outputs=lambda *_: answered("?"), memoize=False)
    (log,) = eval(
        Task(dataset=[sample()], solver=generate(), scorer=crit()), model=model, log_dir=str(tmp_path), display="none"
    )
    assert math.isnan(log.samples[0].scores["crit"].value)


def test_a_limit_of_inspects_ends_the_sample(tmp_path):
    model = get_model("mockllm/model", custom_outputs=reply, memoize=False)
    task = Task(dataset=[sample()], solver=SOLVERS["maci"](record=str(tmp_path / "kept")), scorer=belief())
    (log,) = eval(task, model=model, log_dir=str(tmp_path), display="none", token_limit=300)
    assert log.samples[0].limit is not None and log.samples[0].limit.type == "token"


def test_offline_a_model_of_another_machine_is_refused_at_once_and_one_of_this_machine_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("MACI_OFFLINE", "1")
    here = run(tmp_path / "logs", SOLVERS["average"](), belief())
    assert here.samples[0].metadata["maci"]["answer"] == "Dengue fever"
    sent = []
    there = get_model("mockllm/model", custom_outputs=lambda *given: sent.append(given), memoize=False)
    there.api.base_url = "https://models.example.org/v1"
    task = Task(dataset=[sample()], solver=SOLVERS["average"](), scorer=belief())
    (log,) = eval(task, model=there, log_dir=str(tmp_path / "refused"), display="none")
    said = json.dumps(log.model_dump(mode="json"))
    assert "offline: models.example.org is not on this machine" in said and not sent


ROOT = Path(__file__).parents[3]
TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import choice
@task
def street():
    return Task(dataset=[Sample(input="Is the street wet?", choices=["yes", "no"], target="A")], scorer=choice())
"""
"""It names nothing of MACI: what is imported is found by name."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """MACI as pip installs it, not in editable mode: the entry point is that of `pyproject.toml`."""
    target = tmp_path_factory.mktemp("installed") / "site-packages"
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(ROOT)], check=True, timeout=300)
    return target


def test_the_command_of_inspect_finds_a_solver_by_the_entry_point(installed, tmp_path):
    (tmp_path / "task.py").write_text(TASK, encoding="utf-8")
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "PYTHONPATH": path, "OPENAI_API_KEY": "any", "INSPECT_LOG_FORMAT": "json"}
    with fake_models(0.0) as models:
        asked = ["task.py", "--solver", "maci/majority_vote", "-S", "n=2", "--log-dir", "logs", "--display", "plain"]
        model = ["--model", "openai/alpha", "--model-base-url", f"{models}/v1", "-M", "responses_api=false"]
        call = [sys.executable, "-m", "inspect_ai", "eval", *asked, *model]
        ran = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, env=environ, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (file,) = (tmp_path / "logs").glob("*.json")
    log = read_eval_log(str(file))
    assert log.status == "success" and log.eval.solver == "maci/majority_vote", log.error
    assert log.samples[0].metadata["maci"]["method"] == "majority_vote"
    assert log.samples[0].scores["choice"].value in ("C", "I")
