"""The built-in knowledge: conditions with their presentation, and examples of tone. **Not for medical use.**

It was written for this package from general facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from maci.evidence.lexical import terms
from maci.evidence.span import Span
from maci.files.parse import load

BUILT_IN = "built-in: "
"""How the sources of the built-in texts begin."""
_FOLDER = Path(__file__).parent / "builtin"


@dataclass(frozen=True, slots=True)
class Test:
    """Something to find out, and what it shows if the condition is there."""

    ask: str
    expect: str
    kind: Literal["test", "history"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One entry of the built-in knowledge."""

    name: str
    aliases: tuple[str, ...]
    summary: str
    presentation: tuple[str, ...]
    lay: tuple[str, ...]
    """How people describe it."""
    distinguishing: tuple[str, ...]
    symptoms: Mapping[str, float]
    """Symptom → rough share of patients who have it."""
    tests: tuple[Test, ...]


def _load(name: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = load((_FOLDER / name).read_text(encoding="utf-8"), "YAML")
    return entries


@cache
def conditions() -> tuple[Condition, ...]:
    """Every built-in condition.

    >>> len(conditions()) >= 60
    True
    """
    return tuple(
        Condition(
            name=entry["name"],
            aliases=tuple(entry.get("aliases", ())),
            summary=entry["summary"],
            presentation=tuple(entry["presentation"]),
            lay=tuple(entry["lay"]),
            distinguishing=tuple(entry["distinguishing"]),
            symptoms=entry["symptoms"],
            tests=(
                *(Test(item["name"], item["expect"], "test") for item in entry.get("tests", ())),
                *(Test(item["ask"], item["expect"], "history") for item in entry.get("history", ())),
            ),
        )
        for entry in _load("conditions.yaml")
    )


@cache
def wordings() -> Mapping[str, tuple[str, ...]]:
    """Symptom → other ways to say it.

    >>> wordings()["retro-orbital pain"][0]
    'pain behind the eyes'
    """
    table: dict[str, list[str]] = load((_FOLDER / "wordings.yaml").read_text(encoding="utf-8"), "YAML")
    return {symptom: tuple(ways) for symptom, ways in table.items()}


@cache
def _phrases() -> tuple[frozenset[str], ...]:
    """Names of findings and conditions, as terms; one whose function words matter ("the runs") is left out."""
    names = [name for each in conditions() for name in (each.name, *each.aliases, *each.symptoms)]
    names += [way for symptom, ways in wordings().items() for way in (symptom, *ways)]
    split = {name: terms(name) for name in names}
    return tuple({frozenset(found) for name, found in split.items() if len(found) == len(name.split())})


def names_finding(text: str) -> bool:
    """Whether a text names a finding or a condition of the built-in knowledge.

    >>> names_finding("Which disease brings fever and pain behind the eyes?"), names_finding("What is 17 times 3?")
    (True, False)
    """
    here = set(terms(text))
    return any(phrase <= here for phrase in _phrases())


@cache
def builtin_tone() -> tuple[Span, ...]:
    """Examples of tone towards a subject, labelled −2 … +2."""
    return tuple(Span.of(entry["text"], f"{BUILT_IN}tone", 0, entry["label"]) for entry in _load("tone.yaml"))


@cache
def builtin_spans() -> tuple[Span, ...]:
    """The built-in clinical knowledge as labelled spans."""
    spans: dict[str, Span] = {}
    for condition in conditions():
        half = len(condition.presentation) // 2
        passages = (
            (condition.summary, *condition.presentation[:half]),
            condition.presentation[half:],
            (f"{condition.name} brings {', '.join(condition.symptoms)}.",),
            condition.distinguishing,
            condition.lay,
        )
        for text in map(" ".join, passages):
            span = Span.of(text, f"{BUILT_IN}{condition.name}", 0, condition.name)
            spans.setdefault(span.id, span)
    return tuple(spans.values())
