"""Local models: llama.cpp through xllamacpp, with nothing to install, start or configure besides the extra ``local``.

::

    open_local("smollm2-135m") ──▶ LocalProvider ──▶ lease (shared) ──▶ Engine (a process) ──▶ host.py: xllamacpp.Server
            source: which file         │ OpenAI-compatible HTTP on loopback, with a key                    ▲
                                       └───────────────────────────────────────────────────────────────────┘
"""

from __future__ import annotations

from maci.llm.local.engine import Counters
from maci.llm.local.provider import LocalProvider, open_local

__all__ = ["Counters", "LocalProvider", "open_local"]
