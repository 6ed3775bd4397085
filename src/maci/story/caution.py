"""How far a result can be trusted, in sentences: what was watched, the minority report, the answer as it is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maci.controller.caution import Dissent, Watched
from maci.controller.decisions import Finished
from maci.story.words import favoured_words, plural

__all__ = ["given", "minority", "watched"]


def watched(event: Watched) -> Iterator[str]:
    """What a round's watch has found; nothing where all is well."""
    for move in event.conformed:
        yield f"watch: {move.agent} went from {move.before} to {move.after}, with which most others led, without new admitted evidence"
    for held in event.stubborn:
        yield f"watch: {held.agent} stays with {held.outcome} although new evidence for {held.against} was shown to it"
    if event.collapsed:
        yield "watch: the mixture grew much surer, and no new evidence was admitted"
    if event.hollow:
        yield "watch: disagreement fell while neither shared evidence (O) nor its quality (Q) rose"
    if event.repeated:
        pairs = [f"{r.argument} as {r.of}" for r in event.repeated]
        yield f"watch: {plural(len(pairs), 'argument')} said before: {_some(pairs)}"
    if event.mixture in ("harmed", "mended"):
        yield f"watch: the mixture's answer went {_flip(event.mixture == 'harmed')}"
    for agents, harmed in ((event.harmed, True), (event.mended, False)):
        if agents:
            yield f"watch: {', '.join(agents)} went {_flip(harmed)}"


def _some(names: Sequence[str], most: int = 3) -> str:
    """The first few of them."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _flip(harmed: bool) -> str:
    return "from right to wrong" if harmed else "from wrong to right"


def minority(found: Dissent) -> str:
    """The minority report's first line."""
    who = f"held by {', '.join(found.holders)}" if found.holders else "which nobody leads with at the end"
    if not found.arguments:
        return f"Minority report: {found.outcome} (p = {found.probability:.2f}), {who}, with no admitted argument"
    score = "" if found.crit is None else f", CRIT {found.crit:.2f}"
    return (
        f"Minority report: {found.outcome} (p = {found.probability:.2f}), {who}, backed by {_some(found.arguments)}"
        f"{score}; support {found.support:.2f} against {found.answer_support:.2f} for the answer"
    )


def given(result: Finished) -> Iterator[tuple[str, str]]:
    """(sentence, style): the answer as it is given, or why none is; what the debate itself said; the prediction set; what to do."""
    assert result.answer is not None
    p = result.distribution[result.answer]
    if result.abstained is None:
        yield f"Answer: {result.answer}  (p = {p:.2f})", "bold green"
    else:
        yield f"No answer given at this risk level: {result.abstained}", "bold red"
        yield f"Best guess: {result.answer}  (p = {p:.2f})", "bold"
    if (back := result.rolled_back) is not None:
        yield (
            f"This is the round-0 vote; the debate itself came to {back.answer} (p = {back.distribution[back.answer]:.2f})",
            "yellow",
        )
    if (held := result.prediction_set) is not None:
        yield (
            f"Prediction set: {{{', '.join(held.outcomes)}}}: holds the truth in {100 * held.coverage:g} % of cases like the "
            f"{held.n} calibrated on, on average, not surely in this one",
            "",
        )
    if result.favoured is not None:
        yield favoured_words(result.favoured), "bold"
