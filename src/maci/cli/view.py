"""A debate as text, event by event: for `debate` while it runs and for `show` afterwards."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten

from rich.console import Console
from rich.text import Text

from maci.agents.argument import Argument
from maci.controller.decisions import Admission, Dialled, Finished, Gated, Initialized, Measured, Weighed
from maci.controller.inputs import (
    Exhausted,
    Intervened,
    JudgeAbstention,
    Opened,
    Resolved,
    Retrieved,
    TurnTaken,
)
from maci.controller.state import argument_id
from maci.evidence.span import Span
from maci.record.events import Event

__all__ = ["View", "figure"]


def figure(value: float | None, digits: int = 3) -> str:
    """A number, or a dash where it is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"


class _Out(Console):
    """Lets a reader that went away be seen by the command, which knows what it means."""

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled: pass it on."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


class View:
    """Prints events as they come."""

    def __init__(self, *, plain: bool = False, silent: bool = False, only: int | None = None) -> None:
        self._out = _Out(no_color=plain or None, highlight=False, quiet=silent, soft_wrap=plain)
        self._plain, self._only = plain, only
        self._arguments: dict[str, Argument] = {}
        self._seats: list[str] = []
        self._spans: dict[str, Span] = {}

    def _say(self, text: str = "", style: str = "", *, one_line: bool = False) -> None:
        cut = one_line and not self._plain
        self._out.print(
            Text(text, style="" if self._plain else style), no_wrap=cut or None, overflow="ellipsis" if cut else None
        )

    def show(self, event: Event) -> None:
        """Print one event."""
        if (
            self._only is not None
            and getattr(event, "round", self._only) != self._only
            and not isinstance(event, TurnTaken)
        ):
            return
        match event:
            case Opened():
                self._opened(event)
            case Retrieved() | Resolved():
                self._spans |= {span.id: span for span in event.spans}
            case TurnTaken():
                for number, argument in enumerate(event.turn.arguments, 1):
                    self._arguments[argument_id(event.round, self._seats.index(event.agent), number)] = argument
            case JudgeAbstention():
                self._say(f"  judge {event.slot} abstained on {event.argument}: {event.reason}", "yellow")
            case Initialized():
                self._initialized(event)
            case Gated():
                self._gated(event)
            case Weighed():
                self._weighed(event)
            case Measured():
                self._measured(event)
            case Dialled():
                if event.by_hand:
                    self._say(f"  dials set by hand for round {event.round}", "magenta")
            case Intervened() | Exhausted():
                self._say(f"  {event.type}", "magenta")
            case _:
                pass

    def _opened(self, event: Opened) -> None:
        self._seats = [seat.name for seat in event.agents]
        title = event.case.title or event.case.id
        self._say(f"{title + ': ' if title else ''}{event.case.question}", "bold")
        if event.case.context:
            self._say(event.case.context, "dim")
        self._say(
            f"agents {', '.join(self._seats)}; judges {', '.join(seat.name for seat in event.judges) or 'none (CRIT-free)'}"
        )
        self._say(
            f"profile {event.config.profile}, schedule {event.config.dials.schedule}, encoder {event.encoder}, seed {event.seed}"
        )

    def _initialized(self, event: Initialized) -> None:
        self._say()
        self._say(f"Round 0  openings   Q₀ {figure(event.q)}  D₀ {figure(event.d)}  O₀ {figure(event.o)}", "bold cyan")
        self._beliefs(event.beliefs, event.mixture)
        self._abstained(event.abstained)
        self._say(f"  regime: {event.regime.kind} ({'; '.join(event.regime.why)})")
        for note in event.notes:
            self._say(f"  note: {note}", "yellow")

    def _gated(self, event: Gated) -> None:
        dials = event.dials
        self._say()
        self._say(
            f"Round {event.round}  dials   CL {dials.cl:.2f}  τ_Q {dials.tau_q:.3f}  τ_CRIT {dials.tau_crit:.3f}",
            "bold cyan",
        )
        for a in event.admissions:
            self._argument(a)

    def _argument(self, a: Admission) -> None:
        argument = self._arguments.get(a.argument)
        mark, style = ("admitted", "green") if a.admitted else ("rejected", "red")
        self._say(f"  {mark} {a.argument} {a.agent}: {argument.claim if argument else ''}", style)
        if argument and argument.reasons:
            self._say(f"    {' '.join(argument.reasons)}")
        self._say(
            f"    q {figure(a.q)}  CRIT {figure(a.crit)}" + (f"  rejected because {a.reason}" if a.reason else ""),
            "dim",
        )
        for citation in a.citations[:1] if all(c.verified for c in a.citations) else a.citations:
            more = f" (and {len(a.citations) - 1} more)" if len(a.citations) > 1 and citation.verified else ""
            self._say(
                f"    {self._quote(citation.span)}{more}"
                if citation.verified
                else f"    {citation.span}: {citation.why}",
                "dim",
            )

    def _quote(self, span_id: str) -> str:
        """A span with the beginning of its text."""
        span = self._spans.get(span_id)
        if span is None:
            return span_id
        return f"{span_id} “{shorten(span.text, 96, placeholder=' …')}”"

    def _weighed(self, event: Weighed) -> None:
        self._beliefs(event.beliefs, event.mixture, event.weights)
        self._abstained(event.abstained)
        for agent, stated in event.reverted.items():
            top = max(stated, key=lambda label: stated[label])
            self._say(
                f"  reverted: {agent} stated {top} {stated[top]:.2f}; the round raised D without new admitted evidence",
                "yellow",
            )
        for note in event.notes:
            self._say(f"  note: {note}", "yellow")

    def _measured(self, event: Measured) -> None:
        flags = " ".join(name for name, on in (("π_I", event.pi_i), ("π_D", event.pi_d)) if on) or "none"
        self._say(
            f"  Q {figure(event.q)}  D {figure(event.d)}  O {figure(event.o)}  CRIT {figure(event.crit)}  "
            f"Î {figure(event.gain)}  H {figure(event.entropy, 2)} bits  stalled: {flags}",
            "bold",
        )

    def _beliefs(
        self,
        beliefs: Mapping[str, Mapping[str, float]],
        mixture: Mapping[str, float],
        weights: Mapping[str, float] | None = None,
    ) -> None:
        rows = [(f"{name} ω {weights[name]:.2f}" if weights else name, p) for name, p in beliefs.items()]
        width = max(len(name) for name, _ in [*rows, ("mixture", mixture)])
        for name, p in [*rows, ("mixture", mixture)]:
            style = "bold" if name == "mixture" else ""
            self._say(f"  {name:<{width}}  {self._leading(p)}", style, one_line=True)

    def _leading(self, p: Mapping[str, float]) -> str:
        top = sorted(p, key=lambda label: -p[label])[:3]
        parts = [f"{label} {p[label]:.2f}" for label in top if p[label] > 0]
        bar = "" if self._plain else "█" * round(10 * p[top[0]]) + "·" * (10 - round(10 * p[top[0]])) + "  "
        return bar + "  ".join(parts)

    def _abstained(self, abstained: Mapping[str, str]) -> None:
        for agent, why in abstained.items():
            self._say(f"  {agent} abstained: {why}", "yellow")

    def _distinct(self, rationale: Sequence[str]) -> list[str]:
        """The best arguments, each body of evidence once."""
        seen: dict[frozenset[str], str] = {}
        for identity in rationale:
            if identity in self._arguments:
                seen.setdefault(frozenset(c.span for c in self._arguments[identity].citations), identity)
        return list(seen.values())[:3]

    def result(self, result: Finished, transcript: Path) -> None:
        """Print the result, whatever was left out before."""
        self._out.quiet = False
        self._say()
        if result.answer is None:
            self._say("No answer", "bold red")
        else:
            self._say(f"Answer: {result.answer}  (p = {result.distribution[result.answer]:.2f})", "bold green")
            for label in sorted(result.distribution, key=lambda label: -result.distribution[label])[:6]:
                p = result.distribution[label]
                bar = "" if self._plain else f"{'█' * round(30 * p):<30} "
                self._say(f"  {bar}{p:6.3f}  {label}")
        for identity in self._distinct(result.rationale):
            argument = self._arguments[identity]
            self._say(f"  because ({identity}) {argument.claim} {' '.join(argument.reasons)}")
            for citation in argument.citations[:1]:
                self._say(f"    {self._quote(citation.span)}", "dim")
        self._say(f"Stopped after {result.rounds} rounds: {result.stop_reason} ({result.detail})")
        self._say(f"Tokens {result.tokens:,}")
        for m in result.minority:
            backing = f", backed by {', '.join(m.arguments)}" if m.arguments else ", with no admitted argument"
            self._say(f"Minority report: {m.agent} holds {m.outcome} (p = {m.probability:.2f}){backing}", "yellow")
        for warning in result.warnings:
            self._say(f"Warning: {warning}", "yellow")
        self._say(f"Transcript: {transcript}")
