"""What takes each safeguard out of a process of the product: without it, a chaos run must fail."""

from __future__ import annotations

SAFEGUARDS = {
    "sync": "from maci.record.transcript import Transcript as T; keep = T.append; "
    "T.append = lambda self, event, *, sync=False: keep(self, event); T.flush = lambda self, *, now=False: None",
    "reservation": "from maci.llm.budget import Ledger; Ledger.lacks = lambda self, bound, **more: None",
    "lock": "import maci.debating.batch as o, maci.record.transcript as t; o.lock = t.lock = lambda *a, **k: True",
    "chain": "import maci.record.transcript as t; t._chain = lambda before, rest: '0' * 64",
    "fence": "import maci.agents.prompt as p; p.fenced = lambda text: text",
    "cache": "from maci.llm.cache import ResponseCache as C; C.find = lambda self, key: None",
    "count": "import maci.controller.fold as f; from maci.llm.usage import Usage; keep = f._spend; "
    "f._spend = lambda state, usage, call: keep(state, Usage() if call[0] == 'score' else usage, call)",
}
"""``count``: what judges cost is forgotten, when a debate runs and when its record is folded again."""


def remove(safeguard: str) -> None:
    """Take it out of this process."""
    exec(SAFEGUARDS[safeguard], {})
