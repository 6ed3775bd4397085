"""Local models: llama.cpp through xllamacpp, with nothing to install, start or configure besides the extra ``local``.

::

    LocalProvider("smollm2-135m") ──▶ lease (shared) ──▶ Engine (a process) ──▶ host.py: xllamacpp.Server
      │               gguf: which file                                                          ▲
      └──────────── OpenAI-compatible HTTP on loopback, with a key ─────────────────────────────┘
"""
