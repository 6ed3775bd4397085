"""Runs the examples and writes what each prints to examples/output.

python examples/run.py [NAME …]
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
OFFLINE = ("documents.sh", "judge.py", "budget.sh", "audit.sh", "study.sh", "http_api.py", "mcp_client.py", "gate.sh")
ELSEWHERE = {"ray.sh": "ray", "inspect_eval.py": "inspect_ai"}
"""Examples that need another environment → the package they need."""


def run(name: str) -> str:
    """What an example prints."""
    program = ["sh"] if name.endswith(".sh") else [sys.executable]
    return printed([*program, str(EXAMPLES / name)])


def printed(command: list[str], folder: Path | None = None) -> str:
    """What a command prints in a folder; `maci` is the package that this Python imports."""
    with tempfile.TemporaryDirectory() as scratch:
        maci = Path(scratch) / "maci"
        maci.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m maci "$@"\n', encoding="utf-8")
        maci.chmod(0o755)
        own = {key: value for key, value in os.environ.items() if not key.startswith("MACI_") or key == "MACI_OFFLINE"}
        path = os.pathsep.join((scratch, str(Path(sys.executable).parent), own.get("PATH", "")))
        environ = own | {"PATH": path, "MACI_STATE": f"{scratch}/state", "TMPDIR": scratch, "COLUMNS": "120"}
        done = subprocess.run(
            command, cwd=folder or scratch, env=environ, capture_output=True, text=True, timeout=600, check=False
        )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def output(name: str) -> Path:
    """Where it is kept what an example prints."""
    return EXAMPLES / "output" / f"{Path(name).stem}.txt"


if __name__ == "__main__":
    for each in sys.argv[1:] or OFFLINE:
        output(each).write_text(run(each), encoding="utf-8")
        print("written:", output(each).relative_to(EXAMPLES.parent))
