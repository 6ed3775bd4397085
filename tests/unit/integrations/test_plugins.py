"""Plugins: a dummy package with one entry point of each kind, and one that does not load."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import maci
from maci.cases.case import load_case
from maci.config import plugins
from maci.controller.events import Event
from maci.controller.inputs import Acquired
from maci.debating.loop import debate
from maci.errors import ConfigError, MaciError
from maci.evidence.encode import load_encoder
from maci.llm.usage import Bound
from maci.seating.seating import PanelChoice, Seated, seat_case
from maci.seating.trust import is_hosted
from serving import serving

CODE = """
from maci.lab.datasets import find
from maci.lab.methods import _ALL
from maci.llm.providers import OpenAI
from maci.controller.policies import PlateauSchedule
from maci.acquisition.answers import AnswerSource, SourceReply
from maci.agents.judges.crit import CritScore
from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.lab.datasets.dataset import DataSet, Task, TaskItem
from maci.lab.methods.baselines import Single
from maci.llm.usage import Usage
from dataclasses import replace
from functools import partial
import maci

class Agent(maci.Agent):
    family = "dummy-agents"
    free = True
    def __init__(self, name):
        self.name = name
    async def turn(self, request):
        labels = request.question.labels
        cited = maci.Citation(request.evidence[0].id) if request.evidence else None
        claim = maci.Argument(claim="The first.", citations=(cited,) if cited else (), outcome=labels[0])
        return maci.Turn(belief={label: 0.9 if label == labels[0] else 0.1 / (len(labels) - 1) for label in labels}, arguments=(claim,))

class Judge(maci.Judge):
    family = "dummy-judges"
    free = stateless = True
    def __init__(self, name):
        self.name = name
    async def score(self, request):
        return CritScore(evidence=0.8, logic=0.8, relevance=0.8), Usage()

class Schedule(PlateauSchedule):
    def first(self, q0, d0):
        return 0.42

class Encoder:
    name = "dummy-encoder"
    def encode(self, texts):
        import numpy
        return numpy.ones((len(texts), 2))

class Provider(OpenAI):
    address = "http://127.0.0.1:1"
    def __init__(self, **given):
        super().__init__(**{**given, "base_url": self.address + "/v1"})

class Source(AnswerSource):
    name = "dummy:here"
    def __init__(self, rest, case, encoder):
        self.rest = rest
    async def answer(self, item):
        return SourceReply(verdict="told", text=f"The dummy says {self.rest}.")

class Method(Single):
    async def answer(self, case, bench, seed):
        found = await super().answer(case, bench, seed)
        belief = {label: float(label == "no") for label in case.outcomes.labels}
        return replace(found, belief=belief, reason="The dummy always says no.")

METHOD = replace(_ALL[0], name="dummy_method", make=partial(Method, name="dummy_method"))

def dummy_set(folder, seed):
    space = OutcomeSpace(labels=("yes", "no"))
    cases = [Case(id=f"dummy-{n}", question=f"Is roof {n} wet?", outcomes=space, gold=gold) for n, gold in enumerate(("yes", "no"))]
    texts = [Document(f"Text {n}: {word}.", label=word) for word in ("yes", "no") for n in range(3)]
    return Task(dev=(), test=tuple(TaskItem(case=case) for case in cases), evidence=tuple(texts))

