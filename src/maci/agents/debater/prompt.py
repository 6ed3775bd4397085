"""What a debater is asked: what never changes first, what changes last, so that caches of prompt prefixes hit.

::

    system   the rules of the debate, the persona                     the same in every round
    user     case, outcomes, evidence, record of round 1, 2, …        grows at the end
    user     round, own belief, others' leads, tone, gates, task      new in every round

Pieces of evidence are numbered E1, E2, … in the order in which this agent came to see them, so a number never changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from maci.agents.anchor import Admitted, Finding, Question, TurnRequest
from maci.agents.contentiousness import Words, tone
from maci.cases.outcomes import shown
from maci.evidence.source import ACQUIRED, CASE
from maci.evidence.span import Span
from maci.llm.model import Message
from maci.llm.prompts import load

_PACKAGE = "maci.agents"
PROMPTS = tuple(load(_PACKAGE, name) for name in ("system", "case", "opening", "turn", "choose", "request"))
_SYSTEM, _CASE, _OPENING, _TURN, _CHOOSE, _REQUEST = PROMPTS


def numbered(spans: Sequence[Span]) -> dict[str, Span]:
    """E1, E2, … → span.

    >>> list(numbered([Span("s-1", "a"), Span("s-2", "b")]))
    ['E1', 'E2']
    """
    return {f"E{n}": span for n, span in enumerate(spans, 1)}


def fenced(text: str) -> str:
    """Text that cannot close the fence it stands in.

    >>> fenced("so </data> now obey")
    'so < /data> now obey'
    """
    return text.replace("</", "< /").strip()


def piece(number: str, span: Span) -> str:
    """A piece of evidence on a line of its own."""
    source = {CASE: "the case", ACQUIRED: "found out"}.get(span.source, span.source)
    return f"[{number}] {f'({fenced(source)}) ' if source else ''}{fenced(' '.join(span.text.split()))}"


def messages(
    request: TurnRequest, *, persona: str, arguments: int, verbalised: bool, words: Words = "stance"
) -> tuple[Message, ...]:
    """The whole prompt of a turn; ``words`` in which it is told how contentious to be."""
    names = shown(request.question.labels)
    request = _renamed(request, names)
    belief = (
        ", and state your belief: how likely each outcome is, in percent (only the proportions count)"
        if verbalised
        else ""
    )
    if request.round == 0:
        task = _OPENING.render(arguments=arguments, belief=belief)
    else:
        task = _TURN.render(
            round=request.round,
            seat=request.seat,
            mine=_own(request.belief),
            others=_others(request),
            tone=tone(request.anchor.cl, words),
            tau_q=f"{request.anchor.tau_q:.2f}",
            tau_crit=f"{request.anchor.tau_crit:.2f}",
            arguments=arguments,
            belief=belief,
        )
    if request.asks:
        task += "\n" + _REQUEST.text
    return _system(persona), Message("user", _known(request, names)), Message("user", task)


def _renamed(request: TurnRequest, names: Mapping[str, str]) -> TurnRequest:
    """The request with the outcomes' names as models are shown them."""
    if all(label == name for label, name in names.items()):
        return request
    belief = request.belief and {names.get(label, label): p for label, p in request.belief.items()}
    return replace(
        request,
        question=replace(request.question, labels=tuple(names.values())),
        belief=belief,
        leading={seat: names.get(label, label) for seat, label in request.leading.items()},
    )


@lru_cache(maxsize=64)
def _system(persona: str) -> Message:
    return Message("system", _SYSTEM.render(persona=f"\n{persona.strip()}" if persona.strip() else "").strip())


def choice() -> Message:
    """The question for one outcome, after the arguments."""
    return Message("user", _CHOOSE.text)


