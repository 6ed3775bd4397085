"""What a server may spend in a day, in all and for each visitor.

What a debate may spend is set aside when it starts: its own budget, or what is left of the day. When it ends, what it did spend is
counted. A visitor is an address (of IPv6, the network). The day's figures are in a small file beside the debates; after a kill, a
server reads from the records what its debates had spent.
"""

from __future__ import annotations

import ipaddress
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from maci.controller.events import Event
from maci.errors import EnvironmentError_, MaciError
from maci.llm.budget import Ledger
from maci.llm.usage import Bound, Usage
from maci.paths import writing
from maci.record.replay import replay
from maci.record.transcript import read

FILE = ".spent.json"


class AllowanceSpent(EnvironmentError_):
    """Nothing is left of what may be spent today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyCeilings:
    """The most of a day; ``None`` is no ceiling."""

    tokens: int | None = None
    usd: float | None = None
    visitor_tokens: int | None = None
    visitor_usd: float | None = None

    def __bool__(self) -> bool:
        return any(value is not None for value in asdict(self).values())

    @property
    def in_tokens(self) -> bool:
        """Whether tokens are counted."""
        return self.tokens is not None or self.visitor_tokens is not None

    @property
    def in_usd(self) -> bool:
        """Whether dollars are counted."""
        return self.usd is not None or self.visitor_usd is not None


@dataclass(frozen=True, slots=True)
class Claim:
    """What one debate may spend of a day."""

    id: str
    day: str
    visitor: str
    bound: Bound
    ledger: Ledger
    """The debate's own: no other thread has it."""
    before: Bound
    """What its record held already, of one that is resumed: counted when it was spent."""


def visitor_of(address: str) -> str:
    """Who counts as one visitor.

    >>> visitor_of("192.0.2.7"), visitor_of("2001:db8:1:2:3:4:5:6"), visitor_of("")
    ('192.0.2.7', '2001:db8:1:2::/64', 'unknown')

    A socket for both versions shows IPv4 visitors by an address of version 6:

    >>> visitor_of("::ffff:192.0.2.7")
    '192.0.2.7'
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if ip.version == 4:
        return str(ip)
    return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))


def on_record(events: Sequence[Event]) -> Bound:
    """What a debate may have spent by its record; calls that were under way count in full."""
    state = replay(events).state
    spent = sum(state.in_flight.values(), state.usage)
    return Bound(spent.tokens, spent.usd)


def _is_over(day: str, today: str) -> bool:
    """Whether a new day has begun. A clock that is set back over midnight begins none; one that was days ahead was wrong before.

    >>> _is_over("2026-05-01", "2026-05-02"), _is_over("2026-05-01", "2026-04-30"), _is_over("2031-05-01", "2026-05-01")
    (True, False, True)
    """
    return not timedelta(0) <= date.fromisoformat(day) - date.fromisoformat(today) <= timedelta(1)


class Allowance:
    """The day's spending of one server. Any thread may use it."""

    def __init__(
        self, ceilings: DailyCeilings, runs: Path, today: Callable[[], str] = lambda: date.today().isoformat()
    ) -> None:
        self._ceilings, self._runs, self._today = ceilings, runs, today
        self._lock = threading.Lock()
        self._open: dict[str, Claim] = {}
        self._begin(today())
        self._load()

    def claim(self, id: str, visitor: str, wanted: Bound, *, places: int = 1, before: Bound = Bound()) -> Claim:
        """Set aside what a debate may spend at most; raises :class:`AllowanceSpent` where nothing is left.

        ``wanted`` is its own ceiling. Without one in dollars it gets its share of what is left, of ``places`` debates that could run.
        ``before`` is what is on record of one that is resumed.
        """
        with self._lock:
            if _is_over(self._day, self._today()):
                self._begin(self._today())
            own = self._visitor(visitor)
            left = [own.left, self._all.left]
            tokens = min(wanted.tokens, *(each.tokens for each in left)) if self._ceilings.in_tokens else 0
            usd = min(each.usd for each in left) if self._ceilings.in_usd else 0.0
            usd = min(usd, wanted.usd) if wanted.usd else usd / max(1, places)
            if (self._ceilings.in_tokens and tokens <= 0) or (self._ceilings.in_usd and usd <= 0):
                whose = "You have" if min(own.left) <= 0 else "This server has"
                raise AllowanceSpent(
                    f"{whose} spent what may be spent today: come back tomorrow, or use the panel readers, which costs nothing"
                )
            bound = Bound(tokens, usd)
            own.reserve(bound)
            ledger = Ledger(tokens if self._ceilings.in_tokens else None, usd if self._ceilings.in_usd else None)
            claim = self._open[id] = Claim(id, self._day, visitor, bound, ledger, before)
            try:
                self._save()
            except EnvironmentError_:  # nobody will settle it
                del self._open[id]
                own.settle(bound, Usage())
                raise
            return claim

    def settle(self, claim: Claim) -> None:
        """The debate is over: count what it spent."""
        with self._lock:
            if self._open.pop(claim.id, None) is None or claim.day != self._day:
                return  # of a day that is over
            self._visitor(claim.visitor).settle(claim.bound, claim.ledger.spent)
            self._save()

    def _begin(self, day: str) -> None:
        self._day = day
        self._all = Ledger(self._ceilings.tokens, self._ceilings.usd)
        self._visitors: dict[str, Ledger] = {}

    def _visitor(self, name: str) -> Ledger:
        most = self._ceilings
        return self._visitors.setdefault(name, Ledger(most.visitor_tokens, most.visitor_usd, parent=self._all))

    # --- across restarts ----------------------------------------------------------------------------------------------

    def _save(self) -> None:
        data = {
            "day": self._day,
            "visitors": {
                name: {"tokens": own.spent.tokens, "usd": own.spent.usd} for name, own in self._visitors.items()
            },
            "open": {
                c.id: {"visitor": c.visitor, **c.bound._asdict(), "before": c.before._asdict()}
                for c in self._open.values()
                if c.day == self._day
            },
        }
        part = self._runs / f"{FILE}.part"
        with writing(self._runs / FILE, "what was spent today is not kept"):
            self._runs.mkdir(parents=True, exist_ok=True)
            part.touch(mode=0o600)
            part.write_text(json.dumps(data), encoding="utf-8")
            part.replace(self._runs / FILE)

    def _load(self) -> None:
        if not self._ceilings:
            return
        path = self._runs / FILE
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if _is_over(data["day"], self._day):
                return
            self._day = data["day"]
            for name, spent in data["visitors"].items():
                self._add(name, spent)
            for id, claim in data["open"].items():
                self._add(claim["visitor"], self._so_far(id, claim))
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise EnvironmentError_(
                f"{path} cannot be read ({error}), and says what was spent today: mend it, or delete it to begin the day again"
            ) from error

    def _add(self, visitor: str, spent: Mapping[str, Any]) -> None:
        self._visitor(visitor).settle(Bound(), Usage(prompt=int(spent["tokens"]), usd=float(spent["usd"])))

    def _so_far(self, id: str, claim: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a debate that was killed may have spent since its claim, by its record; all of its claim where that cannot be read."""
        try:
            now = on_record(read(self._runs / id / "transcript.jsonl").events)
        except (MaciError, OSError, ValueError):
            return claim
        before = Bound(**claim.get("before", {}))
        return {"tokens": max(0, now.tokens - before.tokens), "usd": max(0.0, now.usd - before.usd)}
