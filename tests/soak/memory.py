"""Memory over many debates in one process: does a server that has run for weeks still take what it took on the first day?

    python -m soak.memory                        # 10,000 tiny debates and 300 of readers, about ten minutes
    python -m soak.memory --tiny 500 --readers 30

Every debate goes through the desk of the web app, as a visitor's does: a thread, a loop and a transcript of its own. After a warm-up
(the first fifth), the resident memory may not grow by more than 5 %. It ends by itself, with 1 where it grew.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import Any

from maci.cases.case import Case, parse_case
from maci.seating.seating import PanelChoice
from maci.seating.tables import Tables
from maci.web import ServerSettings
from maci.web.server import create_app
from web_helpers import Held, Speaker

MOST = 0.05


def resident() -> float:
    """Megabytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def tiny(number: int) -> Case:
    """A case of its own for every debate, so that nothing can be found again."""
    data = {"question": f"Is number {number} so?", "outcomes": ["yes", "no"], "context": f"It is said of {number}."}
    return parse_case(data, "the soak test")


def read(number: int) -> Case:
    """A case that readers find evidence about."""
    data = {"question": f"What does patient {number} have?", "outcomes": ["Dengue fever", "Measles", "Gout"]}
    return parse_case(
        {**data, "context": f"Patient {number}: fever, pain behind the eyes, red spots."}, "the soak test"
    )


def scripted(self: Tables, case: Case, seed: int) -> Any:
    """A table of two speakers."""
    from helpers import judge, seat

    speakers = [Speaker("ada", 0.9, Held(), "Because it is so."), Speaker("bob", 0.2, Held(), "Because it is not.")]
    return seat(speakers, [judge()], case=case)


async def run(name: str, debates: int, case: Callable[[int], Case], *, step: int = 20) -> bool:
    """Hold debates one after the other; whether memory stayed flat."""
    sizes, since = [], monotonic()
    with tempfile.TemporaryDirectory() as folder:
        desk = create_app(ServerSettings(runs=Path(folder)))._app.state.desk  # type: ignore[attr-defined]
        for number in range(debates):
            held = await desk.start(case(number), PanelChoice(panel="readers", seed=number))
            await held.over.wait()
            assert held.finished is not None, held.error
            sizes.append(resident())
            if (number + 1) % max(1, debates // step) == 0:
                print(f"{name}: {number + 1:6,} debates, {sizes[-1]:6.0f} MB, {monotonic() - since:6.0f} s", flush=True)
    fifth = max(1, debates // 5)
    warm, late = fmean(sizes[fifth : fifth + fifth // 2 or None]), fmean(sizes[-(fifth // 2 or 1) :])
    flat = late <= warm * (1 + MOST)
    print(
        f"{name}: {warm:.0f} MB after the warm-up, {late:.0f} MB at the end ({late / warm - 1:+.1%}): {'flat' if flat else 'GROWS'}"
    )
    return flat


def main() -> int:
    """Both kinds of debates."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tiny", type=int, default=10_000)
    parser.add_argument("--readers", type=int, default=300)
    options = parser.parse_args()
    flat = asyncio.run(run("readers", options.readers, read)) if options.readers else True
    if options.tiny:
        Tables._seat = scripted  # type: ignore[method-assign]
        flat = asyncio.run(run("tiny", options.tiny, tiny)) and flat
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
