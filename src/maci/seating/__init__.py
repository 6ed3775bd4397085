"""Panels: who sits at the table.

=================  ============================================================================
``readers``        three embedded readers and three reader judges over the evidence at hand
``paper``          the turns printed in the paper, for its two cases (a script)
a YAML file        turns of your own (a script)
a name             a panel of a panels file (:mod:`maci.seating.file`)
a `PanelSpec`      models and readers, resolved (:mod:`maci.seating.spec`)
=================  ============================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

from maci.cases.case import is_file
from maci.errors import ConfigError, near
from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec, agents_of, judges_of, written

__all__ = ["choose"]

BUILT_IN = ("readers", "paper")


def choose(
    panel: str | None, agents: str | None = None, judges: str | None = None, *, least: int = 2
) -> PanelSpec | str:
    """What ``--panel``, ``--agents`` and ``--judges`` come to: a panel, or the name of a script.

    ``least``: so many agents there must be; who only wants to try one does not need two.
    """
    from maci.seating.file import find

    if agents is not None:
        if panel is not None:
            raise ConfigError("give --panel or --agents, not both: a panel brings its own agents")
        named = agents_of([written(AgentSpec, model) for model in _models(agents, "--agents")])
        spec = PanelSpec(agents=named, judges=_judges(judges), models=find().options)
        if len(spec.agents) < least:
            raise ConfigError(f"agents {agents}: a debate needs at least two; the same model may be named twice")
        return spec
    panel = "readers" if panel is None else panel
    if panel == "readers" and judges is not None:
        readers = agents_of([AgentSpec(model="reader")])
        return PanelSpec(name=panel, agents=readers, judges=_judges(judges), models=find().options)
    if panel not in BUILT_IN and not is_file(panel):
        found = find()
        if panel not in found.panels:
            listed = f"`maci panels` lists {len(found.panels) or 'none so far'}"
            raise ConfigError(
                f"unknown panel {panel!r}: choose readers, paper, a YAML file with a script, or a panel of a panels file; "
                f"{near(panel, [*BUILT_IN, *found.panels], listed)}"
            )
        spec = found.spec(panel)
        return spec if judges is None else spec.model_copy(update={"judges": _judges(judges)})
    if judges is not None:
        raise ConfigError(f"--judges {judges}: the panel {panel!r} is a script, which brings its own judges")
    return panel


def _models(text: str, option: str) -> Sequence[str]:
    models = [part.strip() for part in text.split(",")]
    if not all(models):
        raise ConfigError(
            f"{option} {text!r}: name models between the commas, such as {option} openai/gpt-4o-mini,local/smollm2-135m"
        )
    return models


def _judges(text: str | None) -> tuple[JudgeSpec, ...] | None:
    if text is None:
        return None
    if text.strip().casefold() == "none":
        return ()
    return judges_of([written(JudgeSpec, model) for model in _models(text, "--judges")])
