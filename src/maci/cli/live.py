"""A debate as it stands, on a terminal: redrawn as things change, gone at the end.

:class:`LiveArea` shows it: ``follow`` its story after every event, ``close`` at the end, whatever happened. What it shows is
:func:`frame`: a story and a size in, lines out; the most important lines come first, so a short terminal loses the least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from maci.cli.terminal import Below
from maci.llm.usage import dollars
from maci.render.markup import clean
from maci.story.model import SIGNALS, Statement
from maci.story.story import Story
from maci.story.words import ALL, figure, leading, plural, rejection_words, shown

_BELOW_ROUNDS = 7
"""As if the terminal were so high, where rounds are printed above: three lines, which no resizing pushes off the screen."""


class LiveArea:
    """Follows the story of a debate and draws where it is: on the ``whole`` screen, or in short below what is printed."""

    def __init__(self, console: Console, clock: Callable[[], float] = monotonic, *, whole: bool = True) -> None:
        self._clock, self._whole = clock, whole
        self._began = clock()
        self._story: Story | None = None
        self._screen = Below(console, lambda: self, whole=whole)
        self.say = self._screen.say
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
        elif story.events > 1:
            self._screen.start()

    def begin(self) -> None:
        """What came until now is from a record: the clock starts here."""
        self._began, self._rounds = self._clock(), []

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
            width=options.max_width + 1,
            height=console.height if self._whole else min(console.height, _BELOW_ROUNDS),
            blocks=options.encoding.lower().startswith("utf"),
            elapsed=self._clock() - self._began,
            left=self.left(),
        )
        yield Text(("─" if look.blocks else "-") * (look.width - 1), style="dim")
        yield from frame(self._story, look)

    def close(self) -> None:
        """Take the area away and leave the terminal as it was."""
        self._screen.stop()


_BLOCKS = "▁▂▃▄▅▆▇█"
_FATES = {
    "admitted": ("✓", "green"),
    "fact": ("·", "yellow"),
    "rejected": ("✗", "red"),
    "opening": ("·", "dim"),
    "open": ("…", "yellow"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How large the terminal is and what it can show."""

    width: int = 80
    height: int = 24
    blocks: bool = True
    """It has block characters; else letters and # stand for them."""
    elapsed: float = 0.0
    """Seconds since the debate began."""
    left: float | None = None
    """At most so many seconds more; ``None`` where nobody can say."""


def spark(values: Sequence[float | None], *, blocks: bool = True) -> str:
    """Values between 0 and 1 as a line of blocks; what is undefined is a dot.

    >>> spark([0.0, 0.5, None, 1.0])
    '▁▅·█'
    """
    marks = _BLOCKS if blocks else "0123456789"
    return "".join("·" if v is None else marks[min(len(marks) - 1, int(max(0.0, v) * len(marks)))] for v in values)


def frame(story: Story, look: Look) -> list[Text]:
    """The lines, at most as many as fit beside what is printed above them."""
    most = max(1, min(look.height - 2, round(0.7 * look.height)))
    head = [_status(story, look), _spending(story, look)]
    signals, beliefs = _signals(story, look), _beliefs(story, look)
    lines = [head[0]]
    if most >= 4:
        lines += [head[1], *beliefs[-1:]]  # the mixture
    if most >= 8:
        lines = [*head, _dials(story, look), *signals]
        room = most - len(lines)
        lines += beliefs if len(beliefs) <= room else beliefs[-1:]
    room = most - len(lines) - 1
    if room >= 2 and not story.current.closed and (said := story.current.said):
        shown = said[-room:]
        lines.append(Text(f"Round {story.current.number}: {_count(said)}", style="bold"))
        lines += [_argument(item, story, look) for item in shown]
    return [_cut(line, look.width) for line in lines[:most]]


def _cut(line: Text, width: int) -> Text:
    """A line that fits; wide characters count as they are shown."""
    line.truncate(max(1, width - 1), overflow="ellipsis")
    return line


def _status(story: Story, look: Look) -> Text:
    """Where it is, for whom it waits and for how long; in short where the terminal is narrow."""
    number, last = story.current.number, story.opened.config.stop.max_rounds
    speaking = [clean(who) for kind, who, _ in story.waiting if kind == "turn"]
    scores = sum(kind == "score" for kind, _, _ in story.waiting)
    clock = _minutes(look.elapsed)
    parts = [f"round {number} of at most {last}" if number else "openings"]
    parts += ["paused by a person"] if story.paused else []
    parts += [f"waiting for {', '.join(speaking)}"] if speaking else []
    parts += [f"{plural(scores, 'score')} to come"] if scores else []
    parts.append(clock + ("" if look.left is None else f", at most {_minutes(look.left)} more"))
    said = " · ".join(parts)
    if cell_len(said) >= look.width:
        parts = [f"round {number}/{last}" if number else "openings", *(["paused"] if story.paused else [])]
        parts.append(clock + ("" if look.left is None else f" (≤ {_minutes(look.left)} more)"))
        out = [f"{n} {what}" for n, what in ((len(speaking), "out"), (scores, "to score")) if n]
        said = " · ".join([*parts, *out])
    return Text(said, style="bold cyan")


