"""Reads a page as a browser would, and what every page must be."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class Reader(HTMLParser):
    void = frozenset({"meta", "br", "link", "img", "input", "circle", "line", "rect", "polyline"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in self.void:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def check_page(written: str) -> Reader:
    """Well-formed, self-contained, without styles or handlers in attributes, every id once, every link of its own resolved."""
    page = Reader()
    page.feed(written)
    page.close()
    assert page.open == []
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert [id for id in set(ids) if ids.count(id) > 1] == []
    for tag, attrs in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "form"}
        assert not {name for name in attrs if name.startswith("on")} | ({"src", "style"} & set(attrs))
        if tag == "a" and attrs["href"].startswith("#"):
            assert attrs["href"][1:] in ids, attrs["href"]
        if tag == "svg" and attrs.get("role") == "presentation":  # a part of another
            continue
        if tag == "svg" and attrs.get("role") == "group":  # with links inside
            assert attrs["aria-label"]
        elif tag == "svg" and "aria-hidden" not in attrs:
            assert attrs["role"] == "img" and all(id in ids for id in attrs["aria-labelledby"].split())
        if tag == "th":
            assert attrs["scope"] in {"row", "col"}
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "url(" not in written and "@import" not in written
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", re.search(r"<style>.*?</style>", written, re.S)[0])
    return page
