"""The checklists of CONTRIBUTING.md work: a dummy of each kind is added to a copy of the package as it says, and used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]

PROVIDER = '''
from maci.llm.model import Provider, Reply
from maci.llm.usage import Usage


class Parrot(Provider):
    """Says what it was asked."""

    def __init__(self, *, model, http, base_url, key, provider, options):
        self.name, self.origin, self.identity = f"{provider}/{model}", "parrot", {"api": "parrot", "model": model}
        self._key = key

    async def send(self, request):
        return Reply(text=f"{self._key.reveal()}: {request.messages[-1].content}", usage=Usage(prompt=3, generated=2))

    async def aclose(self):
        pass
'''
ASK_PARROT = """
import asyncio, os
from maci.llm.budget import Ledger
from maci.llm.model import Message, Request
from maci.llm.models import House

async def ask():
    async with House(environ={"PARROT_API_KEY": "sk-parrot"}) as house:
        model = house.model("parrot/macaw")
        request = Request(messages=(Message("user", "Hello?"),), max_tokens=8)
        return (await model.prepare(request).within(Ledger(10_000))).text, model.family

assert asyncio.run(ask()) == ("sk-parrot: Hello?", "psittacus"), asyncio.run(ask())
"""
METHOD = '''
from dataclasses import dataclass

from maci.lab.methods.method import Hearing


@dataclass(frozen=True, slots=True)
class FirstComer:
    """The first agent's opening, whatever the others say."""

    name: str = "first_comer"

    async def answer(self, case, bench, seed):
        hearing = Hearing(case, bench, seed)
        voices = await hearing.hear(hearing.opening(hearing.agents[0]))
        return hearing.answer(hearing.pool(voices), "the first to speak")
'''
DATA_SET = '''
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.lab.datasets.dataset import DataFile, DataSet, TaskItem, Task


def coins(folder, _seed=0):
    """Which side is up."""
    sides = (folder / "coins.txt").read_text().split()
    space = OutcomeSpace(kind="closed", labels=("heads", "tails"))
    cases = [Case(question="Which side is up?", outcomes=space, gold=side, id=f"coin-{n}") for n, side in enumerate(sides)]
    items = [TaskItem(case=case) for case in cases]
    return Task(name="coins", dev=tuple(items[:1]), test=tuple(items[1:]))


SETS = (
    DataSet(
        about="tossed coins", purpose="tests", licence="CC0-1.0", source="a purse",
        files=(DataFile("coins.txt"),), loader=coins,
    ),
)
'''

TABLE = '''
"""How long each method took."""

from maci.lab.study.report.tables import by_method, table
from maci.render.report import Column, number


def seconds_table(arena, estimates):
    """Seconds of an answer, on average."""

    def cells(entrant):
        spent = [answer.row.seconds for answer in entrant.answers.values()]
        return [number(sum(spent) / len(spent))] if spent else None

    return table("seconds", "Seconds", (Column(key="seconds", title="seconds", better="less"),), by_method(arena, cells))
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    copy = tmp_path / "src" / "maci"
    shutil.copytree(ROOT / "src" / "maci", copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def add(file: Path, after: str, line: str) -> None:
    """Put a line behind the one that begins like this."""
    lines = file.read_text(encoding="utf-8").splitlines()
    at = next(n for n, text in enumerate(lines) if text.strip().startswith(after))
    lines.insert(at + 1, line)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def use(package: Path, code: str) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package.parent), str(ROOT / "tests")])}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_provider_is_added_as_the_checklist_says(package: Path) -> None:
    (package / "llm/providers/parrot.py").write_text(PROVIDER)
    door = package / "llm/providers/__init__.py"
    add(door, "from maci.llm.providers.openai", "from maci.llm.providers.parrot import Parrot")
    add(door, '"litellm":', '        "parrot": Parrot,')
    add(
        package / "llm/keys.py",
        'Service("xai"',
        '            Service("parrot", "https://parrot.example", ("PARROT_API_KEY",)),',
    )
    add(package / "llm/catalogue.py", '"perplexity": "sonar"', '        "psittacus": "macaw",')
    use(package, ASK_PARROT)


