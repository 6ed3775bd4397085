"""The audit in words and tables; terminal and Markdown are two renderings of the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maci.lab.audit.judges.audit import Audit
from maci.lab.audit.judges.convarg import Comparison
from maci.lab.audit.judges.estimate import Estimate
from maci.lab.audit.judges.findings import Level, withheld
from maci.lab.audit.judges.human import Agreement
from maci.lab.audit.judges.swaps import CLOSE
from maci.story.words import plural

VERDICTS: dict[Level, str] = {
    "good": "These judges can be relied on as far as was measured.",
    "watch": "These judges can be used with care: see what to watch.",
    "bad": "Do not rely on these judges as they are: see what is wrong and what to do.",
    "unknown": "Nothing could be measured.",
}
"""What each verdict means."""
PAPER = {"alpha": "0.68 [0.63, 0.73]", "pearson": "0.71 [0.66, 0.76]", "spearman": "0.69 [0.64, 0.74]"}
"""The paper's figures, 150 arguments and three judges of other families."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table in plain text cells."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def number(x: Estimate, *, percent: bool = False, sign: bool = False, short: bool = False) -> str:
    """An estimate with its interval; why not, where there is none.

    >>> number(Estimate(value=0.5, low=0.4, high=0.6, n=9, unit="pairs", how="Wilson"), percent=True)
    '50.0 % [40.0, 60.0]'
    """
    if x.value is None:
        return "–" if short else f"– ({x.how})"
    times, unit, digits = (100, " %", 1) if percent else (1, "", 3)
    plus = "+" if sign else ""
    said = f"{_zero(times * x.value, digits):{plus}.{digits}f}{unit}"
    if x.low is None or x.high is None:
        return said
    return f"{said} [{_zero(times * x.low, digits):{plus}.{digits}f}, {_zero(times * x.high, digits):{plus}.{digits}f}]"


def _zero(value: float, digits: int) -> float:
    """No minus before a nought."""
    return 0.0 if round(value, digits) == 0 else value


def tables(audit: Audit) -> Iterator[Table]:
    """All figures."""
    yield Table(
        title="Do the judges agree?",
        head=("", "here", "n", "paper"),
        rows=(
            ("Krippendorff's α (interval)", number(audit.alpha), _n(audit.alpha), PAPER["alpha"]),
            ("α, every judge set to the same mean", number(audit.alpha_levelled), _n(audit.alpha_levelled), ""),
            ("Pearson, mean over pairs", number(audit.pearson), _n(audit.pearson), PAPER["pearson"]),
            ("Spearman, mean over pairs", number(audit.spearman), _n(audit.spearman), PAPER["spearman"]),
        ),
        note=f"95 % intervals; {audit.alpha.how}, {audit.resamples:,} resamples, ranks by Fisher's z.",
    )
    yield _swaps(audit)
    yield Table(
        title="Each judge",
        head=("judge", "family", "mean", "spread (SD)", "with the others, ρ", "α without it", "abstained"),
        rows=tuple(
            (
                f.name, f.family, "–" if f.mean is None else f"{f.mean:.3f}", number(f.spread, short=True),
                number(f.with_rest, short=True), "–" if f.alpha_without is None else f"{f.alpha_without:.3f}",
                number(f.abstained, percent=True),
            )
            for f in audit.judges
        ),
    )  # fmt: skip
    yield _effects(audit)


