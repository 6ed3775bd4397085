"""A case: a question, its context, what an answer may be, the evidence at hand, and the truth where it is known."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from maci.cases.outcomes import OutcomeSpace, canonical, normal
from maci.errors import BeliefError, CaseError, InputError, explain, near
from maci.files.bounds import Beyond, check_data
from maci.files.parse import load, parse, read, read_bytes, read_lines


@dataclass(frozen=True, slots=True)
class Document:
    """A text offered as evidence with the case."""

    text: str
    source: str = ""
    id: str | None = None
    """A span id of the user's own; without one the id comes from the text."""
    label: str | None = None
    """The outcome the text is about, where known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is debated."""

    question: str
    outcomes: OutcomeSpace
    context: str = ""
    evidence: tuple[Document, ...] = ()
    gold: str | None = None
    """The true outcome, where known; agents and judges never see it."""
    hidden: Mapping[str, str] = field(default_factory=dict)
    """Findings that a question or test would reveal; agents and judges never see them either."""
    id: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise CaseError("the case has no question: add `question: …`")
        if self.gold is not None and not normal(self.gold):
            raise CaseError(f"gold is {self.gold!r}: it has no letters or digits")
        ids = [document.id for document in self.evidence if document.id is not None]
        if repeated := next((i for i in ids if ids.count(i) > 1), None):
            raise CaseError(f"two pieces of evidence have the id {repeated!r}: give each its own, or leave ids out")
        if self.gold is not None and self.outcomes.kind != "open":
            try:
                canonical(self.gold, self.outcomes, self.outcomes.labels)
            except BeliefError as error:
                raise CaseError(f"gold: {error}") from error

    def gold_among(self, labels: Iterable[str]) -> str | None:
        """The true outcome as these labels spell it; in its own spelling where none of them is it, ``None`` where it is not known."""
        if self.gold is None:
            return None
        space = self.outcomes
        return canonical(self.gold, space, tuple(labels) if space.kind == "open" else space.labels)

    @property
    def query(self) -> str:
        """The text that retrieval and θ are built on (D1)."""
        return f"{self.context}\n{self.question}".strip() if self.context else self.question


