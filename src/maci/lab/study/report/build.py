"""Rows → :class:`~maci.render.report.Report`: the one place where a report's figures are computed.

The same rows give the same report to the last byte. Only ``test`` answers are scored; ``dev`` is for calibration and for choosing
the best agent. Failed answers are listed and counted, never scored; what is planned and not there is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from maci.calibration.stats import RESAMPLES
from maci.calibration.temperature import Softening
from maci.calibration.weights import TAUGHT
from maci.errors import InputError
from maci.lab.study.learning import DevLesson
from maci.lab.study.report.arena import BEST, WITHOUT_DEBATE, Arena, Learner, arenas
from maci.lab.study.report.compare import (
    Comparison,
    ablation_table,
    adjusted,
    compare_all,
    in_words,
    members_table,
    worth_it,
)
from maci.lab.study.report.conditions import agreement_table, free_table, group_table, quality_table, variant_table
from maci.lab.study.report.course import crit_table, flip_table, round_table, signal_tables, trend_table
from maci.lab.study.report.estimates import Estimates
from maci.lab.study.report.gather import Gathered, uncollected
from maci.lab.study.report.harm import harm_table, hollow_table, rollback_table, seat_table
from maci.lab.study.report.main import compute_table, difference_table, main_table, overview
from maci.lab.study.report.ordered import article_table, distance_table, mitigation_table, ordered_table, ordered_words
from maci.lab.study.report.selective import conformal_table, reliability_table, selective_table
from maci.lab.study.report.tables import GLOSSARY, table
from maci.render.report import Chart, Column, Line, Report, ReportTable, Section, columns, count, number, text
from maci.story.words import plural

REFERENCE = "maci"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings:
    """What may be chosen; what is not is the spec's ``[report]``, then the default."""

    reference: str | None = None
    """The method all others are compared with."""
    seed: int = 0
    resamples: int | None = None


@uncollected()
def build_report(
    studies: Sequence[Gathered], settings: ReportSettings | None = None, watch: Callable[[str], None] = lambda _: None
) -> Report:
    """Everything there is to say of the studies; ``watch`` is told what is being computed."""
    own = settings or ReportSettings()
    estimates = Estimates(seed=own.seed, resamples=_resamples(studies, own))
    notes: list[str] = []
    fought: list[tuple[Gathered, Arena, list[Comparison]]] = []
    learnt: dict[str, Mapping[Learner, Softening]] = {}
    references: dict[str, str] = {}
    tests: dict[str, int] = {}
    for study in studies:
        watch(f"{study.label}: calibration")
        reference = references[study.label] = _reference(study, own, notes)
        found, learnt[study.label] = arenas(study, reference)
        compared = []
        for arena in found:
            if arena.reference != reference:
                notes.append(
                    f"{arena.title} has no answers of {reference}; the others are compared with {arena.reference}."
                )
            watch(f"{arena.title}: differences")
            compared.append(compare_all(arena, estimates))
        settled = iter(adjusted([c for some in compared for c in some]))
        tests[study.label] = 2 * sum(c.same_as is None for some in compared for c in some)
        fought += [(study, arena, [next(settled) for _ in some]) for arena, some in zip(found, compared, strict=True)]
    sections: list[Section] = []
    for study, arena, some in fought:
        watch(f"{arena.title}: tables")
        sections.append(_section(study, arena, some, estimates, tests[study.label]))
    unlearnt = sum(c.note.startswith("not calibrated") for some in learnt.values() for c in some.values())
    if unlearnt:
        notes.append(
            f"{unlearnt} of {sum(map(len, learnt.values()))} calibrations could not be learnt, for want of dev answers: their "
            "probabilities are as given. The table of calibrations says which."
        )
    tables = [
        overview(sections),
        free_table([(study, arena) for study, arena, _ in fought], estimates),
        *map(_missing, studies),
        *(one for study in studies for one in _failures(study)),
        lessons_table(studies),
        _calibrations(studies, learnt),
    ]
    return Report(
        title=", ".join(study.label for study in studies),
        verdict=_verdict(fought, studies, references),
        facts=_facts(studies, estimates),
        notes=tuple(notes),
        sections=tuple(sections),
        tables=tuple(one for one in tables if one is not None and one.lines),
        glossary=GLOSSARY,
    )


def _resamples(studies: Sequence[Gathered], own: ReportSettings) -> int:
    chosen = [own.resamples, *(study.meta.spec.report.get("resamples") for study in studies), RESAMPLES]
    value = next(x for x in chosen if x is not None)
    if not isinstance(value, int) or not 20 <= value <= 10**6:
        raise InputError(f"resamples is {value!r}: give a whole number from 20 to 1,000,000; {RESAMPLES} is usual")
    return value


