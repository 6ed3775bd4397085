"""Live areas below what is printed: redrawn as things change, gone at the end. Only on a terminal.

A terminal that grows narrower breaks the lines that stand on it, so what was drawn takes more rows than it had. Before every
drawing the area is taken away with the rows that it takes *now*. Everything printed meanwhile goes through :meth:`Below.say`,
under one lock: two threads never write at once.

:class:`LiveArea` shows a debate: ``follow`` its story after every event, ``close`` at the end, whatever happened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from threading import Event as Signal
from threading import RLock, Thread
from time import monotonic
from typing import TYPE_CHECKING

from rich.control import Control
from rich.segment import ControlType, Segment
from rich.text import Text

from maci.cli.frame import Look, frame
from maci.story.story import Story

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult


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
        self._lock, self._over = RLock(), Signal()
        self._lines: list[list[Segment]] = []
        self._width = 0
        self._breaks = "TMUX" in os.environ or "XTERM_VERSION" not in os.environ  # xterm alone cuts lines off
        self._thread = Thread(target=self._keep, name="below", daemon=True)

    def start(self) -> None:
        """Show it, if it is not shown."""
        if self._thread.is_alive():
            return
        self._console.show_cursor(False)
        self.redraw()
        self._thread.start()

    def stop(self) -> None:
        """Take it away, if it is shown, and leave the terminal as it was."""
        if not self._thread.is_alive():
            return
        self._over.set()
        self._thread.join()
        with self._lock, self._console:
            self._erase()
            self._console.show_cursor(True)

    def say(self, *above: RenderableType) -> None:
        """Print something above it, or where it would be."""
        if self._thread.is_alive():
            self.redraw(*above)
        else:
            for item in above:
                self._console.print(item, markup=False, soft_wrap=True)

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


class LiveArea:
    """Follows the story of a debate and draws where it is."""

    def __init__(self, console: Console, clock: Callable[[], float] = monotonic) -> None:
        self._console, self._clock = console, clock
        self._began = clock()
        self._story: Story | None = None
        self._screen: Below | None = None
        self._rounds: list[float] = []
        """When each round was closed that we saw."""
        self._closed = 0

    def follow(self, story: Story) -> None:
        """Take note of what has happened."""
        self._story, closed = story, len(story.closed)
        if story.events == 1:
            self._closed = 0
            self.begin()
        elif closed > self._closed:
            self._closed = closed
            self._rounds.append(self._clock())
        if story.result is not None:
            self.close()
        elif self._screen is None and story.events > 1:
            self._start()

    def begin(self) -> None:
        """What came until now is from a record: the clock starts here."""
        self._began, self._rounds = self._clock(), []

    def _start(self) -> None:
        self._screen = Below(self._console, lambda: self)
        self._screen.start()

    def say(self, text: RenderableType) -> None:
        """Print something above the area, or where it would be."""
        if self._screen is None:
            self._console.print(text)
        else:
            self._screen.say(text)

    def left(self) -> float | None:
        """At most so many seconds more, by the mean of the rounds so far; ``None`` before the first is closed."""
        if self._story is None or not self._rounds:
            return None
        to_come = self._story.opened.config.stop.max_rounds + 1 - self._closed
        mean = (self._rounds[-1] - self._began) / len(self._rounds)
        return max(0.0, to_come * mean - (self._clock() - self._rounds[-1]))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The frame, as large as the terminal is now."""
        if self._story is None:
            return
        look = Look(
            width=options.max_width,
            height=console.height,
            blocks=options.encoding.lower().startswith("utf"),
            elapsed=self._clock() - self._began,
            left=self.left(),
        )
        yield Text(("─" if look.blocks else "-") * (look.width - 1), style="dim")
        yield from frame(self._story, look)

    def close(self) -> None:
        """Take the area away and leave the terminal as it was."""
        if self._screen is not None:
            self._screen.stop()
            self._screen = None
