"""The documentation site, built in a folder for tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.append(str(DOCS))

import reference  # noqa: E402  the folder of the documents is no package


def build(folder: Path) -> Path:
    """The site, built from a copy of the documents with warnings as errors."""
    shutil.copytree(
        DOCS, folder / "docs", ignore=shutil.ignore_patterns("_build", "reference", "methods", "__pycache__")
    )
    for name in ("src", "examples", "studies", "benchmarks", "CONTRIBUTING.md", "ARCHITECTURE.md", "README.md"):
        (folder / name).symlink_to(ROOT / name)
    for path, text in reference.pages().items():
        (folder / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / path).write_text(text, encoding="utf-8")
    call = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "docs", "site"]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "site"
