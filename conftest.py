"""Which files of the package have no doctests to collect here: what they need is not installed."""

from importlib.util import find_spec

_NEEDS = {"inspect.py": "inspect_ai", "otel.py": "opentelemetry"}
collect_ignore = [f"src/maci/integrations/{file}" for file, package in _NEEDS.items() if not find_spec(package)]
