"""A judge of your own: it marks an argument by how much of what it says stands in the evidence it cites."""

import re

import maci


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


class Quoting(maci.Judge):
    """Full marks where every word of the reasons is in the cited pieces."""

    name, family = "quoting", "mine"

    async def score(self, request: maci.ScoreRequest) -> tuple[maci.CritScore, maci.Usage]:
        said = words(" ".join(request.argument.reasons))
        cited = words(" ".join(span.text for span in request.spans))
        if not said or not cited:
            raise maci.JudgeAbstained("nothing to compare: no reasons, or nothing cited")
        share = len(said & cited) / len(said)
        return maci.CritScore(evidence=share, logic=share, relevance=share), maci.Usage()


def says(outcome: str, reason: str, piece: str) -> maci.FunctionAgent:
    """An agent of your own; one that asks a model derives from `maci.Agent`."""
    belief = {"safe": 0.3, "unsafe": 0.7} if outcome == "unsafe" else {"safe": 0.6, "unsafe": 0.4}
    claim = maci.Argument(
        claim=f"It is {outcome}.", reasons=(reason,), citations=(maci.Citation(piece),), outcome=outcome
    )
    return maci.FunctionAgent(piece, lambda request: maci.Turn(belief=belief, arguments=(claim,)))


case = maci.Case(
    question="Is the bridge safe?",
    outcomes=maci.OutcomeSpace(labels=("safe", "unsafe")),
    evidence=(
        maci.Document("The bridge is unsafe: two of its eight bolts are cracked.", id="bolts"),
        maci.Document("The bridge was given fresh paint last year.", id="paint"),
    ),
)
agents = [says("unsafe", "two bolts are cracked", "bolts"), says("safe", "people who paint take good care", "paint")]
result = maci.run(case, agents, [Quoting()], settings={"max_rounds": 2})
print(f"{result.answer}, {result.probability:.0%}, {result.stop_reason}")
for row in result.rows():
    if row["round"] == 1:
        print(f"{row['agent']}: CRIT {row['crit']:.2f}, {row['fate']}")
