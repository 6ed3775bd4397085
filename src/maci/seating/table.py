"""A table: who debates on what evidence, and the first event of the debate they will hold.

:func:`opening` makes that event: who, what, under which rules, from which code. :func:`unnamed` warns about an open question to
readers, who can only answer with what their texts are about.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from textwrap import shorten
from typing import Any

from maci import __version__
from maci.acquisition.answers import AnswerSource
from maci.acquisition.gain import Stakes
from maci.acquisition.proposals import Proposer
from maci.agents.agent import Agent, Judge, Participant
from maci.agents.judges.interpreter import Comparer, Interpreter
from maci.agents.writer import Writer
from maci.cases.case import Case
from maci.config import Config
from maci.controller.bandit import Learned
from maci.controller.events import FORMAT
from maci.controller.inputs import Opened, Seat
from maci.errors import ConfigError, InputError, MissingExtra
from maci.evidence.encode import Encoder
from maci.evidence.knowledge import conditions
from maci.evidence.orders import order
from maci.evidence.span import EvidenceSource
from maci.llm.usage import Bound
from maci.seating.spec import is_reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Who debates, on what evidence."""

    agents: Sequence[Agent]
    judges: Sequence[Judge]
    evidence: EvidenceSource
    encoder: Encoder
    proposer: Proposer | None = None
    """Who looks for what could be found out; without one, only agents' requests and disagreements are considered."""
    source: AnswerSource | None = None
    """Who answers what the plan asks."""
    comparer: Comparer | None = None
    """Who is asked whether two names are one outcome; nobody where only readers sit."""
    interpreter: Interpreter | None = None
    """Who reads answers in words; rules do where only readers sit."""
    writer: Writer | None = None
    """Who writes the recommendation at the end; nobody where only readers sit: the template does."""
    panel: str = ""
    """The panel that sits here, by name; nothing for one made in Python."""
    spec: Mapping[str, Any] | None = None
    """A panel of models as it was resolved."""
    notes: tuple[str, ...] = ()
    """What its results should warn of."""
    unfit: str = ""
    """Where only readers sit: why word statistics cannot decide the case (D21)."""
    unjudged: bool = False
    """Nobody fit to judge was found, so the debate is CRIT-free."""

    def __post_init__(self) -> None:
        for seats, kind in ((self.agents, Agent), (self.judges, Judge)):
            for seat in seats:
                if kind not in type(seat).__mro__ and not isinstance(seat, kind):  # which takes a protocol long
                    raise InputError(
                        f"{type(seat).__name__} is not a maci.{kind.__name__}: derive it from maci.{kind.__name__}"
                    )