SET = DataSet(about="two roofs", purpose="tests", licence="none", source="made up", files=(), loader=dummy_set)
"""
POINTS = """
[maci.encoders]
dummy = dummy_maci:Encoder
broken = dummy_maci:missing
[maci.providers]
dummy = dummy_maci:Provider
[maci.agents]
dummy = dummy_maci:Agent
wrong = dummy_maci:Schedule
[maci.judges]
dummy = dummy_maci:Judge
[maci.schedules]
dummy = dummy_maci:Schedule
[maci.sources]
dummy = dummy_maci:Source
[maci.methods]
dummy_method = dummy_maci:METHOD
[maci.datasets]
dummy_set = dummy_maci:SET
"""


def package(folder: Path) -> Path:
    """A package as pip would have installed it."""
    info = folder / "dummy_maci-1.2.dist-info"
    info.mkdir(parents=True)
    (folder / "dummy_maci.py").write_text(CODE, encoding="utf-8")
    (info / "entry_points.txt").write_text(POINTS, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dummy-maci\nVersion: 1.2\n", encoding="utf-8")
    return folder


@pytest.fixture
def dummy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = package(tmp_path / "site")
    monkeypatch.syspath_prepend(folder)
    plugins._found.cache_clear()
    yield folder
    plugins._found.cache_clear()
    sys.modules.pop("dummy_maci", None)


@pytest.mark.usefixtures("dummy")
def test_each_kind_is_found_where_it_is_named() -> None:
    from maci.acquisition.sources import load_source
    from maci.lab import datasets, methods
    from maci.llm.models import House

    assert "dummy" in plugins.names("encoders") and "dummy_maci" not in sys.modules
    assert load_encoder("dummy").encode(["a"]).shape == (1, 2)
    assert type(House(cache=None).model("dummy/x").provider).__name__ == "Provider"
    assert load_source("dummy:here", load_case("dengue"), load_encoder("dummy")).rest == "here"  # type: ignore[attr-defined]
    assert "dummy_method" in methods.names() and methods.build("dummy_method").name
    assert datasets.find("dummy_set").about == "two roofs"


def test_a_provider_is_called_and_a_source_is_asked(dummy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dummy_maci  # type: ignore[import-not-found]

    asked = {"outcomes": ["yes", "no"], "evidence": ["yes it is", "no it is not"], "settings": {"max_rounds": 1}}
    with serving("alpha", "beta") as server:
        monkeypatch.setattr(dummy_maci.Provider, "address", server.url)
        result = maci.run("Is the street wet?", ["dummy/alpha", "dummy/beta"], [], **asked)
        assert sum(count.requests for count in server.counts.values()) >= 2
    assert result.answer in ("yes", "no") and result.tokens > 0
    case, choice = load_case("dengue"), PanelChoice(panel="readers", source="dummy:here", sets=["acquire=1"])
    events = asyncio.run(_events(seat_case(case, choice)))
    found = [event for event in events if isinstance(event, Acquired)]
    assert [event.text for event in found] == ["The dummy says here."]


async def _events(seated: Seated) -> list[Event]:
    return [event async for event in debate(seated.opened, seated.table)]


STUDY = """
name = "roofs"
seeds = [0]
[[data]]
set = "dummy_set"
[panel]
name = "readers"
[[methods]]
use = "dummy_method"
[[methods]]
use = "average"
"""


def test_a_method_and_a_data_set_of_a_package_are_studied(site: Path) -> None:
    (site / "roofs.toml").write_text(STUDY, encoding="utf-8")
    code, loaded, said = command(site, "study", "run", "roofs.toml", "--out", "roofs")
    assert (code, loaded) == (0, True), said
    code, _, said = command(site, "study", "report", "roofs", "--format", "csv")
    rows = {(row["method"], row["metric"]): row for row in csv.DictReader(said.splitlines())}
    found = rows["dummy_method", "acc1"]
    assert code == 0 and (float(found["value"]), int(found["n"])) == (0.5, 2), said


@pytest.mark.usefixtures("dummy")
def test_one_that_does_not_load_is_an_error_with_its_package() -> None:
    with pytest.raises(ConfigError, match=r"'broken' \(encoders\) of dummy-maci .* update or uninstall"):
        load_encoder("broken")


@pytest.mark.usefixtures("dummy")
def test_a_record_does_not_vouch_for_a_provider_of_a_plugin() -> None:
    assert not is_hosted("dummy/x") and is_hosted("openai/x")
    assert "dummy_maci" not in sys.modules


def run(code: str, folder: Path) -> str:
    start = f"import sys; sys.path.insert(0, {str(folder)!r}); {code}"
    return subprocess.run([sys.executable, "-c", start], check=True, capture_output=True, text=True).stdout


COMMAND = """
import json
sys.argv = {argv!r}
from maci.cli import main
try:
    main()
except SystemExit as end:
    code = end.code or 0
else:
    code = 0
print(json.dumps([code, "dummy_maci" in sys.modules]))
"""


def command(folder: Path, *argv: str) -> tuple[int, bool, str]:
    """A command where the dummy package is installed: exit code, whether it loaded the package, output."""
    start = f"import sys; sys.path.insert(0, {str(folder)!r}){COMMAND.format(argv=['maci', *argv])}"
    environ = {
        name: value for name, value in os.environ.items() if name != "MACI_DATA"
    }  # a folder that `folder` has not
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, cwd=folder, env=environ)
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    return code, loaded, done.stdout + done.stderr


SEATS = ("--agents", "plugin/dummy,plugin/dummy", "--judges", "plugin/dummy", "--set", "schedule=plugin:dummy")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dummy package, and a debate of its agents under its schedule in ``run``."""
    folder = package(tmp_path_factory.mktemp("plugins"))
    code, _, said = command(folder, "debate", "dengue", *SEATS, "--out", "run")
    assert code == 0, said
    return folder


