"""What the signs in a report mean, for those who have not read the paper."""

from __future__ import annotations

__all__ = ["GLOSSARY"]

GLOSSARY = (
    ("Acc@1, Acc@3", "share of cases whose true outcome leads, or is among the first three"),
    ("Brier, NLL", "how far the probabilities are from the truth; less is better, and 0 is certainty of the truth"),
    ("ECE", "calibration error: how far confidence and share of right answers lie apart"),
    ("ECE if calibrated", "what chance alone would give a method whose probabilities are right, with as many cases"),
    ("T, ε", "calibration learnt on dev: T above 1 softens probabilities, ε mixes in the uniform ones"),
    (
        "Q, Q₀",
        "evidence quality: how well admitted evidence fits the case; Q₀ is that of what was retrieved before round 1",
    ),
    ("D", "disagreement: Jensen–Shannon divergence of the agents' beliefs, 0 (alike) to 1"),
    ("Î", "information gain of a round: by how much the panel's uncertainty fell, as a share of the largest possible"),
    ("O", "overlap: share of the evidence cited that agents cited in common"),
    ("CRIT", "the judges' score of the arguments, 0 to 1"),
    (
        "AURC",
        "area under the risk–coverage curve: mean share of errors among the surest answers, over how many are given",
    ),
    (
        "S",
        "support of an outcome: admitted evidence for it, each span once, at the best CRIT of an argument that cites it",
    ),
    ("CL", "contentiousness asked of the agents, 0 to 1"),
)
