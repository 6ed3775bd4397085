"""A method of a study as a solver of Inspect: a majority vote on one question, on Inspect's mock model."""

import json
import tempfile

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from maci.integrations.inspect import SOLVERS, belief

ARGUMENT = {
    "outcome": "Dengue fever", "claim": "Pain behind the eyes is typical of dengue.", "citations": [],
    "reasons": ["It is in the case."], "opposing": [], "effect": "supports",
}  # fmt: skip
SAID = {"reasoning": "Eye pain.", "arguments": [ARGUMENT], "belief": {"Dengue fever": 80, "Gout": 20}}


def says(*_: object) -> ModelOutput:
    """What the mock model answers; a real one needs none of this."""
    output = ModelOutput.from_content("mockllm/model", json.dumps(SAID))
    output.usage = ModelUsage(input_tokens=200, output_tokens=50, total_tokens=250)
    return output


model = get_model("mockllm/model", custom_outputs=says)
question = Sample(
    "Fever and pain behind the eyes: which disease?", choices=["Dengue fever", "Gout"], target="Dengue fever"
)
task = Task(dataset=[question], solver=SOLVERS["majority_vote"](n=3), scorer=belief())
(log,) = eval(task, model=model, log_dir=tempfile.mkdtemp(), display="none")
assert log.results is not None, log.samples[0].error if log.samples else log.error
for score in log.results.scores:
    print(log.status, score.name, {name: metric.value for name, metric in score.metrics.items()})
