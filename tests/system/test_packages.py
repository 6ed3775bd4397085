"""What people install: wheel and source archive are whole, and what the README shows works from the wheel in empty environments.

Core, `web`, `local`, `mcp`, `otel`, `pdf` and the recipes by default; every other extra with ``MACI_EVERY_EXTRA=1`` (gigabytes), which
`make test-extras` sets.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tarfile
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from postgres_server import binaries, postgres
from stage import fake_models

pytestmark = pytest.mark.system
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("MACI_", "VIRTUAL_ENV", "PYTHONPATH"))}
NOTHING: Mapping[str, str] = {}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel that was built from the source archive, as `python -m build` does."""
    tools, dist = tmp_path_factory.mktemp("tools"), tmp_path_factory.mktemp("dist")
    venv.create(tools, with_pip=True)
    python = str(tools / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "build"], check=True, env=CLEAN, timeout=300)
    subprocess.run(
        [python, "-m", "build", "--outdir", str(dist), str(ROOT)],
        check=True,
        env=CLEAN,
        timeout=600,
        capture_output=True,
    )
    return dist


def test_the_wheel_has_types_and_the_encoders_table_and_nothing_else_at_the_top(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    assert {name.split("/")[0].split("-")[0] for name in names} == {"maci", "maci_wordllama", "maci_debate"}
    assert "maci/py.typed" in names and "maci_wordllama/LICENSE" in names
    source = {f"maci/{p.relative_to(ROOT / 'src' / 'maci')}" for p in (ROOT / "src" / "maci").rglob("*") if p.is_file()}
    assert not {name for name in source if "__pycache__" not in name} - names


def test_the_source_archive_is_the_whole_project(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert not set(listed) - names


class Installed:
    """An empty environment with the wheel and an extra."""

    def __init__(self, folder: Path, wheel: Path, extra: str, *more: str) -> None:
        self.bin, self.home = folder / "env" / "bin", folder / "home"
        self.home.mkdir()
        venv.create(folder / "env", with_pip=True)
        self.run(
            "python", "-m", "pip", "install", "-q", f"{wheel}[{extra}]" if extra else str(wheel), *more, timeout=900
        )
        self.run("python", "-m", "pip", "check")

    def run(self, program: str, *args: str, timeout: float = 900, environ: Mapping[str, str] = NOTHING) -> str:
        call = [str(self.bin / program), *args]
        more = {"cwd": self.home, "env": {**CLEAN, **environ}, "timeout": timeout}
        done = subprocess.run(call, capture_output=True, text=True, check=False, **more)
        assert done.returncode == 0, f"{shlex.join(args)}\n{done.stdout[-800:]}\n{done.stderr[-2000:]}"
        return done.stdout


@pytest.fixture
def install(built: Path, tmp_path: Path) -> Callable[..., Installed]:
    return lambda extra, *more: Installed(tmp_path, next(built.glob("*.whl")), extra, *more)


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [part.strip() for line in lines if line.startswith("maci") for part in line.split("&&")]


def test_every_command_of_the_readme_works_on_the_core(install: Callable[..., Installed]) -> None:
    made = install("")
    listed = made.run("python", "-m", "pip", "list").lower()
    assert not [name for name in ("wordllama", "tokenizers", "huggingface", "requests ", "torch") if name in listed]
    (made.home / "case.yaml").write_text(re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)[0], encoding="utf-8")
    for command in commands():
        made.run(*shlex.split(command))
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert made.run("python", "-c", code).strip() == "Dengue fever plateau"


def test_web(install: Callable[..., Installed]) -> None:
    made = install("web")
    call = [str(made.bin / "maci"), "serve", "--port", "0"]
    with subprocess.Popen(call, cwd=made.home, env=CLEAN, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://\S+", server.stdout.readline())
            assert address is not None
            with urllib.request.urlopen(f"{address[0].rstrip('/')}/v1/models", timeout=30) as reply:
                assert b'"readers"' in reply.read()
        finally:
            server.send_signal(signal.SIGINT)


def test_local(install: Callable[..., Installed]) -> None:
    made = install("local")
    seats = ("--agents", "local/smollm2-135m,local/smollm2-135m", "--judges", "reader", "--set", "max_rounds=2")
    made.run("maci", "debate", "dengue", *seats, "--out", "run")
    assert "all equal" in made.run("maci", "replay", "run")


def test_pdf(install: Callable[..., Installed]) -> None:
    made = install("pdf", "fpdf2")
    make = (
        "from fpdf import FPDF; page = FPDF(); page.add_page(); page.set_font('helvetica'); "
        "page.cell(text='A cat hides its claws.'); page.output('notes/a.pdf')"
    )
    (made.home / "notes").mkdir()
    made.run("python", "-c", make)
    assert "1" in made.run("maci", "index", "notes", "--out", "index")


def test_mcp(install: Callable[..., Installed]) -> None:
    made = install("mcp")
    code = """
import asyncio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
async def main():
    async with Client(stdio_client(StdioServerParameters(command=%r, args=["mcp"]))) as client:
        print(sorted(tool.name for tool in (await client.list_tools()).tools))
asyncio.run(main())
"""
    assert "'debate'" in made.run("python", "-c", code % str(made.bin / "maci"))


@pytest.mark.parametrize("recipe", ["langgraph_node", "dspy_module"])
def test_recipes_with_the_real_libraries(install: Callable[..., Installed], recipe: str) -> None:
    made = install("", recipe.partition("_")[0])
    assert "Dengue fever" in made.run("python", str(ROOT / "examples" / f"{recipe}.py"))


def test_an_export_with_its_card_is_a_data_set_for_the_hub(install: Callable[..., Installed]) -> None:
    made = install("", "datasets")  # which brings pyarrow
    made.run("maci", "debate", "dengue", "--panel", "readers", "--out", "run")
    made.run("maci", "export", "run", "--format", "arguments", "--out", "hub/arguments.parquet", "--card")
    code = "from datasets import load_dataset; d = load_dataset('./hub', 'arguments')['train']; print(len(d), d.column_names)"
    rows = made.run("maci", "export", "run", "--format", "arguments", "--quiet").splitlines()
    assert made.run("python", "-c", code).startswith(f"{len(rows)} ['run', 'case'")


def test_otel(install: Callable[..., Installed]) -> None:
    paths: list[str] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            paths.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    made = install("otel")
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        where = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}
        made.run("maci", "debate", "dengue", "--panel", "readers", environ=where)
        server.shutdown()
    assert set(paths) == {"/v1/traces", "/v1/metrics"}


def dense(made: Installed) -> None:
    made.run("maci", "debate", "dengue", "--panel", "readers", "--set", "encoder=minilm")


def eval_(made: Installed) -> None:
    made.run("maci", "debate", "dengue", "--panel", "readers", "--out", "run")
    made.run("maci", "export", "run", "--format", "arguments", "--out", "arguments.parquet")
    code = "import pyarrow.parquet as p, scipy, sklearn; print(p.read_table('arguments.parquet').num_rows)"
    assert int(made.run("python", "-c", code)) > 0


TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from maci.integrations.inspect import belief
@task
def street():
    return Task(dataset=[Sample(input="Is the street wet?", choices=["yes", "no"], target="A")], scorer=belief())
"""


def inspect(made: Installed) -> None:
    (made.home / "task.py").write_text(TASK, encoding="utf-8")
    made.run("python", "-m", "pip", "install", "-q", "openai")
    with fake_models(0.0) as models:
        model = ("--model", "openai/alpha", "--model-base-url", f"{models}/v1", "-M", "responses_api=false")
        call = ("eval", "task.py", "--solver", "maci/majority_vote", "-S", "n=2", *model, "--display", "plain")
        said = made.run("inspect", *call, environ={"OPENAI_API_KEY": "any"})
    assert "brier" in said and "ece" in said, said


def litellm(made: Installed) -> None:
    with fake_models(0.0) as models:
        near = {name: {"base_url": f"{models}/v1", "family": name} for name in ("alpha", "beta")}
        panels = {"models": {f"litellm/openai/{name}": each for name, each in near.items()}}
        (made.home / "panels.json").write_text(json.dumps(panels), encoding="utf-8")
        environ = {"MACI_PANELS": str(made.home / "panels.json"), "OPENAI_API_KEY": "any"}
        seats = ("--agents", "litellm/openai/alpha,litellm/openai/beta", "--judges", "none", "--set", "max_rounds=2")
        call = ("debate", "--question", "Is the street wet?", "--outcomes", "yes,no", *seats, "--json")
        assert json.loads(made.run("maci", *call, environ=environ))["answer"] in ("yes", "no")


def study(made: Installed, *more: str) -> None:
    shutil.copytree(ROOT / "examples", made.home / "examples")
    spec = made.home / "examples" / "complaints.toml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("seeds = [0, 1, 2]", "seeds = [0]"), encoding="utf-8")
    made.run("maci", "study", "run", str(spec), "--out", "out", *more)
    assert "maci" in made.run("maci", "study", "report", "out", *(more if "--store" in more else ()))


def store(made: Installed) -> None:
    if binaries() is None:
        pytest.skip("needs PostgreSQL's programs")
    with postgres() as server:
        study(made, "--store", server.url)


def ray(made: Installed) -> None:
    study(made, "--engine", "ray")


def everything(made: Installed) -> None:
    made.run("maci", "debate", "dengue", "--panel", "readers", "--out", "run")
    assert "all equal" in made.run("maci", "replay", "run")


TRIED = {
    "dense": dense, "eval": eval_, "inspect": inspect, "litellm": litellm, "postgres": store, "ray": ray, "all": everything,
}  # fmt: skip


def test_every_extra_has_a_trial() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    here = {name.removeprefix("test_") for name in globals()}
    assert not set(extras) - set(TRIED) - here


@pytest.mark.skipif(not os.environ.get("MACI_EVERY_EXTRA"), reason="gigabytes: set MACI_EVERY_EXTRA=1")
@pytest.mark.parametrize("extra", TRIED)
def test_every_other_extra(install: Callable[..., Installed], extra: str) -> None:
    TRIED[extra](install(extra))
