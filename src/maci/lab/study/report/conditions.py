"""Tables of parts of the cases and of changed conditions.

group             accuracy by the data set's own groups: category, outlet, source
evidence quality  accuracy and agreement of votes by thirds of Q₀
robustness        the reference under other settings, such as retrieval depth, encoder and pooling
free text         the same cases once with listed outcomes, once with open ones
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from maci.calibration.stats import estimate
from maci.lab.study.report.arena import Arena, CaseId, Entrant, Place
from maci.lab.study.report.compare import Comparison
from maci.lab.study.report.estimates import Estimates, bounded
from maci.lab.study.report.gather import Gathered
from maci.lab.study.report.tables import PAPER_FREE, PAPER_NOTE, PAPER_VOTES, by_method, line_of, table
from maci.render.report import Cell, Column, Line, ReportTable, number, text

_NAMES = ("low", "middle", "high")


def strata(values: Sequence[float]) -> tuple[tuple[str, ...], tuple[float, float]]:
    """The third of each case by a number such as Q₀, and where they are cut: at the quantiles ⅓ and ⅔ (Hyndman & Fan 1996, type 7).

    A value equal to a cut is above it, so equals are never split.

    >>> strata([0.1, 0.5, 0.9, 0.2, 0.6, 0.8])[0]
    ('low', 'middle', 'high', 'low', 'middle', 'high')
    """
    low, high = np.quantile(values, [1 / 3, 2 / 3]).tolist()
    return tuple(_NAMES[int(np.searchsorted([low, high], value, side="right"))] for value in values), (low, high)


def agreement(shares: Sequence[float]) -> Cell:
    """Vote agreement: the mean share of the votes that the leading outcome has, with its quartiles, as the paper prints it.

    SPEC 12 (the paper's table of votes by evidence quality).

    >>> found = agreement([0.5, 0.75])
    >>> found.value, found.low, found.high, found.n
    (0.625, 0.5625, 0.6875, 2)
    """
    if not shares:
        return Cell(kind="share", n=0)
    percent = [100 * share for share in shares]
    mean, low, high = (float(x) / 100 for x in (np.mean(percent), *np.quantile(percent, [0.25, 0.75])))
    return Cell(value=mean, low=low, high=high, n=len(shares), kind="share", how="quartiles")


MOST = 8
"""Groups with a column of their own, the largest; the rest are one."""
REST = "all other groups"


def group_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """Acc@1 of every method in every group; ``None`` where there are not at least two."""
    group: dict[Place, str] = {
        place: answered.row.group for e in arena.entrants for place, answered in e.answers.items() if answered.row.group
    }
    cases = Counter(name for _, name in {(place.case, name) for place, name in group.items()})
    if len(cases) < 2:
        return None
    own = [name for name, _ in sorted(cases.items(), key=lambda x: (-x[1], x[0]))]
    names = own if len(own) <= MOST + 1 else [*own[:MOST], REST]
    named = {place: name if name in names else REST for place, name in group.items()}
    sizes = Counter(name for _, name in {(place.case, name) for place, name in named.items()})
    notes = [
        "Acc@1 %, in brackets after each group its cases. Groups are the data set's own; none was chosen for its result."
    ]
    if REST in names:
        notes.append(f"{len(own)} groups in all; those beyond the {MOST} largest are taken together.")
    return table(
        "groups",
        "Accuracy by group",
        tuple(
            Column(
                key=f"acc1:group {name}", title=f"{name} ({sizes[name]})", better="more", about=f"{sizes[name]} cases"
            )
            for name in names
        ),
        by_method(arena, lambda e: _right_in(e, named, names, estimates)),
        *notes,
    )


def _right_in(entrant: Entrant, part: Mapping[Place, str], names: Sequence[str], estimates: Estimates) -> list[Cell]:
    """Acc@1 of a method in each part of the cases."""
    right: dict[str, list[tuple[float, CaseId]]] = {name: [] for name in names}
    for place in sorted(entrant.answers):
        if place in part:
            correct = entrant.answers[place].scored.correct
            right[part[place]].append((math.nan if correct is None else float(correct), place.case))
    return [estimate(estimates.share_of(right[name]), "share") for name in names]


def thirds(arena: Arena) -> tuple[dict[Place, str], str]:
    """The third of every place by Q₀, and where the thirds are cut; empty where no method measured it.

    Q₀ is the openings' and does not depend on the method. It is the reference's where that has it, else that of the first that does.
    """
    q0: dict[Place, float] = {}
    for entrant in (arena.home, *arena.entrants):
        for place, answered in entrant.answers.items():
            if answered.row.q0 is not None and not math.isnan(answered.row.q0):
                q0.setdefault(place, answered.row.q0)
    if not q0:
        return {}, ""
    names, (low, high) = strata(list(q0.values()))
    return dict(zip(q0, names, strict=True)), f"{low:.3f} and {high:.3f}"


def quality_table(arena: Arena, estimates: Estimates) -> ReportTable | None:
    """Accuracy of each method by third of Q₀."""
    third, cuts = thirds(arena)
    if not third:
        return None
    lines = []
    for entrant in arena.entrants:
        lines.append(line_of(arena, entrant, _right_in(entrant, third, _NAMES, estimates)))
        if arena.paper == "G1" and entrant.use == "majority_vote" and not any(line.source == "paper" for line in lines):
            figures = tuple(number(PAPER_VOTES[name][1], "share") for name in _NAMES)
            lines.append(Line(name="paper: Majority vote (20)", cells=figures, source="paper"))
    notes = [f"Acc@1 %. Thirds of Q₀, cut at {cuts}."]
    if any(line.source == "paper" for line in lines):
        notes[0] = f"{notes[0][:-1]}; the paper cuts at 0.3 and 0.7."
        notes.append(f"{PAPER_NOTE} It quotes these vote figures elsewhere as its own method's.")
    return table(
        "quality",
        "Accuracy by evidence quality",
        tuple(Column(key=f"acc1:{name}", title=f"{name} Q₀", better="more") for name in _NAMES),
        lines,
        *notes,
    )


def agreement_table(arena: Arena) -> ReportTable | None:
    """How many of the votes the leading outcome has, by third of Q₀."""
    third, cuts = thirds(arena)
    voters = [e for e in arena.entrants if any(a.row.agreement is not None for a in e.answers.values())]
    if not third or not voters:
        return None
    lines = []
    for entrant in voters:
        given = [(third.get(p), entrant.answers[p].row.agreement) for p in sorted(entrant.answers)]
        cells = (agreement([x for where, x in given if where == name and x is not None]) for name in _NAMES)
        lines.append(Line(name=entrant.name, cells=tuple(cells)))
    if arena.paper == "G1":
        figures = tuple(text(PAPER_VOTES[name][0]) for name in _NAMES)
        lines.append(Line(name="paper: Majority vote (20)", cells=figures, source="paper"))
    return table(
        "agreement",
        "Vote agreement by evidence quality",
        tuple(Column(key=f"agreement:{name}", title=f"{name} Q₀") for name in _NAMES),
        lines,
        f"Mean share of votes for the leading outcome in %, in brackets its quartiles (no confidence interval); Q₀ cut at {cuts}.",
        *(PAPER_NOTE,) if arena.paper == "G1" else (),
    )


def variant_table(
    study: Gathered, arena: Arena, found: Sequence[Comparison], estimates: Estimates
) -> ReportTable | None:
    """The methods that are the reference but for their settings; ``None`` where there are none."""
    known = {m.name: (m.use, _settings(m.options)) for some in study.meta.methods.values() for m in some}
    home = known.get(arena.reference)
    if home is None:
        return None
    others = [e for e in arena.entrants if e.name in known and known[e.name][0] == home[0]]
    if len(others) < 2 or not any(known[e.name][1] != home[1] for e in others):
        return None
    by = {c.other: c for c in found}

    def cells(entrant: Entrant) -> list[Cell]:
        some, c = entrant.picked(), by.get(entrant.name)
        accuracy, ece = estimates.metrics(["acc1", "ece"], some.scored, some.cases)
        q0s = [math.nan if a.row.q0 is None else a.row.q0 for a in some.answers]
        q0, rounds = estimates.means([q0s, [a.row.rounds for a in some.answers]], some.cases)
        beside = [text("")] * 3
        if c is not None:
            beside = [estimate(c.accuracy, "points"), number(c.p, "p"), number(_same(arena.home, entrant), "share")]
        changed = text(_changed(known[entrant.name][1], home[1]) or "as the reference")
        return [changed, estimate(accuracy, "share"), *beside, estimate(ece), estimate(q0), estimate(rounds, "mean")]

    return table(
        "variants",
        f"{arena.reference} under other settings",
        (
            Column(key="note", title="setting", about="what differs from the reference"),
            Column(key="acc1", title="Acc@1 %", better="more"),
            Column(key="acc1_difference", title=f"Δ of {arena.reference}, points", about="reference less variant"),
            Column(key="p_mcnemar_adjusted", title="p adjusted"),
            Column(key="same_answer", title="same answer %", about="cases in which both lead with the same outcome"),
            Column(key="ece", title="ECE", better="less"),
            Column(key="q0", title="Q₀", about="on another encoder's scale where the encoder differs"),
            Column(key="rounds", title="Rounds"),
        ),
        by_method(arena, cells, others),
        "Robust is what shows no difference here and gives the same answers. An interval that reaches far says that these cases are "
        "too few to tell, not that nothing hangs on the setting.",
        first="Variant",
    )


def _settings(options: Mapping[str, Any]) -> dict[str, Any]:
    found: Mapping[str, Any] = options.get("settings") or options.get("set") or {}
    return dict(found)


def _changed(own: Mapping[str, Any], home: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{k} = {own[k]}" if k in own else f"{k} not set" for k in sorted({*own, *home}) if own.get(k) != home.get(k)
    )


def _same(home: Entrant, other: Entrant) -> float | None:
    shared = home.answers.keys() & other.answers.keys()
    alike = [home.answers[p].scored.answer == other.answers[p].scored.answer for p in shared]
    return sum(alike) / len(alike) if alike else None


def free_table(fought: Sequence[tuple[Gathered, Arena]], estimates: Estimates) -> ReportTable | None:
    """Acc@1 with listed and with open outcomes, and what openness costs on the cases that have both; ``None`` without a pair."""
    pairs = [
        (listed, open_)
        for study, listed in fought
        for other, open_ in fought
        if study is other and _twins(study, listed, open_)
    ]
    if not pairs:
        return None
    columns: list[Column] = []
    for listed, open_ in pairs:
        columns += [
            Column(key=f"acc1:{listed.key}", title=listed.data[0], better="more"),
            Column(key=f"acc1:{open_.key}", title=open_.data[0], better="more"),
            Column(
                key=f"exact:{open_.key}",
                title="the same, exact",
                better="more",
                about="share whose answer is the true outcome itself, neither wider nor narrower",
            ),
            Column(
                key=f"open_difference:{listed.key}",
                title="open less listed, points",
                about="on the cases answered both ways, paired",
            ),
        ]
    names = list(dict.fromkeys(e.name for pair in pairs for arena in pair for e in arena.entrants))
    homes = {arena.reference for pair in pairs for arena in pair}
    lines = [
        Line(
            name=name,
            cells=tuple(cell for pair in pairs for cell in _cells(name, *pair, estimates)),
            source="reference" if name in homes else "ours",
        )
        for name in names
    ]
    notes = ["Acc@1 %. An open answer is right where it names the true outcome, or one that is narrower or wider."]
    if any(listed.paper == "G1" for listed, _ in pairs):
        cells = tuple(text(x) for listed, _ in pairs for x in ((*PAPER_FREE, "", "") if listed.paper else ("",) * 4))
        lines.append(Line(name="paper: MACI", cells=cells, source="paper"))
        notes.append(PAPER_NOTE)
    return table("free", "Constrained and free-text outcomes", columns, lines, *notes)


def _twins(study: Gathered, listed: Arena, open_: Arena) -> bool:
    """Whether two arenas are one set that differs in `open` alone."""
    if len(listed.data) != 1 or len(open_.data) != 1:
        return False
    by = {entry.name: entry for entry in study.meta.spec.data}
    a, b = by.get(listed.data[0]), by.get(open_.data[0])
    if a is None or b is None or a.set is None or a.set != b.set:
        return False
    plain, free = {"open": False, **a.options}, {"open": False, **b.options}
    return not plain.pop("open") and bool(free.pop("open")) and plain == free


def _cells(name: str, listed: Arena, open_: Arena, estimates: Estimates) -> list[Cell]:
    right: list[dict[tuple[int, str], float]] = []
    for arena in (listed, open_):
        own = next((e.answers for e in arena.entrants if e.name == name), {})
        right.append(
            {(p.seed, p.item): float(a.scored.correct) for p, a in own.items() if a.scored.correct is not None}
        )
    shares = [estimates.share_of([(known[k], k[1]) for k in sorted(known)]) for known in right]
    shared = sorted(right[0].keys() & right[1].keys())
    d, cases = np.array([right[1][k] - right[0][k] for k in shared]), [item for _, item in shared]
    change = bounded(estimates.mean_difference(d, cases), len(set(cases)), 1.0)
    own = next((e.answers for e in open_.entrants if e.name == name), {})
    exact = estimates.share_of(
        [(float(a.row.exact), p.item) for p, a in sorted(own.items()) if a.row.exact is not None]
    )
    return [*(estimate(share, "share") for share in (*shares, exact)), estimate(change, "points")]