def label_text(value: Any) -> Any:
    """YAML reads a bare 2 or yes as a number or a truth value; an outcome is a name."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | float) else value


_Label = Annotated[str, BeforeValidator(label_text)]


class _EvidenceItem(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1)
    source: str = ""
    id: str | None = None
    label: _Label | None = None


class _Outcomes(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["closed", "open", "ordered"] = "closed"
    labels: list[_Label] = []
    positions: list[float] = []
    aliases: dict[_Label, _Label] = {}
    declared: int = Field(0, ge=0)
    metric: list[list[float]] = []


def _labels(value: Any) -> Any:
    if isinstance(value, str):
        return "open" if value.strip().casefold() == "open" else [part.strip() for part in value.split(",")]
    return [label_text(item) for item in value] if isinstance(value, list) else value


def _findings(value: Any) -> Any:
    """YAML reads ``rash: no`` as false and ``pulse: 110`` as a number; both are what was found."""
    if not isinstance(value, Mapping):
        return value
    return {name: label_text(found) for name, found in value.items()}


class CaseFile(BaseModel):
    """The file format of a case (its JSON Schema is published by `maci cases --schema`)."""

    model_config = ConfigDict(extra="forbid")

    question: str
    context: str = ""
    outcomes: Annotated[Literal["open"] | list[str] | _Outcomes, BeforeValidator(_labels)] = "open"
    """A list of labels, `open`, or a table with kind, labels, positions, aliases, declared, metric."""
    evidence: Annotated[
        list[str | _EvidenceItem], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = []
    gold: _Label | None = None
    hidden: Annotated[dict[str, str], BeforeValidator(_findings)] = {}
    id: str = ""
    title: str = ""

    def case(self) -> Case:
        """The case this file describes."""
        if self.outcomes == "open":
            space = OutcomeSpace(kind="open")
        elif isinstance(self.outcomes, list):
            space = OutcomeSpace(labels=tuple(self.outcomes))
        else:
            assert isinstance(self.outcomes, _Outcomes)
            given = self.outcomes
            positions = given.positions or (
                [float(i) for i in range(len(given.labels))] if given.kind == "ordered" else []
            )
            space = OutcomeSpace(
                kind=given.kind,
                labels=tuple(given.labels),
                positions=tuple(positions),
                aliases=given.aliases,
                declared=given.declared,
                metric=tuple(tuple(row) for row in given.metric),
            )
        documents = tuple(
            Document(item) if isinstance(item, str) else Document(item.text, item.source, item.id, item.label)
            for item in self.evidence
        )
        return Case(
            question=self.question,
            context=self.context,
            outcomes=space,
            evidence=documents,
            gold=self.gold,
            hidden=self.hidden,
            id=self.id,
            title=self.title,
        )


def parse_case(data: Any, where: str) -> Case:
    """A case from parsed data; ``where`` names its origin in errors."""
    if not isinstance(data, Mapping):
        raise CaseError(f"{where}: a case is a table with the keys question, context, outcomes, evidence, gold")
    try:
        check_data(data)
    except Beyond as error:
        raise CaseError(f"{where}: the case {error}") from error
    try:
        return CaseFile.model_validate(data).case()
    except ValidationError as error:
        raise CaseError(f"{where}: {explain(error.errors(), _known, _remedy, _FORM_NAMES)}") from error
    except CaseError as error:
        raise CaseError(f"{where}: {error}") from error


_FORMS = {
    "outcomes": "a list of labels, `open`, or a table with kind, labels, positions, aliases, declared, metric",
    "evidence": "a list of texts, or of tables with text, source, id, label",
}
_FORM_NAMES = {"literal['open']", "list[str]", "str", "_Outcomes", "_EvidenceItem"}


def _known(path: list[str]) -> Iterable[str]:
    return CaseFile.model_fields if len(path) == 1 else {**_Outcomes.model_fields, **_EvidenceItem.model_fields}


def _remedy(path: list[str], complaint: Mapping[str, Any]) -> str:
    if complaint["type"] == "missing":
        return f"add `{path[-1]}: …`"
    of_form = bool(complaint["loc"]) and complaint["loc"][-1] in _FORM_NAMES
    return f"it must be {_FORMS[path[0]]}" if of_form and path[0] in _FORMS else ""


def builtin_cases() -> Mapping[str, Case]:
    """The cases that come with the package, by name."""
    found: dict[str, Case] = {}
    for file in sorted((Path(__file__).parent / "builtin").glob("*.yaml")):
        entries: Sequence[Any] = load(file.read_text(encoding="utf-8"), "YAML")
        for entry in entries:
            found[entry["id"]] = parse_case(entry, f"built-in case {entry['id']}")
    return found


def is_file(name: str) -> bool:
    """Whether a name the user gave is that of a file; one too long for the system is not."""
    return os.path.isfile(name)  # noqa: PTH113 (Path.is_file raises)


def _of_any_kind(data: bytes, where: str) -> Any:
    """Data from a text that does not say what it is: TOML where it is that, else YAML, which JSON is a part of."""
    try:
        return parse(data, "TOML", where)
    except InputError:
        return parse(data, "YAML", where)


_SUFFIXES = (".yaml", ".yml", ".toml", ".json")


def _beside(name: str) -> list[str]:
    """Case files in the folder a name points into, as they would have to be written."""
    folder = Path(name).parent
    try:
        files = [file.name for file in folder.iterdir() if file.is_file() and file.suffix.lower() in _SUFFIXES]
    except (OSError, ValueError):
        return []
    return [str(folder / file) if folder != Path() else file for file in files]


def load_case(name: str) -> Case:
    """A case from a file, from standard input (``-``), or a built-in one by name."""
    if name == "-":
        where = "standard input"
        return parse_case(_of_any_kind(read_bytes(sys.stdin.buffer, where), where), where)
    if is_file(name):
        return parse_case(read(Path(name)), name)
    cases = builtin_cases()
    if name in cases:
        return cases[name]
    hint = near(name, [*cases, *_beside(name)], "`maci cases` lists the built-in ones", 3)
    raise CaseError(f"no case file and no built-in case named {name!r}: {hint}")


def read_cases(path: Path) -> Iterator[Case]:
    """Cases of a JSONL file, one a line."""
    return (parse_case(data, f"{path}, line {number}") for number, data in read_lines(path))
