"""A debate as text, event by event: for `debate` while it runs and for `show` afterwards."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill, shorten

from rich.console import Console
from rich.text import Text

from maci.agents.argument import Argument
from maci.cli.explain import explained
from maci.cli.live import LiveArea
from maci.cli.remarks import Remarks
from maci.controller.bandit import ACTIONS, Choice
from maci.controller.decisions import (
    Admission,
    Dialled,
    Finished,
    Gained,
    Gated,
    Initialized,
    Measured,
    Planned,
    Triaged,
    Watched,
    Weighed,
)
from maci.controller.inputs import (
    Acquired,
    Intervened,
    JudgeAbstention,
    Opened,
    Resolved,
    Retrieved,
    Scored,
    Seat,
    TurnFailed,
    TurnTaken,
    usage_of,
)
from maci.controller.state import argument_id
from maci.evidence.span import Span
from maci.page.markup import clean
from maci.page.numbers import signed, typeset
from maci.record.events import Event
from maci.story.caution import given, minority, watched
from maci.story.words import cost, favoured_words, figure, leading, plural, shown

__all__ = ["View"]

LEGEND = (
    "Q evidence quality · D disagreement · O shared evidence · CRIT argument quality · Î information gained; "
    "dials: CL contentiousness, τ what an argument must reach to be admitted"
)
_BAR, _SHORTEST_BAR = 30, 6
"""Cells of the bar of a certain outcome at the end, and on the narrowest terminal."""
_BESIDE = 11
"""Cells of such a line that are neither bar nor label."""


class _Out(Console):
    """Lets a reader that went away be seen by the command, which knows what it means."""

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled: pass it on."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


class View:
    """Prints events as they come.

    On a terminal lines are folded with a hanging indent; into a pipe, and with ``plain``, every item is one line. Control characters
    in what models and documents say are never passed on.
    """

    def __init__(
        self,
        *,
        plain: bool = False,
        silent: bool = False,
        only: int | None = None,
        full: bool = False,
        explain: bool = False,
    ) -> None:
        self._out = _Out(no_color=plain or None, highlight=False, quiet=silent, soft_wrap=True)
        self._fold = self._out.is_terminal and not plain
        self._plain, self._only, self._full, self._explain = plain, only, full, explain or full
        self._arguments: dict[str, Argument] = {}
        self._said: dict[tuple[str, Argument], str] = {}
        self._seats: list[str] = []
        self._spans: dict[str, Span] = {}
        self._silent: list[JudgeAbstention] = []
        self._replies = self._kept = 0
        self._read: list[str] = []
        """What was done to read the turns of the round."""
        self._gold: str | None = None
        self._scale: tuple[str, ...] = ()
        """The outcomes in their order, where they have one."""
        self._plan: Planned | None = None
        self._person = False
        """Somebody at this terminal is asked."""
        self._remarks = Remarks()
        live = self._fold and not silent and not full and not self._out.is_dumb_terminal
        self._live = LiveArea(self._out) if live else None

    def _say(self, text: str = "", style: str = "") -> None:
        shown = clean(" ".join(text.splitlines()))
        if self._fold and len(shown) > self._out.width:
            margin = " " * (len(shown) - len(shown.lstrip()))
            shown = fill(
                shown.strip(),
                self._out.width,
                initial_indent=margin,
                subsequent_indent=margin + "  ",
                break_long_words=False,
            )
        said = Text(shown, style="" if self._plain else style)
        if self._live is None:
            self._out.print(said)
        else:
            self._live.say(said)

    def _typed(self, text: str) -> str:
        """Numbers as people write them, on a terminal; pipes and ``plain`` keep what programs read."""
        return typeset(text) if self._fold else text.replace("−", "-")

    def begin(self) -> None:
        """What was shown until now is from a record; what comes next happens now."""
        if self._live is not None:
            self._live.begin()

    def close(self) -> None:
        """Leave nothing half drawn on the terminal."""
        if self._live is not None:
            self._live.close()

    def note(self, text: str) -> None:
        """Print a sentence that is not in the record."""
        self._say(text, "yellow")

    def show(self, event: Event) -> None:
        """Print one event."""
        if self._live is not None:
            self._live.follow(event)
        self._count(event)
        match event:
            case Opened():
                self._opened(event)
            case Retrieved() | Resolved():
                self._spans |= {span.id: span for span in event.spans}
            case TurnTaken():
                for number, argument in enumerate(event.turn.arguments, 1):
                    self._arguments[argument_id(event.round, self._seats.index(event.agent), number)] = argument
                if event.turn.note:
                    self._read.append(f"{event.agent}: {event.turn.note}")
            case JudgeAbstention():
                self._silent.append(event)
            case Intervened():
                self._say(f"  {event.type}", "magenta")
            case Planned():
                self._planned(event)
            case Acquired():
                self._spans |= {span.id: span for span in event.spans}
                self._acquired(event)
            case Gained():
                self._gained(event)
            case Initialized() | Triaged() | Gated() | Weighed() | Measured() | Watched() | Dialled():
                if self._only is None or event.round == self._only:
                    self._decision(event)
            case _:
                pass

    def _count(self, event: Event) -> None:
        """Replies of models, and how many of them were found in the response cache."""
        if isinstance(event, TurnTaken | TurnFailed | Scored | JudgeAbstention):
            usage = usage_of(event)
            if usage.kept or usage.paid:
                self._replies += 1
                self._kept += usage.kept and usage.free

    def _decision(self, event: Initialized | Triaged | Gated | Weighed | Measured | Watched | Dialled) -> None:
        match event:
            case Triaged():
                for line, style in explained(event, full=self._explain):
                    self._say(line, style)
            case Initialized():
                self._initialized(event)
            case Gated():
                self._gated(event)
            case Weighed():
                self._weighed(event)
            case Measured():
                self._measured(event)
            case Watched():
                for line in watched(event):
                    self._say(f"  {line}", "yellow")
            case Dialled():
                if event.choice is not None:
                    self._say(f"  {_chosen(event.choice)}", "dim")
                if event.by_hand:
                    self._say(f"  dials set by hand for round {event.round}", "magenta")

    def _planned(self, event: Planned) -> None:
        self._plan = event
        asked = [item for item in event.items if item.id in event.acquire]
        if asked:
            self._say()
            self._say(f"Pause ({event.stop}): {event.entropy:.2f} bits of doubt are left", "bold cyan")
            if event.favoured is not None:
                self._say(f"  {favoured_words(event.favoured)}")
        for item in asked:
            worth = "" if item.value_if_answered is None else f", worth {item.value_if_answered:.3g}"
            self._say(f"  asks: {item.text}  (expected of an answer: {item.if_answered:.2f} bits{worth})")
        if asked and self._person:
            self.close()  # the terminal is theirs until they have answered

    def _acquired(self, event: Acquired) -> None:
        said = event.text if event.verdict == "told" else event.verdict.replace("_", " ")
        self._say(f"  {event.source or 'source'}: {shorten(said, 300, placeholder=' …')}", "magenta")
        for remark in event.remarks:
            new = self._remarks.new(event.source or "source", remark, printed=not self._out.quiet)
            self._say(f"  note: {remark if new else 'as before'}", "yellow")

    def _gained(self, event: Gained) -> None:
        turned = "" if event.before == event.after else f"; the lead went from {event.before} to {event.after}"
        said = (
            f"  found out: {signed(event.realised, 2)} bits ({event.predicted:.2f} were expected of an answer){turned}"
        )
        self._say(self._typed(said), "magenta")

    def _opened(self, event: Opened) -> None:
        self._seats = [seat.name for seat in event.agents]
        self._gold = event.case.gold
        self._scale = event.case.outcomes.labels if event.case.outcomes.kind == "ordered" else ()
        self._person = event.source == "ask"
        title = event.case.title or event.case.id
        self._say(f"{title + ': ' if title else ''}{event.case.question}", "bold")
        if event.case.context:
            self._say(event.case.context if self._full else shorten(event.case.context, 600, placeholder=" …"), "dim")
        models = {
            seat["name"]: seat["model"] for part in ("agents", "judges") for seat in (event.table or {}).get(part, ())
        }

        def who(seats: Sequence[Seat]) -> str:
            named = ((seat.name, models.get(seat.name, "")) for seat in seats)
            return ", ".join(
                name if name.startswith(model) or "reader/" in model else f"{name} ({model})" for name, model in named
            )

        self._say(f"agents {who(event.agents)}; judges {who(event.judges) or 'none (CRIT-free)'}")
        self._say(
            f"profile {event.config.profile}, schedule {event.config.dials.schedule}, encoder {event.encoder}, seed {event.seed}"
        )
        self._say(LEGEND, "dim")

    def _initialized(self, event: Initialized) -> None:
        self._say()
        said = f"Round 0  openings   Q₀ {figure(event.q)}  D₀ {figure(event.d)}  O₀ {figure(event.o)}"
        self._say(self._typed(said), "bold cyan")
        self._beliefs(event.beliefs, event.mixture)
        self._abstained(event.abstained)
        self._say(f"  is debate worth it? {event.regime.kind}: {'; '.join(event.regime.why)}")
        self._notes(event.notes)

    def _gated(self, event: Gated) -> None:
        dials = event.dials
        self._say()
        said = f"Round {event.round}  dials   CL {dials.cl:.2f}  τ_Q {dials.tau_q:.3f}  τ_CRIT {dials.tau_crit:.3f}"
        self._say(self._typed(said), "bold cyan")
        for a in event.admissions:
            self._argument(a)
        if silent := [item for item in self._silent if item.round == event.round]:
            first = silent[0]
            why = f"judge {first.slot} on {first.argument}: {first.reason}"
            if not self._remarks.new("judges", first.reason, printed=not self._out.quiet) and not self._full:
                why = "as before"
            missing = f"{plural(len(silent), 'score')} {'is' if len(silent) == 1 else 'are'} missing"
            self._say(f"  {missing}: {why}", "yellow")

    def _argument(self, a: Admission) -> None:
        argument = self._arguments.get(a.argument)
        mark, style = ("admitted", "green") if a.admitted else ("rejected", "red")
        said = self._said.setdefault((a.agent, argument), a.argument) if argument else a.argument
        if said != a.argument and not self._full:
            why = self._typed(f"; {a.reason}") if a.reason else ""
            self._say(f"  {mark} {a.argument} {a.agent}: as {said}{why}", style)
            return
        self._say(f"  {mark} {a.argument} {a.agent}: {argument.claim if argument else ''}", style)
        if argument and argument.reasons:
            self._say(f"    {' '.join(argument.reasons)}")
        self._say(
            self._typed(
                f"    q {figure(a.q)}  CRIT {figure(a.crit)}" + (f"  rejected because {a.reason}" if a.reason else "")
            ),
            "dim",
        )
        shown = a.citations if self._full or not all(c.verified for c in a.citations) else a.citations[:1]
        for citation in shown:
            more = f" (and {len(a.citations) - 1} more)" if len(shown) < len(a.citations) else ""
            self._say(
                f"    {self._quote(citation.span)}{more}"
                if citation.verified
                else f"    {citation.span}: {citation.why}",
                "dim",
            )

    def _quote(self, span_id: str) -> str:
        """A span with its source and the beginning of its text."""
        span = self._spans.get(span_id)
        if span is None:
            return span_id
        text = span.text if self._full else shorten(span.text, 96, placeholder=" …")
        return f"[{span.source or 'evidence'}] “{text}” ({span_id})"

    def _weighed(self, event: Weighed) -> None:
        self._beliefs(event.beliefs, event.mixture, event.weights)
        self._abstained(event.abstained)
        back = [agent for agent, stated in event.reverted.items() if _moved(stated, event.beliefs[agent]) > 0.01]
        if back:
            self._say(
                f"  taken back: the new beliefs of {', '.join(back)} would have raised D without new evidence", "yellow"
            )
        self._notes(event.notes)

    def _notes(self, notes: Sequence[str]) -> None:
        for note in (*self._read, *notes):
            self._say(f"  note: {note}", "yellow")
        self._read = []

    def _measured(self, event: Measured) -> None:
        flags = " and ".join(name for name, on in (("information", event.pi_i), ("disagreement", event.pi_d)) if on)
        said = (
            f"  Q {figure(event.q)}  D {figure(event.d)}  O {figure(event.o)}  CRIT {figure(event.crit)}  "
            f"Î {figure(event.gain)}  stalled: {flags or 'nothing'}"
        )
        self._say(self._typed(said), "bold")

    def _beliefs(
        self,
        beliefs: Mapping[str, Mapping[str, float]],
        mixture: Mapping[str, float],
        weights: Mapping[str, float] | None = None,
    ) -> None:
        rows = [(f"{name} ω {weights[name]:.2f}" if weights else name, p) for name, p in beliefs.items()]
        width = max(len(name) for name, _ in [*rows, ("mixture", mixture)])
        for name, p in [*rows, ("mixture", mixture)]:
            self._say(f"  {name:<{width}}  {self._leading(p, width + 4)}", "bold" if name == "mixture" else "")

    def _leading(self, p: Mapping[str, float], used: int) -> str:
        """The leading outcomes, as many as fit the line."""
        first, most = leading(p, 1)[0]
        bar = "" if self._plain else "█" * round(10 * most) + "·" * (10 - round(10 * most)) + "  "
        if self._scale:
            parts = [f"{label} {q:.2f}{' (leads)' if label == first else ''}" for label, q in shown(p, 3, self._scale)]
            whole = bar + "  ".join(parts)
            return f"{bar}{first} {most:.2f}" if self._fold and used + len(whole) > self._out.width else whole
        line = bar
        for number, (label, q) in enumerate(leading(p)):
            part = f"{label} {q:.2f}"
            if number and self._fold and used + len(line) + len(part) + 2 > self._out.width:
                break
            line += ("  " if number else "") + part
        return line

    def _abstained(self, abstained: Mapping[str, str]) -> None:
        for agent, why in abstained.items():
            if why.startswith("not asked"):
                self._say(f"  {agent} was {why}", "dim")
                continue
            self._say(
                f"  {agent} abstained{f': {why}' if self._remarks.new(agent, why, printed=not self._out.quiet) else ', as before'}",
                "yellow",
            )

    def _distinct(self, rationale: Sequence[str]) -> list[str]:
        """The best arguments, each claim and each body of evidence once."""
        claims: set[str] = set()
        bodies: set[frozenset[str]] = set()
        chosen = []
        for identity in rationale:
            argument = self._arguments.get(identity)
            if argument is None:
                continue
            body = frozenset(c.span for c in argument.citations)
            if argument.claim not in claims and body not in bodies:
                claims.add(argument.claim)
                bodies.add(body)
                chosen.append(identity)
        return chosen[:3]

    def result(self, result: Finished, transcript: Path, *, why: bool = True, priced: bool = True) -> None:
        """Print the result, whatever was left out before; without ``why``, somebody else says what went wrong.

        ``priced``: whether what it cost in dollars is known.
        """
        self._out.quiet = False
        self._say()
        for identity in self._distinct(result.rationale):
            argument = self._arguments[identity]
            self._say(f"For {result.answer} ({identity}): {argument.claim} {' '.join(argument.reasons)}")
            for citation in argument.citations[:1]:
                self._say(f"    {self._quote(citation.span)}", "dim")
        self._dissent(result)
        for m in result.minority:
            if result.dissent is not None and m.outcome == result.dissent.outcome:
                continue
            backing = f", backed by {', '.join(m.arguments)}" if m.arguments else ", with no admitted argument"
            self._say(f"Minority report: {m.agent} holds {m.outcome} (p = {m.probability:.2f}){backing}", "yellow")
        for warning in result.warnings:
            self._say(f"Note: {self._remarks.once(warning)}", "yellow")
        if self._plan is not None:
            from maci.cli.plan import short
            from maci.record.plan import plan_of

            for line in short(plan_of(self._plan)):
                self._say(line)
        self._say(f"Transcript: {transcript}")
        self._say()
        if result.answer is None:
            self._say("No answer", "bold red")
        else:
            self._outcomes(result.distribution)
            for line, style in given(result):
                self._say(line, style)
            if self._gold is not None:
                self._say(f"Known answer: {self._gold}" + ("" if self._gold == result.answer else ", so this is wrong"))
        spent = cost(result, priced=priced, kept=(self._kept, self._replies))
        self._say(
            f"Stopped after {plural(result.rounds, 'round')}, {spent}: {result.stop_reason}"
            + (f"; {result.detail}" if why else "")
        )

    def _outcomes(self, p: Mapping[str, float]) -> None:
        """The distribution, a line for each outcome; on a scale in its order, with the one that leads marked."""
        chosen, first = shown(p, 5, self._scale), leading(p, 1)[0][0]
        named = [(f"{label}  (leads)" if self._scale and label == first else label, q) for label, q in chosen]
        room = self._out.width - max(len(name) for name, _ in named) - _BESIDE if self._fold else _BAR
        most = max(_SHORTEST_BAR, min(_BAR, room))
        for name, q in named:
            bar = "" if self._plain else f"{'█' * round(most * q):<{most}} "
            self._say(f"  {bar}{q:5.2f}  {name}")

    def _dissent(self, result: Finished) -> None:
        """The minority report: its best argument, evidence that the answer leaves open, and what would decide."""
        if (found := result.dissent) is None:
            return
        self._say(minority(found), "yellow")
        for identity in self._distinct(found.arguments)[:1]:
            argument = self._arguments[identity]
            self._say(f"    {identity}: {argument.claim} {' '.join(argument.reasons)}")
        for span in (found.unanswered or found.spans)[: None if self._full else 1]:
            self._say(f"    {self._quote(span)}", "dim")
        for line in found.decides if self._full or result.stop_reason == "impasse" else found.decides[:1]:
            self._say(f"    What would decide: {line}", "dim")


def _chosen(choice: Choice) -> str:
    """A learned schedule's action in words."""
    assert choice.action is not None
    index, steps = choice.index[choice.action], choice.steps
    return (
        f"schedule: {ACTIONS[choice.action]} to α {steps.alpha:g}, γ {steps.gamma:g} (index {index:.2f}; "
        f"{len(choice.feasible)} of {len(ACTIONS)} actions fit {choice.left:,.0f} tokens)"
    )


def _moved(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Total variation between two beliefs."""
    return sum(abs(a[label] - b.get(label, 0.0)) for label in a) / 2
