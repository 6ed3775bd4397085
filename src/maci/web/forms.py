"""What people fill in and send, as a case and a choice of table. Nothing here reads a path that a visitor names.

A recorded debate fills the form again, to be started with other settings. What a form cannot hold (a scale, aliases, labels of the
evidence, hidden findings) is taken from the record, as long as nobody has written something else in its place.
Files stay while a form is filled in again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from maci.acquisition.gain import Stakes, read_stakes, written
from maci.cases.case import Case, Document, builtin_cases, parse_case
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config, full_key, load, parameters, plugins
from maci.controller.inputs import Opened
from maci.errors import CaseError, ConfigError, EvidenceError, InputError, concerning
from maci.files.parse import kind_of, parse
from maci.seating.file import find
from maci.seating.project import ceilings, check_ceilings, find_project, project_defaults, with_project
from maci.seating.seating import PanelChoice
from maci.seating.spec import is_reader
from maci.seating.trust import is_hosted
from maci.web import Limits

_ELSEWHERE = {"budget.tokens", "budget.usd", "plan.acquire", "crit.enabled", "answer.risk"}
"""Settings that have a field of their own, or come with the judges."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent."""

    name: str
    data: bytes

    @property
    def suffix(self) -> str:
        """Its kind, by its name."""
        return PurePath(self.name.replace("\\", "/")).suffix.lower()

    @property
    def plain_name(self) -> str:
        """Its name without folders or characters that could mean something."""
        name = PurePath(self.name.replace("\\", "/")).name
        return re.sub(r"[^\w. ()-]+", "_", name)[:80] or "file"


Files = Mapping[str, Sequence[Upload]]
"""Files by the field they were sent in."""


_ENTRIES = 1000
"""Forms whose files are kept at the most, however small."""


class Kept:
    """Files that came with forms which had to be shown again: nobody has to choose them twice. In memory, within limits."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._kept: dict[str, tuple[float, str, Files]] = {}

    def keep(self, session: str, files: Files) -> str:
        """Keep a visitor's files for a while; the word by which they are found again."""
        word = token_urlsafe(12)
        self._kept[word] = (self._clock() + self._limits.kept_seconds, session, files)
        self._forget()
        return word

    def files(self, session: str, form: Mapping[str, str]) -> Files:
        """The files that a form still wants; raises where they are no longer here."""
        self._forget()
        _, owner, files = self._kept.get(form.get("kept", ""), (0.0, "", {}))
        every = [(name, upload) for name, uploads in files.items() for upload in uploads] if owner == session else []
        wanted = {int(name[5:]) for name in form if re.fullmatch(r"kept_[0-9]{1,3}", name)}
        if any(number >= len(every) for number in wanted):
            with concerning("files"):
                raise InputError("the files that you sent before are no longer kept: choose them again")
        chosen = [every[number] for number in sorted(wanted)]
        return {name: [upload for field, upload in chosen if field == name] for name in files}

    def _forget(self) -> None:
        """Let go of what is old, and of the oldest where there is too much."""
        now = self._clock()
        self._kept = {word: entry for word, entry in self._kept.items() if entry[0] > now}
        while len(self._kept) > _ENTRIES or sum(map(_size, self._kept.values())) > self._limits.kept:
            del self._kept[next(iter(self._kept))]


def _size(entry: tuple[float, str, Files]) -> int:
    return sum(len(upload.data) for uploads in entry[2].values() for upload in uploads)


def together(sent: Files, kept: Files) -> dict[str, list[Upload]]:
    """Files that were sent now and before; a case has one file, the newest."""
    names = dict.fromkeys([*kept, *sent])
    both = {name: [*kept.get(name, ()), *sent.get(name, ())] for name in names}
    return {name: uploads[-1:] if name == "case_file" else uploads for name, uploads in both.items() if uploads}


def usual_fields() -> dict[str, str]:
    """What a new form begins with: the panel and the profile of the project file."""
    project = project_defaults()
    given = {"panel": project.panel_name, "profile": project.file.profile}
    return {name: value for name, value in given.items() if value is not None}


def usual_config(profile: str | None = None, **more: Any) -> Config:
    """The settings of a debate for which a form sets nothing."""
    return load(profile, base=project_defaults().settings, **more)


