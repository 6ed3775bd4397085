"""Lines of text on a terminal or into a pipe, and below them areas and progress bars that are drawn again and again (:class:`Below`).

Where an area is shown, the cursor waits at its first cell. A terminal that is resized may break lines anew, but takes the cursor along
with that cell: erasing from the cursor down removes the whole area at every width.

Rows that the terminal has pushed into its scrollback cannot be erased, and tmux pushes the top rows of the screen there when lines
below them break. An area of many lines with little above it therefore takes the alternate screen (``whole``), where lines are neither
broken nor kept.

Progress goes to standard error: bars on a terminal, elsewhere a line now and then.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from textwrap import fill
from threading import Event as Flag
from threading import RLock, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Self, TypeVar

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.control import Control
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
from rich.segment import ControlType, Segment
from rich.text import Text

from maci.render.markup import clean, percent, plain, typeset

if TYPE_CHECKING:
    from rich.progress import TaskID

    from maci.cli.live import LiveArea


class Out(Console):
    """Lets a reader that went away be seen by the command, which knows what it means."""

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled: pass it on."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


_ERASE, _UP = "\r\x1b[J", "\r\x1b[{}A"
_WHOLE, _HOME, _NORMAL = "\x1b[?1049h", "\x1b[H", "\x1b[?1049l"
_CUT, _BREAK = "\x1b[?7l", "\x1b[?7h"
"""A terminal hears of a new size before we do. Lines too long for it are cut meanwhile, so that each takes the one row we count on."""
_ELLIPSIS = " …"
_GRACE = 1.0
"""Seconds before the alternate screen is taken: what is over by then never flashes up."""


def can_redraw(console: Console) -> bool:
    """Whether it is a terminal that obeys control codes."""
    return console.is_terminal and not console.is_dumb_terminal and not console.legacy_windows


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
    """Draws what ``draw`` gives below what is said, some times a second. Two threads never write at once.

    ``whole``: on the alternate screen. What is said meanwhile stands above the area and is printed when the terminal is given back.
    """

    def __init__(
        self, console: Console, draw: Callable[[], RenderableType], *, per_second: float = 6, whole: bool = False
    ) -> None:
        self._console, self._draw, self._pause, self._whole = console, draw, 1 / per_second, whole
        self._lock, self._over, self._suspended = RLock(), Flag(), Flag()
        self._drawn: tuple[list[list[Segment]], tuple[int, int]] | None = None
        """The lines that are on the screen and its size then; ``None`` while the terminal is not ours."""
        self._said: list[RenderableType] = []
        self._printed = 0
        """How many of these are on the normal screen."""
        self._thread: Thread | None = None
        self._watching = False

    def start(self) -> None:
        """Show it, if it is not shown; on the alternate screen, only if it is still wanted after a moment."""
        if self._running:
            return
        self._over.clear()
        self._watch_for_suspension()
        if not self._whole:
            self.redraw()
        self._thread = Thread(target=self._keep, name="below", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take it away, if it is shown, and leave the terminal as it was."""
        if self._thread is None:
            return
        self._over.set()
        self._thread.join()
        self._thread = None
        if self._watching:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            signal.signal(signal.SIGCONT, signal.SIG_DFL)
        self._leave()

    @property
    def _running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def say(self, *above: RenderableType) -> None:
        """Print something above it, or where it would be."""
        with self._lock:
            self._said += above
            if self._running and (self._drawn is not None or not self._whole):
                self.redraw()
            else:
                self._print_said()

    def redraw(self) -> None:
        """Draw it as it is now; where nothing has changed nothing is written."""
        with self._lock, self._console as screen:
            width, height = screen.size
            narrower = screen.options.update(width=max(1, width - 1))
            lines = screen.render_lines(self._draw(), narrower, pad=False)[: height - 1]
            if self._whole and (room := height - len(lines)):
                lines = [line for item in self._said[-room:] for line in screen.render_lines(item, pad=False)][
                    -room:
                ] + lines
            if self._drawn == (lines, (width, height)) and (self._whole or self._printed == len(self._said)):
                return
            if self._drawn is None:
                screen.show_cursor(False)
                self._codes(_WHOLE if self._whole else "")
            self._codes((_HOME if self._whole else "") + (_ERASE if self._drawn or self._whole else ""))
            if not self._whole:
                self._print_said()
            self._codes(_CUT)
            screen.print(_Drawn(lines))
            self._codes(_BREAK + (_UP.format(len(lines) - 1) if len(lines) > 1 else "\r"))
            self._drawn = lines, (width, height)

    def _print_said(self) -> None:
        for item in self._said[self._printed :]:
            self._console.print(item, markup=False, soft_wrap=True)
        self._printed = len(self._said)
        if not self._whole:
            self._said, self._printed = [], 0

    def _leave(self) -> None:
        """Give the terminal back, with everything that was said on it."""
        with self._lock, self._console:
            if self._drawn is not None:
                self._codes(_NORMAL if self._whole else _ERASE)
                self._console.show_cursor(True)
                self._drawn = None
            self._print_said()

    def _codes(self, codes: str) -> None:
        """Pass control codes on; rich drops them where there is no terminal."""
        control = Control()
        control.segment = Segment(codes, None, [(ControlType.CARRIAGE_RETURN,)])
        self._console.control(control)

    def _watch_for_suspension(self, *_: object) -> None:
        """Ctrl-Z gives the terminal back before the process stops; Python lets only the main thread see to that."""
        can = current_thread() is main_thread() and hasattr(signal, "SIGTSTP")
        if can and signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
            signal.signal(signal.SIGTSTP, self._suspend)
            signal.signal(signal.SIGCONT, self._watch_for_suspension)
            self._watching = True

    def _suspend(self, *_: object) -> None:
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        self._suspended.set()

    def _keep(self) -> None:
        pause = _GRACE if self._whole else self._pause
        while not self._over.wait(pause):
            pause = self._pause
            try:
                if self._suspended.is_set():  # here, where no line is half written
                    self._suspended.clear()
                    self._leave()
                    signal.raise_signal(signal.SIGTSTP)  # to this thread: it stops before it draws again
                self.redraw()
            except OSError:
                return  # nobody reads any more: who prints next will see it


