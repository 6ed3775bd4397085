"""Judges with a planted fault, and arguments whose quality is known: what the audit is tested on.

An argument's quality stands in its first span; a sound judge gives that quality, give or take what its own noise adds. Every fault
is one term more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from maci.agents.agent import Judge
from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.agents.judges.crit import CritScore, ScoreRequest
from maci.evidence.span import Span
from maci.lab.audit.judges.items import Docket, Subject
from maci.llm.usage import Usage

_WORDS = ("the", "case", "shows", "signs", "that", "speak", "for", "this", "outcome", "more", "than", "others")
_BY = re.compile(r"^\[By [^,]*, a model of the family ([^.\]]*)")


def subject(id: str, *, debate: str, agent: str, family: str = "", words: int = 9) -> Subject:
    """An argument of so many words about a case of its debate."""
    question = Question("What is it?", "", "closed", ())
    request = ScoreRequest(question=question, argument=Argument(claim=" ".join(["word"] * words)), spans=())
    return Subject(id=id, debate=debate, case=debate, agent=agent, family=family, request=request)


def arguments(
    debates: int = 50, *, seed: int = 0, families: tuple[str, ...] = ("alpha", "beta", "gamma")
) -> list[Docket]:
    """Debates between agents of these families, one argument each; quality and length have nothing to do with each other."""
    rng = Random(f"arguments/{seed}")
    batches = []
    for d in range(debates):
        items = []
        for family in families:
            quality = rng.uniform(0.25, 0.75)
            words = " ".join(rng.choice(_WORDS) for _ in range(rng.randint(8, 40)))
            spans = (Span.of(f"quality {quality:.6f} of {d}/{family}"), Span.of(f"a second piece of {d}/{family}"))
            request = ScoreRequest(
                question=Question(f"What is case {d}?", "", "closed", ("yes", "no")),
                argument=Argument(claim="It is so.", reasons=(words, "It fits.")),
                spans=spans,
                seed=rng.randrange(2**31),
            )
            items.append(
                Subject(
                    id=f"{d}/{family}",
                    debate=str(d),
                    case=str(d),
                    agent=f"agent-{family}",
                    family=family,
                    request=request,
                )
            )
        batches.append(Docket(items=tuple(items), readers=tuple))
    return batches


def _quality(request: ScoreRequest) -> float:
    said = next(match for span in request.spans if (match := re.match(r"quality (\S+)", span.text)))
    return float(said[1])


def _words(request: ScoreRequest) -> int:
    return sum(len(reason.split()) for reason in request.argument.reasons)


class PlantedJudge(Judge):
    """Gives an argument its quality, plus noise, plus its fault."""

    def __init__(
        self,
        name: str,
        family: str,
        fault: Callable[[PlantedJudge, ScoreRequest], float] | None = None,
        *,
        noise: float = 0.04,
        wobble: float = 0.01,
    ) -> None:
        """``noise`` is its own opinion of an argument, ``wobble`` how far it moves when it is asked again."""
        self.name, self.family = name, family
        self.turn = 0
        """Which argument of its batch it is being asked."""
        self._fault, self._noise, self._wobble, self._last, self._calls = fault, noise, wobble, "", 0

    async def score(self, request: ScoreRequest) -> tuple[CritScore, Usage]:
        """The quality, and what else moves this judge."""
        key = request.question.question
        self.turn = self.turn + 1 if key == self._last else 0
        self._last, self._calls = key, self._calls + 1
        opinion = Random(f"{self.name}/{min(span.id for span in request.spans)}").gauss(0, self._noise)
        wobble = Random(f"{self.name}/{self._calls}").gauss(0, self._wobble)
        extra = 0.0 if self._fault is None else self._fault(self, request)
        x = min(1.0, max(0.0, _quality(request) + opinion + wobble + extra))
        return CritScore(evidence=x, logic=x, relevance=x), Usage()


def _random(judge: PlantedJudge, request: ScoreRequest) -> float:
    """Says anything: its quality is taken back, and a draw put in its place."""
    return Random(f"{judge.name}/{judge._calls}/any").uniform(0.2, 0.8) - _quality(request)


def _leaking(_: PlantedJudge, request: ScoreRequest) -> float:
    """Lifts one family where it sees the name."""
    signed = _BY.match(request.argument.claim)
    return 0.15 if signed and signed[1] == "beta" else 0.0


def _own(judge: PlantedJudge, request: ScoreRequest) -> float:
    """Lifts its own family, masked or not: it knows the style (here, the second piece)."""
    return 0.10 if any(span.text.endswith(f"/{judge.family}") for span in request.spans) else 0.0


FAULTS: dict[str, Callable[[PlantedJudge, ScoreRequest], float]] = {
    "position": lambda judge, request: 0.10 if judge.turn == 0 else 0.0,
    "length": lambda judge, request: 0.004 * _words(request),
    "own family": _own,
    "identity": _leaking,
    "random": _random,
}
"""What a judge can have: it favours what comes first, the longer, its own family, a name it sees; or it says anything."""
