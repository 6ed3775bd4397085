"""One target under libFuzzer (atheris): inputs that reach new lines of the product are kept and changed further.

    python -m fuzz.engine TARGET --for 60 --seed 0 --out FOLDER

Runs in a process of its own, which the runner starts (:mod:`fuzz.run`): libFuzzer ends it where an input takes too long or too much
memory. Exceptions do not end it. Each kind of them, by type and place, is written down once with its input, made smaller.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from pathlib import Path
from random import Random

import atheris

from fuzz.findings import HANG, Run

MEMORY = 2048
"""Megabytes that one input may take."""
_PATIENCE = 6
"""Times as long by the clock as an input may compute: another program may have the processor."""
_LONGEST = 200_000


def mutator(data: bytes, max_size: int, seed: int) -> bytes:
    """Half the time one value is changed, half the time some bytes."""
    from fuzz.mutate import mutated

    chance = Random(seed)
    if chance.random() < 0.7 and (found := mutated(data, chance)) is not None:
        return found[:max_size]
    return bytes(atheris.Mutate(data, max_size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target")
    parser.add_argument("--for", dest="seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    with atheris.instrument_imports(include=["maci"]):
        from fuzz.targets import TARGETS
    target = TARGETS[asked.target]
    seeds = asked.out / "seeds"
    seeds.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (seeds / f"{number:03d}").write_bytes(seed)
    for seed in target.seeds():  # what is loaded once does not count as the time of an input
        target.check(seed)
    run = Run(target.check, asked.out)
    options = {
        "max_total_time": asked.seconds,
        "seed": asked.seed + 1,
        "timeout": HANG * _PATIENCE,
        "rss_limit_mb": MEMORY,
        "max_len": _LONGEST,
    }
    options |= {"len_control": 0, "artifact_prefix": f"{asked.out}/", "verbosity": 0, "print_final_stats": 0}
    arguments = [f"-{name}={value}" for name, value in options.items()]
    atheris.Setup([sys.argv[0], *arguments, str(seeds)], run.one, custom_mutator=mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
