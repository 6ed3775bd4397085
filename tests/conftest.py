"""Property tests draw new examples every time they run here, and the same ones where a change is about to land. None is timed."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

# processes that tests start find the helpers too, such as `python -m fake_server`
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("untimed"), derandomize=True)
settings.load_profile("repeatable" if os.environ.get("MACI_REPEATABLE") else "untimed")
