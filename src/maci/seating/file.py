"""The panels file: named panels, and what is to be known of models of your own.

Read from ``$MACI_PANELS`` if that is set; else from ``maci-panels.yaml`` in the working directory and from ``panels.yaml`` in the
user's configuration folder, where a name in the former hides the same name in the latter. Its JSON Schema is published in
docs/schemas. Keys are never in it.

A file in the working directory may have come with somebody else's folder: it may name a provider's key for that provider's own
host, and other variables for servers on this machine. The user's own file and one that ``MACI_PANELS`` names are trusted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from maci.cases.case import EditorSchema
from maci.config import build
from maci.errors import ConfigError, explain
from maci.files.parse import read
from maci.llm.models import ModelOptions, StrictOptions
from maci.paths import PANELS, config_dir, panel_files
from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec, agents_of, judges_of
from maci.seating.trust import leak, names_plugin


def _seat(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


AgentEntry = Annotated[AgentSpec, BeforeValidator(_seat, json_schema_input_type=str | AgentSpec)]
JudgeEntry = Annotated[JudgeSpec, BeforeValidator(_seat, json_schema_input_type=str | JudgeSpec)]
"""A model's name, or a table with more."""


class NamedPanel(StrictOptions):
    """One panel of the file."""

    about: str = Field(default="", description="what it is for, shown by `maci panels`")
    agents: tuple[AgentEntry, ...] = Field(
        min_length=2,
        description="models by name, or tables with model, name, persona, belief, draws, temperature, max_tokens, reasoning",
    )
    judges: tuple[JudgeEntry, ...] | None = Field(
        default=None, description="models by name, `reader`, or tables; an empty list is the CRIT-free controller"
    )
    set: dict[str, Any] = Field(default={}, description="settings this panel starts from, as `maci config` names them")


class PanelsFile(StrictOptions):
    """The file format."""

    panels: dict[str, NamedPanel] = Field(default={})
    models: dict[str, ModelOptions] = Field(default={})
    editor_schema: EditorSchema = ""


@dataclass(frozen=True, slots=True)
class PanelFiles:
    """What the files hold, each with where it is from."""

    panels: Mapping[str, tuple[NamedPanel, Path]]
    models: Mapping[str, tuple[ModelOptions, Path]]

    def spec(self, name: str) -> PanelSpec:
        """The panel of this name, resolved."""
        panel, where = self.panels[name]
        agents = agents_of(panel.agents, f"{where}: panels.{name}.agents")
        judges = None if panel.judges is None else judges_of(panel.judges, f"{where}: panels.{name}.judges")
        return PanelSpec(name=name, agents=agents, judges=judges, models=self.options, settings=panel.set)

    @property
    def options(self) -> dict[str, ModelOptions]:
        """What is said of models."""
        return {name: spec for name, (spec, _) in self.models.items()}

    @property
    def mentioned(self) -> set[str]:
        """Models that are named, at a table or for themselves; not those of which only the provider is named."""
        panels = [panel for panel, _ in self.panels.values()]
        seats = {seat.model for panel in panels for seat in (*panel.agents, *(panel.judges or ()))}
        return seats | {name for name in self.models if "/" in name}


def is_own(path: Path) -> bool:
    """Whether a panels file is the user's, and did not come with the working directory."""
    return bool(os.environ.get("MACI_PANELS")) or path != Path(PANELS)


def find(*, project: bool = True) -> PanelFiles:
    """All named panels and models of the panels files and, unless it is left out, of the project file."""
    from maci.seating.project import PROJECT_PANEL, find_project

    panels: dict[str, tuple[NamedPanel, Path]] = {}
    models: dict[str, tuple[ModelOptions, Path]] = {}
    for path in panel_files():
        file = load_panels(path)
        if not is_own(path):
            check_trust(file, path)
        panels = {**{name: (panel, path) for name, panel in file.panels.items()}, **panels}
        models = {**{name: (model, path) for name, model in file.models.items()}, **models}
    if project and (own := find_project()):
        if isinstance(own.panel, NamedPanel):
            panels[PROJECT_PANEL] = (own.panel, own.path)
        models |= {name: (model, own.path) for name, model in own.models.items()}
    return PanelFiles(panels, models)


