"""The page of `maci verify`: well-formed, self-contained, honest about failures."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from maci.theory.page import page, plots
from maci.theory.svg import draw, ticks
from maci.theory.verdict import Chart, Series, Verdict

CHART = Chart(
    title="Rounds <&>", x="1/ε", y="rounds", log_x=True, log_y=True,
    series=(
        Series(name="measured", x=[10, 100, 1000], y=[20, float("nan"), 2000], low=[10, 150, 1500], high=[30, 300, 2500]),
        Series(name="bound", x=[10, 1000], y=[22, 2002], bound=True),
    ),
)  # fmt: skip


def verdict(*, passed: bool = True, **changes) -> Verdict:
    given = {
        "id": "a", "claim": "x < y", "kind": "proved", "limit": "≤ 1", "measured": "0.5", "n": 10, "unit": "runs",
        "note": "How.", "charts": (CHART,),
    }  # fmt: skip
    return Verdict(passed=passed, **{**given, **changes})


def test_a_chart_is_well_formed_and_draws_what_is_defined() -> None:
    figure = ElementTree.fromstring(draw(CHART))
    lines = figure.findall(".//polyline")
    assert [len(line.get("points").split()) for line in lines] == [2, 2]  # nan is left out
    assert len(figure.findall(".//polygon")) == 1
    assert "bound" in lines[1].get("class")
    assert figure.find("svg").get("aria-label").startswith("Rounds <&>")


def test_points_lie_where_a_logarithmic_axis_puts_them() -> None:
    figure = ElementTree.fromstring(draw(CHART))
    (x0, _), (x1, _) = (map(float, p.split(",")) for p in figure.findall(".//polyline")[0].get("points").split())
    assert (x0, x1) == (64, 474)  # the ends of the axis
    labels = [text.text for text in figure.findall(".//text")]
    assert {"10", "100", "1,000"} <= set(labels)


def test_everything_stays_inside_the_drawing() -> None:
    flat = Chart(title="t", x="x", y="y", series=(Series(name="s", x=[1, 2], y=[-0.3, 0.4]),))
    for chart in (CHART, flat):
        text = draw(chart)
        for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)(?=[ \"])", text):
            assert 0 <= float(x) <= 500 and 0 <= float(y) <= 290


@pytest.mark.parametrize("y", [[float("nan")] * 2, [0.0, 0.0]])
def test_a_chart_with_nothing_or_only_zeros_is_no_error(y: list[float]) -> None:
    assert "t" in draw(Chart(title="t", x="x", y="y", series=(Series(name="s", x=[1, 2], y=y),)))


@pytest.mark.parametrize(("low", "high", "log"), [(0, 1, False), (-0.2, 0.13, False), (1e-6, 0.1, True), (3, 7, True)])
def test_ticks_are_few_and_inside(low: float, high: float, log: bool) -> None:
    found = ticks(low, high, log=log)
    assert 1 <= len(found) <= 8
    assert all(low - 1e-9 <= tick <= high * 1.0001 + 1e-9 for tick in found)


def test_the_page_needs_nothing_else_and_escapes_what_it_shows() -> None:
    text = page([verdict(), verdict(id="b", kind="negative")], about="seed 0")
    assert not re.search(r"https?:|<script|<link|<img|url\(|@import|src=", text)
    assert "x &lt; y" in text and "x < y" not in text
    assert text.count("<svg") == 2 and "prefers-color-scheme:dark" in text
    assert "all 2 claims hold" in text and ">shown<" in text and ">pass<" in text


def test_the_page_says_what_fails() -> None:
    text = page([verdict(), verdict(id="b", passed=False), verdict(id="c", passed=False, kind="negative")], about="")
    assert "2 of 3 claims fail" in text
    assert ">fail<" in text and ">not shown<" in text


def test_plots_are_files_of_their_own_with_title_and_key() -> None:
    found = plots([verdict(charts=(CHART, CHART)), verdict(id="b", charts=())])
    assert list(found) == ["a.svg", "a-1.svg"]
    root = ElementTree.fromstring(found["a.svg"])
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Rounds <&>", "measured", "bound"} <= set(words)
