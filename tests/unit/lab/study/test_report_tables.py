"""The tables of SPEC 12 beyond the main ones, with figures worked out by hand."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from scipy import stats

from maci.calibration.stats import alpha_sums, correlation_sums
from maci.lab.methods.method import Step
from maci.lab.study.report import ReportSettings, build_report
from maci.lab.study.report.course import winner
from maci.lab.study.report.ordered import gaps, nearest
from maci.lab.study.study import PlannedMethod, Row
from maci.render.report import Report, ReportTable, show
from report_helpers import answers, belief, row, study

SCALE = {"-1": -1.0, "0": 0.0, "+1": 1.0}


def made(rows, methods, **more) -> Report:
    return build_report(study(rows, methods, **more), ReportSettings(resamples=200))


def table(report: Report, key: str) -> ReportTable | None:
    tables = [*(t for s in report.sections for t in s.tables), *report.tables]
    return next((t for t in tables if t.key == key), None)


def figures(of: ReportTable | None, line: str) -> dict[str, object]:
    assert of is not None
    cells = next(x for x in of.lines if x.name == line).cells
    return {c.key: cell.value for c, cell in zip(of.columns, cells, strict=True)}


# --- groups ---------------------------------------------------------------------------------------------------------------------


def test_accuracy_by_group_is_over_that_groups_cases():
    rows = answers("maci", "++-", group="law") + [row("maci", f"x{i}", y, group="physics") for i, y in enumerate("ab")]
    found = table(made(rows, ["maci"]), "groups")
    assert figures(found, "maci") == {"acc1:group law": pytest.approx(2 / 3), "acc1:group physics": 0.5}
    assert found is not None and [c.title for c in found.columns] == ["law (3)", "physics (2)"]


def test_small_groups_are_taken_together_and_one_group_is_no_table():
    rows = [row("maci", f"i{i}-{j}", "a", group=f"g{i:02}") for i in range(12) for j in range(12 - i)]
    found = table(made(rows, ["maci"]), "groups")
    assert (
        found is not None and found.columns[-1].title == "all other groups (10)" and len(found.columns) == 9
    )  # 4+3+2+1
    assert table(made(answers("maci", "+-", group="one"), ["maci"]), "groups") is None


# --- distances ------------------------------------------------------------------------------------------------------------------


def placed(method: str, item: str, answer: str, d: float, r: float, **more) -> Row:
    said = {y: 0.8 if y == answer else 0.1 for y in SCALE}
    return row(
        method, item, "a", gold="0", positions=SCALE,
        **{"belief": said, "group": "Daily", "raters": {"democrat_vote": d, "republican_vote": r}, **more},
    )  # fmt: skip


def test_distances_are_steps_between_raters_and_answer():
    rows = [
        placed("maci", "i1", "-1", -1, 1),  # DR 2, DS 0, SR 2: between
        placed("maci", "i2", "0", -1, 1),  # DR 2, DS 1, SR 1: between
        placed("maci", "i3", "+1", -0.5, 0),  # −0.5 counts as 0: DR 0, DS 1, SR 1: outside
        placed("single", "i1", "0", -1, 1),
        placed("single", "i2", "0", -1, 1),
        placed("single", "i3", "-1", -0.5, 0),
    ]
    report = made(rows, ["single", "maci"], sets={"toy": "budak_allsides_text"})
    found = table(report, "distances")
    ours = figures(found, "maci")
    assert [ours[f"distance:{k}"] for k in ("n", "DR", "DS", "SR", "between")] == pytest.approx(
        [3, 4 / 3, 2 / 3, 4 / 3, 2 / 3]
    )
    assert figures(found, "single")["distance:reference"] == pytest.approx((1 + 0 + 2) / 3)
    neutral = figures(found, "always neutral")
    assert [neutral[f"distance:{k}"] for k in ("DS", "SR", "between")] == pytest.approx([2 / 3, 2 / 3, 1])
    assert figures(found, "paper: MACI, Democrat scandals")["distance:DS"] == pytest.approx(8 / 16)
    articles = table(report, "articles")
    assert articles is not None and [show(c) for c in articles.lines[0].cells] == [
        "-1", "+1", "-1", "0", "2", "0", "2", "Daily",
    ]  # fmt: skip
    assert [show(c) for c in articles.lines[-1].cells][-4:-1] == ["4", "2", "4"]


def test_without_two_raters_there_are_no_distances_and_that_is_said():
    rows = [placed("maci", f"i{i}", "0", 0, 0, raters={"one": 0.0}) for i in range(3)]
    report = made(rows, ["maci"])
    assert table(report, "distances") is None
    assert any("need two raters" in note for note in report.sections[0].notes)


def test_halfway_is_nearer_to_the_centre():
    assert [nearest(x, SCALE) for x in (0.5, -0.5, 0.51, -1)] == ["0", "0", "+1", "-1"]


# --- mitigation -----------------------------------------------------------------------------------------------------------------


def step(first: dict[str, float], second: dict[str, float], **more) -> Step:
    return Step(belief=first, beliefs={"one": first, "two": second}, **more)


def test_agents_brought_together_by_hand():
    left, middle = {"-1": 1.0, "0": 0.0, "+1": 0.0}, {"-1": 0.0, "0": 1.0, "+1": 0.0}
    half = {"-1": 0.5, "0": 0.5, "+1": 0.0}
    assert gaps(step(left, middle), SCALE)[:2] == pytest.approx((0.5, 0.0))  # one of two steps; nothing in common
    w, shared, cross = gaps(step(half, half), SCALE)
    assert (w, shared) == pytest.approx((0, 1)) and cross == pytest.approx(1 / np.log2(3), abs=1e-4)  # H = 1 bit
    rows = [
        placed("maci", "i1", "0", -1, 1, course=(step(left, middle), step(half, half))),  # 0.5 → 0
        placed("maci", "i2", "0", -1, 1, course=(step(left, middle), step(left, half))),  # 0.5 → 0.25
        placed("maci", "i3", "0", -1, 1, course=(step(half, half), step(half, half))),  # 0 → 0
    ]
    ours = figures(table(made(rows, ["maci"]), "mitigation"), "maci")
    assert [ours[f"gap:{k}"] for k in ("opening", "end", "change", "narrowed")] == pytest.approx(
        [1 / 3, 0.25 / 3, -0.25, 2 / 3]
    )


# --- contentiousness ------------------------------------------------------------------------------------------------------------


def held(name: str, item: str, cl: float, d: float, gains: tuple[float, ...], o: float | None) -> Row:
    p = belief("a")
    rounds = [Step(belief=p, cl=cl, d=d, i=g, o=o if t == len(gains) - 1 else 0.9) for t, g in enumerate(gains)]
    return row(name, item, "a", course=(Step(belief=p), *rounds))


def test_trends_by_the_level_that_was_held():
    rows = [
        held("high", "i1", 0.9, 0.4, (0.1, 0.3, 0.2), 0.2), held("high", "i2", 0.9, 0.6, (0.1, 0.0, 0.0, 0.9), None),
        held("low", "i1", 0.1, 0.1, (0.1, 0.1), 0.6), held("low", "i2", 0.1, 0.2, (0.3, 0.1), 0.8),
    ]  # fmt: skip
    methods = [PlannedMethod(name=n, use="maci", of=n) for n in ("high", "low")]
    found = table(made(rows, methods), "trends")
    high, low = figures(found, "high"), figures(found, "low")
    assert [high[k] for k in ("cl", "d:round 1", "i:peak", "o:last")] == pytest.approx([0.9, 0.5, (0.3 + 0.1) / 2, 0.2])
    assert [low[k] for k in ("cl", "d:round 1", "i:peak", "o:last")] == pytest.approx([0.1, 0.15, 0.2, 0.7])
    rho = figures(found, "Spearman with CL")
    assert rho["d:round 1"] == pytest.approx(stats.spearmanr([9, 9, 1, 1], [0.4, 0.6, 0.1, 0.2]).statistic)
    assert rho["o:last"] == pytest.approx(stats.spearmanr([9, 1, 1], [0.2, 0.6, 0.8]).statistic)
    assert found is not None and [x.name for x in found.lines].count("paper") == 2


def test_a_dial_that_moved_is_no_level():
    p = belief("a")
    moving = [row("maci", "i1", "a", course=(Step(belief=p), Step(belief=p, cl=0.9), Step(belief=p, cl=0.7)))]
    rows = [*moving, held("low", "i1", 0.1, 0.1, (0.1,), 0.6)]
    assert table(made(rows, ["maci", PlannedMethod(name="low", use="maci", of="low")]), "trends") is None


# --- judges ---------------------------------------------------------------------------------------------------------------------


def random_scores(seed: int, n: int = 40) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    truth = rng.random(n)
    return [{j: float(np.clip(t + rng.normal(0, 0.15), 0, 1)) for j in "abc" if rng.random() > 0.1} for t in truth]


@pytest.mark.parametrize("seed", range(5))
def test_alpha_is_krippendorffs(seed):
    scores = random_scores(seed)
    data = [[one.get(j, np.nan) for one in scores] for j in "abc"]
    theirs = krippendorff.alpha(reliability_data=data, level_of_measurement="interval")
    case = np.arange(len(scores)) // 4
    assert alpha_sums(scores, case, 10).value == pytest.approx(theirs)
    left = alpha_sums(scores, case, 10).left_out()[3]
    kept = [i for i in range(len(scores)) if i // 4 != 3]
    without = krippendorff.alpha(
        reliability_data=[[row[i] for i in kept] for row in data], level_of_measurement="interval"
    )
    assert left == pytest.approx(without)


@pytest.mark.parametrize("by_rank", [False, True])
def test_mean_correlations_are_scipys(by_rank):
    scores = random_scores(1)
    of = stats.spearmanr if by_rank else stats.pearsonr
    theirs = []
    for a, b in ("ab", "ac", "bc"):
        both = [(x[a], x[b]) for x in scores if a in x and b in x]
        theirs.append(of(*zip(*both, strict=True)).statistic)
    found = correlation_sums(scores, np.arange(len(scores)), len(scores), by_rank=by_rank)
    assert found is not None and found.value == pytest.approx(np.mean(theirs))
    assert correlation_sums([{"a": 0.5}], np.array([0]), 1, by_rank=by_rank) is None


def judged(item: str, one: tuple[float, float], two: tuple[float, float]) -> Row:
    """Judges x and y on one argument of each of two agents."""
    p = belief("a")
    scores = {"A": ({"x": one[0], "y": one[1]},), "B": ({"x": two[0], "y": two[1]},)}
    return row("maci", item, "a", judge_calls=4, course=(Step(belief=p), Step(belief=p, cl=0.9, scores=scores)))


def test_winners_that_another_judge_would_change():
    rows = [
        judged("i1", (0.9, 0.8), (0.5, 0.4)),  # both say A
        judged("i2", (0.9, 0.3), (0.5, 0.7)),  # x says A, y says B: a flip
        judged("i3", (0.9, 0.61), (0.5, 0.6)),  # x says A, y a tie: a flip only where ties count
        judged("i4", (0.3, 0.2), (0.5, 0.4)),  # both say B
    ]
    assert [winner(rows[2], judge) for judge in "xy"] == ["A", ""]
    found = figures(table(made(rows, ["maci"]), "crit"), "maci")
    assert (found["crit_arguments"], found["crit_flips"], found["crit_flips_ties"]) == (8, 0.25, 0.5)
    data = [[0.9, 0.5, 0.9, 0.5, 0.9, 0.5, 0.3, 0.5], [0.8, 0.4, 0.3, 0.7, 0.61, 0.6, 0.2, 0.4]]
    assert found["crit_alpha"] == pytest.approx(
        krippendorff.alpha(reliability_data=data, level_of_measurement="interval")
    )
    assert found["crit_pearson"] == pytest.approx(stats.pearsonr(*data).statistic)


def test_rows_without_scores_have_no_table_and_the_reason_is_said():
    report = made(answers("maci", "++", judge_calls=3), ["maci"])
    assert table(report, "crit") is None
    assert any("before scores were kept" in note for note in report.sections[0].notes)
    assert not any("CRIT" in note for note in made(answers("maci", "++"), ["maci"]).sections[0].notes)


# --- settings, and open outcomes ------------------------------------------------------------------------------------------------


def test_variants_of_the_reference_stand_beside_it():
    methods = [
        PlannedMethod(name="maci", use="maci", of="maci"),
        PlannedMethod(name="k 16", use="maci", of="k 16", options={"set": {"evidence.k_ret": 16}}),
        PlannedMethod(name="average", use="average", of="average"),
    ]
    rows = answers("maci", "+++-", q0=0.5) + answers("k 16", "++-+", q0=0.25) + answers("average", "++++")
    found = table(made(rows, methods), "variants")
    assert found is not None and [x.name for x in found.lines] == ["maci", "k 16"]
    ours = figures(found, "k 16")
    assert (ours["note"], ours["acc1"], ours["acc1_difference"], ours["same_answer"], ours["q0"]) == (
        "evidence.k_ret = 16", 0.75, 0.0, 0.5, 0.25,
    )  # fmt: skip
    assert table(made(answers("maci", "+-"), ["maci"]), "variants") is None


def test_open_outcomes_are_compared_on_the_same_cases():
    rows = answers("maci", "++-+", data="listed") + answers("maci", "+--", data="open", exact=False)
    gathered = study(rows, ["maci"], sets={"listed": "symptom2disease", "open": "symptom2disease"})
    data = gathered[0].meta.spec.data
    free = type(data[1]).model_validate({"set": "symptom2disease", "open": True, "label": "open"})
    spec = gathered[0].meta.spec.model_copy(update={"data": (data[0], free)})
    meta = gathered[0].meta.model_copy(update={"spec": spec})
    report = build_report(
        [type(gathered[0])(label="made", meta=meta, rows=gathered[0].rows, planned=())], ReportSettings(resamples=200)
    )
    ours = figures(table(report, "free"), "maci")
    assert list(ours.values()) == pytest.approx([0.75, 1 / 3, 0.0, -1 / 3])  # of three shared cases one was lost
    assert figures(table(report, "free"), "paper: MACI")["acc1:made/listed"] == "95–97"
    assert table(made(answers("maci", "+-"), ["maci"]), "free") is None
