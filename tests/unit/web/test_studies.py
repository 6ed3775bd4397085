"""Studies on the web page: the list, and each one's tables."""

from __future__ import annotations

from pathlib import Path

from report_helpers import keep
from web_helpers import Browser, visit


def test_a_study_is_listed_and_shown_with_tables_and_diagrams(tmp_path: Path) -> None:
    keep(tmp_path / ".studies" / "one")
    (tmp_path / ".studies" / "broken").mkdir()
    (tmp_path / ".studies" / "broken" / "results.sqlite").write_bytes(b"no database" * 100)

    async def walk(browser: Browser) -> None:
        listed = (await browser.get("/studies")).text
        assert 'href="/studies/one"' in listed and "28 of 28 answers" in listed
        assert "broken" in listed and "cannot be read" in listed
        page = await browser.get("/studies/one")
        assert page.status_code == 200 and 'class="sortable"' in page.text and "<svg" in page.text
        assert '<a href="/studies">‹ All studies</a>' in page.text
        assert "unsafe" not in page.headers["content-security-policy"]
        assert (await browser.get("/studies/..")).status_code in {200, 404}
        assert (await browser.get("/studies/%2e%2e%2fone")).status_code == 404

    visit(tmp_path, walk)
