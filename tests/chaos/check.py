"""What must hold of the debates of a chaos run, from their transcripts and the servers' own counts.

What a debate cost is what :mod:`chaos.ledger` reads, which shares no code with the product. The product's own reader then has to read
and fold the same transcript, and to come to the same figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chaos.ledger import account
from chaos.plan import PRICE, plan
from chaos.safeguards import remove
from maci.controller.inputs import JudgeAbstention, Lost, Sent, TurnFailed
from maci.errors import MaciError
from maci.llm.usage import Usage
from maci.record.replay import replay
from maci.record.transcript import read

REASONS = {
    "consensus", "plateau", "crit_stable", "impasse", "stalemate", "max_rounds", "budget", "error", "stopped_by_user",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """What one transcript says."""

    number: int
    reason: str = ""
    detail: str = ""
    answered: bool = False
    tokens: int = 0
    """As the ledger adds them up."""
    usd: float = 0.0
    sent: int = 0
    """Calls that were on record before they were made, further attempts included."""
    lost: int = 0
    """How often it was broken off with calls under way."""
    lost_tokens: int = 0
    failed: int = 0
    """Turns and scores that came to nothing."""
    wrong: tuple[str, ...] = ()


def look(folder: Path, run: int, without: str, number: int) -> Found:
    """Read a transcript twice, fold it again, and say what is wrong with it; a safeguard is taken out of the product's reader too."""
    path, own = folder / f"{number:05d}" / "transcript.jsonl", plan(run, number)
    if without:
        remove(without)
    if not path.is_file():
        return Found(number, wrong=(f"debate {number}: has no result, not even a transcript",))
    ledger = account(path)
    wrong = [f"LEDGER: {each}" for each in ledger.wrong]
    if ledger.told is None:
        wrong.append(f"LEDGER: {path} has no result")
    try:
        recording = read(path)
        replayed = replay(recording.events)
    except MaciError as error:
        return Found(number, wrong=(*wrong, f"debate {number}: {error}"))
    finished = replayed.state.finished
    if finished is None or not replayed.complete:
        return Found(number, wrong=(*wrong, f"debate {number}: {replayed.where()}"))
    if finished.stop_reason not in REASONS or not finished.detail:
        wrong.append(f"debate {number}: ended for no stated reason: {finished.stop_reason!r} {finished.detail!r}")
    if finished.answer is None and finished.stop_reason not in {"budget", "error"}:
        wrong.append(f"debate {number}: no answer, and the reason is {finished.stop_reason}")
    if own.key.encode() in path.read_bytes():
        wrong.append(f"debate {number}: its key is in the transcript")
    budget = own.config.budget
    if (ledger.ceiling, ledger.ceiling_usd) != (budget.tokens, budget.usd):
        wrong.append(f"debate {number}: its ceiling was {budget.tokens} and {budget.usd}, and it ran under another")
    if finished.tokens != ledger.tokens:
        wrong.append(f"debate {number}: folded again it cost {finished.tokens} tokens, its lines say {ledger.tokens}")
    events = recording.events
    return Found(
        number,
        reason=finished.stop_reason,
        detail=finished.detail,
        answered=finished.answer is not None,
        tokens=ledger.tokens,
        usd=ledger.usd,
        sent=sum(len(event.calls) for event in events if isinstance(event, Sent)),
        lost=sum(isinstance(event, Lost) for event in events),
        lost_tokens=finished.spent.lost if finished.spent else 0,
        failed=sum(isinstance(event, TurnFailed | JudgeAbstention) for event in events),
        wrong=tuple(wrong),
    )


def compare(found: Found, run: int, served: dict[str, int] | None) -> list[str]:
    """Our count of a debate beside the server's: ours is never the smaller, and neither is above the ceiling."""
    own = plan(run, found.number)
    counted = served or {"prompt": 0, "generated": 0}
    tokens = counted["prompt"] + counted["generated"]
    usd = PRICE.usd(Usage(prompt=counted["prompt"], generated=counted["generated"]))
    budget, wrong = own.config.budget, []
    if tokens > budget.tokens:
        wrong.append(f"debate {found.number}: CEILING: the server counted {tokens} tokens of {budget.tokens}")
    if budget.usd is not None and usd > budget.usd + 1e-9:
        wrong.append(f"debate {found.number}: CEILING: the server counted ${usd:.6f} of {budget.usd}")
    if tokens > found.tokens:
        wrong.append(f"debate {found.number}: the server counted {tokens} tokens, we {found.tokens}")
    return wrong