def check_trust(file: PanelsFile, path: Path, variable: str = "MACI_PANELS") -> None:
    """A file that came with a folder neither sends keys elsewhere nor runs code; one that ``variable`` names may."""
    from maci.evidence.encode import SHIPPED

    for name, panel in file.panels.items():
        encoder = build("default", panel.set).evidence.encoder
        if encoder not in SHIPPED:
            raise ConfigError(
                f"{path}: panels.{name} would run the encoder {encoder!r}, and a file in the working directory may not. If this is "
                f"what you want, use --set evidence.encoder={encoder}, or move the panel to {config_dir() / 'panels.yaml'}"
            )
    seats = [seat for panel in file.panels.values() for seat in (*panel.agents, *(panel.judges or ()))]
    if code := next((seat.model for seat in seats if names_plugin(seat.model)), None):
        raise ConfigError(
            f"{path}: a panel would run the plugin {code!r}, and a file in the working directory may not. If this is what you want, "
            f"move the panel to {config_dir() / 'panels.yaml'}, or name this file with {variable}"
        )
    for name, model in {**{seat.model: ModelOptions() for seat in seats}, **file.models}.items():
        if found := leak(name, model, any_secret=True):
            raise ConfigError(
                f"{path}: models.{name} would {found}, and a file in the working directory may not: it may name a provider's key "
                "for that provider's own host, and other variables (such as SERVER_KEY) for servers on this machine. If this is what "
                f"you want, move the entry to {config_dir() / 'panels.yaml'}, or name this file with {variable}"
            )


def load_panels(path: Path) -> PanelsFile:
    """Read one panels file."""
    data = read(path)
    if data is None:
        return PanelsFile()
    if not isinstance(data, Mapping):
        raise ConfigError(f"{path}: a panels file is a table with the keys panels and models")
    check_no_keys(data, path)
    try:
        file = PanelsFile.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error.errors(), _known, _remedy)}") from error
    for name, panel in file.panels.items():
        if name in {"readers", "paper"}:
            raise ConfigError(f"{path}: panels.{name}: this name is taken by a built-in panel; choose another")
        try:
            build("default", panel.set)
        except ConfigError as error:
            raise ConfigError(f"{path}: panels.{name}.set: {error}") from error
    return file


def check_no_keys(data: Any, path: Path) -> None:
    """Refuse a file that holds what looks like a key."""
    if secret := next(_secrets(data), None):
        raise ConfigError(
            f"{path}: {secret} looks like a key, and keys are not kept in this file: put it in an environment variable, and "
            "write the variable's name as `key_env` of the model if it is not the provider's usual one"
        )


_KEY_NAME = re.compile(
    r"(?i)(api[-_]?|secret[-_]?)?key|.*secret|passw(or)?d|((access|auth|api|bearer)[-_]?)?token|authorization|credentials?"
)
_KEY_VALUE = re.compile(r"(?i)^(bearer\s+)?(sk|pk|gsk|xai|hf|r8|rk)[-_][a-z0-9_-]{16,}$|^AIza[\w-]{30,}$")


def _secrets(data: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Places that hold what looks like a key."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            here = (*path, str(key))
            if len(path) > 1 and _KEY_NAME.fullmatch(str(key)):
                yield ".".join(here)
            yield from _secrets(value, here)
    elif isinstance(data, list):
        for number, item in enumerate(data):
            yield from _secrets(item, (*path, str(number)))
    elif isinstance(data, str) and _KEY_VALUE.match(data.strip()):
        yield ".".join(path)


def _known(path: list[str]) -> Iterable[str]:
    if len(path) == 1:
        return PanelsFile.model_fields
    if path[0] == "models":
        return (*ModelOptions.model_fields, "input", "output")
    return (NamedPanel if len(path) == 3 else JudgeSpec if path[2] == "judges" else AgentSpec).model_fields


def _remedy(path: list[str], complaint: Mapping[str, Any]) -> str:
    if complaint["type"] == "missing":
        return f"add `{path[-1]}: …`"
    short = path[-1:] == ["agents"] and complaint["type"] == "too_short"
    return "a panel needs at least two agents; the same model may be named twice" if short else ""
