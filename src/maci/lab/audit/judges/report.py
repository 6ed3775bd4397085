"""The audit of the judges as a report: findings, figures, charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from maci.calibration.stats.correlation import Rows
from maci.calibration.stats.estimate import Estimate, estimate
from maci.lab.audit.judges.audit import Audit
from maci.lab.audit.judges.convarg import Comparison
from maci.lab.audit.judges.findings import Level, withheld
from maci.lab.audit.judges.human import Agreement
from maci.lab.audit.judges.swaps import CLOSE
from maci.render.report import (
    Cell,
    Chart,
    Kind,
    Line,
    Point,
    Report,
    Section,
    Series,
    Table,
    Tone,
    columns,
    count,
    number,
    show,
    text,
)
from maci.story.words import plural

VERDICTS: dict[Level, str] = {
    "good": "These judges can be relied on as far as was measured.",
    "watch": "These judges can be used with care: see what to watch.",
    "bad": "Do not rely on these judges as they are: see what is wrong and what to do.",
    "unknown": "Nothing could be measured.",
}
"""What each verdict means."""
_TONES: dict[Level, Tone] = {"good": "good", "watch": "warn", "bad": "bad", "unknown": "soft"}


def build_report(audit: Audit, scores: Rows, extra: Sequence[Table] = (), *, full: bool = True) -> Report:
    """What an audit found; ``scores`` are the plain ones (judges, arguments), for pictures; ``full``: checks without fault too."""
    found = [
        Section(key="findings", title="What to watch, and what to do", tables=(_findings(audit, ("bad", "watch")),)),
        Section(key="figures", title="Figures", tables=(*extra, *_tables(audit)), charts=tuple(_charts(audit, scores))),
        Section(key="checks", title="Checks without a finding", tables=(_findings(audit, ("good", "unknown")),)),
    ]
    return Report(
        title="Audit of the judges",
        verdict=(f"{audit.verdict.upper()}. {withheld(audit) or VERDICTS[audit.verdict]}", _head(audit)),
        tone=_TONES[audit.verdict],
        notes=audit.notes,
        sections=tuple(
            section
            for section in found
            if any(table.lines for table in section.tables) and (full or section.key != "checks")
        ),
        facts=(("made by", f"maci {audit.version}, seed {audit.seed}, {audit.resamples:,} resamples"),),
    )


def _head(audit: Audit) -> str:
    who = ", ".join(f"{f.name} ({f.family})" for f in audit.judges)
    cost = f"{plural(audit.calls, 'score')}, {plural(audit.tokens, 'token')}"
    found = f"{plural(audit.arguments, 'argument')} of {plural(audit.debates, 'debate')} about {plural(audit.cases, 'case')}"
    return f"{who}: {found}; {cost}{f', ${audit.usd:.4f}' if audit.usd else ''}."


def _findings(audit: Audit, levels: Sequence[Level]) -> Table:
    lines = tuple(
        Line(
            name=f.judge or "panel",
            cells=(Cell(value=f.level, kind=_TONES[f.level] or "text"), text(f"{f.check}: {f.says}"), text(f.advice)),
        )
        for f in audit.findings
        if f.level in levels
    )
    title = "Findings" if "bad" in levels else "The other checks"
    return Table(
        key="findings", title=title, first="whose", columns=columns("level", "finding", "what to do"), lines=lines
    )


def _line(name: str, x: Estimate, kind: Kind = "number", paper: str = "") -> Line:
    """A figure with what it rests on and what the paper found; why, where there is none."""
    here = estimate(x, kind) if x.defined else text(f"– ({x.how})")
    return Line(name=name, cells=(here, text(f"{x.n:,} {x.unit}"), text(paper)))


def _tables(audit: Audit) -> Iterator[Table]:
    """All figures; the paper's are those of 150 arguments and three judges of other families."""
    measured = columns("here", "n", "paper")
    yield Table(
        key="agreement", title="Do the judges agree?", first="", columns=measured,
        lines=(
            _line("Krippendorff's α (interval)", audit.alpha, paper="0.68 [0.63, 0.73]"),
            _line("α, every judge set to the same mean", audit.alpha_levelled),
            _line("Pearson, mean over pairs", audit.pearson, paper="0.71 [0.66, 0.76]"),
            _line("Spearman, mean over pairs", audit.spearman, paper="0.69 [0.64, 0.74]"),
        ),
        notes=(f"95 % intervals; {audit.alpha.how}, {audit.resamples:,} resamples, ranks by Fisher's z.",),
    )  # fmt: skip
    swaps = [
        Line(name=f"{s.first} ↔ {s.second}: ties {how}", cells=_line("", x, "percent").cells)
        for s in (audit.swaps if len(audit.swaps) > 1 else ())
        for how, x in (("forgiven", s.forgiven), ("counted", s.counted))
    ]
    yield Table(
        key="swaps", title="Would another judge, or order, have changed it?", first="", columns=measured,
        lines=(
            _line("winner flips, ties forgiven", audit.swap_forgiven, "percent", "2.0 % [0.55, 7.00]"),
            _line("winner flips, ties counted", audit.swap_counted, "percent", "3.0 % [1.03, 8.45]"),
            *swaps,
            _line("order turned: mean |Δ| of the panel", audit.order.mean, paper="0.038"),
            _line(f"order turned: |Δ| < {CLOSE}", audit.order.close, "percent", "94 %"),
            _line("order turned: Spearman", audit.order.rho, paper="0.92 [0.87, 0.95]"),
        ),
        notes=(
            "Winner: highest mean CRIT; a lead of 0.02 or less is a tie. Order: cited pieces and reasons of an argument in reverse.",
        ),
    )  # fmt: skip
    yield Table(
        key="judges", title="Each judge", first="judge",
        columns=columns("family", "mean", "spread (SD)", "with the others, ρ", "α without it", "abstained"),
        lines=tuple(
            Line(name=f.name, cells=(
                text(f.family), number(f.mean), estimate(f.spread), estimate(f.with_rest), number(f.alpha_without),
                estimate(f.abstained, "percent"),
            ))
            for f in audit.judges
        ),
    )  # fmt: skip
    yield _effects(audit)