def fields_of(id: str, opened: Opened, panels: Sequence[str]) -> dict[str, str]:
    """The form as it would have to be filled in for this debate, within the ceilings of the project file; ``panels`` are those that
    can be chosen.
    """
    config, usual = _within(opened.config), usual_config(opened.config.profile, environ={})
    before = {p.key: p.value for p in parameters(usual)}
    fields = _ELSEWHERE - (
        {"budget.usd"} if config.budget.usd is None else set()
    )  # an empty field is the usual ceiling
    changed = [
        f"{p.key} = {str(p.value).lower() if isinstance(p.value, bool | None) else p.value}"
        for p in parameters(config)
        if p.key not in fields
        and not p.key.startswith("calibration.")
        and p.value != before[p.key]
        and (p.value is None or isinstance(p.value, str | int | float))
    ]
    given = {
        "from": id,
        "question": opened.case.question,
        "context": opened.case.context,
        "outcomes": _labels(opened.case.outcomes),
        "scale": "yes" if opened.case.outcomes.kind == "ordered" else "",
        "keep_evidence": "yes",
        "profile": config.profile,
        "budget_tokens": "" if config.budget.tokens == usual.budget.tokens else str(config.budget.tokens),
        "budget_usd": "" if config.budget.usd in (None, usual.budget.usd) else f"{config.budget.usd:g}",
        "risk": "" if config.answer.risk is None else f"{100 * config.answer.risk:g}",
        "questions": str(config.plan.acquire) if config.plan.acquire else "",
        "seed": str(opened.seed) if opened.seed else "",
        "settings": "\n".join(changed),
        "utilities": "" if opened.stakes is None else written(opened.stakes),
    }
    return given | _who(opened, panels)


def _within(config: Config) -> Config:
    """Settings of a record, with what it was allowed beyond the ceilings of the project file taken back."""
    project = find_project()
    most = {key.removeprefix("budget."): value for key, value in ceilings(project.settings if project else {}).items()}
    less = {
        name: min(value, now) if (now := getattr(config.budget, name)) is not None else value
        for name, value in most.items()
    }
    return config.model_copy(update={"budget": config.budget.model_copy(update=less)})


def _who(opened: Opened, panels: Sequence[str]) -> dict[str, str]:
    """The panel by its name, or its models where it has none that is known here."""
    if opened.panel in panels or opened.table is None:
        return {"panel": opened.panel if opened.panel in panels else ""}
    models = {part: [str(seat["model"]) for seat in opened.table.get(part) or ()] for part in ("agents", "judges")}
    return {"agents": ", ".join(models["agents"]), "judges": ", ".join(models["judges"]) or "none"}


def _labels(space: OutcomeSpace) -> str:
    return "\n".join(space.labels)


def case_again(recorded: Case, written: Case, form: Mapping[str, str]) -> Case:
    """The case as somebody wrote it, with what the record knows besides of what they left as it was."""
    evidence = (*(recorded.evidence if form.get("keep_evidence") else ()), *written.evidence)
    same_question = written.question.split() == recorded.question.split()
    same_outcomes = form.get("outcomes", "").split() == _labels(recorded.outcomes).split()
    same_outcomes = same_outcomes and bool(form.get("scale")) == (recorded.outcomes.kind == "ordered")
    outcomes = recorded.outcomes if same_outcomes else written.outcomes
    if not (same_question and same_outcomes):
        return replace(written, outcomes=outcomes, evidence=evidence)
    return replace(recorded, question=written.question, context=written.context, evidence=evidence)


CASE_KINDS = (".yaml", ".yml", ".toml", ".json")
_ENCODERS = frozenset({"wordllama", "minilm", "arctic"})


def evidence_kinds() -> tuple[str, ...]:
    """The kinds of files that can be evidence."""
    from maci.evidence.documents import SUFFIXES

    return tuple(SUFFIXES)


def panels() -> tuple[tuple[str, str], ...]:
    """Panels that can be chosen: name and what it is."""
    built_in = (
        ("readers", "three embedded readers, offline, no key"),
        ("paper", "the turns printed in the paper, for its two cases"),
    )
    found = find().panels
    return (*built_in, *((name, panel.about or f"{len(panel.agents)} agents") for name, (panel, _) in found.items()))


def case_of(form: Mapping[str, str], files: Files, limits: Limits, recorded: Case | None = None) -> Case:
    """The case somebody asks about: a file, a built-in one, or what they wrote; their evidence is added to it.

    ``recorded``: that of the debate the form was filled in from.
    """
    return _with(_named_case(form, files, limits, recorded), form, files.get("files", ()), limits)


def _named_case(form: Mapping[str, str], files: Files, limits: Limits, recorded: Case | None) -> Case:
    """The case without the evidence that came with the form."""
    if file := next(iter(files.get("case_file", ())), None):
        with concerning("case_file"):
            return parse_case(_case_data(file, limits), file.plain_name)
    if name := form.get("builtin", "").strip():
        if name not in (cases := builtin_cases()):
            with concerning("builtin"):
                raise CaseError(f"there is no built-in case named {name!r}: choose one of the list")
        return cases[name]
    if not form.get("question", "").strip():
        with concerning("question"):
            raise CaseError("what shall be debated? Write a question, choose a built-in case, or send a case file")
    said = {name: form.get(name, "").strip() for name in ("question", "context")}
    with concerning("outcomes"):
        named = _outcomes(form.get("outcomes", ""))
        written = parse_case({**said, "outcomes": _scale(named) if form.get("scale") else named}, "the form")
    return written if recorded is None else case_again(recorded, written, form)


