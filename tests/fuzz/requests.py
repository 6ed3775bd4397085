"""Requests to the server, drawn by schemathesis from the description it publishes (``/openapi.json``).

    python -m fuzz.requests http --for 60 --seed 0 --out FOLDER

Runs in a process of its own, as :mod:`fuzz.engine` does, and writes down the same.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import warnings
from pathlib import Path
from time import monotonic
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.findings import Run
from fuzz.targets import TARGETS
from fuzz.web import RUN, WORD
from maci.web import ServerSettings
from maci.web.server import create_app

_EACH = 15
"""Requests to one address before the next one's turn."""


def operations() -> list[Any]:
    """What can be asked of the server."""
    with tempfile.TemporaryDirectory() as folder:
        described = create_app(ServerSettings(runs=Path(folder)))._app.openapi()  # type: ignore[attr-defined]
    return [found.ok() for found in schemathesis.openapi.from_dict(described).get_all_operations()]


def written(case: Any, known: bool) -> bytes:
    """A drawn request as the target takes it; ``known``: of a debate that is there, with the word that forms carry."""
    parts = dict(case.path_parameters or {})
    if known and "id" in parts:
        parts["id"] = RUN
    path = case.path
    for name, value in parts.items():
        path = path.replace(f"{{{name}}}", str(value))
    asked: dict[str, Any] = {
        "method": case.method,
        "path": path,
        "query": dict(case.query or {}),
        "headers": dict(case.headers or {}),
    }
    body = case.body if isinstance(case.body, dict | list | str | int | float | bool) or case.body is None else None
    if case.media_type == "application/x-www-form-urlencoded" and isinstance(body, dict):
        asked["form"] = {**body, "word": WORD} if known else body
    elif case.media_type is not None:
        asked["headers"] = {**asked["headers"], "content-type": case.media_type}
        asked["body"] = json.dumps(body)
    return json.dumps(asked, default=str).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=["http"])
    parser.add_argument("--for", dest="seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    run, until, turn = Run(TARGETS["http"].check, asked.out), monotonic() + asked.seconds, asked.seed * 1000
    how = settings(
        max_examples=_EACH,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    every = operations()
    while monotonic() < until:
        turn += 1
        for operation in every:

            @seed(turn)
            @how
            @given(case=operation.as_strategy())
            def one(case: Any) -> None:
                if monotonic() < until:
                    run.one(written(case, known=run.inputs % 4 != 0))

            one()
    run.write()


if __name__ == "__main__":
    main()