def _swaps(audit: Audit) -> Table:
    return Table(
        title="Would another judge, or order, have changed it?",
        head=("", "here", "n", "paper"),
        rows=(
            ("winner flips, ties forgiven", number(audit.swap_forgiven, percent=True), _n(audit.swap_forgiven), "2.0 % [0.55, 7.00]"),
            ("winner flips, ties counted", number(audit.swap_counted, percent=True), _n(audit.swap_counted), "3.0 % [1.03, 8.45]"),
            *_each_swap(audit),
            ("order turned: mean |Δ| of the panel", number(audit.order.mean), _n(audit.order.mean), "0.038"),
            (f"order turned: |Δ| < {CLOSE}", number(audit.order.close, percent=True), _n(audit.order.close), "94 %"),
            ("order turned: Spearman", number(audit.order.rho), _n(audit.order.rho), "0.92 [0.87, 0.95]"),
        ),
        note="Winner: highest mean CRIT; a lead of 0.02 or less is a tie. Order: cited pieces and reasons of an argument in reverse.",
    )  # fmt: skip


def _effects(audit: Audit) -> Table:
    rows = [
        ("own family", [number(f.own_family, sign=True, short=True) for f in audit.judges]),
        ("length, rank correlation", [number(f.length, sign=True, short=True) for f in audit.judges]),
        ("padded", [number(f.padded, sign=True, short=True) for f in audit.judges]),
        ("signed by its author", [number(f.signed, sign=True, short=True) for f in audit.judges]),
        ("early − late in a batch", [number(f.position, sign=True, short=True) for f in audit.judges]),
        ("turned round, mean |Δ|", [number(f.order.mean, short=True) for f in audit.judges]),
        ("asked again, SD", [number(f.within, short=True) for f in audit.judges]),
        ("share of chance", [number(f.noise, short=True) for f in audit.judges]),
    ]
    if any(f.pairs is not None for f in audit.judges):
        rows.append(
            (
                "pairs: first − second",
                [number(f.pairs.bias, sign=True, short=True) if f.pairs else "" for f in audit.judges],
            )
        )
    return Table(
        title="What besides the argument moves a score (points of CRIT)",
        head=("", *(f.name for f in audit.judges)),
        rows=tuple((name, *cells) for name, cells in rows),
        note=" ".join(_gaps(audit)),
    )


def _each_swap(audit: Audit) -> Iterator[tuple[str, str, str, str]]:
    for swap in audit.swaps if len(audit.swaps) > 1 else ():
        both = f"{number(swap.forgiven, percent=True)}; {number(swap.counted, percent=True)}"
        yield f"{swap.first} ↔ {swap.second}", both, _n(swap.forgiven), ""


def _gaps(audit: Audit) -> Iterator[str]:
    """Why figures are missing, once for each reason."""
    met: dict[str, list[str]] = {}
    for f in audit.judges:
        for what, x in (("own family", f.own_family), ("length", f.length), ("padded", f.padded), ("signed", f.signed),
                        ("early − late", f.position), ("turned", f.order.mean), ("asked again", f.within)):  # fmt: skip
            if x.value is None:
                met.setdefault(f"{what}: {x.how}", []).append(f.name)
    for why, who in met.items():
        whose = "" if len(who) == len(audit.judges) else f" ({', '.join(who)})"
        yield f"– {why}{whose}."


def _n(x: Estimate) -> str:
    return f"{x.n:,} {x.unit}"


def people_table(found: Sequence[Agreement], human: Estimate, raters: int) -> Table:
    """Judges against people's own scores."""
    return Table(
        title="Against people",
        head=("judge", "Spearman", "pairs of one case", "AUC", "n"),
        rows=tuple(
            (
                a.judge,
                number(a.rho),
                number(a.pairs, percent=True),
                number(a.auc),
                f"{plural(a.rho.n, 'argument')}, {plural(a.pairs.n, 'pair')}",
            )
            for a in found
        ),
        note=f"{plural(raters, 'rater')}; people among themselves: α {number(human)}.",
    )