def _outcomes(text: str) -> list[str] | str:
    r"""Outcomes one a line, or between commas; none is an open question.

    >>> _outcomes("cat\ndog, small"), _outcomes("cat, dog"), _outcomes(" ")
    (['cat', 'dog, small'], ['cat', 'dog'], 'open')
    """
    if not text.strip() or text.strip().casefold() == "open":
        return "open"
    parts = text.splitlines() if len(text.strip().splitlines()) > 1 else text.split(",")
    found = [part.strip() for part in parts if part.strip()]
    if len(found) < 2:
        raise CaseError(
            f"possible outcomes: there is only {found[0]!r}. Name two or more, one a line or between commas, or leave the field "
            "empty and the agents name them"
            if found
            else "possible outcomes: no name stands between the commas. Name two or more, or leave the field empty"
        )
    return found


def _scale(labels: Sequence[str] | str) -> dict[str, Any]:
    """Outcomes as the steps of a scale; numbers lie where they say, other names at equal distances.

    >>> _scale(["-2", "0", "+1"])["positions"], "positions" in _scale(["low", "high"])
    ([-2.0, 0.0, 1.0], False)
    """
    if isinstance(labels, str):
        raise CaseError("a scale needs its steps: name them under possible outcomes, the lowest first")
    try:
        return {"kind": "ordered", "labels": [*labels], "positions": [float(label) for label in labels]}
    except ValueError:
        return {"kind": "ordered", "labels": [*labels]}


def _case_data(file: Upload, limits: Limits) -> Any:
    if file.suffix not in CASE_KINDS:
        raise CaseError(f"{file.plain_name}: a case file is YAML, TOML or JSON ({', '.join(CASE_KINDS)})")
    if len(file.data) > limits.case_file:
        raise CaseError(f"{file.plain_name} has {len(file.data):,} bytes; a case file has {limits.case_file:,} at most")
    return parse(file.data, kind_of(file.suffix), file.plain_name)


def _with(case: Case, form: Mapping[str, str], uploads: Sequence[Upload], limits: Limits) -> Case:
    """The case with the evidence that came with the form."""
    with concerning("files"):
        sent = _documents(uploads, limits)
    documents = [*case.evidence, *_lines(form.get("evidence", "")), *sent]
    length = sum(len(document.text) for document in documents)
    if length > limits.text:
        with concerning("files" if sent else "evidence"):
            raise EvidenceError(
                f"the evidence has {length:,} characters, and {limits.text:,} are allowed here: send less of it, or debate at the "
                "command line, where an index of documents can be as large as you like (`maci index`, --corpus)"
            )
    return replace(case, evidence=tuple(documents))


def _lines(text: str) -> Iterable[Document]:
    """Evidence that was typed: a paragraph is a text; `label: text` is not read, a label belongs into a file."""
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    return [Document(part, source=f"note {i}") for i, part in enumerate(filter(None, paragraphs), 1)]


def _documents(uploads: Sequence[Upload], limits: Limits) -> list[Document]:
    """Files of evidence, read by the same readers as `maci index`."""
    from maci.evidence.documents import ReadOptions, Unreadable, read_document

    if len(uploads) > limits.files:
        raise EvidenceError(f"{len(uploads)} files were sent, and {limits.files} are allowed at once")
    found: list[Document] = []
    with TemporaryDirectory(prefix="maci-upload-") as folder:
        for number, upload in enumerate(uploads):
            if upload.suffix not in evidence_kinds():
                raise EvidenceError(
                    f"{upload.plain_name}: not a kind of file that is read ({' '.join(evidence_kinds())})"
                )
            path = Path(folder) / f"{number}{upload.suffix}"  # never the sender's name
            path.write_bytes(upload.data)
            try:
                spans = list(
                    read_document(path, upload.plain_name, ReadOptions(max_bytes=limits.file, seconds=limits.seconds))
                )
            except Unreadable as error:
                raise EvidenceError(f"{upload.plain_name}: {error}") from error
            found += [Document(span.text, source=span.source, label=span.label) for span in spans]
    return found


