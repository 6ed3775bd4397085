"""Lines of text on a terminal or into a pipe."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from textwrap import fill

from rich.console import Console
from rich.text import Text

from maci.cli.live import LiveArea
from maci.render.markup import clean, percent, typeset


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

    def say(self, text: str = "", style: str = "", hang: int = 2) -> None:
        """Print one item; ``hang``: by how much its further lines stand in."""
        shown = clean(" ".join(text.splitlines()))
        shown = shown if self.folded else shown.replace("\N{NO-BREAK SPACE}", " ")
        if self.folded and len(shown) > self.out.width:
            margin = " " * (len(shown) - len(shown.lstrip()))
            shown = fill(
                shown.strip(),
                self.out.width,
                initial_indent=margin,
                subsequent_indent=margin + " " * hang,
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
        while self.folded and len(said) > 2 and cells + 2 + len(" · ".join(said)) > self.out.width:
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
