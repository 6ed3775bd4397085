"""A debate as a node of a LangGraph graph.

    pip install langgraph          # beside MACI
    python examples/langgraph_node.py

The node takes question, outcomes and texts out of the state, and puts the answer into it. A withheld answer is ``None``, and
the graph goes another way. ``DEBATERS`` names the models (``openai/gpt-4o-mini,ollama/llama3.1:8b``); without it the panel of your
``maci.toml`` debates, or the embedded readers.
"""

import asyncio
import os
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

import maci


class State(TypedDict, total=False):
    question: str
    outcomes: list[str]
    evidence: list[str]
    answer: str | None
    probability: float | None
    why: list[str]
    handed_over: bool


async def debate(state: State) -> dict[str, Any]:
    """The node. LangGraph cancels its task, and that stops the debate in order."""
    agents = os.environ.get("DEBATERS")
    result = await maci.arun(
        state["question"],
        agents.split(",") if agents else None,
        outcomes=state["outcomes"],
        evidence=state.get("evidence", []),
        budget=100_000,
    )
    return {"answer": result.answer, "probability": result.probability, "why": list(result.why)}


def to_a_person(state: State) -> dict[str, Any]:
    """Where nothing can be said, a person is asked."""
    return {"handed_over": True}


def sure_enough(state: State) -> str:
    """On with an answer that is at least 60 % probable."""
    return END if state.get("answer") and (state.get("probability") or 0) >= 0.6 else "to_a_person"


graph = StateGraph(State)
graph.add_node("debate", debate)
graph.add_node("to_a_person", to_a_person)
graph.add_edge(START, "debate")
graph.add_conditional_edges("debate", sure_enough, [END, "to_a_person"])
graph.add_edge("to_a_person", END)
app = graph.compile()

if __name__ == "__main__":
    case: State = {
        "question": "High fever, pain behind the eyes and a rash. Which disease is it?",
        "outcomes": ["Dengue fever", "Measles", "Gout"],
    }
    print(asyncio.run(app.ainvoke(case)))
