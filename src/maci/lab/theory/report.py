"""The result of ``maci verify`` as a report: every claim with what was measured of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maci.lab.theory.verdict import Kind, Verdict
from maci.render.report import Cell, Line, Report, Section, Table, columns, text
from maci.render.svg import standalone

KINDS: dict[Kind, str] = {"proved": "theorem, checked", "measured": "measured", "negative": "negative finding"}
"""What a kind is called."""


def build_report(
    verdicts: Sequence[Verdict], *, about: str, checks: Mapping[str, str] | None = None, full: bool = True
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


def _claims(verdicts: Sequence[Verdict], checks: Mapping[str, str]) -> Section:
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
        tables=(Table(key="claims", title="All claims", first="claim", columns=heads, lines=lines),),
    )


def _claim(verdict: Verdict) -> Section:
    facts = (
        f"{_word(verdict)} ({KINDS[verdict.kind]})",
        f"limit: {verdict.limit}",
        f"measured: {verdict.measured}",
        f"n = {verdict.n:,} {verdict.unit}",
    )
    notes = (verdict.note,) if verdict.note else ()
    return Section(key=verdict.id, title=verdict.claim, verdicts=facts, notes=notes, charts=verdict.charts)


def _word(verdict: Verdict) -> str:
    shown = verdict.kind == "negative"
    return ("shown" if shown else "pass") if verdict.passed else ("not shown" if shown else "fail")


def plots(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Every chart as an SVG file of its own, by file name."""
    return {
        f"{verdict.id}{f'-{number}' if number else ''}.svg": standalone(chart)
        for verdict in verdicts
        for number, chart in enumerate(verdict.charts)
    }