def test_agents_judges_and_a_schedule_of_a_package_debate(site: Path) -> None:
    events = [json.loads(line) for line in (site / "run" / "transcript.jsonl").read_text(encoding="utf-8").splitlines()]
    opened = next(event for event in events if event["type"] == "opened")
    assert [seat["model"] for seat in opened["table"]["agents"]] == ["plugin/dummy", "plugin/dummy"]
    assert next(event for event in events if "cl" in event.get("dials", {}))["dials"]["cl"] == 0.42
    assert not [event for event in events if "failed" in event["type"] or "abstained" in event["type"]]


def test_a_program_names_a_schedule_in_its_own_configuration(site: Path) -> None:
    code = (
        "import maci; from maci.config import Config, Dials; import dummy_maci; "
        "seats = [dummy_maci.Agent('a'), dummy_maci.Agent('b')], [dummy_maci.Judge('c')]; "
        "config = Config(dials=Dials(schedule='plugin:dummy')); "
        "print(maci.run('dengue', *seats, config=config).story.rounds[1].dials.cl)"
    )
    assert run(code, site).strip() == "0.42"


def test_a_record_is_read_without_the_code_it_names(site: Path) -> None:
    code, loaded, said = command(site, "show", "run")
    said = " ".join(said.split())
    assert "Answer: Dengue fever" in said and not loaded
    assert (
        code == 1 and "or with a plugin: line 4: the schedule 'plugin:dummy' is code of a plugin" in said
    )  # unchecked


def test_a_record_is_not_replayed_with_a_schedule_that_only_it_names(site: Path) -> None:
    code, loaded, said = command(site, "replay", "run")
    assert (code, loaded) == (1, False) and "add --set schedule=plugin:dummy" in " ".join(said.split())
    code, loaded, said = command(site, "replay", "run", "--set", "schedule=plugin:dummy")
    assert (code, loaded) == (0, True), said


