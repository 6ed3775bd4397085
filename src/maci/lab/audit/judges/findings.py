"""From figures to a verdict in plain words, with what to do about it.

A fault is called *bad* where it is large enough to matter **and** its interval leaves out 0; *watch* is a figure to keep an eye on.
Every limit is here and in docs/audits.md; the false alarms they raise on judges without fault are counted in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from maci.calibration.stats.correlation import FLAT
from maci.calibration.stats.estimate import Estimate
from maci.lab.audit.judges.agreement import scores_needed
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
