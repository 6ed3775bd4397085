"""How far a study is: a live table on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.status import Status
from rich.table import Table
from rich.text import Text

from maci.cli.progress import Progress
from maci.lab.study.rows import Row
from maci.lab.study.study import NO_EVIDENCE, Meta

if TYPE_CHECKING:
    from maci.lab.study.run import RunProgress

_NARROW = 60
"""Columns below which headings are short."""


class StudyView:
    """Follows a run; all of it on standard error."""

    def __init__(self, *, plain: bool, silent: bool) -> None:
        self._progress = Progress(plain=plain, silent=silent, more=self._drawn)
        self._waiting: Status | None = None
        self._tally: RunProgress | None = None

    def learning(self, data: str, seed: int, openings: int) -> None:
        """What dev is asked before the first answer: a spinner on a terminal, a line elsewhere."""
        said = f"{data}, seed {seed}: learning from {openings:,} dev openings"
        if not self._progress.live:
            self._progress.say(said)
        elif self._waiting is None:
            self._waiting = self._progress.console.status(Text(said))
            self._waiting.start()
        else:
            self._waiting.update(Text(said))

    def begin(self, meta: Meta, progress: RunProgress) -> None:
        """What is planned, and what is there already."""
        self._learnt()
        self._tally = progress
        on = f", {progress.there} of them are there" if progress.there else ""
        self._progress.say(f"{meta.spec.name}: {progress.planned} answers{on}")
        for entry in meta.spec.data:  # what is known of a public set is in the report
            for note in meta.notes.get(entry.name, ()):
                if entry.file is not None or note.startswith(NO_EVIDENCE):
                    shown = note.removeprefix(f"{entry.file.name}: " if entry.file else "")
                    self._progress.say(f"  {entry.name}: {shown}")
        if progress.left:
            self._progress.at("answers", progress.there, progress.planned, kept=progress.there, line="")

    def row(self, row: Row) -> None:
        """Another answer."""
        tally = self._tally
        if tally is None:
            return
        best = [f"{name} {own.accuracy:.3f}" for name, own in tally.methods.items() if own.accuracy is not None]
        failed = [f"{len(tally.failures)} failed"] if tally.failures else []
        beside = "" if self._progress.live else " · ".join([self._spent(tally), *failed, *best[:6]])
        self._progress.at("answers", tally.planned - tally.left, tally.planned, kept=tally.there, beside=beside)

    def close(self) -> None:
        """Take the live part away."""
        self._learnt()
        self._progress.close()

    def _learnt(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    def _spent(self, tally: RunProgress) -> str:
        return f"{tally.spent.tokens:,} tokens" + (f" ${tally.spent.usd:.4f}" if tally.spent.usd else "")

    def _drawn(self) -> Group:
        progress, console = self._tally, self._progress.console
        assert progress is not None
        failed = any(tally.failed for tally in progress.methods.values())
        heads = ["method", "right so far", "test items", *(["failed"] if failed else [])]
        if console.width < _NARROW:
            heads = ["method", "right", "n", *heads[3:]]
        table = Table(*heads, box=None, pad_edge=False)
        shown = list(progress.methods.items())[: max(4, console.height - 8)]
        room = console.width - sum(len(head) + 2 for head in heads[1:]) - 4
        for name, tally in shown:
            right = "" if tally.accuracy is None else f"{tally.accuracy:.3f}"
            table.add_row(_cut(name, room), right, str(tally.n), *([str(tally.failed or "")] if failed else []))
        if len(shown) < len(progress.methods):
            table.add_row(f"… {len(progress.methods) - len(shown)} more", "", "")
        return Group(table, f"{self._spent(progress)}, {len(progress.failures)} failed")


def _cut(name: str, room: int) -> str:
    """A name that fits: its middle left out, since names of one method differ at their ends.

    >>> _cut("self_consistency/lexical", 16), _cut("maci", 16)
    ('self_co…/lexical', 'maci')
    """
    if len(name) <= room or room < 5:
        return name
    return f"{name[: (room - 1) // 2]}…{name[len(name) - room // 2 :]}"
