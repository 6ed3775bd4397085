"""Public data sets, and your own, as tasks. The files are not part of the package: name their folder with --data or MACI_DATA."""

from __future__ import annotations

from maci.case.datasets.files import data_folder
from maci.case.datasets.own import load_own
from maci.case.datasets.registry import SETS, DataFile, DataSet, Option, find, load
from maci.case.datasets.task import Item, Recorded, RecordedTurn, Task

__all__ = [
    "SETS",
    "DataFile",
    "DataSet",
    "Item",
    "Option",
    "Recorded",
    "RecordedTurn",
    "Task",
    "data_folder",
    "find",
    "load",
    "load_own",
]