@cache
def commit() -> str | None:
    """The git commit of the package's own checkout, ``+dirty`` where it was changed; ``None`` for an installed package."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    command = [
        "git",
        "--no-optional-locks",
        "-C",
        str(root),
        "status",
        "--porcelain=v2",
        "--branch",
        "--untracked-files=no",
    ]
    try:  # it may be killed, and a lock that it left would keep people from their own checkout
        said = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    told = re.search(r"^# branch\.oid ([0-9a-f]+)$", said, re.MULTILINE)
    changed = re.search(r"^[^#]", said, re.MULTILINE)
    return told and told[1] + ("+dirty" if changed else "")


def opening(
    case: Case,
    table: Table,
    config: Config,
    *,
    seed: int = 0,
    panel: str = "",
    corpus: str = "",
    spec: Mapping[str, Any] | None = None,
    learned: Learned | None = None,
    stakes: Stakes | None = None,
) -> Opened:
    """The first event of a debate: who, what, under which rules, from which code.

    ``panel``, ``corpus`` and ``spec`` say how the table can be set again, should the debate break off (where the table does not say
    so itself); ``learned`` is what a schedule
    that learns starts from (:mod:`maci.calibration`), ``stakes`` the utilities that say what is worth asking.
    """
    if seed < 0:
        raise InputError(f"seed is {seed}: give a whole number, 0 or more")
    asked = table.comparer if case.outcomes.kind == "open" and config.beliefs.ask_names else None
    writer = table.writer if config.answer.recommendation == "model" else None
    reading = None if table.source is None else table.interpreter
    called = (who for who in (asked, writer, reading) if who is not None)
    seats: list[Participant] = [*table.agents, *table.judges, *called]
    if table.unjudged:
        config = config.model_copy(update={"crit": config.crit.model_copy(update={"enabled": False})})
    if case.outcomes.metric and find_spec("scipy") is None:
        raise MissingExtra("scipy", "eval", "a ground metric of your own")
    return Opened(
        format=FORMAT,
        case=case,
        config=config,
        agents=tuple(Seat(agent.name, agent.family) for agent in table.agents),
        judges=tuple(Seat(judge.name, judge.family) for judge in table.judges),
        encoder=table.encoder.name,
        seed=seed,
        version=__version__,
        commit=commit(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        panel=panel or table.panel,
        corpus=corpus,
        table=table.spec if spec is None else spec,
        prompts={p.name: p.hash for seat in seats for p in seat.prompts},
        learned=learned,
        source="" if table.source is None else table.source.name,
        answers=() if table.source is None else table.source.kinds,
        sure=table.source is not None and table.source.sure,
        comparer="" if asked is None else asked.name,
        writer="" if writer is None else writer.name,
        set_aside=Bound() if writer is None else writer.ceiling,
        stakes=stakes,
        notes=(*table.notes, *config.notes, *_remarks(case)),
        unfit=table.unfit,
        readers=all(agent.family.startswith("reader-") for agent in table.agents),
    )


def _remarks(case: Case) -> tuple[str, ...]:
    """What was taken out of the case, and outcomes whose names read like instructions: every model is shown them."""
    found = [name for name in case.outcomes.labels if order(name, (name,))]
    gone = [f"redacted before anything was sent: {', '.join(case.redacted)}"] if case.redacted else []
    return (
        *gone,
        *(f"the outcome “{shorten(name, 60, placeholder=' …')}” reads like an instruction" for name in found),
    )


def check_seats(opened: Opened, table: Table) -> None:
    """Refuse a table at which others sit than the record of a debate names."""
    seats = ([seat.name for seat in opened.agents], [seat.name for seat in opened.judges])
    given = ([agent.name for agent in table.agents], [judge.name for judge in table.judges])
    if seats != given:
        raise ConfigError(
            f"the record is of a debate between {seats[0]} judged by {seats[1]}, this table seats {given}"
        )
    if opened.encoder != table.encoder.name:
        raise ConfigError(f"the debate was opened with the encoder {opened.encoder!r}, this is {table.encoder.name!r}")
    if opened.config.plan.acquire and table.source is None:
        raise ConfigError(
            f"plan.acquire is {opened.config.plan.acquire}, and there is nobody to ask: name a --source, or give the Table one"
        )
    for name, who, does in (
        (opened.comparer, table.comparer, "in which {} compares names"),
        (opened.writer, table.writer, "whose recommendation {} writes"),
    ):
        if name and (who is None or who.name != name):
            raise ConfigError(f"the record is of a debate {does.format(name)}: it is not at this table")


def unnamed(opened: Opened) -> str:
    """What a person should know where no outcome is named and readers answer from the built-in knowledge; else nothing."""
    space = opened.case.outcomes
    models = [str(seat.get("model", "")) for seat in (opened.table or {}).get("agents", ())]
    reading = opened.panel == "readers" or any(map(is_reader, models))
    if space.kind != "open" or space.labels or opened.corpus or not reading:
        return ""
    labels = len({document.label for document in opened.case.evidence if document.label})
    own = (
        f" and the {labels} labels of the evidence"
        if labels > 1
        else " and the label of the evidence"
        if labels
        else ""
    )
    return (
        f"No outcomes are named, so the readers choose among the {len(conditions())} conditions of the built-in medical "
        f"knowledge{own}."
    )
