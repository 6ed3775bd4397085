"""A debate as a DSPy module.

    pip install dspy               # beside MACI
    python examples/dspy_module.py

The module has fields in and out: it can stand in a program of other modules and be scored by a DSPy metric. It makes its own calls:
DSPy's optimisers do not change its prompts. Without ``agents`` the panel of your ``maci.toml`` debates, or the embedded readers.
"""

from collections.abc import Sequence
from typing import Any

import dspy

import maci


class Debate(dspy.Module):
    """Question, outcomes and evidence in; answer, probability and reasons out."""

    def __init__(
        self, agents: Sequence[str] | None = None, judges: Sequence[str] | None = None, budget: int = 100_000
    ) -> None:
        super().__init__()
        self.agents, self.judges, self.budget = agents, judges, budget

    def forward(self, question: str, outcomes: Sequence[str], evidence: Sequence[str] = ()) -> dspy.Prediction:
        """One debate. A withheld answer is ``None``, which a metric counts as no answer."""
        return _prediction(maci.run(question, self.agents, self.judges, **self._options(outcomes, evidence)))

    async def aforward(self, question: str, outcomes: Sequence[str], evidence: Sequence[str] = ()) -> dspy.Prediction:
        """The same, in an asynchronous program."""
        return _prediction(await maci.arun(question, self.agents, self.judges, **self._options(outcomes, evidence)))

    def _options(self, outcomes: Sequence[str], evidence: Sequence[str]) -> Any:
        return {"outcomes": list(outcomes), "evidence": list(evidence), "budget": self.budget}


def _prediction(result: maci.DebateResult) -> dspy.Prediction:
    return dspy.Prediction(
        answer=result.answer,
        probability=result.probability,
        distribution=result.distribution,
        why=list(result.why),
        withheld=result.withheld,
    )


def brier(example: dspy.Example, prediction: dspy.Prediction, trace: object = None) -> float:
    """A metric for DSPy: 1 − half the Brier score, so that more is better and being sure and wrong costs most."""
    wrong = sum((p - (label == example.answer)) ** 2 for label, p in prediction.distribution.items())
    return 1 - wrong / 2


if __name__ == "__main__":
    example = dspy.Example(
        question="High fever, pain behind the eyes and a rash. Which disease is it?",
        outcomes=["Dengue fever", "Measles", "Gout"],
        answer="Dengue fever",
    ).with_inputs("question", "outcomes")
    prediction = Debate()(**example.inputs())
    print(prediction.answer, prediction.probability, brier(example, prediction))
