"""The project file ``maci.toml``: what debates in a folder start from. Command-line options go before everything in it.

::

    profile = "default"
    corpus = "my-index"              # of `maci index`; relative to this file
    data = "../data-sets"            # what MACI_DATA would name

    [panel]                          # or panel = "NAME": a panel of a panels file, `readers` or `paper`
    agents = ["ollama/llama3.1:8b", "ollama/qwen2.5:7b"]
    judges = ["ollama/gemma2:9b"]

    [budget]                         # of one debate
    tokens = 100000
    usd = 0.5

    [models."openai/alpha"]          # as in a panels file (docs/panels.md)
    base_url = "http://127.0.0.1:8123/v1"

It is found upwards from the working directory (:func:`maci.paths.project_file`) and holds without being named, so it may have come
with somebody else's folder. Such a file names models by name, on known services and on this machine: no other host, no key of
another host, no file to load, no code. A file that ``MACI_PROJECT`` names is trusted.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from maci.cases.case import EditorSchema, is_file
from maci.config import PROFILES, build, load
from maci.errors import ConfigError, InputError, concerning
from maci.files.parse import read
from maci.llm.catalogue import family
from maci.llm.keys import ADDRESSES, SERVICES, is_loopback, service_at
from maci.llm.models import ModelOptions
from maci.paths import config_dir, data_dir, project_file
from maci.seating.file import NamedPanel, PanelsFile, check_no_keys, check_trust
from maci.seating.spec import is_reader
from maci.seating.trust import is_hosted

if TYPE_CHECKING:
    from maci.seating.seating import PanelChoice

PROJECT_PANEL = "project"
"""The name under which the panel of a project file is known."""
_HARMLESS = frozenset(
    [
        "frequency_penalty",
        "min_p",
        "presence_penalty",
        "reasoning",
        "reasoning_effort",
        "thinking",
        "top_k",
        "top_p",
        "verbosity",
    ]
)
"""Parameters that a file nobody named may add to requests: how a model answers, not what else it reaches."""


class ProjectBudget(BaseModel):
    """Ceilings of one debate."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)

    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)


class ProjectFile(BaseModel):
    """The file format."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    panel: NamedPanel | str | None = None
    profile: str | None = None
    corpus: str | None = None
    data: str | None = None
    budget: ProjectBudget = ProjectBudget()
    models: dict[str, ModelOptions] = {}
    editor_schema: EditorSchema = ""


@dataclass(frozen=True, slots=True)
class Project:
    """A project file that was read."""

    path: Path
    file: ProjectFile

    @property
    def panel(self) -> NamedPanel | str | None:
        """Who debates; a name, or the panel itself."""
        return self.file.panel

    @property
    def panel_name(self) -> str | None:
        """The name of who debates; ``None`` where the file does not say."""
        return PROJECT_PANEL if isinstance(self.panel, NamedPanel) else self.panel

    @property
    def models(self) -> Mapping[str, ModelOptions]:
        """What is said of models."""
        return self.file.models

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that debates start from."""
        return {f"budget.{key}": value for key, value in self.file.budget.model_dump(exclude_none=True).items()}

    @property
    def corpus(self) -> Path | None:
        """The index that debates read; raises where it is not there."""
        if self.file.corpus is None:
            return None
        found = self.folder(self.file.corpus)
        if not found.exists():
            raise ConfigError(f"{self.path}: corpus is {self.file.corpus!r}, and there is no such folder: correct it")
        return found

    def folder(self, given: str) -> Path:
        """A path of the file, which is relative to it."""
        return self.path.parent / Path(given).expanduser()


def project_defaults() -> Project:
    """What the project file that holds here says; nothing where there is none."""
    return find_project() or Project(Path(), ProjectFile())


def find_project() -> Project | None:
    """The project file that holds here, checked."""
    path = project_file()
    if path is None:
        return None
    file = load_project(path)
    if not os.environ.get("MACI_PROJECT"):
        _check_found(file, path)
    return Project(path, file)


def load_project(path: Path) -> ProjectFile:
    """Read one project file."""
    data = read(path, "TOML")
    check_no_keys(data, path)
    try:
        file = ProjectFile.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{path}: {_explain(error)}") from error
    if file.profile is not None and file.profile not in PROFILES:
        raise ConfigError(f"{path}: profile is {file.profile!r}: choose one of {', '.join(PROFILES)}")
    if isinstance(file.panel, NamedPanel):
        try:
            build("default", file.panel.set)
        except ConfigError as error:
            raise ConfigError(f"{path}: panel.set: {error}") from error
    return file


def _check_found(file: ProjectFile, path: Path) -> None:
    """What a file may not do that nobody named."""
    panels = {PROJECT_PANEL: file.panel} if isinstance(file.panel, NamedPanel) else {}
    check_trust(PanelsFile(panels=panels, models=file.models), path, "MACI_PROJECT")
    own = f"put it into {config_dir() / 'panels.yaml'}, or name this file with MACI_PROJECT, if this is what you want"
    for name, model in file.models.items():
        if model.base_url and not is_loopback(model.base_url) and service_at("", model.base_url) is None:
            raise ConfigError(
                f"{path}: models.{name} would send cases to {model.base_url!r}, and a maci.toml may only name this machine and the "
                f"services MACI knows: {own}"
            )
        if (odd := sorted(set(model.extra) - _HARMLESS)) and not is_loopback(model.base_url or _usual(name)):
            raise ConfigError(f"{path}: models.{name} would send {', '.join(odd)} with every request: {own}")
    seats = [seat for panel in panels.values() for seat in (*panel.agents, *(panel.judges or ()))]
    for seat in seats:
        if not is_reader(seat.model) and not is_hosted(seat.model):
            raise ConfigError(f"{path}: the panel would load {seat.model!r}, and a maci.toml may not name files: {own}")
    if isinstance(file.panel, str) and is_file(file.panel):
        raise ConfigError(
            f"{path}: panel = {file.panel!r} is a file: write the panel into this file, or use --panel {file.panel}"
        )


