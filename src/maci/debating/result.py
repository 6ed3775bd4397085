"""What a debate comes to, for programs and notebooks. Everything in it is read from the story of the debate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal, cast

from maci.controller.decisions import Finished
from maci.controller.events import Event
from maci.errors import InputError
from maci.render.markup import document, el, plain
from maci.seating.seating import unpriced
from maci.story import Story
from maci.story.model import Statement
from maci.story.outline import Outline, outline, withheld_words
from maci.story.report.verdict import answered, asked
from maci.story.result import PlanPage, result_of

FORCE = 'pass `settings={"answer.force": True}`'
"""How Python shows a guess that readers withhold."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DebateResult:
    """What a debate came to."""

    story: Story
    """All of it, round by round."""
    transcript: Path | None = None
    """The record; ``None`` where none was kept."""
    skipped: tuple[str, ...] = ()
    """Files of the evidence that were not read, and why."""

    @classmethod
    def of(cls, events: Iterable[Event], transcript: Path | None = None, skipped: Sequence[str] = ()) -> DebateResult:
        """The result of a debate from its events, as :func:`stream` yields them or ``maci.read(path).events`` has them."""
        story = Story.of(events)
        if story.result is None:
            raise InputError("this debate is not finished: it has no result")
        return cls(story, transcript, tuple(skipped))

    @property
    def finished(self) -> Finished:
        """The last event, with every figure of the result."""
        return cast(Finished, self.story.result)

    @property
    def _look(self) -> Outline:
        return outline(self.story)

    @property
    def answer(self) -> str | None:
        """The answer; ``None`` where none is given, and ``withheld`` then says why."""
        return self._look.answer

    @property
    def guess(self) -> str | None:
        """The most probable outcome, also where it is too unsure to be the answer; ``None`` where it is worth nothing."""
        return self._look.guess

    @property
    def withheld(self) -> str:
        """Why there is no answer; empty where there is one."""
        look = self._look
        return plain(withheld_words(self.story, look, force=FORCE)) or (
            "" if look.answer is not None else self.finished.detail
        )

    @property
    def probability(self) -> float | None:
        """Of the answer; ``None`` without one."""
        look = self._look
        return None if look.answer is None else look.p

    @property
    def distribution(self) -> dict[str, float]:
        """The probability of each outcome, most probable first; calibrated where a calibration was given."""
        return dict(sorted(self.finished.distribution.items(), key=lambda item: -item[1]))

    @property
    def why(self) -> tuple[str, ...]:
        """The best arguments for the answer, a sentence or two each."""
        return tuple(map(plain, self._look.why))

    @property
    def against(self) -> tuple[str, ...]:
        """What speaks against it."""
        return tuple(map(plain, self._look.against))

    @property
    def plan(self) -> PlanPage | None:
        """What to find out next; ``None`` where no plan was made."""
        return result_of(self.story, self.transcript or Path()).plan

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before relying on it."""
        return (*self.skipped, *self.finished.warnings)

    @property
    def stop_reason(self) -> str:
        """Why it ended, such as `consensus`, `budget` or `error`."""
        return self.finished.stop_reason

    @property
    def rounds(self) -> int:
        """Rounds that were held, without the openings."""
        return self.finished.rounds

    @property
    def tokens(self) -> int:
        """Tokens that were spent, by agents and judges."""
        return self.finished.tokens

    def to_dict(self) -> dict[str, Any]:
        """The result as `maci debate --json` prints it; its JSON Schema is `docs/schemas/result.json`."""
        page = result_of(self.story, self.transcript or Path(), priced=not unpriced(self.story.opened))
        return page.model_dump(mode="json") | ({} if self.transcript else {"transcript": ""})

    def rows(
        self, of: Literal["arguments", "rounds"] = "arguments"
    ) -> list[dict[str, str | int | float | bool | None]]:
        """Flat rows for ``pandas.DataFrame(…)`` or ``polars.DataFrame(…)``: one for each argument, or for each closed round."""
        if of == "rounds":
            return [_round_row(number, self.story) for number in range(len(self.story.closed))]
        if of != "arguments":
            raise InputError(f"rows of {of!r:.40}: choose arguments or rounds")
        return [_argument_row(item) for item in self.story.said.values()]

    def _repr_html_(self) -> str:
        """The first screen of the report, for notebooks; in a frame, so that its style touches nothing else."""
        page = document(self.story.title, el("header", asked(self.story)), el("main", answered(self.story), id="main"))
        style = "width:100%;height:34em;border:1px solid #8884;border-radius:6px"
        return f'<iframe sandbox srcdoc="{escape(page)}" style="{style}" title="Result of the debate"></iframe>'

    def __repr__(self) -> str:
        look, end = self._look, self.finished
        said = f"answer={look.answer!r}"
        said += f", withheld={self.withheld!r}" if look.answer is None else f", probability={look.p:.2f}"
        return f"DebateResult({said}, stop_reason={end.stop_reason!r}, rounds={end.rounds}, tokens={end.tokens})"


def _argument_row(item: Statement) -> dict[str, str | int | float | bool | None]:
    gate, argument = item.admission, item.argument
    return {
        "id": item.id, "round": item.round, "agent": item.agent, "outcome": argument.outcome, "against": argument.against,
        "claim": argument.claim, "reasons": " ".join(argument.reasons), "fate": item.fate,
        "q": None if gate is None else gate.q, "crit": None if gate is None else gate.crit,
        "why_not": "" if gate is None else gate.reason, "repeats": item.repeats,
        "spans": " ".join(cited.span for cited in item.citations),
    }  # fmt: skip


def _round_row(number: int, story: Story) -> dict[str, str | int | float | bool | None]:
    now = story.closed[number]
    lead = max(now.mixture, key=lambda label: now.mixture[label], default=None)
    figures = {name: getattr(now.signals, name, None) for name in ("q", "d", "o", "crit")}
    return {
        "round": now.number, "leader": lead, "probability": None if lead is None else now.mixture[lead], **figures,
        "arguments": len(now.said), "admitted": sum(item.fate == "admitted" for item in now.said),
        "tokens": now.usage.tokens, "usd": now.usage.usd,
    }  # fmt: skip
