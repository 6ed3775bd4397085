"""Who uses which engine: one process for a file with its settings, however many agents and judges name it.

The last to let go ends it. Loading happens in a thread, which nobody has to wait for: who gives up meanwhile ends it too.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future

from maci.llm.local.engine import Engine, Plan

__all__ = ["Lease", "lease"]

Find = Callable[[threading.Event], Plan]
"""Called in another thread with an event that is set once nobody wants the engine any more."""


class Lease:
    """A share of an engine that is loading, or is loaded."""

    def __init__(self, key: Hashable) -> None:
        self.key, self.users = key, 0
        self.engine: Future[Engine] = Future()
        self.engine.set_running_or_notify_cancel()  # who stops waiting for it does not cancel it for others
        self._unwanted = threading.Event()
        self._begun: Engine | None = None

    def load(self, find: Find) -> None:
        """Find the file and load it."""
        try:
            engine = self._begun = Engine(find(self._unwanted))
            try:
                if self._unwanted.is_set():
                    engine.stop()
                engine.await_ready()
            except BaseException:
                engine.stop()
                raise
            self.engine.set_result(engine)
        except BaseException as error:
            self.forget()
            self.engine.set_exception(error)

    def release(self) -> None:
        """Give a share back; the last one ends the process, which takes a moment."""
        with _lock:
            self.users -= 1
            last = self.users == 0
            if last and _leases.get(self.key) is self:
                del _leases[self.key]
        if last:
            self.end()

    def forget(self) -> None:
        """Give it to nobody else: it has failed."""
        with _lock:
            if _leases.get(self.key) is self:
                del _leases[self.key]

    def end(self) -> None:
        """End the process, loaded or not."""
        self._unwanted.set()
        if self._begun is not None:
            self._begun.stop()


_lock = threading.Lock()
_leases: dict[Hashable, Lease] = {}


def lease(key: Hashable, find: Find) -> Lease:
    """A share of the engine known by ``key``; where there is none, the one that ``find`` describes is begun."""
    with _lock:
        held = _leases.get(key)
        if held is None:
            held = _leases[key] = Lease(key)
            threading.Thread(target=held.load, args=(find,), name="maci-load", daemon=True).start()
        held.users += 1
    return held


@atexit.register
def _end_all() -> None:
    for held in list(_leases.values()):
        held.end()