def test_a_method_is_added_as_the_checklist_says(package: Path) -> None:
    (package / "lab/methods/first_comer.py").write_text(METHOD)
    registry = package / "lab/methods/__init__.py"
    add(registry, "from maci.lab.methods.maci", "from maci.lab.methods.first_comer import FirstComer")
    add(registry, "_ALL = (", '    _plain("first_comer", "the first agent\'s opening", FirstComer),')
    code = """
import asyncio
from helpers import make_case, script, turn
from hash_encoder import HashEncoder
from maci.evidence.span import CaseEvidence
from maci.lab.methods.method import Bench
from maci.lab.methods import build, names
from maci.seating.table import Table

class Panel:
    def table(self, case, *, seed=0):
        agents = script("x", turn(0.9, 0.1)), script("y", turn(0.2, 0.8))
        return Table(agents=agents, judges=(), evidence=CaseEvidence(case), encoder=HashEncoder())

assert names()["first_comer"] == "the first agent's opening"
found = asyncio.run(build("first_comer").answer(make_case(), Bench(panel=Panel()), 0))
assert max(found.belief, key=found.belief.get) == "dengue" and found.calls == 1, found
"""
    use(package, code)


def test_a_data_set_is_added_as_the_checklist_says(package: Path, tmp_path: Path) -> None:
    (package / "lab/datasets/coins.py").write_text(DATA_SET)
    registry = package / "lab/datasets/__init__.py"
    text = registry.read_text()
    text = text.replace("import clinical, news", "import clinical, coins, news")
    registry.write_text(text.replace("recorded)", "recorded, coins)"))
    (tmp_path / "coins.txt").write_text("heads tails tails\n")
    with (package / "lab/datasets/SHA256SUMS").open("a") as sums:
        sums.write(f"{'0' * 64}  18  coins.txt\n")
    code = f"""
from pathlib import Path
from maci.lab.datasets import load
task = load("coins", Path({str(tmp_path)!r}))
assert [item.case.gold for item in task.test] == ["tails", "tails"]
assert "coins.txt is not the file our figures were made with" in task.notes[-1]
"""
    use(package, code)


def test_a_study_table_is_added_as_the_checklist_says(package: Path) -> None:
    (package / "lab/study/report/seconds.py").write_text(TABLE)
    build = package / "lab/study/report/build.py"
    add(build, "from maci.lab.study.report.selective", "from maci.lab.study.report.seconds import seconds_table")
    add(build, "yield from round_table(", "    yield seconds_table(arena, estimates)")
    code = """
from maci.lab.study.report.build import ReportSettings, build_report
from maci.render.text import to_markdown
from report_helpers import answers, study

rows = [*answers("maci", "++-+", seconds=1.5), *answers("single", "+--+", seconds=0.5)]
report = build_report(study(rows, ["maci", "single"]), ReportSettings(resamples=100))
[found] = [table for table in report.sections[0].tables if table.key == "seconds"]
assert {line.name: line.cells[0].value for line in found.lines} == {"maci": 1.5, "single": 0.5}, found
assert "### Seconds" in to_markdown(report)
"""
    use(package, code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_of_these_pages_exists(page: Path) -> None:
    named = re.findall(r"`((?:[a-z_0-9]+/)+(?:[a-zA-Z_0-9]+(?:\.py)?)?|[a-z]+\.py)`", page.read_text(encoding="utf-8"))
    assert len(named) > 20
    missing = [path for path in named if not any((root / path).exists() for root in (ROOT / "src/maci", ROOT))]
    assert missing == []


def test_every_room_is_on_the_plan() -> None:
    plan = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## The walk")[0]
    rooms = [
        entry for entry in (ROOT / "src/maci").iterdir() if entry.name[0] not in "_." and entry.suffix in ("", ".py")
    ]
    assert [room.name for room in rooms if f"`{room.name}{'/' if room.is_dir() else ''}`" not in plan] == []
    numbers = ("Seventeen", "Eighteen", "Nineteen", "Twenty", "Twenty-one")
    assert f"{numbers[sum(room.is_dir() for room in rooms) - 17]} rooms on four floors, with two files" in plan
    assert sum(room.suffix == ".py" for room in rooms) == 2
