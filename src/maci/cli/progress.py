"""How far long work is, on standard error: bars on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Self, TypeVar

from rich.console import Group
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bars

from maci.cli.lines import Below, Out, can_redraw
from maci.render.markup import clean

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import TaskID

T = TypeVar("T")
EVERY = 30.0
"""Seconds between two lines where there is no terminal; every tenth of the work makes one too."""


class ProgressBars:
    """Told how far each piece of work is; ``more`` is drawn below the bars."""

    def __init__(
        self,
        *,
        plain: bool = False,
        silent: bool = False,
        bytes: bool = False,
        more: Callable[[], RenderableType] | None = None,
    ) -> None:
        self.console = Out(stderr=True, highlight=False, no_color=plain or None)
        self.silent, self.live = silent, can_redraw(self.console) and not plain and not silent
        size: tuple[ProgressColumn, ...] = (
            (DownloadColumn(), TransferSpeedColumn()) if bytes else (MofNCompleteColumn(), TimeElapsedColumn())
        )
        said, beside = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[beside]"))
        self._bars = Bars(said, BarColumn(), *size, TimeRemainingColumn(), beside, console=self.console)
        self._more, self._screen = more, Below(self.console, self._drawn, per_second=4)
        self._tasks: dict[str, TaskID] = {}
        self._tenths: dict[str, int] = {}
        self._began = self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def at(self, what: str, done: int, total: int, *, kept: int = 0, beside: str = "", line: str | None = None) -> None:
        """So much of it is done, ``kept`` of it by an earlier run.

        ``beside``: what else is to be known. ``line`` is said instead where there is no terminal.
        """
        if self.silent:
            return
        what, beside = clean(what), clean(beside)
        if not self.live:
            self._say(what, done, total, kept, beside, line)
            return
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=None, beside="")
        self._bars.update(self._tasks[what], completed=done, total=total or None, beside=beside)
        self._screen.start()

    def each(self, items: Sequence[T], what: str) -> Iterator[T]:
        """The items one after another, counted."""
        for done, item in enumerate(items, 1):
            yield item
            self.at(what, done, len(items))

    def say(self, line: str) -> None:
        """A line, above the bars."""
        if not self.silent:
            self._screen.say(clean(line))

    def close(self) -> None:
        """Leave nothing half drawn."""
        self._screen.stop()

    def _drawn(self) -> Group:
        return Group(self._bars, *([] if self._more is None else [self._more()]))

    def _say(self, what: str, done: int, total: int, kept: int, beside: str, line: str | None) -> None:
        now, tenth = time.monotonic(), 10 * done // max(1, total)
        if line is None and tenth <= self._tenths.get(what, 10 * kept // max(1, total)) and now - self._said < EVERY:
            return
        self._said, self._tenths[what] = now, tenth
        left = (now - self._began) / max(1, done - kept) * (total - done)
        if line is None and done < total:
            line = f"{done:,}/{total:,} {what} · about {minutes(left)} left{f' · {beside}' if beside else ''}"
        if line:
            self.say(line)


def minutes(seconds: float) -> str:
    """A time to wait, in words.

    >>> minutes(42), minutes(600), minutes(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
