"""Sets the table for a case: the one way for debate, ask, batch, calibrate, study and web.

Cases with the same documents share what is made of them, which makes many cases cheap; no case is ever given the documents of another.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from maci.agents.reader.library import Latest
from maci.cases.case import Case, Document, is_file
from maci.config import Config
from maci.errors import ConfigError
from maci.evidence.encode import Encoder
from maci.seating.models import ModelPanel, Models
from maci.seating.readers import ReaderPanel
from maci.seating.shelf import Sources, evidence_for
from maci.seating.spec import PanelSpec
from maci.seating.table import Table

_KEPT = 8
"""Cases' own evidence that is kept laid out."""


class Tables:
    """The tables of one panel, for one case or for many."""

    def __init__(
        self,
        panel: PanelSpec | str,
        encoder: Encoder,
        config: Config | None = None,
        models: Models | None = None,
        *,
        shared: Sources | None = None,
        source: str | None = None,
    ) -> None:
        """``models``: where those of a :class:`PanelSpec` are had from. ``shared``: what every case may read beside its own documents.

        ``source``: who answers what the plan asks (:mod:`maci.acquisition.sources`).
        """
        self._panel, self._encoder, self._models = panel, encoder, models
        self._config, self._shared, self._source = config or Config(), shared or Sources(), source
        self._made: Latest[tuple[tuple[Document, ...], bool], ReaderPanel | ModelPanel] = Latest(_KEPT)

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """The table for a case; it says itself which panel sits there."""
        table = self._seat(case, seed)
        if isinstance(self._panel, str):
            table = replace(table, panel=self._panel)
        else:
            table = replace(table, panel=self._panel.name or "--agents")
        return _with_source(table, self._source, case, self._config)

    def sources(self, case: Case) -> Sources:
        """What there is to read for a case."""
        return evidence_for(case, self._shared)

    def _seat(self, case: Case, seed: int) -> Table:
        if isinstance(self._panel, str) and self._panel != "readers":
            return self._scripted(self._panel, case)
        key = (case.evidence, case.outcomes.kind == "ordered")
        if key not in self._made:
            self._made[key] = self._over(self.sources(case))
        return self._made[key].table(case, seed=seed)

    def _over(self, sources: Sources) -> ReaderPanel | ModelPanel:
        if isinstance(self._panel, str):
            return ReaderPanel(sources, self._encoder)
        assert self._models is not None
        return ModelPanel(self._panel, sources, self._encoder, self._models, self._config)

    def _scripted(self, panel: str, case: Case) -> Table:
        from maci.seating.scripted import file_table, paper_table

        if panel == "paper":
            return paper_table(case, self._encoder)
        if is_file(panel):
            return file_table(Path(panel), case, self._encoder)
        raise ConfigError(f"unknown panel {panel!r}: choose readers, paper, or a YAML file with a script")


def _with_source(table: Table, name: str | None, case: Case, config: Config) -> Table:
    """The table with somebody who answers; asked for and not named is refused before anything is written."""
    if name is None:
        if config.plan.acquire:
            raise ConfigError(
                f"--acquire {config.plan.acquire} needs somebody to ask: --source hidden, corpus:PATH, ask, http://… or "
                "python:module:function"
            )
        return table
    if not config.plan.acquire:
        raise ConfigError(f"--source {name} is asked nothing: say how often it may be asked, as in --acquire 3")
    if not config.plan.enabled:
        raise ConfigError(f"--source {name} answers what the plan asks, and plan.enabled is false")
    from maci.acquisition.sources import load_source

    return replace(table, source=load_source(name, case, table.encoder))