def _usual(name: str) -> str:
    service = SERVICES.get(name.partition("/")[0])
    return service.base_url if service else ""


_TABLES: Mapping[str, type[BaseModel]] = {
    "panel": NamedPanel,
    "budget": ProjectBudget,
    'models."NAME"': ModelOptions,
}
"""The tables of the file, each with what it may hold."""


def _explain(error: ValidationError) -> str:
    """What is wrong, by place, value and remedy."""
    first = max(error.errors(), key=lambda e: (len(e["loc"]), e["type"] == "extra_forbidden"))
    loc = [str(part) for part in first["loc"] if not str(part).startswith(("function-", "NamedPanel"))]
    if first["type"] == "extra_forbidden":
        key, place = loc[-1], "" if len(loc) == 1 else 'models."NAME"' if loc[0] == "models" else loc[0]
        known = _TABLES.get(place, ProjectFile).model_fields
        step = f"the keys of {place or 'the file'} are {', '.join(known)}"
        if belongs := [table for table, kind in _TABLES.items() if table != place and key in kind.model_fields]:
            step = f"it belongs under {belongs[0]}"
        elif near := difflib.get_close_matches(key, set(known) - {key}, n=1):
            step = f"did you mean {near[0]!r}?"
        return f"unknown key {'.'.join(loc)!r}: {step}"
    return f"{'.'.join(loc)} is {first['input']!r:.60}: {first['msg'].removeprefix('Value error, ')}"


def with_project(choice: PanelChoice) -> PanelChoice:
    """The choice with what the project file says where no option was given, and with why these debate."""
    project = find_project()
    named = choice.panel is not None or choice.agents is not None
    if project is None:
        return choice if named or choice.judges is not None else replace(choice, panel="readers", why=_nothing())
    more: dict[str, Any] = {"base": project.settings}
    if not named and project.panel is not None:
        more["panel"] = project.panel_name
        more["why"] = f"as {project.path} says."
        if choice.judges is not None:
            more["why"] = f"the debaters as {project.path} says, the judges as --judges says."
    elif not named and choice.judges is None:
        more["panel"], more["why"] = (
            "readers",
            f"because {project.path} names no panel.",
        )
    elif choice.agents is not None and choice.judges is None and (judges := _judges_for(choice.agents, project)):
        more["judges"] = ",".join(judges)
        more["why"] = f"the judges because {project.path} names them and no --judges were given."
    if choice.profile is None and choice.config is None:
        more["profile"] = project.file.profile
    panel = more.get("panel", choice.panel)
    if choice.corpus is None and panel != "paper" and not is_file(panel or ""):
        more["corpus"] = project.corpus
    return replace(choice, **more)


def ceilings(base: Mapping[str, Any]) -> dict[str, float]:
    """The ceilings that the project file names (``base``: its settings), by their full keys, as the environment changes them."""
    usual = load(base=base).budget.model_dump()
    return {key: most for key in base if (most := usual.get(key.removeprefix("budget."))) is not None}


def check_ceilings(choice: PanelChoice) -> None:
    """Whoever asks a server may lower the ceilings of its project file, and not raise them: that is for whoever runs it."""
    with concerning("settings"):
        asked = load(choice.profile, sets=choice.sets, given=choice.given, base=choice.base).budget.model_dump()
    for key, most in ceilings(choice.base).items():
        value = asked[name := key.removeprefix("budget.")]
        if value is None or value > most:
            with concerning(f"budget_{name}"):
                wanted = "no ceiling" if value is None else f"{value:,}"
                raise InputError(
                    f"{key} is {wanted}, and the project file of this server allows {most:,}: ask for no more"
                )


def _nothing(environ: Mapping[str, str] = os.environ) -> str:
    """Why readers debate where nothing is configured; what the environment has is named, and nothing is sent for it.

    >>> _nothing({"OPENAI_API_KEY": "…"}).partition("maci.toml. ")[2]
    'OPENAI_API_KEY is set, but a variable alone sends nothing: `maci init` proposes a panel.'
    """
    names = [*(name for service in SERVICES.values() for name in service.variables), *ADDRESSES.values()]
    there = [name for name in dict.fromkeys(names) if environ.get(name, "").strip()]
    looks = "`maci init` looks for language models."
    if there:
        looks = (
            f"{there[0]} is set, but a variable alone sends nothing: `maci init` proposes a panel."
            if len(there) == 1
            else f"{', '.join(there)} are set, but variables alone send nothing: `maci init` proposes a panel."
        )
    return f"because no panel is named and there is no maci.toml. {looks}"


def _judges_for(agents: str, project: Project) -> list[str]:
    """The judges of the project file who may judge these debaters: those of other families (D18)."""
    if not isinstance(project.panel, NamedPanel):
        return []

    def kin(model: str) -> str:
        given = project.models.get(model)
        return (given.family if given else None) or family(model)

    debaters = {kin(model.strip()) for model in agents.split(",")}
    judges = [seat.model for seat in project.panel.judges or () if not is_reader(seat.model)]
    return [model for model in judges if kin(model) not in debaters]


def data_folder(given: Path | None = None) -> Path:
    """The folder of the data sets: the one given, MACI_DATA, or the project file's."""
    if given is None and not os.environ.get("MACI_DATA"):
        project = find_project()
        if project is not None and project.file.data is not None:
            given = project.folder(project.file.data)
    return data_dir(given)
