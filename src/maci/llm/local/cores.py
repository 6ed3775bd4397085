"""How many cores there are to compute with."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["cores"]

_SYSTEM = Path("/sys")


def cores(system: Path = _SYSTEM) -> int:
    """Physical cores this process may use; a second thread on a core gains llama.cpp nothing, and waiting for it costs.

    >>> cores() >= 1
    True
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    siblings = {_read(system / f"devices/system/cpu/cpu{n}/topology/thread_siblings_list") or str(n) for n in allowed}
    return max(1, min(len(siblings), _quota(system)))


def _quota(system: Path) -> int:
    """What a container may use."""
    quota, _, period = (_read(system / "fs/cgroup/cpu.max") or "max").partition(" ")
    return math.ceil(int(quota) / int(period)) if quota.isdigit() and period.isdigit() else 1 << 16


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
