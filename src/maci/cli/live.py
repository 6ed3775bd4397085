"""The live area below what is printed: redrawn while a debate runs, gone when it ends. Only on a terminal.

Anything that tells a story can use it: ``follow`` it after every event, ``close`` at the end, whatever happened.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from rich.text import Text

from maci.cli.below import Below
from maci.cli.frame import Look, frame
from maci.story.story import Story

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult


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
