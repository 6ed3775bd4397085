"""The benchmarks take from MACI what is there: they are run by hand, and a name that moved would break them unseen."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).parents[2] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_what_a_benchmark_imports_exists(file: Path) -> None:
    taken = [
        (node.module, name.name)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "maci"
        for name in node.names
    ]
    missing = [f"{module}.{name}" for module, name in taken if not _has(module, name)]
    assert not missing


def _has(module: str, name: str) -> bool:
    """As an attribute, or as a module inside."""
    if hasattr(import_module(module), name):
        return True
    try:
        import_module(f"{module}.{name}")
    except ImportError:
        return False
    return True
