"""The audit of the judges in plain words: from figures to a verdict with what to do about it, and the report.

A fault is called *bad* where it is large enough to matter **and** its interval leaves out 0; *watch* is a figure to keep an eye on.
Every limit is here and in docs/audits.md; the false alarms they raise on judges without fault are counted in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from maci.calibration.stats import Estimate, estimate
from maci.calibration.stats.paired import FLAT, Rows
from maci.lab.audit.judges.agreement import scores_needed
from maci.lab.audit.judges.swaps import CLOSE
from maci.render.report import (
    Cell,
    Chart,
    Kind,
    Line,
    Point,
    Report,
    ReportTable,
    Section,
    Series,
    Tone,
    columns,
    number,
    text,
)
from maci.story.words import plural

if TYPE_CHECKING:
    from maci.lab.audit.judges.audit import Audit, JudgeFigures

Level = Literal["good", "watch", "bad", "unknown"]
_ORDER: dict[Level, int] = {"good": 0, "unknown": 1, "watch": 2, "bad": 3}

LIMITS = {
    "alpha": (0.667, 0.40),
    "rest": (0.40, 0.20),
    "spread": (0.05, 0.02),
    "swap": (0.05, 0.20),
    "order": (0.05, 0.10),
    "effect": (0.02, 0.03),
    "length": (0.20, 0.30),
    "noise": (0.25, 0.50),
    "abstained": (0.05, 0.20),
}
"""(watch, bad). α, the correlation with the others and the spread: below. The rest: above; of ``effect`` (points of CRIT that
something besides the argument adds or takes) and ``length`` the interval must leave out 0 as well."""
ENOUGH = 10
"""Fewer arguments than this are too few for any verdict."""
_PAIRS = 0.10
"""Of a preference between two, on a scale from −1 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCheck:
    """One check."""

    check: str
    judge: str
    """Empty for the panel as a whole."""
    level: Level
    says: str
    advice: str = ""
    estimate: Estimate


def findings(audit: Audit) -> tuple[JudgeCheck, ...]:
    """Every check of an audit, the panel's first; all unknown where there can be no verdict."""
    found = (*_panel(audit), *(check for figures in audit.judges for check in _judge(figures)))
    return tuple(replace(check, level="unknown", advice="") for check in found) if withheld(audit) else found


def withheld(audit: Audit) -> str:
    """Why there can be no verdict; empty where there can."""
    if audit.arguments < ENOUGH:
        return f"Too few to say: {plural(audit.arguments, 'argument')}; a verdict needs at least {ENOUGH}."
    spreads = [f.spread.value for f in audit.judges if f.spread.defined]
    if spreads and max(spreads) < FLAT:
        return (
            f"Nothing to say: every judge gives all {audit.arguments} arguments nearly the same score (standard deviation below "
            f"{FLAT:g}); audit them on arguments that differ."
        )
    return ""


def verdict(found: Sequence[JudgeCheck]) -> Level:
    """The worst of them; what could not be measured does not count against anybody.

    >>> verdict([])
    'unknown'
    """
    known: list[Level] = [finding.level for finding in found if finding.level != "unknown"]
    return max(known, key=_ORDER.__getitem__) if known else "unknown"


def _level(x: Estimate, key: str) -> Level:
    """Where a figure stands: bad where small if its limits fall, else where large and surely above the lesser limit."""
    watch, bad = LIMITS[key]
    if not x.defined:
        return "unknown"
    if watch > bad:
        return "bad" if x.value < bad else "watch" if x.value < watch else "good"
    if key in ("effect", "length"):
        size = abs(x.value) if x.clear else 0.0
        return "bad" if size >= bad else "watch" if size >= watch else "good"
    return "bad" if x.value > bad and x.low > watch else "watch" if x.value > watch else "good"


def _say(x: Estimate, *, percent: bool = False, sign: bool = False) -> str:
    if not x.defined:
        return f"not known: {x.how}"
    times, unit, plus, digits = (100, " %", "", 1) if percent else (1, "", "+" if sign else "", 3)
    value, low, high = (f"{times * y:{plus}.{digits}f}" for y in (x.value, x.low, x.high))
    return f"{value}{unit} [{low}, {high}]"


