"""Public data sets, and your own, as tasks. The files are not part of the package: name their folder with --data or MACI_DATA."""

from __future__ import annotations

from maci.lab.datasets.dataset import DataFile, DataSet, Option, Recorded, RecordedTurn, Task, TaskItem
from maci.lab.datasets.own import load_own
from maci.lab.datasets.registry import SETS, find, load

__all__ = [
    "SETS",
    "DataFile",
    "DataSet",
    "Option",
    "Recorded",
    "RecordedTurn",
    "Task",
    "TaskItem",
    "find",
    "load",
    "load_own",
]
