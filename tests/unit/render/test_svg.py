"""Charts: well-formed, inside their frame, where their axes put them, and in words."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from maci.render.report import Chart, Point, Series
from maci.render.strips import bar, coloured, sparkline, stack
from maci.render.svg import WIDTH, draw, figure, standalone, ticks

SVG = "{http://www.w3.org/2000/svg}"
CHART = Chart(
    title="Rounds <&>", x="1/ε", y="rounds", log_x=True, log_y=True,
    series=(
        Series.of("measured", [10, 100, 1000], [20, float("nan"), 2000], low=[10, 150, 1500], high=[30, 300, 2500]),
        Series.of("bound", [10, 1000], [22, 2002], bound=True),
    ),
)  # fmt: skip


def drawn(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(draw(chart, "c"))


def lines(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [e for e in root.iter(f"{SVG}polyline") if "line" in e.get("class").split()]


def test_a_chart_is_well_formed_and_draws_what_is_defined() -> None:
    root = drawn(CHART)
    assert [len(line.get("points").split()) for line in lines(root)] == [2, 2]  # nan is left out
    assert len(root.findall(f".//{SVG}polygon")) == 1
    assert "bound" in lines(root)[1].get("class")
    assert root.find(f"{SVG}title").text == "Rounds <&>"
    assert root.find(f"{SVG}desc").text == "rounds against 1/ε; measured from 20 to 2e+03; bound from 22 to 2e+03"


def test_points_lie_where_a_logarithmic_axis_puts_them() -> None:
    points = tuple(Point(x=x, y=x) for x in (10.0, 100.0, 1000.0))
    root = drawn(Chart(title="t", x="x", y="y", log_x=True, log_y=True, series=(Series(name="s", points=points),)))
    marks = [(float(e.get("cx")), float(e.get("cy"))) for e in root.iter(f"{SVG}circle")]
    # a decade is half of the axis: 50 to 400 − 13 − 7.2 − 8 = 371.8 across, 216 up to 26
    assert marks == [(50, 216), (pytest.approx(210.9), 121), (pytest.approx(371.8), 26)]
    assert {"10", "100", "1,000"} <= {text.text for text in root.iter(f"{SVG}text")}


def test_a_plot_takes_the_room_that_its_names_leave() -> None:
    points = (Point(x=1.0, y=1.0), Point(x=2.0, y=2.0))

    def wide(name: str) -> float:
        root = drawn(Chart(title="t", x="x", y="y", series=(Series(name=name, points=points),)))
        return max(float(e.get("x2")) for e in root.iter(f"{SVG}line")) - 42

    assert wide("τ_CRIT") > 0.7 * 400 and wide("a method with a long name") < wide("τ_CRIT")


def test_everything_stays_inside_the_drawing() -> None:
    flat = Chart(title="t", x="x", y="y", series=(Series.of("s", [1, 2], [-0.3, 0.4]),))
    single = Chart(title="t", x="round", y="Acc@1 %", series=(Series.of("s", [0], [1.0]),))
    for chart in (CHART, flat, single):
        text = draw(chart, "c")
        height = float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', text)[1])
        found = re.findall(r"(-?[\d.]+),(-?[\d.]+)(?=[ \"])", text)
        assert found and all(0 <= float(x) <= WIDTH and 0 <= float(y) <= height for x, y in found)


@pytest.mark.parametrize("y", [[float("nan")] * 2, [0.0, 0.0]])
@pytest.mark.parametrize("log", [False, True])
def test_a_chart_with_nothing_or_only_zeros_is_no_error(y: list[float], log: bool) -> None:
    chart = Chart(title="t", x="x", y="y", log_y=log, series=(Series.of("s", [1, 2], y),))
    assert "t" in figure(chart, "c") and "t" in standalone(chart)


@pytest.mark.parametrize(("low", "high", "log"), [(0, 1, False), (-0.2, 0.13, False), (1e-6, 0.1, True), (3, 7, True)])
def test_ticks_are_few_and_inside(low: float, high: float, log: bool) -> None:
    found = ticks(low, high, log=log)
    assert 1 <= len(found) <= 8
    assert all(low - 1e-9 <= tick <= high * 1.0001 + 1e-9 for tick in found)


def test_a_belief_fills_its_bar_by_probability() -> None:
    rows = [("round 0", {"a": 0.5, "b": 0.25, "c": 0.25}), ("round 1", {"a": 1.0})]
    root = ElementTree.fromstring(stack(rows, {"a": "c0", "b": "c1"}, "Beliefs"))
    parts = [(e.get("class"), e.get("x"), e.get("width")) for e in root.iter("rect")]
    assert parts == [
        ("part c0", "0.00%", "50.00%"), ("part c1", "50.00%", "25.00%"), ("part rest", "75.00%", "25.00%"),
        ("part c0", "0.00%", "100.00%"),
    ]  # fmt: skip
    assert (
        root.get("role") == "img"
        and root.get("aria-label") == "Beliefs: round 0: a 50\N{NO-BREAK SPACE}%; round 1: a 100\N{NO-BREAK SPACE}%"
    )
    # 262 px on a phone: a half holds (131 − 6) / 6.9 = 18 letters, a quarter (65.5 − 6) / 6.9 = 8
    assert [(e.text, e.get("class")) for e in root.iter("text")] == [
        ("a 50\N{NO-BREAK SPACE}%", "on lead"), ("b 25\N{NO-BREAK SPACE}%", "on"), ("a 100\N{NO-BREAK SPACE}%", "on lead"),
    ]  # fmt: skip


def test_a_name_that_does_not_fit_its_part_of_a_bar_is_left_out_and_never_cut() -> None:
    drawn = stack(
        [("all", {"safe with a speed limit": 0.6, "unsafe": 0.4})],
        {"safe with a speed limit": "c0", "unsafe": "c1"},
        "",
    )
    assert [e.text for e in ElementTree.fromstring(drawn).iter("text")] == [
        "60\N{NO-BREAK SPACE}%",
        "unsafe 40\N{NO-BREAK SPACE}%",
    ]


def test_a_tie_has_no_leader() -> None:
    root = ElementTree.fromstring(
        stack([("all", {"a": 0.5, "b": 0.5}), ("none", {})], {"a": "c0", "b": "c1"}, "Beliefs")
    )
    assert root.get("aria-label") == "Beliefs: all: a and b 50\N{NO-BREAK SPACE}%; none: no belief"
    assert [(e.text, e.get("class")) for e in root.iter("text")] == [
        ("a 50\N{NO-BREAK SPACE}%", "on"),
        ("b 50\N{NO-BREAK SPACE}%", "on"),
    ]
    wide = ElementTree.fromstring(stack([("all", dict.fromkeys("abcde", 0.2))], {"a": "c0", "b": "c1"}, "Beliefs"))
    assert wide.get("aria-label") == "Beliefs: all: 5 outcomes alike 20\N{NO-BREAK SPACE}%"


def test_a_scale_keeps_its_order_and_a_long_one_its_most_probable() -> None:
    course = [{"-1": 0.2, "0": 0.1, "+1": 0.7}]
    assert list(coloured(course, ("-1", "0", "+1"))) == ["-1", "0", "+1"]
    long = tuple(str(i) for i in range(20))
    assert coloured([{"7": 0.5, "3": 0.3, "12": 0.2}], long) == {"3": "c1", "7": "c0", "12": "c2"}
    assert coloured([], ("-1", "0", "+1")) == {}


@pytest.mark.parametrize("outcomes", [(), ("b", "a", "c"), tuple("zyxwvutsrqcba")], ids=["open", "few", "many"])
def test_an_outcome_keeps_its_colour_whatever_comes_later(outcomes: tuple[str, ...]) -> None:
    course = [{"a": 0.6, "b": 0.4}, {"a": 0.1, "b": 0.5, "c": 0.4}, {"c": 0.9, "b": 0.05, "a": 0.05}]
    whole = coloured(course, outcomes)
    for played in (1, 2, 3):
        so_far = coloured(course[:played], outcomes)
        assert so_far == {label: whole[label] for label in so_far}
    assert len(set(whole.values())) == 3


def test_the_last_colours_are_for_outcomes_with_much_probability() -> None:
    first = {f"o{i}": p for i, p in enumerate((0.4, 0.3, 0.08, 0.07, 0.06, 0.05, 0.04))}
    assert len(coloured([first])) == 6
    assert list(coloured([first, {"late": 0.9, "o6": 0.05, "o7": 0.05}]))[6:] == ["late"]


def test_a_sparkline_has_a_gap_where_a_signal_is_undefined() -> None:
    root = ElementTree.fromstring(sparkline([0.2, 0.4, None, 0.8], "Q", "q"))
    assert [len(e.get("points").split()) for e in root.iter(f"{SVG}polyline")] == [2, 1]
    assert root.find(f"{SVG}desc").text == "openings 0.20, round 1 0.40, round 2 undefined, round 3 0.80"
    assert "no round yet" in sparkline([], "Q", "q")


def test_a_bar_is_as_long_as_its_share_and_never_longer() -> None:
    assert 'width="25"' in bar(0.25)
    assert bar(1.7).count('width="100"') == 2
    assert 'width="0"' in bar(-1.0)


def test_outcomes_that_ever_led_have_a_colour() -> None:
    course = [{"x": 0.9, "y": 0.1, "z": 0.0}, {"x": 0.1, "y": 0.8, "z": 0.1}]
    assert list(coloured(course, most=2)) == ["x", "y", "z"]  # z has much
    assert coloured([]) == {}
