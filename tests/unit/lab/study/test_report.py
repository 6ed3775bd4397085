"""The figures of a report, from rows made by hand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from maci.calibration.stats import bootstrap
from maci.calibration.temperature import Softening
from maci.errors import CheckFailed, InputError
from maci.lab.study.learning import DevLesson
from maci.lab.study.metrics import ece_of
from maci.lab.study.report import ReportSettings, build_report
from maci.lab.study.report.arena import arenas, scored
from maci.lab.study.report.compare import adjusted, compare_all, in_words
from maci.lab.study.report.estimates import Estimates
from maci.lab.study.report.gather import condensed, join
from maci.lab.study.study import Meta, PlannedMethod, Row
from maci.llm.usage import Usage
from maci.render.report import Cell, Report, ReportTable, show
from report_helpers import answers, belief, meta_of, row, study

FAST = ReportSettings(resamples=200)
CLINICAL = {"toy": "symptom2disease"}


def test_what_is_left_out_of_a_course_while_reading_changes_no_figure():
    tied = {"a": 0.4, "b": 0.4, "c": 0.1, "d": 0.1}
    steps = [
        {"belief": belief("b", 0.4), "d": 0.5, "beliefs": {"x": belief("a"), "y": tied, "z": belief("b")}},
        {"belief": tied, "d": 0.1, "beliefs": {"x": belief("b"), "y": belief("b"), "z": belief("b")}},
    ]
    rows = [*answers("maci", "++-+-", course=steps), *answers("maci", "+-+", part="dev", course=steps)]
    rows += answers("average", "+-+--", course=steps[:1])
    short = [condensed(row) for row in rows]
    assert len(short[0].course[0].beliefs["x"]) == 1 and len(short[0].course[0].beliefs["y"]) == 2  # a tie remains
    assert not any(row.course for row in short if row.part == "dev")
    assert build_report(study(short, ["maci", "average"]), FAST) == build_report(study(rows, ["maci", "average"]), FAST)
    scale = {"positions": {"a": 0.0, "b": 1.0, "c": 2.0, "d": 3.0}}
    ordered = row("maci", "one", "a", course=steps, **scale)
    assert condensed(ordered) == ordered  # distances need every outcome


def test_frontier_is_what_no_other_beats_for_as_many_tokens():
    cost = {
        "cheap": (10, "++--"),
        "worse": (20, "+---"),
        "good": (30, "+++-"),
        "maci": (40, "++--"),
        "best": (50, "++++"),
    }
    rows = [one for name, (n, said) in cost.items() for one in answers(name, said, usage=Usage(prompt=n))]
    names = [PlannedMethod(name=name, use="average" if name != "maci" else name, of=name) for name in cost]
    chart = next(c for c in build_report(study(rows, names), FAST).sections[0].charts if c.key == "scatter")
    assert {s.name for s in chart.series if not s.quiet} == {"cheap", "good", "best", "maci"}  # and the reference


def table(report: Report, key: str, section: int = 0) -> ReportTable:
    return next(t for t in (*report.sections[section].tables, *report.tables) if t.key == key)


def cell(t: ReportTable, line: str, column: str) -> Cell:
    at = next(i for i, c in enumerate(t.columns) if c.key == column)
    return next(x for x in t.lines if x.name == line).cells[at]


# what is in the main table


def test_main_figures_by_hand():
    made = study(
        answers("maci", "+++-", judge_calls=2, judge_usage=Usage(prompt=90, generated=10, usd=0.5))
        + answers("average", "++--"),
        ["average", "maci"],
    )
    main = table(build_report(made, FAST), "main")
    assert cell(main, "maci", "acc1").value == 0.75
    assert cell(main, "average", "acc1").value == 0.5
    assert cell(main, "maci", "acc1").n == 4
    # the gold outcome is second to fourth of three equals: rank 3, three cases at 1
    assert cell(main, "maci", "mrr").value == pytest.approx((3 + 1 / 3) / 4)
    # right: 0.3² + 3 · 0.1²; wrong: 0.7² + 0.9² + 2 · 0.1²
    assert cell(main, "maci", "brier").value == pytest.approx((3 * 0.12 + 1.32) / 4)
    assert cell(main, "maci", "nll").value == pytest.approx(-(3 * math.log(0.7) + math.log(0.1)) / 4)
    assert cell(main, "maci", "ece").value == pytest.approx(0.05)
    assert cell(main, "maci", "tokens").value == 1100
    assert [cell(main, "maci", k).value for k in ("prompt", "generated", "judge_tokens", "usd")] == [800, 200, 100, 0.5]
    assert cell(main, "maci", "judge_calls").value == 2


def test_the_papers_figures_stand_below_ours_and_are_marked():
    made = study(answers("maci", "++-") + answers("average", "+--"), ["maci", "average"], sets=CLINICAL)
    main = table(build_report(made, FAST), "main")
    names = [line.name for line in main.lines]
    assert names == ["maci", "paper: MACI", "average"]
    assert [show(cell(main, "paper: MACI", key)) for key in ("acc1", "tokens", "rounds")] == ["77.8", "18.4k", "2.7"]
    assert main.lines[1].source == "paper"
    assert any("other data, LLM agents" in note for note in main.notes)


def test_beside_data_of_ones_own_there_are_no_figures_of_the_paper():
    rows = answers("maci", "++--", q0=0.5) + answers("majority_vote", "+-+-", agreement=0.5, q0=0.5)
    rows += answers("no_q_gate", "++++") + answers("single", "++-+")
    report = build_report(study(rows, ["maci", "majority_vote", "no_q_gate", "single"]), FAST)
    assert not [line.name for t in report.sections[0].tables for line in t.lines if line.source == "paper"]
    assert not [note for t in report.sections[0].tables for note in t.notes if "paper" in note]


def test_failed_answers_are_counted_and_listed_and_never_scored():
    report = build_report(study(answers("maci", "++xx") + answers("average", "++++"), ["maci", "average"]), FAST)
    main = table(report, "main")
    assert (cell(main, "maci", "acc1").value, cell(main, "maci", "n").value, cell(main, "maci", "unscored").value) == (
        1.0,
        2,
        2,
    )
    assert [line.name for line in table(report, "failures").lines] == ["test002", "test003"]
    assert table(report, "failures").lines[0].cells[-1].value == "the model said nothing"
    assert [c.value for c in table(report, "failure_counts").lines[0].cells] == ["toy", "failed", 2]
    assert cell(table(report, "differences"), "average", "cases").value == 2


def test_dev_is_calibrated_on_and_never_scored():
    dev = answers("maci", "+" * 20 + "-" * 10, part="dev")
    report = build_report(study(dev + answers("maci", "+-"), ["maci"]), FAST)
    assert cell(table(report, "main"), "maci", "n").value == 2
    # the confidence that fits dev is 20/30, whatever the test part says
    other = build_report(study(dev + answers("maci", "--"), ["maci"]), FAST)
    for found in (report, other):
        [line] = table(found, "calibrations").lines
        t, e = line.cells[3].value, line.cells[4].value
        assert Softening(temperature=t, epsilon=e).apply(belief("a"))["a"] == pytest.approx(2 / 3, abs=0.005)
    assert cell(table(other, "main"), "maci", "ece").value == pytest.approx(2 / 3, abs=0.005)


def test_calibration_moves_probabilities_but_no_ranks():
    one = row("maci", "x", "b", belief={"a": 0.0, "b": 1.0, "c": 0.0, "d": 0.0})
    soft = scored([one], Softening(epsilon=0.4))[0]
    assert (soft.correct, soft.top3, soft.reciprocal_rank) == (False, False, 0.0)
    assert soft.p_gold == pytest.approx(0.1)
    assert soft.confidence == pytest.approx(0.7)
    assert scored([one], Softening())[0].p_gold == 0


# who is compared


def each(name: str) -> PlannedMethod:
    return PlannedMethod(name=f"single/{name}", use="single", of="single", each=True)


def test_the_best_on_dev_is_chosen_for_each_seed_by_dev_alone():
    rows = []
    for seed, better in ((0, "one"), (1, "two")):
        for name in ("one", "two"):
            rows += answers(f"single/{name}", "++++" if name == better else "+++-", part="dev", seed=seed)
            rows += answers(f"single/{name}", "----" if name == better else "++++", seed=seed)  # worse on test
    rows += answers("maci", "+-+-", seed=0) + answers("maci", "+-+-", seed=1)
    main = table(build_report(study(rows, [each("one"), each("two"), "maci"]), FAST), "main")
    assert cell(main, "single (best on dev)", "acc1").value == 0.0
    assert cell(main, "single/one", "acc1").value == 0.5
    assert any("one (seed 0), two (seed 1)" in note for note in main.notes)
    assert [line.name for line in main.lines if line.source != "paper"][:3] == [
        "single/one",
        "single/two",
        "single (best on dev)",
    ]


def test_of_equally_right_agents_the_surer_of_the_truth_is_best():
    rows = answers("single/one", "++", part="dev") + answers("single/two", "++", part="dev", belief=belief("a", 0.9))
    rows += answers("single/one", "++") + answers("single/two", "--")
    main = table(build_report(study(rows, [each("one"), each("two")]), FAST), "main")
    assert cell(main, "single (best on dev)", "acc1").value == 0.0


def test_without_dev_there_is_no_best():
    made = study(answers("single/one", "++") + answers("single/two", "+-"), [each("one"), each("two")])
    names = [line.name for line in table(build_report(made, FAST), "main").lines]
    assert "single (best on dev)" not in names


# differences and verdicts


def compared(ours: str, theirs: str, **more):
    made = study(answers("maci", ours) + answers("average", theirs, **more), ["average", "maci"])
    (arena,), _ = arenas(made[0], "maci")
    [found] = adjusted(compare_all(arena, Estimates(resamples=500)))
    return found


def test_a_clear_gain_is_a_win_with_its_numbers():
    found = compared("+" * 30, "+" * 10 + "-" * 20, usage=Usage(prompt=400, generated=100))
    # 20 of 20 discordant cases: p = 2 / 2²⁰; two tests in the family, both tiny
    assert found.mcnemar.p == pytest.approx(2 / 2**20)
    assert found.accuracy.value == pytest.approx(2 / 3)
    assert found.verdict == "beat"
    assert found.tokens == 2.0
    assert in_words(found).startswith("On these 30 cases maci beat average by 67 points [+")
    assert ", adjusted p < 0.001, at 2.00 × the tokens. " in in_words(found)
    # right 0.12, wrong 1.32: 20 of 30 cases differ by −1.2
    assert found.brier.value == pytest.approx(-0.8)
    assert "Its probabilities are better: Brier −0.80 [" in in_words(found)


def test_the_other_way_round_it_is_a_loss():
    assert compared("+" * 10 + "-" * 20, "+" * 30).verdict == "lost to"


def test_a_gain_on_few_cases_is_not_significant():
    # four of four discordant cases for us: p = 0.125
    found = compared("++++++++", "++++----")
    assert found.mcnemar.p == pytest.approx(0.125)
    assert found.accuracy.low > 0
    assert found.verdict == "no significant difference from"
    assert "maci shows no significant difference from average (+50 points" in in_words(found)
    assert in_words(found).endswith(
        "The interval leaves out 0, but p, adjusted for all tests of the study, is not below 0.05."
    )


def test_a_difference_that_is_the_same_in_all_cases_has_a_bound_and_no_certainty():
    found = compared("+-" * 20, "+-" * 20)
    # Wilson's upper end for 0 of 40: z² / (n + z²)
    u = 1.959964**2 / (40 + 1.959964**2)
    assert (found.accuracy.value, found.accuracy.low, found.accuracy.high) == pytest.approx((0, -u, u), abs=1e-6)
    assert (found.brier.low, found.brier.high) == pytest.approx((-2 * u, 2 * u), abs=1e-6)
    assert found.ece.low < 0 < found.ece.high
    always = compared("+" * 40, "-" * 40).accuracy
    assert (always.value, always.low, always.high) == pytest.approx((1, 1 - 2 * u, 1), abs=1e-6)
    made = study(answers("maci", "+-" * 20) + answers("average", "+-" * 20), ["average", "maci"])
    assert any("average was the same in every case" in n for n in table(build_report(made, FAST), "differences").notes)


def test_only_cases_that_both_answered_count():
    found = compared("++++..", "x+-+++")
    assert (found.cases, found.accuracy.n) == (3, 3)
    assert found.accuracy.value == pytest.approx(1 / 3)


def test_nothing_in_common_is_said_and_not_tested():
    found = compared("++..", "..++")
    assert found.cases == 0 and math.isnan(found.mcnemar.p)
    assert in_words(found) == "maci cannot be compared with average: there is no case that both answered."


def test_adjusting_is_over_all_tests_of_the_report():
    rows = answers("maci", "+" * 12)
    for i in range(4):
        rows += answers(f"m{i}", "-" * 6 + "+" * 6)
    made = study(rows, ["maci", *(PlannedMethod(name=f"m{i}", use="average", of=f"m{i}") for i in range(4))])
    (arena,), _ = arenas(made[0], "maci")
    plain = compare_all(arena, Estimates(resamples=100))
    found = adjusted(plain)
    p = np.array([c.mcnemar.p for c in plain] + [c.wilcoxon.p for c in plain])
    from scipy.stats import false_discovery_control

    assert [*(c.p for c in found), *(c.p_brier for c in found)] == pytest.approx(false_discovery_control(p))


def test_answers_of_one_case_under_several_seeds_are_one_cluster():
    rows = []
    for seed in range(5):
        rows += answers("maci", "++++", seed=seed) + answers("average", "+++-", seed=seed)
    (arena,), _ = arenas(study(rows, ["maci", "average"])[0], "maci")
    [found] = compare_all(arena, Estimates(resamples=100))
    assert (found.cases, found.accuracy.n) == (4, 20)
    assert found.mcnemar.p == 1.0  # one case differs, however often it was asked


def verdict(ours: str, theirs: str, tokens: int = 500) -> str:
    usage = Usage(prompt=tokens)
    made = study(answers("maci", ours) + answers("average", theirs, usage=usage), ["average", "maci"])
    return build_report(made, FAST).verdict[1]


def test_the_report_begins_with_whether_debate_was_worth_it():
    good, bad = "+" * 100, "-" * 100
    assert verdict(good, bad).startswith(
        "Paid on made: toy (100 cases): average scored 0 %, maci 100 %; a difference of 100 points [+93, +100], "
    )
    assert verdict(bad, good).startswith("Did not pay on made: toy (100 cases): average scored 100 %, maci 0 %; ")
    # 4 of 200 cases for us: p = 2 / 2⁴, twice as many tokens
    said = verdict("+" * 104 + "-" * 96, "+" * 100 + "-" * 100)
    assert said.startswith(
        "Not shown to pay on made: toy (200 cases): average scored 50.0 %, maci 52.0 %; no significant difference (2.0 "
    )
    assert "adjusted p = 0.125). The interval leaves out 0, but p" in said and "maci used 2.0 × the tokens." in said
    saved = verdict("+" * 104 + "-" * 96, "+" * 100 + "-" * 100, tokens=4000)
    assert (
        saved.startswith("Saved tokens on made: toy (200 cases), no more: ") and "maci used 0.25 × the tokens" in saved
    )
    alone = build_report(study(answers("maci", "++"), ["maci"]), FAST)
    assert "no method without debate was run" in alone.verdict[1]


def test_with_few_cases_the_headline_says_what_cannot_be_seen():
    # of 20 cases six must differ, all for one side: 30 points
    assert verdict("+" * 20, "+" * 20).startswith(
        "Not shown to pay on made: toy, too few cases to tell: with 20 cases differences below about 30 points cannot be seen. "
    )
    assert "with 4 cases no difference at all can be seen" in verdict("+-+-", "+-++")
    assert (
        "average scored 100 %, maci 100 %; no significant difference (0 points [−16, +16], adjusted p = 1.000). "
        in verdict("+" * 20, "+" * 20)
    )
    # 40 cases, 10 for each side: an interval of more than ±10 points
    assert "too few cases to tell: with 40 cases differences below about " in verdict(
        "+" * 20 + "-" * 20, "+" * 10 + "-" * 20 + "+" * 10
    )
    assert "too few" not in verdict("+" * 100, "-" * 3 + "+" * 97)
    # shown, though on few cases
    shown = verdict("+" * 20, "-" * 20)
    assert shown.startswith("Paid on made: toy (20 cases)") and "how large it is stays uncertain" in shown


def test_the_headline_names_everybody_better_without_debate_and_what_was_not_run():
    sure, unsure = belief("a", 0.9), belief("a", 0.6)
    rows = answers("maci", "+" * 40, belief=unsure) + answers("average", "+" * 40, belief=sure)
    rows += answers("weighted_average", "+" * 40, belief=unsure, usage=Usage(prompt=10))
    said = build_report(study(rows, ["average", "weighted_average", "maci"]), FAST).verdict[1]
    assert "Better probabilities without debate (Brier): average." in said
    assert (
        "Of 2 methods with no significant difference from maci, weighted_average is the cheapest: maci used 100 × its tokens."
        in said
    )
    assert said.endswith("Usual baselines that were not run: single, majority_vote.")
    rows = answers("maci", "-" * 40) + answers("average", "+" * 40) + answers("single", "+" * 39 + "-")
    said = build_report(study(rows, ["average", "single", "maci"]), FAST).verdict[1]
    assert "More often right without debate: average, single." in said


def test_a_study_called_like_its_data_is_named_once():
    made = study(answers("maci", "++") + answers("average", "+-"), ["maci", "average"], name="toy")
    report = build_report(made, FAST)
    assert report.sections[0].title == "toy" and " on toy, too few" in report.verdict[1]


def test_studies_side_by_side_do_not_change_each_others_p():
    rows = answers("maci", "+" * 12) + answers("average", "-" * 7 + "+" * 5)
    other = answers("maci", "+-" * 6) + answers("average", "-+" * 6)
    plans = [meta_of(some, ["maci", "average"], name=name) for name, some in (("one", rows), ("two", other))]
    alone = table(build_report(join([("one", plans[0], rows)]), FAST), "differences")
    beside = table(build_report(join([("one", plans[0], rows), ("two", plans[1], other)]), FAST), "differences")
    assert alone == beside
    # McNemar 2 / 2⁷ and Wilcoxon alike: the larger of two is not multiplied
    assert cell(alone, "average", "p_mcnemar_adjusted").value == pytest.approx(2 / 2**7)
    assert any("2 tests, adjusted together" in note for note in alone.notes)


def test_the_best_on_dev_that_is_one_member_throughout_is_no_second_test():
    rows = answers("single/one", "++++", part="dev") + answers("single/two", "+---", part="dev")
    rows += answers("single/one", "+" * 9) + answers("single/two", "+" * 8 + "-") + answers("maci", "-" * 8 + "+")
    found = table(build_report(study(rows, [each("one"), each("two"), "maci"]), FAST), "differences")
    p = [cell(found, f"single{x}", "p_mcnemar_adjusted").value for x in ("/one", " (best on dev)")]
    assert p[0] == p[1]
    assert any("; 4 tests, adjusted together" in note for note in found.notes)
    assert any("single (best on dev) is single/one under every seed: one test, not two." in n for n in found.notes)


def asked_of(reference: str, pattern: Mapping[str, str], tokens: Mapping[str, int] | None = None) -> tuple[str, str]:
    """Question and first answer of a report with that reference."""
    rows = [
        a
        for name, some in pattern.items()
        for a in answers(name, some, usage=Usage(prompt=(tokens or {}).get(name, 1000)))
    ]
    report = build_report(study(rows, list(pattern)), ReportSettings(resamples=200, reference=reference))
    return report.verdict[0], report.verdict[1]


def test_a_reference_without_debate_is_asked_about_itself():
    good, bad = "+" * 60, "-" * 60
    question, answer = asked_of("weighted_average", {"weighted_average": good, "average": bad, "maci": bad})
    assert question == "Was weighted_average worth it here? Yes."
    assert answer.startswith("Paid on made: toy (60 cases): average scored 0 %, weighted_average 100 %; ")
    assert answer.endswith(" Against debate, it beat maci. Usual baselines that were not run: single, majority_vote.")
    _, answer = asked_of("weighted_average", {"weighted_average": bad, "average": good, "maci": good})
    assert answer.startswith("Did not pay on made: toy (60 cases): average scored 100 %, weighted_average 0 %; ")
    assert " Against debate, it lost to maci. " in answer
    _, answer = asked_of("weighted_average", {"weighted_average": "+-+-", "average": "+-++"})
    assert "weighted_average used as many tokens" in answer and "debate" not in answer
    _, answer = asked_of("weighted_average", {"weighted_average": "+-+-", "single": "+-++"}, {"single": 300})
    assert "weighted_average used 3.3 × the tokens" in answer
    _, answer = asked_of("average", {"average": "+-+-", "maci": "+-++"})
    assert "no other method without debate was run on the same cases, so whether average was worth it" in answer
    assert " Against debate, it shows no significant difference from maci. " in answer


def test_the_question_stands_also_where_nothing_is_scored():
    made = study(answers("weighted_average", "xx") + answers("maci", "xx"), ["weighted_average", "maci"])
    for reference, asked in (("weighted_average", "weighted_average"), ("maci", "debate")):
        [said] = build_report(made, ReportSettings(resamples=200, reference=reference)).verdict
        assert said.startswith(f"Was {asked} worth it here? There is no scored answer yet")


def test_studies_with_different_references_are_asked_about_both():
    rows = answers("weighted_average", "++") + answers("maci", "++")
    metas = [
        meta_of(rows, ["weighted_average", "maci"], name=name, report={"reference": reference})
        for name, reference in (("one", "maci"), ("two", "weighted_average"))
    ]
    report = build_report(join([(m.spec.name, m, rows) for m in metas]), FAST)
    assert report.verdict[0] == (
        "Was debate or weighted_average worth it here? Not shown: one: toy. Not known: two: toy."
    )


def test_debate_has_to_be_better_than_the_weighted_openings():
    question, answer = asked_of("maci", {"maci": "-" * 30, "weighted_average": "+" * 30})
    assert question == "Was debate worth it here? No."
    assert answer.startswith("Did not pay on made: toy (30 cases): weighted_average scored 100 %, maci 0 %; ")


def test_only_a_panel_has_members():
    rows = answers("single/one", "+-") + answers("single/two", "++") + answers("weighted_average", "++")
    made = study(rows, [each("one"), each("two"), "weighted_average"])
    panel = build_report(made, ReportSettings(resamples=200, reference="weighted_average"))
    assert [line.name for line in table(panel, "pairs").lines] == ["single/one", "single/two", "weighted_average"]
    alone = build_report(made, ReportSettings(resamples=200, reference="single/two"))
    assert "pairs" not in table_keys(alone)


# what dev taught


def lesson(weights: Mapping[str, float], **more: Any) -> DevLesson:
    settings = {"calibration.doubt": {"x": 0.25}, "calibration.agents": {"y": 1.5}, "reliability.prior": dict(weights)}
    return DevLesson(settings=settings, n=38, items=40, weights="logit(10)", calls=80, usage=Usage(prompt=900), **more)


def taught(by_seed: Mapping[int, DevLesson]) -> Meta:
    rows = answers("maci", "++") + answers("average", "+-")
    return meta_of(rows, ["average", "maci"]).model_copy(update={"learnt": {"toy": dict(by_seed)}})


def test_what_dev_taught_is_shown_for_each_agent_and_seed():
    rows = answers("maci", "++") + answers("average", "+-")
    few = lesson({"x": 1.0, "y": 1.0}, notes=("y: 3 dev answers, 20 are needed",))
    plan = taught({1: few, 0: lesson({"x": 1.75, "y": 0.25})})
    report = build_report(join([("folder", plan, rows)]), FAST)
    found = table(report, "lessons")
    shown = [(line.name, *(c.value for c in line.cells)) for line in found.lines]
    assert shown == [
        ("x", "made: toy", "0", 1.0, 0.25, 1.75, 38, "logit(10)", ""),
        ("y", "made: toy", "0", 1.5, 0.0, 0.25, 38, "logit(10)", ""),
        ("x", "made: toy", "1", 1.0, 0.25, 1.0, 38, "logit(10)", ""),
        ("y", "made: toy", "1", 1.5, 0.0, 1.0, 38, "logit(10)", "3 dev answers, 20 are needed"),
    ]
    assert any("160 calls and 1,800 tokens" in note for note in found.notes)
    assert "lessons" not in table_keys(build_report(study(rows, ["average", "maci"]), FAST))


def test_folders_that_learnt_different_things_are_refused():
    rows = answers("maci", "++") + answers("average", "+-")
    one, two = (taught({0: lesson({"x": 1.75, "y": w})}) for w in (0.25, 0.5))
    with pytest.raises(
        CheckFailed,
        match=r"one and two .* agents of toy, seed 0 \(reliability.prior was {.y.: 0.25}, is {.y.: 0.5}\).*one of them alone",
    ):
        join([("one", one, rows), ("two", two, rows)])


def test_folders_that_learnt_the_same_or_of_other_seeds_are_joined():
    rows = answers("maci", "++") + answers("average", "+-")
    same, dearer = lesson({"x": 1.0}), lesson({"x": 1.0}).model_copy(update={"calls": 0, "usage": Usage()})
    [merged] = join([("one", taught({0: same}), rows), ("two", taught({0: dearer, 1: dearer}), rows)])
    assert merged.meta.learnt == {"toy": {0: same, 1: dearer}}


# further tables


def test_ablations_show_the_drop():
    rows = answers("maci", "++++") + answers("no_q_gate", "+++-")
    found = table(build_report(study(rows, ["maci", "no_q_gate"], sets=CLINICAL), FAST), "ablations")
    assert cell(found, "no_q_gate", "drop").value == 0.25
    # always 0.7 sure: ECE |0.7 − 1| with the part, |0.7 − 0.75| without
    assert cell(found, "no_q_gate", "ece_rise").value == pytest.approx(-0.25)
    assert cell(found, "no_q_gate", "verdict").value == "no significant difference"
    assert show(cell(found, "paper: No Q gate", "drop")) == "+5.2"


def test_accuracy_and_agreement_by_thirds_of_evidence_quality():
    rows = []
    for i, (q0, right, share) in enumerate(
        [(0.1, "b", 0.2), (0.2, "a", 0.4), (0.5, "a", 0.5), (0.6, "a", 0.7), (0.8, "a", 0.9), (0.9, "a", 1.0)]
    ):
        rows.append(row("maci", f"c{i}", "a", q0=q0))
        rows.append(row("majority_vote", f"c{i}", right, agreement=share))  # Q₀ is the reference's
    report = build_report(study(rows, ["majority_vote", "maci"], sets=CLINICAL), FAST)
    quality = table(report, "quality")
    assert [cell(quality, "majority_vote", f"acc1:{x}").value for x in ("low", "middle", "high")] == [0.5, 1.0, 1.0]
    found = table(report, "agreement")
    assert [cell(found, "majority_vote", f"agreement:{x}").value for x in ("low", "middle", "high")] == pytest.approx(
        [0.3, 0.6, 0.95]
    )
    assert show(cell(found, "paper: Majority vote (20)", "agreement:low")) == "5–15 %"


def test_rounds_flips_and_signals():
    def course(*said: str) -> dict:
        steps = [{"belief": belief(x), "d": 0.5 / (t + 1), "cl": 0.9} for t, x in enumerate(said)]
        return {"course": steps, "rounds": len(said) - 1}

    rows = [
        row("maci", "c0", "a", **course("b", "a", "a")),  # mended
        row("maci", "c1", "b", **course("a", "b")),  # spoiled
        row("maci", "c2", "a", **course("a", "a")),
        row("maci", "c3", "b", **course("b")),
        row("maci", "c4", "a", **course("b", "a")),  # mended
    ]
    report = build_report(study(rows, ["maci"]), FAST)
    rounds = table(report, "rounds").lines[0].cells
    assert [c.value for c in rounds] == [0.4, 0.6, 0.6]
    flips = table(report, "flips")
    assert [cell(flips, "maci", k).value for k in ("correct_to_wrong", "wrong_to_correct", "harmed", "mended")] == [
        1,
        2,
        0.5,
        pytest.approx(2 / 3),
    ]
    signals = table(report, "signals:maci")
    assert [line.cells[0].value for line in signals.lines] == [5, 4, 1]
    assert cell(signals, "1", "d").value == pytest.approx(0.25)
    assert show(cell(signals, "1", "q")) == "–"


def test_of_several_sizes_the_nearest_in_tokens_is_named():
    rows = answers("maci", "+++-")  # 1,000 tokens
    for name, tokens in (("vote 3", 600), ("vote 5", 1100), ("vote 20", 4000)):
        rows += answers(name, "++--", usage=Usage(prompt=tokens))
    votes = [PlannedMethod(name=f"vote {n}", use="majority_vote", of=f"vote {n}", options={"n": n}) for n in (3, 5, 20)]
    found = table(build_report(study(rows, ["maci", *votes]), FAST), "compute")
    assert [cell(found, f"vote {n}", "nearest").value for n in (3, 5, 20)] == ["other size", "nearest", "other size"]
    assert cell(found, "vote 20", "token_ratio").value == 4.0
    assert cell(found, "vote 20", "acc1_per_1k").value == pytest.approx(2 / 16)
    assert cell(found, "vote 5", "acc1_difference").value == 0.25
    assert any("Nearest to maci in tokens" in note and "vote 5" in note for note in found.notes)


def test_ordered_answers_stand_beside_always_neutral():
    scale = {"-1": -1.0, "0": 0.0, "+1": 1.0}
    rows = [
        row(
            "maci", f"c{i}", "x", gold="0", belief={"-1": 0.0, "0": 0.5, "+1": 0.5}, positions=scale,
            raters={"democrat_vote": -1.0, "republican_vote": r},
        )
        for i, r in enumerate((0.0, 1.0))
    ]  # fmt: skip
    notes = {"toy": ("columns are tone, not party",)}
    report = build_report(study(rows, ["maci"], notes=notes, sets={"toy": "budak_allsides_text"}), FAST)
    found = table(report, "ordered")
    # E = 0.5: 1.5 from the left rater, 0.5 from the right one both times
    assert [
        cell(found, "maci", k).value for k in ("mad", "mad:democrat_vote", "mad:republican_vote", "partisan_gap")
    ] == [0.5, 1.5, 0.5, 1.0]
    assert [
        cell(found, "always neutral", k).value for k in ("mad", "mad:democrat_vote", "mad:republican_vote", "acc1")
    ] == [0.0, 1.0, 0.5, 1.0]
    # ours (1.5 + 0.5)/2 against (1 + 0)/2 and (1 + 1)/2
    assert cell(found, "always neutral", "raters_difference").value == pytest.approx(0.25)
    assert cell(found, "rater republican_vote", "mad").value == 0.5
    assert cell(found, "mean of the raters", "mad").value == 0.25
    assert show(cell(found, "paper: MACI", "mad")) == "0.120"
    # beside ordered data stand the figures of the paper's news table
    assert [show(cell(table(report, "main"), "paper: MACI", k)) for k in ("acc1", "ece", "tokens")] == [
        "–",
        "0.093",
        "8.2k",
    ]
    assert report.sections[0].verdicts == (
        "Answering neutral always has distance 0 from the centre and is right in 100 % of these cases; chance may explain how its "
        "distance to the raters differs from that of maci (+0.25 [0.00, +0.50] steps).",
    )
    assert "columns are tone, not party" in report.sections[0].notes


def test_the_ece_of_a_calibrated_method_is_estimated_without_its_answers():
    chance = np.random.default_rng(0)
    confidence = chance.uniform(0.4, 1, 200)
    rows = [row("maci", f"c{i}", "a", belief=belief("a", float(c))) for i, c in enumerate(confidence)]
    own = scored(rows, Softening())
    found = Estimates().calibrated_ece(own, list(range(200)))
    flipped = [dataclasses.replace(s, correct=False) for s in own]
    assert found == Estimates().calibrated_ece(flipped, list(range(200)))
    # by simulation of our own: Σ |conf − right| in bins of width 1/15
    bins = np.minimum((confidence * 15).astype(int), 14)
    drawn = [
        sum(abs((confidence - right)[bins == b].sum()) for b in range(15)) / 200
        for right in (chance.random(200) < confidence for _ in range(2000))
    ]
    assert found.value == pytest.approx(np.mean(drawn), rel=0.05)
    assert found.low > 0


def calibrated() -> list[Row]:
    """20 of 40 right at 0.5, 36 of 40 at 0.9: a calibration error of 0, and more in nearly every resample."""
    half = [row("maci", f"half{i:03}", "x", belief=belief("a" if i % 2 else "b", 0.5)) for i in range(40)]
    return half + [row("maci", f"sure{i:03}", "x", belief=belief("a" if i % 10 else "b", 0.9)) for i in range(40)]


def test_an_interval_of_the_calibration_error_has_its_value_in_it():
    own = scored(list(calibrated()), Softening())
    error = ece_of([s.confidence for s in own], [s.correct is True for s in own])
    drawn = bootstrap(error, len(own), np.random.default_rng(0), resamples=200)
    assert drawn.value == pytest.approx(0, abs=1e-12)
    assert drawn.low > 1e-6  # so it would be shown without its value
    report = build_report(study(calibrated() + answers("average", "+-"), ["maci", "average"]), FAST)
    shown = cell(table(report, "main"), "maci", "ece")
    assert shown.low == shown.value and shown.high == pytest.approx(drawn.high)
    assert shown.how.endswith("widened to its value")
    notes = [note for note in table(report, "main").notes if "widened" in note]
    assert len(notes) == 1 and notes[0].startswith("ECE of maci: ")


def test_a_difference_of_calibration_errors_has_its_value_in_it():
    # all right at 0.9 is an error of 0.1 in every resample
    always = [r.model_copy(update={"method": "average", "belief": belief("a", 0.9)}) for r in calibrated()]
    found = table(build_report(study(calibrated() + always, ["maci", "average"]), FAST), "differences")
    shown = cell(found, "average", "ece_difference")
    assert shown.value == shown.low == pytest.approx(-0.1) and shown.high > shown.value + 0.01
    assert any(note.startswith("Δ ECE of average: ") for note in found.notes)


# several data sets, several folders, parts


def test_data_sets_are_shown_one_by_one_and_together():
    rows = answers("maci", "++++") + answers("average", "++--")
    rows += answers("maci", "+-", data="second") + answers("average", "+-", data="second")
    report = build_report(study(rows, ["maci", "average"]), FAST)
    assert [s.title for s in report.sections] == ["made: toy", "made: second", "made: all 2 data sets together"]
    assert cell(table(report, "main", 2), "maci", "acc1").value == pytest.approx(5 / 6)
    overview = table(report, "overview")
    assert [show(c).partition(" ")[0] for c in overview.lines[1].cells] == ["50", "50", "50"]


def test_folders_of_one_study_are_merged_and_different_studies_stand_side_by_side():
    first, second = answers("maci", "++.."), answers("maci", "..--")
    plan = meta_of(first + second, ["maci"])
    merged = join([("one", plan, first), ("two", plan, second)])
    assert len(merged) == 1 and merged[0].missing == ()
    assert cell(table(build_report(merged, FAST), "main"), "maci", "acc1").value == 0.5
    other = meta_of(first, ["maci"], name="other")
    both = build_report(join([("one", plan, first + second), ("two", other, first)]), FAST)
    assert [s.title for s in both.sections] == ["made: toy", "other: toy"]


def test_two_folders_that_contradict_each_other_are_refused():
    one, two = answers("maci", "+"), answers("maci", "-")
    plan = meta_of(one, ["maci"])
    with pytest.raises(CheckFailed, match="another row for toy/0/test/test000/maci"):
        join([("one", plan, one), ("two", plan, two)])


def test_studies_of_one_name_are_told_apart_by_their_folders():
    rows = answers("maci", "+")
    metas = [meta_of(rows, ["maci"]).model_copy(update={"fingerprint": x}) for x in ("f", "g")]
    assert [s.label for s in join([("one", metas[0], rows), ("two", metas[1], rows)])] == ["made (one)", "made (two)"]


def test_a_study_that_was_interrupted_says_what_is_missing():
    there = answers("maci", "++") + answers("average", "+")
    report = build_report(study(there, ["average", "maci"], planned=answers("maci", "++++")), FAST)
    missing = table(report, "missing")
    assert {line.name: [c.value for c in line.cells] for line in missing.lines} == {
        "toy: average": [3, 4],
        "toy: maci": [2, 4],
    }
    assert "5 planned answers are missing" in report.verdict[-1]
    assert any("different numbers of cases" in note for note in table(report, "main").notes)


def test_a_study_without_any_row_is_reported_too():
    report = build_report(study([], ["maci"], planned=answers("maci", "++")), FAST)
    assert report.sections == ()
    assert "nothing can be said" in report.verdict[0]
    assert table_keys(report) == ["missing"]


def test_only_failures_is_a_report_without_scores():
    report = build_report(study(answers("maci", "xx"), ["maci"]), FAST)
    assert report.sections == ()
    assert table_keys(report) == ["failure_counts", "failures", "calibrations"]


def table_keys(report: Report) -> list[str]:
    return [t.key for t in report.tables]


def test_a_method_without_a_single_answer_is_shown_as_such():
    made = study(answers("maci", "++-"), ["maci", "average"], planned=answers("average", "+++"))
    report = build_report(made, FAST)
    main = table(report, "main")
    assert cell(main, "average", "n").value == 0
    assert {show(cell(main, "average", key)) for key in ("acc1", "mrr", "ece", "ece_calibrated", "nll", "tokens")} == {
        "–"
    }
    assert cell(table(report, "differences"), "average", "verdict").value == "cannot be compared with"
    assert "whether debate was worth it cannot be said" in report.verdict[1]


def test_a_reference_that_is_not_to_be_had_is_replaced_and_that_is_said():
    rows = answers("single/one", "++") + answers("single/two", "+-")  # no dev, so no best
    report = build_report(study(rows, [each("one"), each("two")], report={"reference": "single (best on dev)"}), FAST)
    assert any("no answers of single (best on dev); the others are compared with single/one" in n for n in report.notes)


def test_an_unknown_reference_is_refused_and_a_missing_one_replaced():
    made = study(answers("average", "+-") + answers("mad", "++"), ["average", "mad"])
    with pytest.raises(InputError, match="reference is 'macy': made has average, mad"):
        build_report(made, ReportSettings(reference="macy"))
    report = build_report(made, FAST)
    assert "has no method called maci" in report.notes[0]
    assert table(report, "differences").lines[0].name == "mad"


def test_the_spec_may_choose_reference_and_resamples():
    made = study(
        answers("average", "+-") + answers("maci", "++"),
        ["average", "maci"],
        report={"reference": "average", "resamples": 50, "colour": 1},
    )
    report = build_report(made)
    assert table(report, "differences").lines[0].name == "maci"
    assert "50 bootstrap resamples" in report.facts[-1][1]
    assert "[report] colour in the spec is not known" in report.notes[0]


def test_the_same_rows_give_the_same_report_whatever_the_wall_time():
    rows = answers("maci", "++-+") + answers("average", "+--+")
    slow = [r.model_copy(update={"seconds": 99.0}) for r in rows]
    one, two = (build_report(study(list(x), ["average", "maci"]), FAST) for x in (rows, reversed(slow)))
    assert one != two

    def without_wall(report: Report) -> list:
        return [[c for column, c in zip(t.columns, line.cells, strict=True) if column.key != "seconds"]
                for s in report.sections for t in s.tables for line in t.lines]  # fmt: skip

    assert without_wall(one) == without_wall(two)
    assert one.verdict == two.verdict
    assert build_report(study(rows, ["average", "maci"]), FAST) == one