def _effects(audit: Audit) -> Table:
    judges = audit.judges
    effects: tuple[tuple[str, Kind, list[Estimate | None]], ...] = (
        ("own family", "signed", [f.own_family for f in judges]),
        ("length, rank correlation", "signed", [f.length for f in judges]),
        ("padded", "signed", [f.padded for f in judges]),
        ("signed by its author", "signed", [f.signed for f in judges]),
        ("early − late in a batch", "signed", [f.position for f in judges]),
        ("turned round, mean |Δ|", "number", [f.order.mean for f in judges]),
        ("asked again, SD", "number", [f.within for f in judges]),
        ("share of chance", "number", [f.noise for f in judges]),
        ("pairs: first − second", "signed", [f.pairs.bias if f.pairs else None for f in judges]),
    )
    gaps: dict[str, list[str]] = {}
    for name, _, some in effects:
        for f, x in zip(judges, some, strict=True):
            if x is not None and not x.defined:
                gaps.setdefault(f"{name}: {x.how}", []).append(f.name)
    whose = {why: "" if len(who) == len(judges) else f" ({', '.join(who)})" for why, who in gaps.items()}
    return Table(
        key="effects", title="What besides the argument moves a score (points of CRIT)", first="",
        columns=columns(*(f.name for f in judges)),
        lines=tuple(
            Line(name=name, cells=tuple(estimate(x, kind) for x in some)) for name, kind, some in effects if any(some)
        ),
        notes=tuple(f"– {why}{who}." for why, who in whose.items()),
    )  # fmt: skip


