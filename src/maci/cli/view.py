"""A debate as text, event by event: for `debate` while it runs and for `show` afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import shorten
from time import monotonic
from typing import assert_never

from maci.cli.ending import Remarks, Shown, explained, print_result, quoted
from maci.cli.live import LiveArea
from maci.cli.output import echo
from maci.cli.terminal import Lines, minutes
from maci.controller.bandit import ACTIONS, Choice
from maci.controller.caution import Watched
from maci.controller.decisions import Admission, Dialled, Finished, Gained, Gated, Initialized, Planned, Weighed
from maci.controller.dials import Measured
from maci.controller.events import Event
from maci.controller.inputs import (
    Acquired,
    Compared,
    Exhausted,
    Intervened,
    JudgeAbstention,
    Lost,
    Opened,
    Recommended,
    Requested,
    Resolved,
    Retrieved,
    Scored,
    Sent,
    Surveyed,
    TurnFailed,
    TurnTaken,
)
from maci.controller.triage import Triaged
from maci.render.markup import percent
from maci.seating.spec import is_reader
from maci.story.model import hand_words
from maci.story.story import Story
from maci.story.words import (
    ALL,
    STOPS,
    acquired_words,
    favoured_words,
    figure,
    gained_words,
    leading,
    leads,
    plural,
    rejection_words,
    seats_words,
    shown,
    watched,
)

_PATIENCE = 3.0
"""Seconds without a sign of life."""
_ASKED = 3
"""Rows of a terminal for the question above a result that has to fit one screen."""
LEGEND = (
    "Q evidence quality · D disagreement · O shared evidence · CRIT argument quality · Î information gained; "
    "dials: CL contentiousness, τ what an argument must reach to be admitted"
)


class DebateView:
    """Prints events as they come: what is asked and found out, and with ``rounds`` every round.

    ``only``: one round; ``full``: every round, and nothing is shortened; ``lines``: where to, instead of standard output.
    """

    def __init__(
        self,
        *,
        plain: bool = False,
        silent: bool = False,
        only: int | None = None,
        full: bool = False,
        explain: bool = False,
        rounds: bool = False,
        lines: Lines | None = None,
    ) -> None:
        self._rounds = rounds or full or only is not None
        live = None if full else partial(LiveArea, whole=not self._rounds)
        self._lines = lines or Lines(plain=plain, silent=silent, live=live)
        self._say, self._typed = self._lines.say, self._lines.typed
        self._only, self._full, self._explain = only, full, explain or full
        self._remarks = Remarks()
        self._story: Story | None = None
        self._told = not (silent or self._rounds or self._lines.area is not None)
        self._began: float | None = None
        """When the debate began that is happening now; ``None`` while a record is shown."""

    @property
    def story(self) -> Story:
        """What was shown so far."""
        assert self._story is not None, "a debate begins with `opened`"
        return self._story

    def begin(self) -> None:
        """What was shown until now is from a record; what comes next happens now."""
        self._began = monotonic()
        if self._lines.area is not None:
            self._lines.area.begin()

    def close(self) -> None:
        """Leave nothing half drawn on the terminal."""
        self._lines.close()

    def note(self, text: str) -> None:
        """Print a sentence that is not in the record."""
        self._say(text, "yellow")

    def show(self, event: Event) -> None:
        """Print one event."""
        self._story = Story(opened=event) if isinstance(event, Opened) else self.story.follow(event)
        if self._lines.area is not None:
            self._lines.area.follow(self._story)
        if self._told and self._began is not None and isinstance(event, (Initialized, Measured)):
            self._progress(event.mixture if isinstance(event, Initialized) else self.story.closed[-1].mixture)
        match event:
            case Initialized() | Gated() | Weighed() | Measured() | Watched() | Dialled() | Triaged() if (
                not self._rounds and not (self._explain and isinstance(event, Triaged))
            ) or self._only not in (None, event.round):
                pass  # of another round than the one asked for, or none was asked for
            case Opened():
                self._opened(event)
            case Intervened():
                self._say(f"  {event.by or 'a person'} {hand_words(event)}", "magenta")
            case Planned():
                self._planned(event)
            case Acquired():
                self._acquired(event)
            case Gained():
                self._gained()
            case Triaged():
                if not self.story.withholds:  # it would name the guess that is withheld
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
            case (
                Retrieved()
                | Resolved()
                | Sent()
                | Requested()
                | TurnTaken()
                | Scored()
                | JudgeAbstention()
                | Compared()
                | Surveyed()
                | Recommended()
            ):
                pass  # turns, evidence and scores are shown with the arguments, the rest with the plan and the result
            case TurnFailed() | Lost() | Exhausted() | Finished():
                pass  # the first is shown with the round's abstentions, the others in the result
            case _:
                assert_never(event)

    def _progress(self, mixture: Mapping[str, float]) -> None:
        """Without a live area, a line on standard error for every round of a debate that takes more than a few seconds."""
        seconds = monotonic() - (self._began or 0.0)
        if seconds < _PATIENCE:
            return
        number, most = self.story.closed[-1].number, self.story.opened.config.stop.max_rounds
        where = f"Round {number} of at most {most}" if number else "Openings"
        leader = " · ".join(f"{label} {percent(p)}" for label, p in leading(mixture, 1) if not self.story.opened.unfit)
        echo(f"{where} finished after {minutes(seconds)}{f': {leader}' if leader else ''}", err=True)

    def _planned(self, event: Planned) -> None:
        asked = [item for item in event.items if item.id in event.acquire]
        if asked:
            self._say()
            self._say(
                f"Pause ({event.stop}): {STOPS[event.stop]} The remaining uncertainty is {event.entropy:.2f} bits.",
                "bold cyan",
            )
            if event.favoured is not None:
                self._say(f"  {favoured_words(event.favoured)}")
        live = self._lines.area is not None
        if asked and self.story.opened.source == "ask":
            self.close()  # the terminal is theirs until they have answered
            if live:
                return  # the question is put to them there
        for item in asked:
            worth = "" if item.value_if_answered is None else f", value {item.value_if_answered:.2g}"
            self._say(
                f"  Question: {item.text} (expected to reduce the uncertainty by {item.if_answered:.2f} bits{worth})"
            )

    def _acquired(self, event: Acquired) -> None:
        self._say(f"  {acquired_words(event, 300)}", "magenta")
        for remark in event.remarks:
            new = self._remarks.new(event.source or "source", remark, printed=not self._lines.out.quiet)
            self._say(f"  Note: {remark if new else 'as before.'}", "yellow")

    def _gained(self) -> None:
        self._say(self._typed(f"  {gained_words(self.story.gained[-1])}"), "magenta")

    def _opened(self, event: Opened) -> None:
        title = event.case.title or event.case.id
        self._say(f"{title + ': ' if title else ''}{event.case.question}", "bold", most=0 if self._rounds else _ASKED)
        if not self._rounds:
            return
        if event.case.context:
            self._say(event.case.context if self._full else shorten(event.case.context, 600, placeholder=" …"), "dim")

        models = {name: model for name, model in event.models.items() if not is_reader(model)}
        judges = seats_words(event.judges, models) or "none (CRIT-free)"
        self._say(f"agents {seats_words(event.agents, models)}; judges {judges}")
        self._say(
            f"profile {event.config.profile}, schedule {event.config.dials.schedule}, encoder {event.encoder}, seed {event.seed}"
        )
        self._say(LEGEND, "dim")

    def _initialized(self, event: Initialized) -> None:
        self._say()
        said = f"Openings   Q₀ {figure(event.q)}  D₀ {figure(event.d)}  O₀ {figure(event.o)}"
        self._say(self._typed(said), "bold cyan")
        self._beliefs(event.beliefs, event.mixture)
        self._abstained(event.abstained)
        self._say(f"  is debate worth it? {event.regime.kind}: {'; '.join(event.regime.why)}")
        self._notes(event.round)

    def _gated(self, event: Gated) -> None:
        dials = event.dials
        self._say()
        said = f"Round {event.round}  dials   CL {dials.cl:.2f}  τ_Q {dials.tau_q:.3f}  τ_CRIT {dials.tau_crit:.3f}"
        self._say(self._typed(said), "bold cyan")
        for a in event.admissions:
            self._argument(a)
        silent = [c for c in self.story.calls if c.failed and c.kind == "score" and c.round == event.round]
        if silent:
            first = silent[0]
            why = f"judge {first.who} on {first.argument}: {first.failed}"
            if not self._remarks.new("judges", first.failed, printed=not self._lines.out.quiet) and not self._full:
                why = "as before"
            missing = f"{plural(len(silent), 'score')} {'is' if len(silent) == 1 else 'are'} missing"
            self._say(f"  {missing}: {why}", "yellow")

    def _argument(self, a: Admission) -> None:
        said = self.story.said
        mark, style = ("admitted", "green") if a.admitted else ("fact", "yellow") if a.fact else ("rejected", "red")
        if a.argument not in said:  # a part of a record, without the turn
            self._say(f"  {mark} {a.argument} {a.agent}", style)
            return
        argument = said[a.argument].argument
        why = rejection_words(said[a.argument], self.story.rounds[said[a.argument].round].dials)
        first = next(s.id for s in said.values() if s.round and (s.agent, s.argument) == (a.agent, argument))
        if first != a.argument and not self._full:
            self._say(self._typed(f"  {mark} {a.argument} {a.agent}: as {first}{'. ' if why else ''}{why}"), style)
            return
        side = f"against {argument.outcome}: " if argument.against and argument.outcome else ""
        self._say(f"  {mark} {a.argument} {a.agent}: {side}{argument.claim}", style)
        if argument.reasons:
            self._say(f"    {' '.join(argument.reasons)}")
        self._say(self._typed(f"    q {figure(a.q)}  CRIT {figure(a.crit)}{'  ' if why else ''}{why}"), "dim")
        shown = a.citations if self._full or not all(c.verified for c in a.citations) else a.citations[:1]
        for citation in shown:
            more = f" (and {len(a.citations) - 1} more)" if len(shown) < len(a.citations) else ""
            self._say(
                f"    {quoted(self.story, citation.span, full=self._full)}{more}"
                if citation.verified
                else f"    {citation.span}: {citation.why}",
                "dim",
            )

    def _weighed(self, event: Weighed) -> None:
        self._beliefs(event.beliefs, event.mixture, event.weights)
        self._abstained(event.abstained)
        back = [
            agent
            for agent, stated in event.reverted.items()  # by their total variation
            if sum(abs(p - event.beliefs[agent].get(label, 0.0)) for label, p in stated.items()) / 2 > 0.01
        ]
        if back:
            self._say(
                f"  taken back: the new beliefs of {', '.join(back)} would have raised D without new evidence", "yellow"
            )
        self._notes(event.round)

    def _notes(self, round: int) -> None:
        for note in self.story.rounds[round].notes:
            self._say(f"  note: {note}", "yellow")

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
        width = max(len(name) for name, _ in [*rows, (ALL, mixture)])
        for name, p in [*rows, (ALL, mixture)]:
            self._say(f"  {name:<{width}}  {self._leading(p, width + 4)}", "bold" if name == ALL else "")

    def _leading(self, p: Mapping[str, float], used: int) -> str:
        """The leading outcomes, as many as fit the line."""
        first, most = leading(p, 1)[0]
        bar = self._lines.bar(most, 10, "·")
        bar += " " if bar else ""
        if scale := self.story.scale:
            parts = [f"{label} {q:.2f}{' (leads)' if leads(label, p) else ''}" for label, q in shown(p, 3, scale)]
            whole = bar + "  ".join(parts)
            return whole if self._fits(used + len(whole)) else f"{bar}{first} {most:.2f}"
        line = bar
        for number, (label, q) in enumerate(leading(p)):
            part = f"{label} {q:.2f}"
            if number and not self._fits(used + len(line) + len(part) + 2):
                break
            line += ("  " if number else "") + part
        return line

    def _fits(self, cells: int) -> bool:
        return not self._lines.folded or cells <= self._lines.out.width

    def _abstained(self, abstained: Mapping[str, str]) -> None:
        for agent, why in abstained.items():
            if why.startswith("not asked"):
                self._say(f"  {agent} was {why}", "dim")
                continue
            new = self._remarks.new(agent, why, printed=not self._lines.out.quiet)
            self._say(f"  {agent} abstained{f': {why}' if new else ', as before'}", "yellow")

    def result(
        self,
        result: Finished,
        transcript: Path,
        *,
        why: bool = True,
        priced: bool = True,
        brief: bool = False,
        hints: Sequence[str] = (),
    ) -> None:
        """Print the result, whatever was left out before: see :func:`maci.cli.ending.print_result`."""
        self._lines.out.quiet = False
        shown: Shown = "brief" if brief else "full" if self._full else "rounds" if self._rounds else "screen"
        print_result(
            self._lines, self.story, result, transcript, self._remarks, shown=shown, why=why, priced=priced, hints=hints
        )


def _chosen(choice: Choice) -> str:
    """A learned schedule's action in words."""
    assert choice.action is not None
    index, steps = choice.index[choice.action], choice.steps
    return (
        f"schedule: {ACTIONS[choice.action]} to α {steps.alpha:g}, γ {steps.gamma:g} (index {index:.2f}; "
        f"{len(choice.feasible)} of {len(ACTIONS)} actions fit {choice.left:,.0f} tokens)"
    )
