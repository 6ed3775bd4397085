"""The documents are true: generated parts are fresh, names exist, commands in the README run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "maci"


def test_generated_pages_are_up_to_date():
    done = subprocess.run([sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_tables_and_charts_of_stored_results_are_up_to_date():
    """`make tables` draws them; nothing is computed again, so this takes seconds."""
    words = [sys.executable, "docs/generate.py", "--tables", "--check"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_stored_map_is_of_the_shipped_habits_and_complete():
    from maci.lab.map import cells, hash_of, kept, key
    from maci.lab.map.habits import SHIPPED, read

    found = kept(ROOT / "studies" / "map" / "cells.jsonl")
    assert set(found) == {key(levels) for levels in cells()}
    assert {each.habits for each in found.values()} == {hash_of({n: e.value for n, e in read(SHIPPED).items()})}


def rows():
    for line in (ROOT / "docs" / "notation.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and "`" in cells[3]:
            yield cells


@pytest.mark.parametrize("cells", list(rows()), ids=lambda cells: cells[0])
def test_every_name_of_the_notation_page_is_where_it_says(cells):
    sources = "\n".join((PACKAGE / file).read_text(encoding="utf-8") for file in re.findall(r"`([^`]+)`", cells[3]))
    for name in re.findall(r"`([^`]+)`", cells[2]):
        for part in name.split("."):
            assert re.search(rf"\b(def|class) {part}\b|^    {part}: |^    {part} =", sources, re.MULTILINE), name


def test_every_setting_is_documented():
    from maci.config import build, parameters

    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert [row.key for row in parameters(build("default", {})) if f"`{row.key}`" not in page] == []


def test_links_in_documents_lead_somewhere():
    """Within the site test_site.py follows them, also to the pages that are written when it is built, and to anchors."""
    written = (ROOT / "docs" / "reference", ROOT / "docs" / "methods")
    pages = [*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("docs/**/*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            place = (page.parent / target).resolve()
            assert place.exists() or place.parent.is_relative_to(written[0]) or place.parent == written[1], (
                f"{page} → {target}"
            )


def test_every_study_is_in_their_table():
    page = (ROOT / "studies" / "README.md").read_text(encoding="utf-8")
    first = " ".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    named = re.findall(r"`([\w-]+)`", first.replace("`-", "`scheduler-agents-"))
    assert sorted(named) == sorted(spec.stem for spec in (ROOT / "studies").glob("*.toml"))
