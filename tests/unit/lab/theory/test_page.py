"""The page of `maci verify`: well-formed, self-contained, honest about failures."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from maci.lab.theory import CheckedClaim
from maci.lab.theory.suite import build_report, plots
from maci.render.html import to_html
from maci.render.report import Chart, Series

CHART = Chart(
    title="Rounds <&>", x="1/ε", y="rounds", log_x=True, log_y=True,
    series=(
        Series.of("measured", [10, 100, 1000], [20, float("nan"), 2000], low=[10, 150, 1500], high=[30, 300, 2500]),
        Series.of("bound", [10, 1000], [22, 2002], bound=True),
    ),
)  # fmt: skip


def verdict(*, passed: bool = True, **changes) -> CheckedClaim:
    given = {
        "id": "a", "claim": "x < y", "kind": "proved", "limit": "≤ 1", "measured": "0.5", "n": 10, "unit": "runs",
        "note": "How.", "charts": (CHART,),
    }  # fmt: skip
    return CheckedClaim(passed=passed, **{**given, **changes})


def test_the_page_needs_nothing_else_and_escapes_what_it_shows() -> None:
    text = to_html(build_report([verdict(), verdict(id="b", kind="negative")], about="seed 0"))
    assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|<link|<img|url\(|@import|src=", text)
    assert "x &lt; y" in text and "x < y" not in text
    assert text.count("<svg") == 2 and "prefers-color-scheme: dark" in text
    assert "all 2 claims hold" in text and ">shown<" in text and ">pass<" in text


def test_the_page_says_what_fails() -> None:
    text = to_html(
        build_report(
            [verdict(), verdict(id="b", passed=False), verdict(id="c", passed=False, kind="negative")], about=""
        )
    )
    assert "2 of 3 claims fail" in text
    assert ">fail<" in text and ">not shown<" in text


def test_plots_are_files_of_their_own_with_title_and_key() -> None:
    found = plots([verdict(charts=(CHART, CHART)), verdict(id="b", charts=())])
    assert list(found) == ["a.svg", "a-1.svg"]
    root = ElementTree.fromstring(found["a.svg"])
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Rounds <&>", "measured", "bound"} <= set(words)