def _minutes(seconds: float) -> str:
    """A duration.

    >>> _minutes(5), _minutes(75), _minutes(3700)
    ('0:05', '1:15', '1:01:40')
    """
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def _bar(share: float, width: int, look: Look) -> str:
    full = round(max(0.0, min(1.0, share)) * width)
    return ("█" if look.blocks else "#") * full + ("·" if look.blocks else ".") * (width - full)


def _spending(story: Story, look: Look) -> Text:
    budget, spent = story.opened.config.budget, story.spent
    share, room = spent.tokens / max(1, budget.tokens), 10 if look.width >= 60 else 5
    parts = [f"{_bar(share, room, look)} {spent.tokens:,} of {budget.tokens:,} tokens"]
    if spent.usd or budget.usd:
        limit = f" of {dollars(budget.usd)}" if budget.usd else ""
        parts.append(f"{dollars(spent.usd)}{limit}")
    if budget.seconds:
        parts.append(f"{_minutes(budget.seconds)} allowed")
    return Text(" · ".join(parts), style="dim")


def _dials(story: Story, look: Look) -> Text:
    dials = story.current.dials
    if dials is None:
        return Text("dials: set after the openings", style="dim")
    line = Text("CL ").append(f"{dials.cl:.2f} {_bar(dials.cl, 5, look)}", style="magenta")
    line.append("  τ_Q ").append(f"{dials.tau_q:.2f}", style="magenta")
    line.append("  τ_CRIT ").append(f"{dials.tau_crit:.2f}", style="magenta")
    return line.append("  by hand", style="bold magenta") if story.current.by_hand else line


def _signals(story: Story, look: Look) -> list[Text]:
    """Four signals, in one line or two."""
    rounds = story.closed[-8:]
    if not rounds:
        return [Text("signals: after the openings", style="dim")]
    parts = []
    for field, name, _ in SIGNALS:
        values = [r.signal(field) for r in rounds]
        parts.append(
            Text(f"{name} ").append(f"{figure(values[-1], 2)} ").append(spark(values, blocks=look.blocks), style="cyan")
        )
    each = max(cell_len(part.plain) for part in parts) + 2
    columns = 4 if 4 * each <= look.width else 2
    lines = []
    for start in range(0, 4, columns):
        line = Text()
        for part in parts[start : start + columns]:
            line.append_text(part).append(" " * (each - cell_len(part.plain)))
        line.rstrip()
        lines.append(line)
    return lines


def _beliefs(story: Story, look: Look) -> list[Text]:
    """A line for each agent that spoke, all together last; while a round is open, what agents have stated in it."""
    last = story.closed[-1] if story.closed else None
    now: dict[str, Mapping[str, float]] = dict(last.beliefs) if last else {}
    if not story.current.closed:
        now |= {agent: turn.belief for agent, turn in story.current.turns.items() if turn.belief}
    rows = [(agent, now[agent]) for agent in story.agents if agent in now]
    if last:
        rows.append((ALL, last.mixture))
    names = [clean(name) for name, _ in rows]
    wide = min(max(map(cell_len, names), default=0), max(8, look.width // 4))
    room = 10 if look.width >= 60 else 5
    lines = []
    for (_, belief), name in zip(rows, names, strict=True):
        top = leading(belief, 3 if look.width >= 70 else 1)
        if not top:
            continue
        said = "  ".join(f"{clean(label)} {p:.2f}" for label, p in top)
        if story.scale and look.width >= 70:
            mark = "▸" if look.blocks else ">"
            placed = shown(belief, 5, story.scale)
            said = "  ".join(f"{mark if label == top[0][0] else ''}{clean(label)} {p:.2f}" for label, p in placed)
        line = Text(set_cell_size(name, wide) + " ", style="bold" if name == ALL else "")
        lines.append(line.append(_bar(top[0][1], room, look), style="blue").append(f" {said}"))
    return lines


def _count(said: Sequence[Statement]) -> str:
    fates = [item.fate for item in said]
    parts = [f"{fates.count(fate)} {fate}" for fate in ("admitted", "rejected") if fate in fates]
    parts += [plural(fates.count("fact"), "fact")] if "fact" in fates else []
    return plural(len(said), "argument") + (f", {', '.join(parts)}" if parts else "")


def _argument(item: Statement, story: Story, look: Look) -> Text:
    mark, style = _FATES[item.fate]
    if not look.blocks:
        mark = {"✓": "+", "✗": "x", "…": "?"}.get(mark, "-")
    line = Text().append(f"{mark} {item.id} {clean(item.agent)}: ", style=style)
    line.append(clean(" ".join(item.argument.claim.split())))
    if why := rejection_words(item, story.rounds[item.round].dials):
        line = Text(f"{mark} {item.id} {clean(item.agent)}: {clean(why)}", style=style)
    elif item.fate == "open" and (slots := max(1, len(story.opened.judges))) and item.scores:
        line.append(f" ({len(item.scores)} of {max(slots, story.opened.config.crit.k)} scores)", style="dim")
    return line