class Lines:
    """On a terminal lines are folded with a hanging indent; into a pipe, and with ``plain``, every item is one line.

    Control characters in what models and documents say are never passed on. ``live`` makes an area that shows how a debate
    stands, where the terminal can do that.
    """

    def __init__(
        self,
        *,
        plain: bool = False,
        silent: bool = False,
        live: Callable[[Console], LiveArea] | None = None,
        console: Console | None = None,
    ) -> None:
        self.out = console or Out(no_color=plain or None, highlight=False, quiet=silent, soft_wrap=True)
        self._plain = plain
        self.folded = self.out.is_terminal and not plain
        can = self.folded and not silent and can_redraw(self.out)
        self.area = live(self.out) if live and can else None
        self.rows = 0
        """Rows that were printed."""

    def say(self, text: str = "", style: str = "", hang: int = 2, most: int = 0, end: str = "") -> None:
        """Print one item, folded as :meth:`fold` does."""
        shown = self.fold(text, hang, most, end)
        self.rows += shown.count("\n") + 1
        said = Text(shown, style="" if self._plain else style)
        if self.area is None:
            self.out.print(said)
        else:
            self.area.say(said)

    def fold(self, text: str, hang: int = 2, most: int = 0, end: str = "") -> str:
        """An item as it is printed; ``hang``: by how much its further rows stand in.

        On a terminal, ``most`` is the rows it may take (0: as many as it needs). One that is cut keeps its ``end``.
        """
        shown, end = (clean(" ".join(part.splitlines())) for part in (text, end))
        if not self.folded:
            return plain(shown + end)
        if len(shown) + len(end) <= self.out.width:
            return shown + end
        width = max(self.out.width, len(_ELLIPSIS))
        margin = min(len(shown) - len(shown.lstrip()), width - len(_ELLIPSIS))
        hang = min(hang, width - margin - len(_ELLIPSIS))
        beside = width - margin - hang - len(_ELLIPSIS)  # what an end may take, on a row of which the rest is cut
        kept = end if len(end) <= min(beside, width // 2) else ""
        kept = kept.replace(" ", "\N{NO-BREAK SPACE}").replace("\N{NO-BREAK SPACE}", " ", 1)
        return fill(
            shown.strip() + (kept or end),
            width,
            initial_indent=" " * margin,
            subsequent_indent=" " * (margin + hang),
            break_long_words=False,
            max_lines=most or None,
            placeholder=f"{_ELLIPSIS}{kept}",
        )

    def typed(self, text: str) -> str:
        """Numbers as people write them, on a terminal; pipes and ``plain`` keep what programs read."""
        return typeset(text) if self.folded else text.replace("−", "-")

    def stacked(self, parts: Sequence[tuple[str, float]], cells: int = 30) -> str:
        """Shares as one bar and what each part of it is, as many as fit; without the bar where ``plain`` was asked for."""
        shades = "" if self._plain else "█▓▒░"
        drawn, done = "", 0.0
        for number, (_, share) in enumerate(parts[: len(shades)]):
            done += share
            drawn += shades[number] * max(0, round(cells * done) - len(drawn))
        said = [
            f"{shades[number] + ' ' if number < len(shades) else ''}{name} {percent(share)}"
            for number, (name, share) in enumerate(parts)
        ]
        while self.folded and len(said) > 1 and cells + 2 + len(" · ".join(said)) > self.out.width:
            said.pop()
        return f"{drawn.ljust(cells)}  {' · '.join(said)}" if drawn else " · ".join(said)

    def bar(self, share: float, cells: int, empty: str = " ") -> str:
        """A bar and a space; nothing where ``plain`` was asked for."""
        full = round(cells * share)
        return "" if self._plain else "█" * full + empty * (cells - full) + " "

    def close(self) -> None:
        """Leave nothing half drawn on the terminal."""
        if self.area is not None:
            self.area.close()


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
