"""A case: a question, its context, what an answer may be, the evidence at hand, and the truth where it is known."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from maci.cases.labels import Comparing, canonical
from maci.cases.outcomes import OutcomeSpace, normal
from maci.errors import BeliefError, CaseError, InputError, explain, near
from maci.files.bounds import Beyond, check_data, check_string
from maci.files.parse import load, parse, read, read_bytes, read_lines

QUESTION, CONTEXT, LABEL = 20_000, 200_000, 5_000
"""Characters of a question, a context and the name of an outcome at most."""
_COMPARED = 20
"""Unknown labels of evidence that are compared with the outcomes: a slip shows among the first."""

EditorSchema = Annotated[
    str,
    Field(
        alias="$schema", exclude=True, description="where an editor finds the JSON Schema of this file; MACI ignores it"
    ),
]
"""A file that a person writes may name its schema, so that an editor completes and checks it."""


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
    context_is: Literal["case", "evidence"] = "case"
    """``evidence`` where the context is itself the text to be judged, such as an article, a contract or a log (D15)."""
    evidence: tuple[Document, ...] = ()
    gold: str | None = None
    """The true outcome, where known; agents and judges never see it."""
    hidden: Mapping[str, str] = field(default_factory=dict)
    """Findings that a question or test would reveal; agents and judges never see them either."""
    id: str = ""
    title: str = ""
    redacted: Annotated[tuple[str, ...], Field(exclude_if=lambda fields: not fields)] = ()
    """What was taken out before anybody was shown the case (:func:`redact`)."""

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise CaseError("the case has no question: add `question: …`")
        self._check_texts()
        if self.gold is not None and not normal(self.gold):
            raise CaseError(f"gold is {self.gold!r}: it has no letters or digits")
        ids = Counter(document.id for document in self.evidence if document.id is not None)
        if repeated := next((id for id, times in ids.items() if times > 1), None):
            raise CaseError(f"two pieces of evidence have the id {repeated!r}: give each its own, or leave ids out")
        if self.gold is not None and self.outcomes.kind != "open":
            try:
                canonical(self.gold, self.outcomes, self.outcomes.labels)
            except BeliefError as error:
                raise CaseError(f"gold: {error}") from error

    def _check_texts(self) -> None:
        """Refuse texts that are too long to be read as often as a debate reads them, or that cannot be written."""
        names = (*self.outcomes.labels, *self.outcomes.aliases)
        for what, longest, most in (
            ("the question", self.question, QUESTION),
            ("the context", self.context, CONTEXT),
            ("the name of an outcome", max(names, key=len, default=""), LABEL),
        ):
            if len(longest) > most:
                raise CaseError(
                    f"{what} has {len(longest):,} characters, and at most {most:,} are read: shorten it, or give long texts as evidence"
                )
        texts = (text for each in self.evidence for text in (each.text, each.source, each.id or "", each.label or ""))
        for text in (self.question, self.context, self.id, self.title, self.gold or "", *names, *texts):
            try:
                check_string(text)
            except Beyond as error:
                raise CaseError(f"the case {error}") from error

    def gold_among(self, labels: Iterable[str], by: Comparing = Comparing()) -> str | None:
        """The true outcome among these labels: the one that means the same, else the one that holds it, else one that it holds.

        ``by`` is what the debate compared names by: embeddings, what a model said of names in use, and what was joined. Of several of
        the last kind the most probable, where labels come with probabilities. In its own spelling where no label is it, ``None`` where
        it is not known.
        """
        if self.gold is None:
            return None
        space = self.outcomes
        if space.kind != "open":
            return canonical(self.gold, space, space.labels)
        p = labels if isinstance(labels, Mapping) else dict.fromkeys(labels, 0.0)
        found = canonical(self.gold, space, tuple(p), by.joins, by)
        if found in p:
            return found
        gold = self.gold
        kinds = (y for y in p if any((r := by.relation(name, gold)) and r.kind == "narrower" for name in by.named(y)))
        return max(kinds, key=lambda y: p[y], default=found)

    def gold_is(
        self, answer: str, narrower: Mapping[str, float] = MappingProxyType({}), by: Comparing = Comparing()
    ) -> bool | None:
        """Whether an answer is the true outcome itself, not one that holds it or that it holds; ``None`` where that is not known.

        ``narrower`` are the names that the answer holds, with their shares: what most of it goes to counts as its finer answer.
        """
        if self.gold is None:
            return None
        finest = max(narrower, key=lambda name: narrower[name], default=answer)
        said = finest if sum(narrower.values()) > 0.5 else answer
        if self.outcomes.kind != "open":
            return said == self.gold_among(())
        relations = (by.relation(name, self.gold) for name in by.named(said))
        return any(relation is not None and relation.kind == "same" for relation in relations)

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
    context_is: Literal["case", "evidence"] = "case"
    """`evidence` where the context is itself the text to be judged (an article, a contract, a log); else it describes the case."""
    outcomes: Annotated[Literal["open"] | list[str] | _Outcomes, BeforeValidator(_labels)] = "open"
    """A list of labels, `open`, or a table with kind, labels, positions, aliases, declared, metric."""
    evidence: Annotated[
        list[str | _EvidenceItem], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = []
    gold: _Label | None = None
    hidden: Annotated[dict[str, str], BeforeValidator(_findings)] = {}
    id: str = ""
    title: str = ""
    editor_schema: EditorSchema = ""

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
        names = (*space.labels, *space.aliases)
        known = {normal(name) for name in names}
        labels = dict.fromkeys(document.label for document in documents if document.label is not None)
        for label in islice((label for label in labels if normal(label) not in known), _COMPARED):
            if meant := near(label, names):
                raise CaseError(
                    f"a piece of evidence has the label {label!r}, which is no outcome of this case: {meant}"
                )
        return Case(
            question=self.question,
            context=self.context,
            context_is=self.context_is,
            outcomes=space,
            evidence=documents,
            gold=self.gold,
            hidden=self.hidden,
            id=self.id,
            title=self.title,
        )


REDACTED = "[redacted]"
REDACTABLE = ("context", "sources", "ids", "title", "hidden", "aliases")


def check_redactable(fields: Sequence[str]) -> None:
    """Refuse what no case has, or what nothing can be debated without."""
    if unknown := [field for field in fields if field not in REDACTABLE]:
        raise CaseError(f"--redact {unknown[0]}: it can be {', '.join(REDACTABLE)}")


def redact(case: Case, fields: str | Sequence[str]) -> Case:
    """The case without some fields (``context,ids``), so that they reach no model, no source and no record; it says which are gone.

    >>> from maci.cases.outcomes import OutcomeSpace
    >>> case = Case(question="Which?", outcomes=OutcomeSpace(kind="open"), context="Mrs Miller, born 1950.", id="ward-7")
    >>> hidden = redact(case, ["context", "ids"])
    >>> hidden.context, hidden.id, hidden.redacted, redact(hidden, "title").redacted
    ('[redacted]', '', ('context', 'ids'), ('context', 'ids', 'title'))
    """
    if isinstance(fields, str):
        fields = [field.strip() for field in fields.split(",") if field.strip()]
    check_redactable(fields)
    if not set(fields) - {*case.redacted}:
        return case
    gone = tuple(field for field in REDACTABLE if field in fields or field in case.redacted)
    evidence = tuple(
        replace(
            document,
            source=REDACTED if "sources" in gone and document.source else document.source,
            id=None if "ids" in gone else document.id,
        )
        for document in case.evidence
    )
    return replace(
        case,
        context=REDACTED if "context" in gone and case.context else case.context,
        evidence=evidence,
        id="" if "ids" in gone else case.id,
        title="" if "title" in gone else case.title,
        hidden={} if "hidden" in gone else case.hidden,
        outcomes=replace(case.outcomes, aliases={}) if "aliases" in gone else case.outcomes,
        redacted=gone,
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
    return {name: _builtin(name, text) for name, text in _written().items()}


def _written() -> dict[str, str]:
    """Name → YAML of every built-in case, not yet parsed: a command that needs one case parses one."""
    texts = (file.read_text(encoding="utf-8") for file in sorted((Path(__file__).parent / "builtin").glob("*.yaml")))
    entries = (entry for text in texts for entry in re.split(r"^(?=- id: )", text, flags=re.MULTILINE)[1:])
    return {entry.partition("\n")[0].removeprefix("- id: "): entry for entry in entries}


def _builtin(name: str, text: str) -> Case:
    (entry,) = load(text, "YAML")
    return parse_case(entry, f"built-in case {name}")


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


def is_question(words: str) -> bool:
    """Whether words in the place of a case are the question itself: a space or a question mark is in them, and they name no case.

    >>> is_question("What is 17 times 3?"), is_question("dengue"), is_question("my cases/roof.yaml")
    (True, False, False)
    """
    if Path(words).suffix.lower() in (*_SUFFIXES, ".jsonl") or is_file(words) or words in _written():
        return False
    return any(sign.isspace() or sign in "?？؟" for sign in words.strip())


def load_case(name: str) -> Case:
    """A case from a file, from standard input (``-``), or a built-in one by name."""
    if name == "-":
        where = "standard input"
        return parse_case(_of_any_kind(read_bytes(sys.stdin.buffer, where), where), where)
    if is_file(name):
        return parse_case(read(Path(name)), name)
    written = _written()
    if name in written:
        return _builtin(name, written[name])
    hint = near(name, [*written, *_beside(name)], "`maci cases` lists the built-in ones", 3)
    raise CaseError(f"no case file and no built-in case named {name!r}: {hint}")


def read_cases(path: Path) -> Iterator[Case]:
    """Cases of a JSONL file, one a line."""
    return (parse_case(data, f"{path}, line {number}") for number, data in read_lines(path))
