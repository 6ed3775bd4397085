"""One browser, one fake server of models and one `maci serve` for all browser tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from stage import CHROMIUM, Stage, chromium, fake_models, serving, slow_panel

PATIENCE = 60_000
"""Milliseconds a page has for what a test expects; `wait_for_function` cannot be used, the pages' policy forbids what it does."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium here: tests/system/install.sh installs it (apt-get install chromium)")
    expect.set_options(timeout=PATIENCE)
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def panels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with fake_models(0.5) as models:
        yield slow_panel(tmp_path_factory.mktemp("panels"), models)


@pytest.fixture(scope="session")
def stage(panels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with serving(tmp_path_factory.mktemp("runs"), panels) as running:
        yield running


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A tab that fails the test if a script of the page fails or the policy stops one."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    context.on("weberror", lambda raised: wrong.append(str(raised.error)))
    context.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    yield context.new_page()
    context.close()
    assert wrong == []