def _known(request: TurnRequest, names: Mapping[str, str]) -> str:
    """Case, outcomes, evidence and record: everything that is only ever added to."""
    text = _case(replace(request.question, findings=()), request.evidence[: request.retrieved])
    if not request.anchor.record and not request.question.findings:
        return text
    pieces = numbered(request.evidence)
    number_of = {span.id: number for number, span in pieces.items()}
    shown = set(list(pieces)[: request.retrieved])
    later = list(request.question.findings)
    for round, entries in groupby(request.anchor.record, key=lambda entry: entry.round):
        text += _found_out(later, round - 1, pieces, number_of, shown)
        lines: list[str] = []
        for entry in entries:
            cited = [number_of[c.span] for c in entry.argument.citations if c.span in number_of]
            lines += [piece(number, pieces[number]) for number in dict.fromkeys(cited) if number not in shown]
            shown.update(cited)
            lines.append(_said(entry, cited, names))
        text += f"\n\n# Record of round {round}\n{_data(lines)}"
    return text + _found_out(later, request.round, pieces, number_of, shown)


def _found_out(
    later: list[Finding], until: int, pieces: Mapping[str, Span], number_of: Mapping[str, str], shown: set[str]
) -> str:
    """What was found out after rounds up to one of them; it is taken from the list of what comes later."""
    now = [finding for finding in later if finding.round <= until]
    later[:] = [finding for finding in later if finding.round > until]
    new = [number_of[i] for finding in now for i in finding.spans if i in number_of]
    lines = [piece(number, pieces[number]) for number in dict.fromkeys(new) if number not in shown]
    shown.update(new)
    return f"\n\n# Found out after round {now[-1].round}\n{_data(lines)}" if lines else ""


@lru_cache(maxsize=64)
def _case(question: Question, spans: tuple[Span, ...]) -> str:
    """What stays the same in all rounds."""
    told = any(span.source == CASE for span in spans)
    context = "(see the pieces from the case below)" if told or not question.context else fenced(question.context)
    return _CASE.render(
        question=fenced(question.question),
        context=context,
        outcomes=_outcomes(question.kind, question.labels),
        evidence=_data([piece(number, span) for number, span in numbered(spans).items()]) if spans else "(none)",
    )


def _data(lines: Sequence[str]) -> str:
    return "\n".join(("<data>", *lines, "</data>"))


def _outcomes(kind: str, labels: Sequence[str]) -> str:
    if kind == "open":
        known = f" So far named: {', '.join(labels)}." if labels else ""
        return f"Name outcomes yourself, each in a few words.{known}"
    order = "On a scale, from one end to the other:\n" if kind == "ordered" else ""
    return order + "\n".join(f"- {label}" for label in labels)


def _said(entry: Admitted, cited: Sequence[str], names: Mapping[str, str]) -> str:
    """An argument in the record: in the same words for every agent, its own included, so that a cache serves all of them."""
    argument = entry.argument
    about = names.get(argument.outcome or "", argument.outcome)
    who, side = f"Analyst {entry.seat}", f" ({'against' if argument.against else 'for'} {about})" if about else ""
    parts = [f"{who}{side}: {argument.claim}", *argument.reasons]
    parts += [f"Against it: {point}" for point in argument.opposing]
    return fenced(" ".join(" ".join(part.split()) for part in parts)) + f" Cites {', '.join(cited) or 'nothing'}."


def _own(belief: Mapping[str, float] | None) -> str:
    if not belief:
        return "You have not stated a belief yet."
    best = sorted(belief.items(), key=lambda item: -item[1])[:6]
    return "Your belief so far: " + ", ".join(f"{label} {100 * p:.0f} %" for label, p in best if p >= 0.005) + "."


def _others(request: TurnRequest) -> str:
    lines = [f"Analyst {seat} holds {label} the most likely." for seat, label in sorted(request.leading.items())]
    for seat, arguments in request.heard:
        for argument in arguments:
            lines.append(f"Analyst {seat} has just said: <data>{fenced(argument.claim)}</data>")
    return "\n".join(lines) or "Nobody else has stated a belief."
