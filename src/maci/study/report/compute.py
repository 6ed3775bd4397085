"""Accuracy for what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maci.study.report.arena import Arena, Entrant
from maci.study.report.compare import Comparison
from maci.study.report.estimates import Estimates
from maci.study.report.lines import answers_of, line_of
from maci.study.report.model import Column, Table, estimate, number, text

__all__ = ["compute_table"]


def compute_table(arena: Arena, found: Sequence[Comparison], estimates: Estimates) -> Table:
    """Accuracy for what it cost, and of methods run at several sizes the one that costs about as much as the reference."""
    columns = (
        Column(key="tokens", title="Tokens", about="per case, all calls"),
        Column(
            key="token_ratio",
            title=f"of {arena.reference}'s",
            about="this method's tokens over the reference's, each on its own cases",
        ),
        Column(key="acc1", title="Acc@1 %", better="more"),
        Column(
            key="acc1_per_1k",
            title="right answers per 1k tokens",
            better="more",
            about="sum of right answers over sum of tokens",
        ),
        Column(
            key="nearest",
            title="equal compute",
            about="of several sizes of one method, the nearest in tokens to the reference",
        ),
        Column(key="acc1_difference", title=f"Δ of {arena.reference}, points", about="at equal compute only"),
    )
    means = {e.name: _mean_tokens(e) for e in arena.entrants}
    home = means[arena.reference]
    nearest = _nearest(arena, means)
    by = {c.other: c for c in found}
    lines = []
    for entrant in arena.entrants:
        answers, cases = answers_of(entrant)
        mean = means[entrant.name]
        right = [float(a.scored.correct is True) for a in answers if a.scored.correct is not None]
        tokens = [a.tokens / 1000 for a in answers if a.scored.correct is not None]
        by_case = [c for a, c in zip(answers, cases, strict=True) if a.scored.correct is not None]
        close = nearest.get(entrant.name, "")
        at = by[entrant.name].accuracy if close == "nearest" and entrant.name in by else None
        lines.append(
            line_of(
                arena,
                entrant,
                (
                    number(mean, "tokens", len(answers)),
                    number(mean / home if mean is not None and home else None, "ratio"),
                    estimate(estimates.share(right, by_case), "share"),
                    estimate(estimates.ratio(right, tokens, by_case)),
                    text(close),
                    text("") if at is None else estimate(at, "points"),
                ),
            )
        )
    notes = [
        "A vote of fewer voters cannot be worked out from kept answers: run the method at several sizes (n, rounds) to compare it at "
        "equal compute.",
    ]
    chosen = [name for name, close in nearest.items() if close == "nearest"]
    if chosen:
        notes.append(f"Nearest to {arena.reference} in tokens among sizes of the same method: {', '.join(chosen)}.")
    else:
        notes.append("No method was run at several sizes, so equal compute is by right answers per 1k tokens only.")
    return Table(key="compute", title="At equal compute", columns=columns, lines=tuple(lines), notes=tuple(notes))


def _mean_tokens(entrant: Entrant) -> float | None:
    tokens = [a.tokens for a in entrant.answers.values()]
    return sum(tokens) / len(tokens) if any(tokens) else None


def _nearest(arena: Arena, means: Mapping[str, float | None]) -> dict[str, str]:
    """Of methods with several sizes: which is nearest in tokens to the reference, as a ratio; ``other size`` for the rest."""
    home = means[arena.reference]
    found: dict[str, str] = {}
    if not home:
        return found
    families: dict[str, dict[str, float]] = {}
    for e in arena.entrants:
        mean = means[e.name]
        if e.name != arena.reference and not e.member and mean:
            families.setdefault(e.use, {})[e.name] = mean
    for sizes in families.values():
        if len(sizes) > 1:
            first = min(sizes, key=lambda name: max(sizes[name] / home, home / sizes[name]))
            found |= {name: "nearest" if name == first else "other size" for name in sizes}
    return found
