"""How far a study is: a live table on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.status import Status
from rich.table import Table
from rich.text import Text

from maci.cli.below import Below
from maci.lab.study.rows import Row
from maci.lab.study.store import Meta
from maci.lab.study.tables import NO_EVIDENCE

if TYPE_CHECKING:
    from maci.lab.study.run import Progress


_EVERY = 30.0
"""Seconds between two lines where there is no terminal; every tenth of the answers makes one too."""


_NARROW = 60
"""Columns below which headings are short."""


class StudyView:
    """Follows a run; all of it on standard error."""

    def __init__(self, *, plain: bool, silent: bool) -> None:
        self._console = Console(stderr=True, highlight=False, no_color=plain)
        self._silent, self._live = silent, not plain and self._console.is_terminal
        self._screen: Below | None = None
        self._waiting: Status | None = None
        self._bar: Bar | None = None
        self._progress: Progress | None = None
        self._began = self._said = time.monotonic()
        self._tenths = 0

    def learning(self, data: str, seed: int, openings: int) -> None:
        """What dev is asked before the first answer: a spinner on a terminal, a line elsewhere."""
        if self._silent:
            return
        said = f"{data}, seed {seed}: learning from {openings:,} dev openings"
        if not self._live:
            self._line(said)
        elif self._waiting is None:
            self._waiting = self._console.status(Text(said))
            self._waiting.start()
        else:
            self._waiting.update(Text(said))

    def begin(self, meta: Meta, progress: Progress) -> None:
        """What is planned, and what is there already."""
        self._learnt()
        self._progress, self._began, self._said = progress, time.monotonic(), time.monotonic()
        self._tenths = self._tenth(progress)
        if self._silent:
            return
        on = f", {progress.there} of them are there" if progress.there else ""
        self._line(f"{meta.spec.name}: {progress.planned} answers{on}")
        for entry in meta.spec.data:  # what is known of a public set is in the report
            for note in meta.notes.get(entry.name, ()):
                if entry.file is not None or note.startswith(NO_EVIDENCE):
                    self._line(f"  {entry.name}: {note.removeprefix(f'{entry.file.name}: ' if entry.file else '')}")
        if self._live and progress.left:
            columns = (
                TextColumn("answers"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns, console=self._console)
            self._bar.add_task("", total=progress.planned, completed=progress.there)
            self._screen = Below(self._console, self._drawn, per_second=4)
            self._screen.start()

    def row(self, row: Row) -> None:
        """Another answer."""
        progress = self._progress
        if progress is None or self._silent:
            return
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=progress.planned - progress.left)
        elif not self._live and progress.left and self._due(progress):
            self._said, self._tenths = time.monotonic(), self._tenth(progress)
            self._line(self._words(progress))

    def _due(self, progress: Progress) -> bool:
        return self._tenth(progress) > self._tenths or time.monotonic() - self._said >= _EVERY

    def _tenth(self, progress: Progress) -> int:
        return 10 * (progress.planned - progress.left) // max(1, progress.planned)

    def close(self) -> None:
        """Take the live part away."""
        self._learnt()
        if self._screen is not None:
            self._screen.stop()
            self._screen = self._bar = None

    def _learnt(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    def _words(self, progress: Progress) -> str:
        done = progress.planned - progress.left
        eta = (time.monotonic() - self._began) / max(1, progress.new) * progress.left
        parts = [f"{done}/{progress.planned}", f"about {_minutes(eta)} left", self._spent(progress)]
        best = [
            f"{name} {tally.accuracy:.3f}" for name, tally in progress.methods.items() if tally.accuracy is not None
        ]
        if progress.failures:
            parts.append(f"{len(progress.failures)} failed")
        return " · ".join([*parts, *best[:6]])

    def _spent(self, progress: Progress) -> str:
        return f"{progress.spent.tokens:,} tokens" + (f" ${progress.spent.usd:.4f}" if progress.spent.usd else "")

    def _drawn(self) -> Group:
        progress = self._progress
        assert progress is not None and self._bar is not None
        failed = any(tally.failed for tally in progress.methods.values())
        heads = ["method", "right so far", "test items", *(["failed"] if failed else [])]
        if self._console.width < _NARROW:
            heads = ["method", "right", "n", *heads[3:]]
        table = Table(*heads, box=None, pad_edge=False)
        shown = list(progress.methods.items())[: max(4, self._console.height - 8)]
        room = self._console.width - sum(len(head) + 2 for head in heads[1:]) - 4
        for name, tally in shown:
            right = "" if tally.accuracy is None else f"{tally.accuracy:.3f}"
            table.add_row(_cut(name, room), right, str(tally.n), *([str(tally.failed or "")] if failed else []))
        if len(shown) < len(progress.methods):
            table.add_row(f"… {len(progress.methods) - len(shown)} more", "", "")
        return Group(self._bar, table, f"{self._spent(progress)}, {len(progress.failures)} failed")

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


def _cut(name: str, room: int) -> str:
    """A name that fits: its middle left out, since names of one method differ at their ends.

    >>> _cut("self_consistency/lexical", 16), _cut("maci", 16)
    ('self_co…/lexical', 'maci')
    """
    if len(name) <= room or room < 5:
        return name
    return f"{name[: (room - 1) // 2]}…{name[len(name) - room // 2 :]}"


def _minutes(seconds: float) -> str:
    """A time to wait, in words.

    >>> _minutes(42), _minutes(600), _minutes(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
