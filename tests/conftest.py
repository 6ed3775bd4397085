"""Property tests draw new examples every time they run here, and the same ones where a change is about to land. None is timed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# processes that tests start find the helpers too, such as `python -m fake_server`
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("untimed"), derandomize=True)
settings.load_profile("repeatable" if os.environ.get("MACI_REPEATABLE") else "untimed")


@pytest.fixture(autouse=True)
def online_again() -> Iterator[None]:
    """Who asked to stay offline asked for the rest of the process: here that is one test."""
    yield
    if (module := sys.modules.get("maci.llm.offline")) is not None:
        module._asked = False
