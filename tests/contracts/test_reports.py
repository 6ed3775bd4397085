"""Every report of the house (a study's, both audits', verify's) is one model, and every renderer can set it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from maci.calibration.stats.estimate import Estimate, as_json, estimate, undefined
from maci.lab.audit.contentiousness.report import build_report as dial_report
from maci.lab.audit.contentiousness.trends import SIGNALS, Trend
from maci.lab.audit.contentiousness.verdict import Findings, judge
from maci.lab.audit.judges.convarg import HumanComparison, Versus
from maci.lab.audit.judges.convarg import build_report as people_report
from maci.lab.study.report import ReportSettings, build_report
from maci.lab.theory import CheckedClaim
from maci.lab.theory.suite import build_report as claims_report
from maci.render.html import to_html
from maci.render.report import Chart, Report, Series, show
from maci.render.text import to_latex, to_markdown, to_text
from page_helpers import check_page
from report_helpers import answers, study

SHARE = Estimate(0.5, 0.25, 0.75, 10, "Wilson", "pairs")
NASTY = "a_b & 50% <b> | {x}"


def of_study() -> Report:
    return build_report(
        study(answers("maci", "++-+x") + answers("average", "+--++"), ["average", "maci"]), ReportSettings(resamples=50)
    )


def of_claims() -> Report:
    chart = Chart(title=NASTY, x="x", y="y", series=(Series.of("s", [1, 2], [3, 4]),))
    common = {"kind": "proved", "limit": "≤ 1", "measured": NASTY, "n": 10, "unit": "runs", "charts": (chart,)}
    passed, failed = (CheckedClaim(id=str(ok), claim=f"{NASTY} {ok}", passed=ok, **common) for ok in (True, False))  # type: ignore[arg-type]
    return claims_report([passed, failed], about="seed 0", checks={"True": "one", "False": "two"})


def of_judges() -> Report:
    none = undefined("one topic side", unit="pairs")
    versus = Versus(judge=NASTY, accuracy=SHARE, test=SHARE, less_length=SHARE, with_length=none, by_side={"s": SHARE})
    found = HumanComparison(
        data="ukp_convarg", pairs=10, arguments=4, sides=1, longer=SHARE, longer_test=SHARE, longer_by_side={"s": SHARE},
        judges=(versus,), abstained=0, tokens=0, usd=0.0, complete=True, notes=(NASTY,),
    )  # fmt: skip
    return people_report(found, "seed 0")


def of_dial() -> Report:
    alone = Estimate(0.5, np.nan, np.nan, 1, "one debate per level")
    trend = Trend(name="d", rho=0.5, within=SHARE, p=0.01, step=SHARE, means=(SHARE, alone), peak=0.9, peak_share=0.8)
    found = Findings(
        levels=(0.9, 0.1), held=4, left_out=0, silent=0, topics=(NASTY,), blocks=2, rounds=2, speak=False, wording=None,
        placebo=None, beyond=None, trends=dict.fromkeys(SIGNALS, trend), placebo_trends={},
    )  # fmt: skip
    return dial_report(found, judge(found), "readers")


@pytest.mark.parametrize("made", [of_study, of_claims, of_judges, of_dial])
def test_every_renderer_sets_every_report(made: Callable[[], Report]) -> None:
    report = made()
    figures = [show(cell) for s in report.sections for t in s.tables for line in t.lines for cell in line.cells]
    assert report.verdict and (made is of_claims or any("[" in figure for figure in figures))
    for plain in (True, False):
        written = to_text(report, width=100, plain=plain)
        assert report.title in written and ("\x1b" in written) is not plain
        assert not plain or max(map(len, written.splitlines())) <= 100
    page = check_page(to_html(report))
    assert report.verdict[0] in page.text and "<b>" not in page.text.replace(NASTY, "")
    blocks = re.findall(r"(?:^\|.*\n)+", to_markdown(report), re.M)
    assert blocks and all(len({len(re.findall(r"(?<!\\)\|", line)) for line in b.splitlines()}) == 1 for b in blocks)
    latex = to_latex(report)
    assert latex.count(r"\begin{longtable}") == latex.count(r"\end{longtable}") > 0 and all(ord(c) < 256 for c in latex)


def test_what_is_undefined_is_a_dash_with_its_reason_and_null_in_json() -> None:
    none = undefined("no cases", 3, "debates")
    cell = estimate(none, "percent")
    assert (show(cell), cell.how, cell.n) == ("–", "no cases", 3)
    assert as_json(none) == {"value": None, "low": None, "high": None, "n": 3, "unit": "debates", "how": "no cases"}
    assert show(estimate(SHARE, "percent")) == "50 % [25, 75]"