def people_table(found: Sequence[Agreement], human: Estimate, raters: int) -> Table:
    """Judges against people's own scores."""
    among = show(estimate(human)) if human.defined else f"– ({human.how})"
    return Table(
        key="people", title="Against people", first="judge",
        columns=columns("Spearman", "pairs of one case", "AUC", "n"),
        lines=tuple(
            Line(name=a.judge, cells=(
                estimate(a.rho), estimate(a.pairs, "percent"), estimate(a.auc),
                text(f"{plural(a.rho.n, 'argument')}, {plural(a.pairs.n, 'pair')}"),
            ))
            for a in found
        ),
        notes=(f"{plural(raters, 'rater')}; people among themselves: α {among}.",),
    )  # fmt: skip


def compared(found: Comparison, about: str) -> Report:
    """Judges against people on a public set."""
    last = found.judges[-1]
    choices = Table(
        key="choices", title="Which of two arguments people found more convincing", first="",
        columns=columns("all topic sides", "test topic sides", "minus length", "length + judge, minus length"),
        lines=(
            Line(name="the longer one wins", cells=(
                estimate(found.longer, "percent"), estimate(found.longer_test, "percent"), text(""), text(""),
            )),
            *(
                Line(name=v.judge, cells=(
                    estimate(v.accuracy, "percent"), estimate(v.test, "percent"), estimate(v.less_length, "points"),
                    estimate(v.with_length, "points"),
                ))
                for v in found.judges
            ),
        ),
        notes=(
            f"{found.pairs:,} pairs of {found.arguments:,} arguments, {found.sides} topic sides, which are resampled. The last "
            "column is fitted on the other topic sides. Length in characters; ties count half.",
        ),
    )  # fmt: skip
    sides = Table(
        key="sides", title=f"By topic side ({last.judge})", first="topic side", columns=columns("pairs", "judge", "longer"),
        lines=tuple(
            Line(name=side, cells=(count(x.n), estimate(x, "percent"), estimate(found.longer_by_side[side], "percent")))
            for side, x in sorted(last.by_side.items())
        ),
    )  # fmt: skip
    section = Section(key=found.data, title=found.data, tables=(choices, sides))
    return Report(
        title="Judges against people", verdict=("Do judges choose as people do?",), notes=found.notes,
        sections=(section,), facts=(("made by", about),),
    )  # fmt: skip


def _charts(audit: Audit, scores: Rows) -> Iterator[Chart]:
    """Effects with their intervals, how judges agree, and how they spread their scores."""
    effects = [
        (f"{f.name}: {what}", x)
        for f in audit.judges
        for what, x in (
            ("own family", f.own_family),
            ("padded", f.padded),
            ("signed", f.signed),
            ("early − late", f.position),
        )
    ]
    yield from _forest("What besides the argument moves a score", "hundredths of CRIT", effects)
    agree = [(f.name, f.with_rest) for f in audit.judges]
    yield from _forest("Each judge with the others", "Spearman's ρ, hundredths", agree)
    spread = [
        Series(name=f.name, points=_steps(known))
        for j, f in enumerate(audit.judges)
        if len(known := scores[j][np.isfinite(scores[j])])
    ]
    if spread:
        y = "share of arguments at or below, %"
        yield Chart(title="How judges spread their scores", x="score", y=y, series=tuple(spread))


def _forest(title: str, axis: str, found: Sequence[tuple[str, Estimate]]) -> Iterator[Chart]:
    known = [(label, x) for label, x in found if x.defined]
    series = tuple(
        Series(name=label, points=(Point(x=x.value, y=float(i), low=x.low, high=x.high, n=x.n, label=label),))
        for i, (label, x) in enumerate(known)
    )
    said = "; ".join(f"{label} {x.value:.3f}" for label, x in known)
    if known:
        yield Chart(title=title, x=axis, y="", series=series, kind="forest", about=f"With 95 % intervals: {said}.")


def _steps(values: Rows) -> tuple[Point, ...]:
    """The cumulative share at 21 scores from 0 to 1."""
    return tuple(Point(x=x, y=float(np.mean(values <= x + 1e-12))) for x in np.linspace(0, 1, 21).tolist())
