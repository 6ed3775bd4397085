"""Writes the parts of docs/ that are computed. ``--check`` fails where a page is not what this would write.

python docs/generate.py [--check] [--tables]

``--tables``: only what is drawn from stored results (:mod:`stored`), which takes seconds.

Pages of ``reference/`` and ``methods/`` are written for the site alone (:mod:`reference`); everything else is under version control.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import reference
import stored
from pictures import pictures
from prompt_example import names_question, second_round
from pydantic import TypeAdapter

from maci.cases.case import CaseFile
from maci.config import build, parameters
from maci.controller.events import schema
from maci.lab.audit.judges.audit import Audit
from maci.lab.audit.judges.items import ArgumentLine
from maci.lab.datasets import SETS
from maci.lab.datasets.own import FIELDS
from maci.lab.study.spec import StudySpec
from maci.lab.theory.trajectories import TRAJECTORIES, play
from maci.llm.model import Request
from maci.seating.file import PanelsFile
from maci.seating.project import ProjectFile
from maci.story.result import AskResult, PlanPage, Result
from maci.web import ServerSettings
from maci.web.server import create_app

DOCS = Path(__file__).parent
sys.path.append(str(DOCS.parent / "examples"))
from run import printed  # noqa: E402  the examples are no package


def stop_rules() -> str:
    """What the default and the literal rules make of every trajectory."""
    long = {"stop.max_rounds": 40}
    columns = {
        "`default`": build("default", long),
        "`paper`, relative": build("paper", long),
        "`paper`, absolute": build("paper", {**long, "plateau.mode": "absolute"}),
    }
    rows = ["| course | what happens | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for course in TRAJECTORIES:
        cells = []
        for config in columns.values():
            state = play(course, config)
            last = state.history[-1].signals
            assert state.finished is not None
            cells.append(f"{state.finished.stop_reason}, round {last.round}, D {last.d:.2f}")
        rows.append(f"| {course.name} | {course.what} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def settings() -> str:
    """Every parameter, with its value in both profiles."""
    paper = {row.key: row.value for row in parameters(build("paper", {}))}
    rows = ["| setting | symbol | default | paper | valid | meaning |", "|---|---|---|---|---|---|"]
    for row in parameters(build("default", {})):
        other = "" if paper[row.key] == row.value else str(paper[row.key])
        rows.append(f"| `{row.key}` | {row.symbol} | {row.value} | {other} | {row.valid} | {row.meaning} |")
    return "\n".join(rows).replace("|𝒴|", "\\|𝒴\\|")


def data_sets() -> str:
    """Every data set: what it is for, whose it is, its options and its traps."""
    parts = []
    for entry in SETS.values():
        lines = [f"### {entry.name}", f"{entry.about[0].upper()}{entry.about[1:]}. For {entry.purpose}."]
        lines.append(
            f"Licence: {entry.licence}. From {entry.source}." + (f" {entry.citation}." if entry.citation else "")
        )
        if entry.partial:
            lines.append(
                "A part is kept apart for independent checks, so whole files have more rows and other checksums."
            )
        lines += [f"* {note.removeprefix(f'{entry.name}: ')}" for note in entry.notes]
        if entry.options:
            lines += ["", "| option | default | meaning | valid |", "|---|---|---|---|"]
        for name, option in entry.options.items():
            default = entry.defaults[name]
            value = str(default).lower() if isinstance(default, bool) else default
            lines.append(f"| `{name}` | {value} | {option.about} | {entry.valid(name)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def own_fields() -> str:
    """What a column of a user's file can be mapped to."""
    rows = [f"| `{name}` | {what.replace('|', chr(92) + '|')} |" for name, what in FIELDS.items()]
    return "\n".join(["| field | what it is |", "|---|---|", *rows])


def prompt() -> str:
    """What a model is asked in round 2 of a small debate, message by message."""
    return _messages(second_round())


def names() -> str:
    """What a model is asked about a name that words cannot place."""
    return _messages(names_question())


def _messages(request: Request) -> str:
    parts = [f"**{message.role}**\n\n```text\n{message.content.strip()}\n```" for message in request.messages]
    return "\n\n".join(parts)