def _reference(study: Gathered, own: ReportSettings, notes: list[str]) -> str:
    """The method others are compared with; one that was asked for must be there."""
    known = {"reference", "resamples"}
    notes += [
        f"{study.label}: [report] {key} in the spec is not known and changes nothing; there are {', '.join(sorted(known))}."
        for key in study.meta.spec.report
        if key not in known
    ]
    methods = [method for some in study.meta.methods.values() for method in some]
    names = list(dict.fromkeys([m.name for m in methods] + [f"{m.of} (best on dev)" for m in methods if m.each]))
    chosen = own.reference or study.meta.spec.report.get("reference")
    if chosen is not None:
        if chosen not in names:
            raise InputError(f"reference is {chosen!r}: {study.label} has {', '.join(names)}")
        return str(chosen)
    if REFERENCE in names:
        return REFERENCE
    stand_in = next((m.name for m in methods if m.use == REFERENCE), names[0] if names else REFERENCE)
    notes.append(f"{study.label} has no method called {REFERENCE}; the others are compared with {stand_in}.")
    return stand_in


def _section(study: Gathered, arena: Arena, found: Sequence[Comparison], estimates: Estimates, tests: int) -> Section:
    """One arena's tables and charts; of several data sets together only what can be pooled."""
    parts = [part for part in _parts(study, arena, found, estimates, tests) if part is not None]
    tables = tuple(part for part in parts if isinstance(part, ReportTable) and part.lines)
    charts = tuple(part for part in parts if isinstance(part, Chart) and any(s.points for s in part.series))
    ordered = [ordered_words(one, arena.reference) for one in tables if one.key == "ordered"]
    seeds = plural(len({place.seed for place in arena.places}), "seed")
    notes = [f"{arena.cases} test cases under {seeds}."]
    notes += [note for data in arena.data for note in study.meta.notes.get(data, ())]
    notes += [] if len(arena.data) > 1 else _left_out(arena, [one.key for one in tables])
    verdicts = (*map(in_words, found), *ordered)
    return Section(
        key=arena.key, title=arena.title, verdicts=verdicts, notes=tuple(notes), tables=tables, charts=charts
    )


def _parts(
    study: Gathered, arena: Arena, found: Sequence[Comparison], estimates: Estimates, tests: int
) -> Iterator[ReportTable | Chart | None]:
    """Tables and charts in the order they are read; what has no lines or points is left out."""
    alone = len(arena.data) == 1
    main, scatter = main_table(arena, estimates)
    yield from (main, scatter, *difference_table(arena, found, tests), compute_table(arena, found, estimates))
    yield ablation_table(arena, found, main)
    if alone:
        yield from (members_table(arena, found, main), variant_table(study, arena, found, estimates))
        yield from (ordered_table(arena, estimates), distance_table(arena, estimates), article_table(arena))
        yield from (mitigation_table(study, arena, estimates), quality_table(arena, estimates))
        yield from (agreement_table(arena), group_table(arena, estimates))
    yield from round_table(arena, estimates)
    yield from (one(arena, estimates) for one in (flip_table, harm_table, hollow_table, seat_table, rollback_table))
    if alone:
        yield from (*signal_tables(arena, estimates), trend_table(arena, estimates), crit_table(arena, estimates))
    yield from (*reliability_table(arena), *selective_table(arena, estimates))
    if alone:
        yield conformal_table(study, arena, estimates)


def _left_out(arena: Arena, there: Sequence[str]) -> list[str]:
    """Tables such data might have, and why they are not there."""
    found = []
    if "ordered" in there and "distances" not in there:
        found.append("No distances DR, DS, SR: they need two raters of each case.")
    if "ordered" in there and "mitigation" not in there:
        found.append("No table of agents brought together: no method here keeps the beliefs of two agents over rounds.")
    judged = any(a.row.judge_calls for e in arena.entrants if e.use == "maci" for a in e.answers.values())
    if judged and "crit" not in there:
        found.append(
            "No table of CRIT reliability: these rows were made before scores were kept; `maci audit judges` asks anew."
        )
    return found


