"""Turns of phrase that need a second reading, and what to say instead, in everything a person reads: messages, pages, documents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

EVERYWHERE = {
    r"of one's own": "your own",
    r"is not one's": "name what it is not",
    r"gone on with": "resumed, continued",
    r"came to nothing": "has no answer",
    r"who is there again": "a model listed twice",
    r"not as usual": "changed from their defaults",
    r"what becomes of": "what happens next",
    r"nobody reads the output": "output was closed before the end",
    r"(?:cannot|can not) be told (?:from|apart)": "no significant difference from",
    r"whatever it may be": "leave it out",
    r"a person would": "name who does it",
    r"shares .{1,60} with what is recorded": "findings in this case match the description",
    r"rejected because q": "not admitted: the cited text has little to do with this case",
    r"is expected to bring .{1,30}, and its cost": "no question is worth asking",
    r"wants to (?:know|hear)": "arguments, files and code do not want anything",
    r"Note: caution": "Warning",
    r"the same command goes on": "the same command continues",
}
"""Phrase → what to say instead; in the package, its templates and its documents."""

IN_GUIDES = {
    r"goes on": "continues",
    r"go on with": "resume, continue",
    r"of (?:its|their) own": "separate, or leave it out",
    r"what (?:became|becomes) of": "whether it was admitted",
    r"what it came to": "the result",
    r"is no part of": "is not part of",
}
"""In addition, in pages that people read from beginning to end. Decisions are kept as they were written."""

QUOTED = {"wants to (?:know|hear)": "evidence/builtin"}
"""Phrase → a folder where it is data, not our words."""


def readable() -> list[Path]:
    """What people read that is not a test."""
    package = [
        path
        for path in (ROOT / "src" / "maci").rglob("*")
        if path.suffix in {".py", ".html", ".js", ".txt", ".yaml", ".md"}
    ]
    examples = [
        path for path in (ROOT / "examples").rglob("*") if path.suffix in {".py", ".sh", ".md", ".yaml", ".toml"}
    ]
    return sorted({*package, *examples, *guides(), *(ROOT / "studies").glob("*.*")})


def guides() -> list[Path]:
    """The README and the pages of docs/ without the decisions."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "howto").glob("*.md")]
    return [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "examples" / "README.md", *pages]


def found(phrase: str, files: Iterable[Path], root: Path = ROOT) -> list[str]:
    """Where a phrase stands, across line breaks and the seams of string literals."""
    hits = []
    for file in files:
        text = re.sub(r"\s+", " ", re.sub(r'"\s*\n\s*f?"', "", file.read_text(encoding="utf-8")))
        if phrase in QUOTED and QUOTED[phrase] in file.as_posix():
            continue
        for hit in re.finditer(rf"\b{phrase}\b", text, re.IGNORECASE):
            hits.append(f"{file.relative_to(root)}: …{text[max(0, hit.start() - 40) : hit.end() + 30]}…")
    return hits


@pytest.mark.parametrize("phrase", EVERYWHERE)
def test_nothing_a_person_reads_has_a_banned_turn_of_phrase(phrase: str) -> None:
    assert not found(phrase, readable()), f"say: {EVERYWHERE[phrase]}"


@pytest.mark.parametrize("phrase", IN_GUIDES)
def test_guides_have_none_of_these_either(phrase: str) -> None:
    assert not found(phrase, guides()), f"say: {IN_GUIDES[phrase]}"


def test_a_phrase_is_found_across_lines_and_seams_of_strings(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = \"this debate came \"\n    f\"to nothing\"\n'''or came\nto nothing'''", encoding="utf-8")
    assert len(found("came to nothing", [file], tmp_path)) == 2 and not found("goes on", [file], tmp_path)