def compared(found: Comparison) -> list[Table]:
    """Judges against people on a public set."""
    rows = [
        ("the longer one wins", number(found.longer, percent=True), number(found.longer_test, percent=True), "", ""),
        *(
            (v.judge, number(v.accuracy, percent=True), number(v.test, percent=True),
             number(v.less_length, percent=True, sign=True), number(v.with_length, percent=True, sign=True))
            for v in found.judges
        ),
    ]  # fmt: skip
    last = found.judges[-1]
    sides = tuple(
        (side, f"{x.n}", number(x, percent=True), number(found.longer_by_side[side], percent=True))
        for side, x in sorted(last.by_side.items())
    )
    return [
        Table(
            title=f"{found.data}: which of two arguments people found more convincing",
            head=("", "all topic sides", "test topic sides", "minus length", "length + judge, minus length"),
            rows=tuple(rows),
            note=f"{found.pairs:,} pairs of {found.arguments:,} arguments, {found.sides} topic sides, which are resampled. The last "
            "column is fitted on the other topic sides. Length in characters; ties count half.",
        ),
        Table(title=f"By topic side ({last.judge})", head=("topic side", "pairs", "judge", "longer"), rows=sides),
    ]


def findings_rows(audit: Audit, levels: Sequence[Level]) -> list[tuple[str, str, str, str]]:
    """Findings of these levels: level, whose, what, advice."""
    return [
        (f.level, f.judge or "panel", f"{f.check}: {f.says}", f.advice) for f in audit.findings if f.level in levels
    ]


def head(audit: Audit) -> str:
    """Who and what, in a line."""
    who = ", ".join(f"{f.name} ({f.family})" for f in audit.judges)
    cost = f"{plural(audit.calls, 'score')}, {plural(audit.tokens, 'token')}" + (
        f", ${audit.usd:.4f}" if audit.usd else ""
    )
    found = f"{plural(audit.arguments, 'argument')} of {plural(audit.debates, 'debate')} about {plural(audit.cases, 'case')}"
    return f"{who}: {found}; {cost}."


def verdict_words(audit: Audit) -> str:
    """The verdict in a sentence."""
    return withheld(audit) or VERDICTS[audit.verdict]


def text(audit: Audit, extra: Sequence[Table] = (), *, full: bool = True) -> str:
    """For a terminal."""
    lines = [head(audit), "", f"{audit.verdict.upper()}. {verdict_words(audit)}"]
    for level in ("bad", "watch"):
        for _, who, says, advice in findings_rows(audit, [level]):
            lines.append(f"  {level:<5}  {who}: {says}")
            lines += [f"         → {advice}"] if advice else []
    for table in (*extra, *(tables(audit) if full else ())):
        lines += ["", *_aligned(table)]
    return "\n".join([*lines, *(f"\n{note}" for note in audit.notes)])


def _aligned(table: Table) -> list[str]:
    rows = [table.head, *table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.head))]
    lines = [table.title]
    lines += [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return [*lines, f"  {table.note}"] if table.note else lines


def plain_tables(found: Sequence[Table]) -> str:
    """Tables alone, for a terminal."""
    return "\n\n".join("\n".join(_aligned(table)) for table in found)


def markdown(audit: Audit, extra: Sequence[Table] = ()) -> str:
    """For tickets and papers."""
    parts = ["# Audit of the judges", head(audit), f"**{audit.verdict.upper()}.** {verdict_words(audit)}"]
    rows = findings_rows(audit, ["bad", "watch"])
    if rows:
        parts.append(_grid(Table(title="", head=("", "whose", "finding", "what to do"), rows=tuple(rows))))
    for table in (*extra, *tables(audit)):
        parts += [f"## {table.title}", _grid(table), *([table.note] if table.note else [])]
    parts += [*audit.notes, f"maci {audit.version}, seed {audit.seed}."]
    return "\n\n".join(parts) + "\n"


def markdown_tables(found: Sequence[Table]) -> str:
    """Tables alone."""
    return "\n\n".join(f"## {t.title}\n\n{_grid(t)}" + (f"\n\n{t.note}" if t.note else "") for t in found) + "\n"


def _grid(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return "\n".join([line(table.head), "|---" * len(table.head) + "|", *map(line, table.rows)])
