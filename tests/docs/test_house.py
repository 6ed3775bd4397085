"""The plan of the package that ARCHITECTURE.md draws, held by its files."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

HOME = Path(__file__).parents[2] / "src/maci"
SCREEN = 60
"""Lines."""
STARTED = {"maci.files.child", "maci.llm.local.host"}
"""Run as processes of their own."""


@cache
def modules() -> dict[str, tuple[Path, ast.Module]]:
    found = {}
    for path in sorted(HOME.rglob("*.py")):
        place = path.relative_to(HOME.parent).with_suffix("").parts
        name = ".".join(place[:-1] if place[-1] == "__init__" else place)
        found[name] = path, ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.Module) -> set[str]:
    """Modules of ours that a file imports, anywhere in it."""
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found & modules().keys()


def test_the_package_has_at_most_24_entries_and_320_files() -> None:
    entries = [entry.name for entry in HOME.iterdir() if entry.name != "__pycache__"]
    assert len(entries) <= 24
    assert len(modules()) <= 320


def test_a_class_name_means_one_thing() -> None:
    where = defaultdict(list)
    for name, (_, tree) in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(name)
    assert {name: places for name, places in where.items() if len(places) > 1} == {}


def test_only_packages_say_what_they_export() -> None:
    saying = [
        name
        for name, (path, tree) in modules().items()
        if path.name != "__init__.py"
        for node in tree.body
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)
    ]
    assert saying == []


def test_what_one_file_alone_imports_is_longer_than_a_screen() -> None:
    users = defaultdict(set)
    for name, (_, tree) in modules().items():
        for other in imported(tree):
            users[other].add(name)
    short = [
        name
        for name, (path, _) in modules().items()
        if path.name not in ("__init__.py", "__main__.py")
        and not name.startswith("maci.cli.")  # a file of its name for each command
        and name not in STARTED
        and len(users[name] - {name}) <= 1
        and len(path.read_text(encoding="utf-8").splitlines()) <= SCREEN
    ]
    assert short == []
