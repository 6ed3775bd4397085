"""What an install costs: packages and megabytes of the core and of each extra, each in an empty environment of its own.

    python benchmarks/bench_install.py [WHEEL …] [--extras core,web,…] [--parts] [--json]

Without ``WHEEL`` it builds one of this checkout (``pip wheel``). Several wheels stand side by side. Packages are distributions, MACI
among them; megabytes (10⁶ bytes) are the files those brought, byte code included. pip itself does not count. The last
column is what ``pip check`` says. ``--parts`` measures each dependency of the core alone: what it brings if nothing else is there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COUNT = """
import importlib.metadata as m, json
size = lambda d: sum(f.stat().st_size for f in map(d.locate_file, d.files or ()) if f.exists())
print(json.dumps({d.name: size(d) for d in m.distributions()}))
"""


def metadata(wheel: Path) -> tuple[list[str], list[str]]:
    """Extras and the core's requirements."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        found = message_from_bytes(archive.read(name))
    requires = [line for line in found.get_all("Requires-Dist", []) if "extra ==" not in line]
    return found.get_all("Provides-Extra", []), requires


def measure(*packages: str) -> dict[str, object]:
    """Install into an empty environment, count, and throw it away."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=False)
        python = str(Path(folder) / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, "install", *packages], capture_output=True, text=True)
        if done.returncode:
            return {"failed": done.stderr.strip().splitlines()[-1]}
        sizes = json.loads(subprocess.run([python, "-c", COUNT], check=True, capture_output=True, text=True).stdout)
        checked = subprocess.run([*pip, "check"], capture_output=True, text=True)
        problems = checked.stdout.strip().splitlines() if checked.returncode else []
        return {"packages": len(sizes), "mb": round(sum(sizes.values()) / 1e6, 1), "check": problems}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", nargs="*", type=Path, metavar="WHEEL")
    parser.add_argument("--extras", help="comma-separated; `core` is the install without any")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        wheels = options.wheels
        if not wheels:
            subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT], check=True)
            wheels = list(Path(folder).glob("*.whl"))
        for wheel in wheels:
            extras, requires = metadata(wheel)
            wanted = options.extras.split(",") if options.extras else ["core", *extras]
            packages = {name: f"{wheel}[{name}]" if name != "core" else str(wheel) for name in wanted}
            if options.parts:
                packages |= {each: each for each in requires}
            for name, package in packages.items():
                row = {"wheel": wheel.name, "install": name, **measure(package)}
                rows.append(row)
                if not options.json:
                    told = (
                        row.get("failed")
                        or f"{row['packages']:4} packages {row['mb']:8.1f} MB  pip check: {row['check'] or 'clean'}"
                    )
                    print(f"{name:22} {told}", flush=True)
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