def _question(
    fought: Sequence[tuple[Gathered, Arena, list[Comparison]]],
    studies: Sequence[Gathered],
    references: Mapping[str, str],
) -> str:
    """What the report answers first: of debate, or of a reference that does without."""
    compared = [(arena.reference, arena.home.use) for _, arena, _ in fought]
    if not compared:
        for study in studies:
            methods = [method for some in study.meta.methods.values() for method in some]
            name = references[study.label]
            compared += [(name, m.use) for m in methods if name in (m.name, f"{m.of} {BEST}")]
    asked = dict.fromkeys(name if use in WITHOUT_DEBATE else "debate" for name, use in compared)
    return f"Was {' or '.join(asked) or 'debate'} worth it here?"


def _verdict(
    fought: Sequence[tuple[Gathered, Arena, list[Comparison]]],
    studies: Sequence[Gathered],
    references: Mapping[str, str],
) -> tuple[str, ...]:
    question = _question(fought, studies, references)
    if not fought:
        return (f"{question} There is no scored answer yet, so nothing can be said.",)
    said = [worth_it(arena, some) for _, arena, some in fought]
    found = [f"{question} {_answer([arena for _, arena, _ in fought], said)}", *said]
    scored = {(study.label, data) for study, arena, _ in fought for data in arena.data}
    found += [
        f"Not known on {data if data == study.label else f'{study.label}: {data}'}: no scored test answer yet, so nothing can be said."
        for study in studies
        for data in study.meta.methods
        if (study.label, data) not in scored
    ]
    left = sum(len(study.missing) for study in studies)
    if left:
        found.append(f"{left} planned answers are missing: this is the state of an unfinished study.")
    return tuple(found)


_WORTH = {
    "Paid": ("Yes", "Yes, on every data set"),
    "Saved": ("It saved tokens", "It saved tokens on every data set"),
    "Not shown": ("Not shown", "Not shown on any data set"),
    "Did not": ("No", "No, on no data set"),
    "Not known": ("Not known", "Not known on any data set"),
}
"""How a sentence of :func:`worth_it` begins → the answer for one data set, and for several alike."""


def _answer(arenas: Sequence[Arena], said: Sequence[str]) -> str:
    """The answer on all data sets as one sentence."""
    by: dict[str, list[str]] = {}
    several = len({arena.data for arena in arenas}) < len(arenas)  # studies of the same data
    for arena, sentence in zip(arenas, said, strict=True):
        begins = next(begins for begins in _WORTH if sentence.startswith(begins))
        own = "all together" if len(arena.data) > 1 else arena.data[0]
        by.setdefault(begins, []).append(arena.title if several else own)
    if len(by) == 1:
        alone, alike = _WORTH[next(iter(by))]
        return f"{alone if len(arenas) == 1 else alike}."
    return " ".join(f"{_WORTH[begins][0]}: {'; '.join(names)}." for begins, names in by.items())


def _facts(studies: Sequence[Gathered], estimates: Estimates) -> tuple[tuple[str, str], ...]:
    found = []
    for study in studies:
        meta = study.meta
        about = f"{meta.spec.about.rstrip('.')}. " if meta.spec.about else ""
        done = sum(row.status == "done" for row in study.rows.values())
        seeds = ", ".join(map(str, meta.spec.seeds))
        made = f"maci {meta.version}" + (f" at {meta.commit[:10]}" if meta.commit else "")
        panel = meta.identity.get("panel", {})
        who = panel.get("name") or ("recorded answers" if panel.get("recorded") else "agents of the spec")
        found.append(
            (
                study.label,
                f"{about}{done} answers of {len(study.planned)} planned, on {', '.join(meta.methods)}; seeds {seeds}; panel {who}; "
                f"begun {meta.created} with {made}; fingerprint {meta.fingerprint[:12]}.",
            )
        )
    found.append(
        (
            "statistics",
            f"95 % intervals from {estimates.resamples:,} bootstrap resamples of cases (seed {estimates.seed}); McNemar and Wilcoxon "
            "by case, Benjamini–Hochberg over all tests of a study.",
        )
    )
    return tuple(found)


def _missing(study: Gathered) -> ReportTable:
    """What was planned and is not there, by data set and method."""
    gone, planned = (Counter((key.data, key.method) for key in keys) for keys in (study.missing, study.planned))
    lines = [
        Line(name=f"{data}: {method}", cells=(count(n), count(planned[data, method])))
        for (data, method), n in gone.items()
    ]
    return table(
        "missing",
        f"{study.label}: answers that are missing",
        columns("missing", "planned"),
        lines,
        "The same `maci study run` continues with these. A report of a part says only what that part says.",
        first="Data and method",
    )