def _panel(audit: Audit) -> Iterator[JudgeCheck]:
    needed = scores_needed(audit.pearson.value) if audit.pearson.defined else None
    levelled = audit.alpha_levelled
    advice = {
        "use CRIT as a soft weight only": True,
        f"raise K: {needed} scores of such judges make a mean of reliability 0.8 (--set crit.k={needed})": (
            needed is not None and needed > len(audit.judges)
        ),
        f"judges differ in level more than in order (α {levelled.value:.2f} once each is set to the same mean)": (
            levelled.defined and levelled.value >= LIMITS["alpha"][0]
        ),
        **dict.fromkeys(_worst(audit), True),
    }
    yield _made(
        "agreement", "", _level(audit.alpha, "alpha"), audit.alpha, f"Krippendorff's α {_say(audit.alpha)}",
        "; ".join(text for text, applies in advice.items() if applies),
    )  # fmt: skip
    yield _made(
        "judge swap", "", _level(audit.swap_forgiven, "swap"), audit.swap_forgiven,
        f"another judge in its place changes the winner of {_say(audit.swap_forgiven, percent=True)} of debates, "
        f"{_say(audit.swap_counted, percent=True)} with ties counted",
        "raise K, so that no single judge decides; do not read a winner off scores this close",
    )  # fmt: skip


def _worst(audit: Audit) -> Iterator[str]:
    """Which judge to swap: the one without whom α is highest, where that is a gain of 0.05 or more."""
    without = {f.name: f.alpha_without for f in audit.judges if f.alpha_without is not None}
    name = max(without, key=lambda name: without[name], default=None)
    if name is not None and without[name] >= audit.alpha.value + 0.05:
        yield f"or swap {name}: without it α would be {without[name]:.2f}"


def _judge(f: JudgeFigures) -> Iterator[JudgeCheck]:
    rest: Level = "bad" if f.constant else _level(f.with_rest, "rest")
    yield _made(
        "with the others", f.name, rest, f.with_rest,
        f"correlates with the other judges at {_say(f.with_rest)}" if not f.constant else "gives every argument the same score",
        f"swap {f.name}: what it scores is not what the others score",
    )  # fmt: skip
    yield _made(
        "spread", f.name, _level(f.spread, "spread"), f.spread, f"its scores spread by {_say(f.spread)} (standard deviation)",
        f"swap {f.name}: it hardly tells arguments apart",
    )  # fmt: skip
    yield _made(
        "order", f.name, _level(f.order.mean, "order"), f.order.mean,
        f"pieces and reasons in the reverse order move a score by {_say(f.order.mean)} on average",
        "score both orders and take the mean, or raise K",
    )  # fmt: skip
    yield _made(
        "position", f.name, _level(f.position, "effect"), f.position, f"early in a batch minus late: {_say(f.position, sign=True)}",
        f"shuffle per judge (debates do), or swap {f.name} for a judge that is asked one argument at a time",
    )  # fmt: skip
    if f.pairs is not None:
        seen: Level = "bad" if f.pairs.bias.clear and abs(f.pairs.bias.value) >= _PAIRS else "good"
        yield _made(
            "pairs", f.name, "unknown" if not f.pairs.bias.defined else seen, f.pairs.bias,
            f"what is shown first is preferred by {_say(f.pairs.bias, sign=True)}",
            "ask every pair both ways and count only preferences that stay",
        )  # fmt: skip
    yield _made(
        "own family", f.name, _level(f.own_family, "effect"), f.own_family,
        f"its own family's arguments minus others', against the other judges: {_say(f.own_family, sign=True)}",
        f"swap {f.name} for a judge of another family than every debater (the default refuses it)",
    )  # fmt: skip
    yield _length(f)
    yield _made(
        "verbosity", f.name, _level(f.padded, "effect"), f.padded,
        f"words that say nothing new change a score by {_say(f.padded, sign=True)}",
        f"swap {f.name}, or bound the length of arguments (agents.max_tokens)",
    )  # fmt: skip
    yield _identity(f)
    yield _made(
        "self-consistency", f.name, _level(f.noise, "noise"), f.within,
        f"asked again, a score moves by {_say(f.within)} (standard deviation); share of chance in its scores {_say(f.noise)}",
        f"raise K with more samples of {f.name}, lower crit.judge_temperature, or swap it",
    )  # fmt: skip
    watch, bad = LIMITS["abstained"]
    share = f.abstained.value
    level: Level = "bad" if share > bad else "watch" if share > watch else "good"
    yield _made(
        "abstentions", f.name, level, f.abstained, f"abstained from {_say(f.abstained, percent=True)} of arguments",
        f"read its reasons in scores.csv; raise crit.max_tokens, or swap {f.name}",
    )  # fmt: skip


