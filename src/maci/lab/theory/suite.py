"""The checks behind ``maci verify``, in the order of the paper, and the report of their results.

Each check has its own random stream, so a check run alone gives the same result as in the whole suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from maci.errors import InputError
from maci.lab.theory import CheckedClaim, Kind, Size, bandits, lemma, termination, voting
from maci.render.report import Cell, Line, Report, ReportTable, Section, columns, text
from maci.render.svg import standalone

KINDS: dict[Kind, str] = {"proved": "theorem, checked", "measured": "measured", "negative": "negative finding"}
"""What a kind is called."""


def build_report(
    verdicts: Sequence[CheckedClaim], *, about: str, checks: Mapping[str, str] | None = None, full: bool = True
) -> Report:
    """All claims in a table and, if ``full``, one by one; ``checks``: of each claim, the check that speaks to it."""
    failed = sum(not verdict.passed for verdict in verdicts)
    said = f"{failed} of {len(verdicts)} claims fail" if failed else f"all {len(verdicts)} claims hold"
    return Report(
        title="What MACI claims, checked by simulation",
        verdict=(said,),
        tone="bad" if failed else "good",
        notes=(
            "A negative finding passes when it is shown: it says what does not hold, and what the default rule does there. "
            "docs/theory.md has the proofs.",
        ),
        sections=(_claims(verdicts, checks or {}), *(map(_claim, verdicts) if full else ())),
        facts=(("made by", about),),
    )


def _claims(verdicts: Sequence[CheckedClaim], checks: Mapping[str, str]) -> Section:
    lines = tuple(
        Line(
            name=v.claim,
            cells=(
                Cell(value=_word(v), kind="good" if v.passed else "bad"),
                text(v.measured),
                text(v.limit),
                text(f"{v.n:,} {v.unit}"),
                text(KINDS[v.kind]),
                *([text(checks[v.id])] if checks else []),
            ),
        )
        for v in verdicts
    )
    heads = columns("verdict", "measured", "limit", "n", "kind", *(["check"] if checks else []))
    return Section(
        key="claims",
        title="Claims",
        tables=(ReportTable(key="claims", title="All claims", first="claim", columns=heads, lines=lines),),
    )


def _claim(verdict: CheckedClaim) -> Section:
    facts = (
        f"{_word(verdict)} ({KINDS[verdict.kind]})",
        f"limit: {verdict.limit}",
        f"measured: {verdict.measured}",
        f"n = {verdict.n:,} {verdict.unit}",
    )
    notes = (verdict.note,) if verdict.note else ()
    return Section(key=verdict.id, title=verdict.claim, verdicts=facts, notes=notes, charts=verdict.charts)


def _word(verdict: CheckedClaim) -> str:
    shown = verdict.kind == "negative"
    return ("shown" if shown else "pass") if verdict.passed else ("not shown" if shown else "fail")


def plots(verdicts: Sequence[CheckedClaim]) -> dict[str, str]:
    """Every chart as an SVG file of its own, by file name."""
    return {
        f"{verdict.id}{f'-{number}' if number else ''}.svg": standalone(chart)
        for verdict in verdicts
        for number, chart in enumerate(verdict.charts)
    }


Run: TypeAlias = Callable[[Size, np.random.Generator], list[CheckedClaim]]


@dataclass(frozen=True, slots=True)
class Simulation:
    """One simulation, which may speak to several claims."""

    name: str
    title: str
    run: Run


CHECKS = (
    Simulation("lemma", "Lemma 1 without noise", lemma.lemma_noiseless),
    Simulation("noise", "Lemma 1 with noise, and the dispersion gate", lemma.lemma_noisy),
    Simulation("gate", "The dispersion gate in whole debates", lemma.gate_in_debates),
    Simulation("rounds", "Rounds against ε", termination.general),
    Simulation("contraction", "Rounds against ε under contraction", termination.contraction),
    Simulation("regret", "Regret of UCB", bandits.regret),
    Simulation("context", "LinUCB against UCB", bandits.context_matters),
    Simulation("budget", "The budget under adversarial costs", bandits.budget),
    Simulation("condorcet", "Majorities over two outcomes", voting.condorcet),
    Simulation("voting", "Voting by the size of the answer space", voting.voting),
    Simulation("relative", "The relative plateau test", termination.relative_alone),
    Simulation("change", "The change-based plateau test", termination.stubborn),
    Simulation("overlap", "Evidence that is never shared", termination.disjoint),
    Simulation("restless", "Gains that come and go", termination.restless),
)


def named(names: Sequence[str]) -> tuple[Simulation, ...]:
    """The checks of these names, in the house's order; all of them where none is named."""
    known = {check.name: check for check in CHECKS}
    for name in names:
        if name not in known:
            raise InputError(f"there is no check {name!r}: choose from {', '.join(known)}")
    return tuple(check for check in CHECKS if not names or check.name in names)


def check(checks: Sequence[Simulation], size: Size, seed: int) -> Iterator[tuple[Simulation, list[CheckedClaim]]]:
    """Run checks one after the other.

    >>> from maci.lab.theory import QUICK
    >>> [verdict.passed for _, found in check(named(["overlap"]), QUICK, seed=0) for verdict in found]
    [True]
    """
    for one in checks:
        yield one, one.run(size, np.random.default_rng([seed, CHECKS.index(one)]))
