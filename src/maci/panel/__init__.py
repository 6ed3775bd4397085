"""Panels: who sits at the table, by name.

============  =================================================================================
``readers``   three embedded readers and three reader judges over the evidence at hand
``paper``     the turns printed in the paper, for its two cases (a script)
a YAML file   turns of your own (a script)
============  =================================================================================
"""

from __future__ import annotations

from pathlib import Path

from maci.calls import Table
from maci.case.case import Case, is_file
from maci.errors import ConfigError
from maci.evidence.encode import Encoder

__all__ = ["build_table"]


def build_table(panel: str, case: Case, encoder: Encoder, *, seed: int = 0, corpus: Path | None = None) -> Table:
    """The table a panel name or file stands for."""
    if panel == "readers":
        from maci.panel.readers import ReaderPanel, evidence_for, remembering

        return ReaderPanel(evidence_for(case, corpus), remembering(encoder, corpus)).table(case, seed=seed)
    from maci.panel.scripted import file_table, paper_table

    if corpus is not None:
        raise ConfigError(f"the panel {panel!r} is scripted and cannot use --corpus: use --panel readers")
    if panel == "paper":
        return paper_table(case, encoder)
    if is_file(panel):
        return file_table(Path(panel), case, encoder)
    raise ConfigError(f"unknown panel {panel!r}: choose readers, paper, or a YAML file with a script")
