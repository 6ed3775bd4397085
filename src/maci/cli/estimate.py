"""``--dry-run`` of ``maci debate`` and ``maci ask``: what it would cost, as text."""

from __future__ import annotations

from collections.abc import Iterator

from maci.debating.estimate import CostEstimate
from maci.llm.usage import dollars
from maci.story.words import plural


def lines(found: CostEstimate) -> Iterator[str]:
    yield "Nothing was sent. At the table:"
    for part, seats in (("agent", found.agents), ("judge", found.judges)):
        for seat in seats:
            model = f" ({seat.model})" if seat.model not in ("", seat.name) else ""
            yield f"  {part} {seat.name}{model}, family {seat.family}"
    if not found.judges:
        yield "  no judges (CRIT-free)"
    yield f"Evidence: {plural(found.spans, 'piece')}, about {found.evidence_tokens:,} tokens"
    yield "Openings (at most: what is set aside before the call goes out):"
    for opening in found.openings:
        most = f"; at most {opening.most}" if opening.most.tokens else ""
        over = ", more than the ceiling: it may get no answer" if opening.agent in found.beyond else ""
        yield f"  {opening.agent}: {opening.expected}{most}{over}"
    yield "Expected:"
    for row in found.rounds:
        name = "openings" if row.round == 0 else f"round {row.round}"
        yield f"  {name:<9} {row.calls:>3} {'call ' if row.calls == 1 else 'calls'}  {row.expected}; so far {row.so_far}"
    yield from _verdict(found)
    if found.unpriced:
        yield f"No price is known for {', '.join(found.unpriced)}: give one in a panels file (models: NAME: price:)"
    yield "Assumed: " + "; ".join(found.assumptions)


def _verdict(found: CostEstimate) -> Iterator[str]:
    last = found.rounds[-1]
    least = next((row for row in found.rounds if row.round == found.min_rounds), last)
    yield f"In all: {least.so_far} if it ends after {plural(least.round, 'round')}, {last.so_far} after {last.round}"
    ceiling = f"{found.ceiling.tokens:,} tokens" + (
        "" if found.ceiling.usd is None else f", {dollars(found.ceiling.usd)}"
    )
    if found.rounds_within is None:
        yield f"The ceiling ({ceiling}) does not reach for one opening: raise --budget-tokens or --budget-usd"
    elif found.rounds_within == 0:
        yield f"The ceiling ({ceiling}) reaches for openings only; the debate then ends with their mixture"
    elif found.rounds_within < last.round:
        rounds = plural(found.rounds_within, "round")
        yield f"The ceiling ({ceiling}) reaches for about {rounds}; the debate then ends with its best answer"
    else:
        yield f"The ceiling ({ceiling}) reaches for all of it"
