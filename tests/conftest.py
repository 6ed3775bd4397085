"""Property tests draw new examples every time they run here, and the same ones where a change is about to land."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
if os.environ.get("MACI_REPEATABLE"):
    settings.load_profile("repeatable")