def _length(f: JudgeFigures) -> JudgeCheck:
    """Length may stand for something else, such as a kind of argument: where padding does not move the score, that is likely."""
    level, says = _level(f.length, "length"), f"at equal scores of the others: {_say(f.length, sign=True)}"
    advice = f"swap {f.name}, or bound the length of arguments (agents.max_tokens)"
    if level in ("watch", "bad") and f.padded.defined and _level(f.padded, "effect") == "good":
        level, says = "watch", f"{says}; but padding does not move it, so length stands for something else here"
        advice = "compare arguments of one kind before drawing conclusions"
    return _made("length", f.name, level, f.length, f"rank correlation with length {says}", advice)


def _identity(f: JudgeFigures) -> JudgeCheck:
    """Signed with its author: by family, for a judge may lift one and lower another."""
    by = {family: x for family, x in f.signed_by_family.items() if x.defined}
    worst = max(by, key=lambda family: (_ORDER[_level(by[family], "effect")], abs(by[family].value)), default=None)
    x, whose = f.signed, ""
    if worst is not None and _ORDER[_level(by[worst], "effect")] > _ORDER[_level(x, "effect")]:
        x, whose = by[worst], f" of {worst}"
    return _made(
        "identity", f.name, _level(x, "effect"), x,
        f"the author's name changes the score{'s' if whose else ''}{whose} by {_say(x, sign=True)}",
        f"keep authors masked (debates do), strip names from arguments, or swap {f.name}",
    )  # fmt: skip


def _made(check: str, judge: str, level: Level, x: Estimate, says: str, advice: str) -> JudgeCheck:
    return JudgeCheck(
        check=check, judge=judge, level=level, says=says, advice=advice if level in ("watch", "bad") else "", estimate=x
    )


VERDICTS: dict[Level, str] = {
    "good": "These judges can be relied on as far as was measured.",
    "watch": "These judges can be used with care: see what to watch.",
    "bad": "Do not rely on these judges as they are: see what is wrong and what to do.",
    "unknown": "Nothing could be measured.",
}
"""What each verdict means."""
_TONES: dict[Level, Tone] = {"good": "good", "watch": "warn", "bad": "bad", "unknown": "soft"}


def build_report(audit: Audit, scores: Rows, extra: Sequence[ReportTable] = (), *, full: bool = True) -> Report:
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


def _findings(audit: Audit, levels: Sequence[Level]) -> ReportTable:
    lines = tuple(
        Line(
            name=f.judge or "panel",
            cells=(Cell(value=f.level, kind=_TONES[f.level] or "text"), text(f"{f.check}: {f.says}"), text(f.advice)),
        )
        for f in audit.findings
        if f.level in levels
    )
    title = "Findings" if "bad" in levels else "The other checks"
    return ReportTable(
        key="findings", title=title, first="whose", columns=columns("level", "finding", "what to do"), lines=lines
    )


def _line(name: str, x: Estimate, kind: Kind = "number", paper: str = "") -> Line:
    """A figure with what it rests on and what the paper found; why, where there is none."""
    here = estimate(x, kind) if x.defined else text(f"– ({x.how})")
    return Line(name=name, cells=(here, text(f"{x.n:,} {x.unit}"), text(paper)))


def _tables(audit: Audit) -> Iterator[ReportTable]:
    """All figures; the paper's are those of 150 arguments and three judges of other families."""
    measured = columns("here", "n", "paper")
    yield ReportTable(
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
    yield ReportTable(
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
    yield ReportTable(
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


def _effects(audit: Audit) -> ReportTable:
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
    return ReportTable(
        key="effects", title="What besides the argument moves a score (points of CRIT)", first="",
        columns=columns(*(f.name for f in judges)),
        lines=tuple(
            Line(name=name, cells=tuple(estimate(x, kind) for x in some)) for name, kind, some in effects if any(some)
        ),
        notes=tuple(f"– {why}{who}." for why, who in whose.items()),
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
    at = np.linspace(0, 1, 21).tolist()
    spread = [  # the cumulative share at 21 scores from 0 to 1
        Series(name=f.name, points=tuple(Point(x=x, y=float(np.mean(known <= x + 1e-12))) for x in at))
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
