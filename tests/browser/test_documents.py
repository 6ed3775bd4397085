"""The documentation site, opened as files in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from site_of_docs import build

pytestmark = pytest.mark.system


def test_it_is_searched_without_a_server_and_loads_nothing_from_elsewhere(page: Any, tmp_path: Path) -> None:
    site, asked = build(tmp_path), []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto((site / "index.html").as_uri())
    page.get_by_placeholder("Search").first.fill("minority report")
    page.keyboard.press("Enter")
    expect(page.locator("ul.search li a").first).to_contain_text("trust")
    page.locator("ul.search li a").first.click()
    expect(page.locator("h1")).to_contain_text("How far to trust an answer")
    assert asked and all(url.startswith(("file:", "data:")) for url in asked)
