"""Lines of text on a terminal or into a pipe."""

from __future__ import annotations

import errno
import os
from textwrap import fill

from rich.console import Console
from rich.text import Text

from maci.cli.live import LiveArea
from maci.render.markup import clean, typeset


class Out(Console):
    """Lets a reader that went away be seen by the command, which knows what it means."""

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled: pass it on."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


class Lines:
    """On a terminal lines are folded with a hanging indent; into a pipe, and with ``plain``, every item is one line.

    Control characters in what models and documents say are never passed on. ``live``: below them an area may be kept that shows how
    a debate stands, where the terminal can do that.
    """

    def __init__(
        self, *, plain: bool = False, silent: bool = False, live: bool = False, console: Console | None = None
    ) -> None:
        self.out = console or Out(no_color=plain or None, highlight=False, quiet=silent, soft_wrap=True)
        self._plain = plain
        self.folded = self.out.is_terminal and not plain
        can = self.folded and not silent and not self.out.is_dumb_terminal
        self.area = LiveArea(self.out) if live and can else None

    def say(self, text: str = "", style: str = "") -> None:
        """Print one item."""
        shown = clean(" ".join(text.splitlines()))
        if self.folded and len(shown) > self.out.width:
            margin = " " * (len(shown) - len(shown.lstrip()))
            shown = fill(
                shown.strip(),
                self.out.width,
                initial_indent=margin,
                subsequent_indent=margin + "  ",
                break_long_words=False,
            )
        said = Text(shown, style="" if self._plain else style)
        if self.area is None:
            self.out.print(said)
        else:
            self.area.say(said)

    def typed(self, text: str) -> str:
        """Numbers as people write them, on a terminal; pipes and ``plain`` keep what programs read."""
        return typeset(text) if self.folded else text.replace("−", "-")

    def bar(self, share: float, cells: int, empty: str = " ") -> str:
        """A bar and a space; nothing where ``plain`` was asked for."""
        full = round(cells * share)
        return "" if self._plain else "█" * full + empty * (cells - full) + " "

    def close(self) -> None:
        """Leave nothing half drawn on the terminal."""
        if self.area is not None:
            self.area.close()
