"""An area below what is printed, drawn again as it changes and gone at the end; it survives a terminal that changes its size.

A terminal that grows narrower breaks the lines that stand on it, so what was drawn takes more rows than it had. Before every
drawing the area is taken away with the rows that it takes *now*. Everything printed meanwhile goes through :meth:`Below.say`,
under one lock: two threads never write at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING

from rich.control import Control
from rich.segment import ControlType, Segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType


def rows_now(lengths: Sequence[int], width: int, *, breaks: bool = True) -> int:
    """Rows that lines of these lengths take on a terminal of this width; one that ``breaks`` no lines cuts them.

    >>> rows_now([79, 0, 30], 80), rows_now([79, 0, 30], 40), rows_now([79, 0, 30], 40, breaks=False)
    (3, 4, 3)
    """
    return sum(max(1, -(-length // max(1, width))) for length in lengths) if breaks else len(lengths)


class _Drawn:
    """Lines that are laid out already."""

    def __init__(self, lines: Sequence[Sequence[Segment]]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for number, line in enumerate(self._lines):
            if number:
                yield Segment.line()
            yield from line


class Below:
    """Draws what ``draw`` gives below what is said, some times a second."""

    def __init__(self, console: Console, draw: Callable[[], RenderableType], *, per_second: float = 6) -> None:
        self._console, self._draw, self._pause = console, draw, 1 / per_second
        self._lock, self._over = RLock(), Event()
        self._lines: list[list[Segment]] = []
        self._width = 0
        self._breaks = "TMUX" in os.environ or "XTERM_VERSION" not in os.environ  # xterm alone cuts lines off
        self._thread = Thread(target=self._keep, name="below", daemon=True)

    def start(self) -> None:
        """Show it."""
        self._console.show_cursor(False)
        self.redraw()
        self._thread.start()

    def stop(self) -> None:
        """Take it away and leave the terminal as it was."""
        self._over.set()
        self._thread.join()
        with self._lock, self._console:
            self._erase()
            self._console.show_cursor(True)

    def say(self, *above: RenderableType) -> None:
        """Print something above it."""
        self.redraw(*above)

    def redraw(self, *above: RenderableType) -> None:
        """Draw it as it is now; where nothing has changed nothing is written."""
        with self._lock, self._console:
            lines = self._console.render_lines(self._draw(), pad=False)[: self._console.height - 1]
            if lines == self._lines and self._console.width == self._width and not above:
                return
            self._erase()
            for item in above:
                self._console.print(item)
            self._console.print(_Drawn(lines))
            self._lines, self._width = lines, self._console.width

    def _erase(self) -> None:
        """Take away what was drawn, in as many rows as it takes by now."""
        if not self._lines:
            return
        lengths = [Segment.get_line_length(line) for line in self._lines]
        up = rows_now(lengths, self._console.width, breaks=self._breaks) - 1
        gone = ((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)) * up
        self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), *gone))
        self._lines = []

    def _keep(self) -> None:
        while not self._over.wait(self._pause):
            try:
                self.redraw()
            except OSError:
                return  # nobody reads any more: who prints next will see it
