"""How large the house is: entries of ``src/maci``, files, statements (``ast``), and the share of each room.

``python benchmarks/size.py [SRC …]`` prints one row per tree, so two checkouts can be compared side by side.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "src" / "maci"


def statements(path: Path) -> int:
    """Statements of a file; docstrings and other bare strings are prose and do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return sum(isinstance(node, ast.stmt) and not _prose(node) for node in ast.walk(tree))


def _prose(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def measure(root: Path) -> tuple[int, int, Counter[str]]:
    """Entries at the top, Python files, and statements by room."""
    entries = [entry for entry in root.iterdir() if entry.name != "__pycache__"]
    files = list(root.rglob("*.py"))
    rooms: Counter[str] = Counter()
    for path in files:
        rooms[path.relative_to(root).parts[0].removesuffix(".py")] += statements(path)
    return len(entries), len(files), rooms


def main(roots: list[Path]) -> None:
    """Print the size of each tree."""
    for root in roots:
        entries, files, rooms = measure(root)
        print(f"{root}: {entries} entries, {files} Python files, {sum(rooms.values()):,} statements")
        print("  " + ", ".join(f"{room} {count:,}" for room, count in rooms.most_common()))


if __name__ == "__main__":
    main([Path(arg) for arg in sys.argv[1:]] or [HERE])
