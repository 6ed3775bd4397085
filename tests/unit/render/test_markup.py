"""Markup: what comes from outside is text, whatever it says."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maci.errors import InputError
from maci.render.markup import Markup, clean, document, el, join
from maci.render.style import COLOURS, PALETTE, hash_of, script, sheet

HOSTILE = '</p><script>alert(1)</script><img src=x onerror=alert(1)> "quoted" \u202eturned\u202c \x1b[31m red &amp;'


class Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attrs = dict(attrs)

    def handle_data(self, data):
        self.text += data


@given(st.text())
def test_any_text_is_shown_as_it_is(text):
    words = Words()
    words.feed(el("p", text, title=text))
    words.close()
    assert words.tags == ["p"]
    assert words.text.replace("\r", "") == clean(text)
    assert words.attrs["title"] == clean(text)


def test_hostile_text_makes_no_element_and_hides_nothing():
    words = Words()
    words.feed(el("p", HOSTILE))
    assert words.tags == ["p"]
    assert "<script>alert(1)</script>" in words.text
    assert "\u202e" not in words.text and "\x1b" not in words.text and "�turned�" in words.text


@pytest.mark.parametrize("name", ["onclick", "onload", "style"])
def test_attributes_that_run_or_style_are_refused(name):
    with pytest.raises(InputError, match=name):
        el("p", **{name: "x"})


@pytest.mark.parametrize(
    "href",
    ["javascript:alert(1)", "JaVaScRiPt:x", "data:text/html,x", "//evil.example", " javascript:x", "vbscript:x.html"],
)
def test_links_that_a_browser_would_run_are_refused(href):
    with pytest.raises(InputError, match="href"):
        el("a", "x", href=href)


@pytest.mark.parametrize(
    "href", ["#a", "/debates/1", "run-1/report.html", "https://example.org/x", "report.html#r1", "?round=2"]
)
def test_links_within_the_page_and_to_pages_are_kept(href):
    assert f'href="{href}"' in el("a", "x", href=href)


def test_children_may_be_nested_nothing_or_numbers():
    assert el("p", None, False, ["a", ["b"]], 3, 0.5, Markup("<br>")) == "<p>ab30.5<br></p>"
    assert join("<", el("i")) == "&lt;<i></i>"


def test_a_page_allows_only_its_own_style_and_script():
    page = document("t <x>", el("main", "hello", id="main"))
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert "<title>t &lt;x&gt;</title>" in page
    start = page.index("<script>") + len("<script>")
    assert hash_of(page[start : page.index("</script>")]).replace("'", "&#x27;") in page
    start = page.index("<style>") + len("<style>")
    assert hash_of(page[start : page.index("</style>")]).replace("'", "&#x27;") in page
    assert "</" not in script() + sheet()
    assert "unsafe-inline" not in page


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_measured_as_wcag_does():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("night", [0, 1])
@pytest.mark.parametrize("name", ["ink", "soft", "home", "good", "bad", "warn", *(f"c{i}" for i in range(COLOURS))])
def test_every_colour_of_text_can_be_read_on_every_ground(name, night):
    for ground in ("paper", "tint"):
        assert contrast(PALETTE[name][night], PALETTE[ground][night]) >= 4.5, ground
    if name == "ink":
        assert contrast(PALETTE[name][night], PALETTE["found"][night]) >= 4.5