def test_a_record_is_not_resumed_with_code_that_only_it_names(site: Path) -> None:
    whole = (site / "run" / "transcript.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    for number, more in enumerate(((), SEATS, ("--trust-record",))):
        broken = site / f"broken-{number}"
        broken.mkdir()
        (broken / "transcript.jsonl").write_text("".join(whole[:6]), encoding="utf-8")
        code, loaded, said = command(site, "debate", "--resume", "--out", str(broken), *more)
        said = " ".join(said.split())
        if more:
            assert (code, loaded) == (0, True), said
        else:
            assert (code, loaded) == (2, False), said
            assert (
                "the plugin plugin/dummy" in said and "the schedule 'plugin:dummy'" in said and "--trust-record" in said
            )


@pytest.mark.usefixtures("dummy")
def test_a_record_does_not_vouch_for_a_source_of_a_plugin() -> None:
    from types import SimpleNamespace

    from maci.config import Config
    from maci.seating.trust import _code

    opened = SimpleNamespace(config=Config(), source="dummy:here")
    assert list(_code(opened, PanelChoice())) == ["the source 'dummy:here'"]  # type: ignore[arg-type]
    assert not list(_code(opened, PanelChoice(source="dummy:here")))  # type: ignore[arg-type]
    assert "dummy_maci" not in sys.modules


@pytest.mark.usefixtures("dummy")
@pytest.mark.parametrize("seat", ["plugin/dummy", "dummy/x"])
def test_files_that_came_with_a_folder_name_no_plugin(tmp_path: Path, seat: str) -> None:
    from maci.seating.file import check_trust, load_panels
    from maci.seating.project import _check_found, load_project

    panels, project = tmp_path / "maci-panels.yaml", tmp_path / "maci.toml"
    panels.write_text(f"panels: {{mine: {{agents: [{seat}, {seat}], judges: []}}}}\n", encoding="utf-8")
    refused = (
        f"would run the plugin '{seat}', and a file in the working directory may not.* name this file with MACI_PANELS"
    )
    with pytest.raises(ConfigError, match=refused):
        check_trust(load_panels(panels), panels)
    project.write_text(f'[panel]\nagents = ["{seat}", "{seat}"]\njudges = []\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=f"would run the plugin '{seat}'.* name this file with MACI_PROJECT"):
        _check_found(load_project(project), project)
    assert "dummy_maci" not in sys.modules


@pytest.mark.usefixtures("dummy")
def test_over_the_web_nobody_names_a_plugin() -> None:
    from maci.web.forms import choice_of

    with pytest.raises(ConfigError, match="over the web choose one that MACI brings"):
        choice_of({"settings": "schedule = plugin:dummy"})
    with pytest.raises(ConfigError, match="plugin/dummy is not a model of this server"):
        choice_of({"agents": "plugin/dummy, plugin/dummy"}, any_model=True)
    assert "dummy_maci" not in sys.modules


@pytest.fixture
def costly(dummy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The panel ``plugins``, whose seats cost 1,000 tokens a call; what they were asked."""
    import dummy_maci  # type: ignore[import-not-found]

    asked: list[object] = []

    async def ask(_: object, request: object) -> None:
        asked.append(request)

    for kind, verb in ((dummy_maci.Agent, "turn"), (dummy_maci.Judge, "score")):
        monkeypatch.setattr(kind, "free", False)
        monkeypatch.setattr(kind, "ceiling", lambda *_: 1000, raising=False)
        monkeypatch.setattr(kind, verb, ask)
    file = tmp_path / "panels.yaml"
    seats = "agents: [plugin/dummy, plugin/dummy], judges: [plugin/dummy]"
    file.write_text(f"panels: {{plugins: {{{seats}}}}}\n", encoding="utf-8")
    monkeypatch.setenv("MACI_PANELS", str(file))
    return asked


def test_plugins_are_held_to_the_ceiling_of_an_mcp_server(tmp_path: Path, costly: list[object]) -> None:
    pytest.importorskip("mcp")
    from maci.integrations.mcp import Ceilings, DebateService

    async def tell(_: str) -> None: ...

    service, choice = DebateService(tmp_path / "runs", Ceilings(tokens=50)), PanelChoice(panel="plugins")
    with pytest.raises(MaciError, match="raise budget_tokens"):
        asyncio.run(service.debate(load_case("dengue"), choice, {}, tell))
    with pytest.raises(MaciError, match="no score fits the ceiling"):
        asyncio.run(service.audit(None, choice, 4, tell))
    assert not costly


def test_plugins_are_held_to_the_allowance_of_a_web_server(tmp_path: Path, costly: list[object]) -> None:
    from maci.web.allowance import AllowanceSpent, DailyCeilings
    from web_helpers import Browser, visit

    async def walk(browser: Browser) -> None:
        browser.desk._allowance.claim("other", "192.0.2.1", Bound(1))  # nothing is left
        with pytest.raises(AllowanceSpent):
            await browser.desk.start(load_case("dengue"), PanelChoice(panel="plugins"), "192.0.2.1")

    visit(tmp_path / "runs", walk, ceilings=DailyCeilings(tokens=1))
    assert not costly


@pytest.mark.usefixtures("dummy")
def test_an_audit_of_plugins_has_a_ceiling_and_opens_no_models() -> None:
    from types import SimpleNamespace

    from maci.cli.audit.judges import CEILING, _ledger
    from maci.lab.audit.judges.asking import settle

    for judges, ceiling in (("plugin/dummy", CEILING), ("reader", None)):
        choice = PanelChoice(judges=judges)
        bench = settle(choice)
        assert _ledger(SimpleNamespace(choice=choice), bench).tokens == ceiling  # type: ignore[arg-type]
        assert not bench.asks_models


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ("plugin/none", "no installed package adds 'none' to agents: `maci plugins` lists"),
        ("plugin/wrong", "does not seat a `maci.Agent` named 'plugin/wrong'"),
    ],
)
def test_a_seat_that_no_package_fills_is_an_error(site: Path, agents: str, message: str) -> None:
    code, _, said = command(site, "debate", "dengue", "--agents", f"{agents},{agents}", "--judges", "none")
    assert code == 2 and message in " ".join(said.split())


def test_the_command_lists_them(tmp_path: Path) -> None:
    listing = "from maci.cli import main; sys.argv = ['maci', 'plugins', '--json']; main()"
    rows = {(row["kind"], row["name"]): row for row in json.loads(run(listing, package(tmp_path)))["plugins"]}
    own = {key: row for key, row in rows.items() if row["package"] == "dummy-maci"}
    assert len(own) == 10 and {row["version"] for row in own.values()} == {"1.2"}
    assert [name for (_, name), row in own.items() if row["error"]] == ["broken"]


def test_a_package_that_pip_installed_is_found(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (source / "dummy_pip.py").write_text("def encoder(): ...\n", encoding="utf-8")
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n[project]\nname = "dummy-pip"\nversion = "3"\n'
        '[project.entry-points."maci.encoders"]\npipped = "dummy_pip:encoder"\n[tool.hatch.build.targets.wheel]\n'
        'include = ["dummy_pip.py"]\n', encoding="utf-8")  # fmt: skip
    command = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([sys.executable, "-m", *command, str(source)], check=True, capture_output=True)
    found = run("from maci.config.plugins import listed; print([p for p in listed() if p.name == 'pipped'])", target)
    assert "package='dummy-pip', version='3'" in found and "error=''" in found


def test_nothing_is_looked_for_before_a_plugin_is_named() -> None:
    used = run(
        "import maci; from maci.evidence.encode import load_encoder; load_encoder(); "
        "from maci.config import plugins; print(plugins._found.cache_info().misses)", Path(),
    )  # fmt: skip
    assert used.strip() == "0"