def settings_of(text: str) -> tuple[str, ...]:
    r"""``key = value``, one a line. What would make the server load code or files is not for visitors to set.

    >>> settings_of("tau_q = 0.4\n\n# a remark\nmax_rounds=3")
    ('tau_q=0.4', 'max_rounds=3')
    """
    sets: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, sign, value = (part.strip() for part in line.partition("="))
        if not sign:
            raise ConfigError(f"settings: {line.strip()!r} is not `key = value`")
        if full_key(key) == "evidence.encoder" and value not in _ENCODERS:
            raise ConfigError(f"evidence.encoder = {value}: over the web choose {' or '.join(sorted(_ENCODERS))}")
        if full_key(key) == "dials.schedule" and value.startswith(plugins.SCHEDULE):
            raise ConfigError(f"dials.schedule = {value}: over the web choose one that MACI brings")
        sets.append(f"{key}={value}")
    return tuple(sets)


def models() -> tuple[str, ...]:
    """Language models that the operator's panels files name: those that visitors can choose."""
    return tuple(sorted(name for name in find().mentioned if not is_reader(name)))


def _check_models(text: str, any_model: bool) -> None:
    """Visitors name readers and models of the panels files; with ``any_model`` others too, but no paths, addresses or hub files."""
    known = models()
    for name in filter(None, (part.strip() for part in text.split(","))):
        if is_reader(name) or name in known or (any_model and is_hosted(name)):
            continue
        some = f"choose among {', '.join(known)} and reader" if known else "only readers can be chosen"
        more = (
            ""
            if any_model
            else ". The operator can add models to a panels file, or start `maci serve` with --allow-models"
        )
        raise ConfigError(f"{name} is not a model of this server: {some}{more}")


def choice_of(form: Mapping[str, str], *, any_model: bool = False) -> PanelChoice:
    """Who debates, under which settings; what the form leaves open, the project file of the server decides."""
    said = {name: value.strip() for name, value in form.items()}
    for field in ("agents", "judges"):
        if (named := said.get(field, "")).casefold() != "none":
            with concerning(field):
                _check_models(named, any_model)
    agents = said.get("agents") or None
    panel = None if agents else said.get("panel") or None
    if panel is not None and panel not in dict(panels()):
        with concerning("panel"):
            raise ConfigError(f"unknown panel {panel!r}: choose one of the list")
    with concerning("settings"):
        sets = [*settings_of(form.get("settings", ""))]
    numbers = {
        "budget.tokens": _number(said, "budget_tokens", "Most tokens", whole=True),
        "budget.usd": _number(said, "budget_usd", "Most dollars"),
        "plan.acquire": _number(said, "questions", "Questions to you", most=20, whole=True) or None,
        "answer.risk": _number(said, "risk", "Accepted risk", most=100),
    }
    if (percent := numbers["answer.risk"]) is not None:
        numbers["answer.risk"] = percent / 100
    choice = PanelChoice(
        source="ask" if numbers["plan.acquire"] else None,
        panel=panel,
        agents=agents,
        judges=said.get("judges") or None,
        profile=said.get("profile") or None,
        sets=sets,
        given={key: value for key, value in numbers.items() if value is not None},
        seed=_seed(form.get("seed", "")),
        stakes=_stakes(form.get("utilities", "")),
        stakes_from="Utilities",
    )
    choice = replace(with_project(choice), why="")  # a visitor is not told where the file is
    check_ceilings(choice)
    return choice


def _stakes(text: str) -> Stakes | None:
    """Utilities as they were typed, a line for each action."""
    if not text.strip():
        return None
    with concerning("utilities"):
        return read_stakes(parse(text, "YAML", "Utilities"), "Utilities")


def _number(said: Mapping[str, str], name: str, label: str, *, most: float = 1e15, whole: bool = False) -> float | None:
    """What somebody wrote into a field for a number; ``None`` where they left it empty."""
    text = said.get(name, "").replace(",", "")
    if not text:
        return None
    with concerning(name):
        if not re.fullmatch(r"\d{1,15}" if whole else r"\d{1,15}(\.\d{0,15})?|\.\d{1,15}", text) or float(text) > most:
            up = f" and {most:g} at most" if most < 1e15 else ""
            raise InputError(f"{label} is {text[:40]!r}: give a {'whole ' if whole else ''}number, 0 or more{up}")
    return int(text) if whole else float(text)


def _seed(text: str) -> int:
    with concerning("seed"):
        if not re.fullmatch(r"\d{0,18}", text.strip()):
            raise InputError(f"seed is {text[:40]!r}: give a whole number, 0 or more")
    return int(text.strip() or 0)


def person(form: Mapping[str, str]) -> str:
    """Who did it, as they call themselves."""
    return " ".join(form.get("by", "").split())[:60] or "somebody at the web page"
