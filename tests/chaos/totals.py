"""All parts of a chaos run together: what each adds to a file, and the closing line.

    PYTHONPATH=tests python -m chaos.totals FILE [--debates 5000] [--kills 200]

Exits 1 where something was lost, bought twice or over a ceiling, where anything else was wrong, or where there were fewer debates or
kills than asked for.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path


def add(
    file: Path | None,
    part: str,
    *,
    debates: int,
    kills: Mapping[str, int],
    lost: int,
    twice: int,
    over: int,
    wrong: int,
    seconds: float,
) -> None:
    """One part's figures, as a line of the file. ``lost``: debates without a result or replies that were on disk and are gone."""
    if file is None:
        return
    told = {"part": part, "debates": debates, "kills": dict(kills), "lost": lost, "twice": twice, "over": over}
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(told | {"wrong": wrong, "seconds": round(seconds)}) + "\n")


def closing(file: Path, debates: int = 0, kills: int = 0) -> tuple[str, bool]:
    """The closing line, and whether all is well."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    killed = sum((Counter(row["kills"]) for row in rows), Counter[str]())
    total = {name: sum(row[name] for row in rows) for name in ("debates", "lost", "twice", "over", "wrong", "seconds")}
    by_signal = ", ".join(f"{name} {n}" for name, n in sorted(killed.items()))
    line = (
        f"chaos: {total['debates']:,} debates, {killed.total():,} kills ({by_signal}), {total['lost']} lost, {total['twice']} bought "
        f"twice, {total['over']} over the ceiling, {total['wrong']} other things wrong, {total['seconds'] / 60:.1f} min"
    )
    if total["debates"] < debates or killed.total() < kills:
        line += f"; too few: {debates:,} debates and {kills:,} kills were asked for"
    bad = any(total[name] for name in ("lost", "twice", "over", "wrong"))
    return line, not bad and total["debates"] >= debates and killed.total() >= kills


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--debates", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    asked = parser.parse_args()
    line, well = closing(asked.file, asked.debates, asked.kills)
    print(line)
    return int(not well)


if __name__ == "__main__":
    sys.exit(main())