def _failures(study: Gathered) -> Iterator[ReportTable]:
    """Counts by method, then every one."""
    failed = [row for row in study.rows.values() if row.status != "done" or row.belief is None]
    by = Counter((row.data, row.method, row.status) for row in failed)
    yield table(
        "failure_counts",
        f"{study.label}: answers that failed, counted",
        (
            Column(key="data", title="data"),
            Column(key="status", title="how"),
            Column(key="failed", title="answers"),
        ),
        [Line(name=method, cells=(text(data), text(status), count(n))) for (data, method, status), n in by.items()],
        "Not scored and not replaced. `maci study run … --retry-failed` tries them again.",
    )
    said = [(row.data, str(row.seed), row.part, row.method, row.status, row.reason) for row in failed]
    lines = [Line(name=row.item, cells=tuple(map(text, words))) for row, words in zip(failed, said, strict=True)]
    heads = columns("data", "seed", "part", "method", "how", "reason")
    yield table("failures", f"{study.label}: answers that failed", heads, lines, first="Case", folded=True)


def _calibrations(studies: Sequence[Gathered], learnt: Mapping[str, Mapping[Learner, Softening]]) -> ReportTable:
    """T and ε of every method, data set and seed."""
    lines = []
    for study in studies:
        order = {m.name: i for some in study.meta.methods.values() for i, m in enumerate(some)}
        some = learnt[study.label]
        for who in sorted(some, key=lambda w: (w.data, order.get(w.method, len(order)), w.seed)):
            c, data = some[who], f"{study.label}: {who.data}" if len(studies) > 1 else who.data
            figures = (count(c.n), number(c.temperature), number(c.epsilon))
            lines.append(Line(name=who.method, cells=(text(data), text(str(who.seed)), *figures, text(c.note))))
    return table(
        "calibrations",
        "Calibration learnt on dev",
        (
            Column(key="data", title="data"),
            Column(key="seed", title="seed"),
            Column(key="dev", title="dev answers"),
            Column(key="temperature", title="T"),
            Column(key="epsilon", title="ε"),
            Column(key="note", title="note"),
        ),
        lines,
        "p′ ∝ ((1 − ε) p + ε/|𝒴|)^(1/T), the T and ε of the highest likelihood on dev; the same procedure for every method.",
        folded=True,
    )


KEY = "lessons"
_COLUMNS = (
    Column(key="data", title="data"),
    Column(key="seed", title="seed"),
    Column(key="agent_temperature", title="T", about="of stated probabilities; 1: as they are"),
    Column(
        key="agent_doubt",
        title="ε",
        about="doubt: share given to all outcomes alike, most where an agent only names one",
    ),
    Column(key="agent_weight", title="weight", about="in the mixture; the mean of all agents is 1"),
    Column(key="dev", title="dev cases", about="that taught something"),
    Column(key="weights", title="fitted by", about="equal: not fitted"),
    Column(key="note", title="note"),
)


def lessons_table(studies: Sequence[Gathered]) -> ReportTable | None:
    """All lessons of the studies; ``None`` where none learns."""
    found = [
        (f"{study.label}: {data}", seed, lesson)
        for study in studies
        for data, by_seed in study.meta.learnt.items()
        for seed, lesson in sorted(by_seed.items())
    ]
    if not found:
        return None
    lines = [line for data, seed, lesson in found for line in _lines(data, seed, lesson)]
    calls, tokens = (sum(x) for x in zip(*((a.calls, a.usage.tokens) for _, _, a in found), strict=True))
    return table(
        KEY,
        "Agents, as dev taught",
        _COLUMNS,
        lines,
        "Temperature T, doubt ε and weight of each agent, learnt from its openings to the dev cases, the same for every method. This "
        "is before, and apart from, the calibration of each method's answers.",
        f"Learning took {calls:,} calls and {tokens:,} tokens, which are no method's and in no other table.",
        first="Agent",
        folded=True,
    )


def _lines(data: str, seed: int, lesson: DevLesson) -> list[Line]:
    """Whom no setting names is as it was: T = 1, ε = 0, the mean weight."""
    t, doubt, weight = (lesson.settings.get(key, {}) for key in TAUGHT)
    said = dict(note.split(": ", 1) for note in lesson.notes if ": " in note)
    return [
        Line(
            name=agent,
            cells=(
                text(data),
                text(str(seed)),
                number(t.get(agent, 1.0), n=lesson.n),
                number(doubt.get(agent, 0.0), n=lesson.n),
                number(weight.get(agent, 1.0), n=lesson.n),
                count(lesson.n),
                text(lesson.weights),
                text(said.get(agent, "")),
            ),
        )
        for agent in dict.fromkeys((*weight, *t, *doubt))
    ]