def first_result() -> str:
    """The first screen of the README: a debate of the embedded panel."""
    return _session("maci debate dengue --panel readers --out runs/dengue --plain")["maci debate"]


@cache
def tutorial() -> dict[str, str]:
    """What the commands of the tutorial print, by their first words."""
    page = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    return _session(*(line.split("  #")[0].strip() for line in lines if line.startswith("maci ")))


def _session(*commands: str) -> dict[str, str]:
    """Commands one after another, in a folder with the case of the tutorial; what each printed, the latest of the same first words."""
    with TemporaryDirectory() as folder:
        for file in (DOCS.parent / "examples" / "pump").iterdir():
            (Path(folder) / file.name).write_bytes(file.read_bytes())
        said = {}
        for command in commands:
            text = printed(["sh", "-c", command], Path(folder))
            said[" ".join(command.split()[:2])] = said[command] = text.strip()
    return said


def _printed_by(start: str) -> Callable[[], str]:
    """A block with what the command of the tutorial that begins so printed."""

    def block() -> str:
        (command,) = (each for each in tutorial() if each.startswith(start) and len(each.split()) > 2)
        return f"```text\n{tutorial()[command]}\n```"

    return block


BLOCKS: dict[str, dict[str, Callable[[], str]]] = {
    "../README.md": {"result": lambda: f"```text\n$ maci debate dengue\n{first_result()}\n```"},
    "tutorial.md": {
        "answer": _printed_by("maci debate case.yaml --corpus reports --out runs/pump"),
        "calibrated": _printed_by("maci calibrate"),
        "with-risk": _printed_by("maci debate case.yaml --corpus reports --config"),
        "withheld": _printed_by("maci debate unclear.yaml"),
        "replayed": _printed_by("maci replay"),
    },
    "prompts.md": {"prompt": prompt, "names": names},
    "decisions/002-stop-rules.md": {"stop-rules": stop_rules},
    "settings.md": {"settings": settings},
    "data.md": {"data-sets": data_sets, "own-fields": own_fields},
}


def schemas() -> dict[str, str]:
    """The published JSON Schemas."""
    files = {"argument": ArgumentLine, "case": CaseFile, "panels": PanelsFile, "plan": PlanPage, "result": Result}
    files |= {"ask": AskResult, "project": ProjectFile, "study": StudySpec}
    found = {**{name: model.model_json_schema() for name, model in files.items()}, "transcript": schema()}
    found["audit-judges"] = TypeAdapter(Audit).json_schema()
    found["openapi"] = create_app(ServerSettings(runs=DOCS))._app.openapi()  # type: ignore[attr-defined]
    return {f"schemas/{name}.json": json.dumps(found[name], indent=1, ensure_ascii=False) + "\n" for name in found}


def render(page: str, blocks: dict[str, Callable[[], str]]) -> str:
    text = (DOCS / page).read_text(encoding="utf-8")
    for name, write in blocks.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        head, rest = text.split(begin)
        _, tail = rest.split(end)
        text = head + begin + write() + end + tail
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if something is out of date")
    parser.add_argument("--tables", action="store_true", help="only tables and charts of stored results")
    options = parser.parse_args()
    check, stale = options.check, []
    pages = {page: render(page, blocks) for page, blocks in stored.BLOCKS.items()} | stored.charts()
    if not options.tables:
        pages |= {page: render(page, blocks) for page, blocks in BLOCKS.items()} | schemas() | pictures()
    for page, text in pages.items():
        file = DOCS / page
        if not file.exists() or text != file.read_text(encoding="utf-8"):
            stale.append(page)
            if not check:
                file.parent.mkdir(exist_ok=True)
                file.write_text(text, encoding="utf-8")
    if not check and not options.tables:
        for page, text in reference.pages().items():
            (DOCS / page).parent.mkdir(parents=True, exist_ok=True)
            (DOCS / page).write_text(text, encoding="utf-8")
    if check and stale:
        print(f"out of date: {', '.join(stale)}; run `make {'tables' if options.tables else 'docs'}`", file=sys.stderr)
        return 1
    print("written: " + (", ".join(stale) or "nothing, all pages are up to date"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
