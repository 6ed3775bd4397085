"""Offline is enforced where connections are opened."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from maci.acquisition.sources import HttpSource
from maci.errors import ModelError
from maci.lab.study.store import open_store
from maci.llm.client import Client
from maci.llm.fake import FakeProvider
from maci.llm.model import Message, Reply, Request
from maci.llm.offline import check_here, heed_environment, is_offline, stay_offline, staying_here

ELSEWHERE = "http://192.0.2.1:9/"  # an address for documentation, of nobody


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maci.llm.offline._asked", False)  # and again afterwards
    stay_offline(True)
    stay_offline(False)  # does not lift it


def test_the_environment_is_heeded_from_the_first_model_on_and_asking_for_nothing_does_not_lift_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("maci.llm.offline._asked", False)
    monkeypatch.setenv("MACI_OFFLINE", "1")
    heed_environment()
    with pytest.raises(ModelError, match=r"example\.org"):
        socket.getaddrinfo("example.org", 443)


def test_aiohttp_urllib_and_names_are_refused(offline: None) -> None:
    async def get(url: str) -> None:
        async with aiohttp.ClientSession() as session, session.get(url):
            pass

    for url in (ELSEWHERE, "http://example.org/"):
        with pytest.raises(ModelError, match=r"offline: .* is not on this machine"):
            asyncio.run(get(url))
        with pytest.raises(ModelError, match="offline"):
            urllib.request.urlopen(url, timeout=5)
    with pytest.raises(ModelError, match=r"example\.org"):
        socket.getaddrinfo("example.org", 443)
    with pytest.raises(ModelError, match=r"192\.0\.2\.1"), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.sendto(b"x", ("192.0.2.1", 53))


@pytest.mark.parametrize(
    "look_up",
    [
        lambda: socket.gethostbyname_ex("example.org"),
        lambda: socket.gethostbyaddr("192.0.2.1"),
        lambda: socket.getfqdn("example.org"),
        lambda: socket.getnameinfo(("192.0.2.1", 80), 0),
        lambda: socket.gethostbyname(bytearray(b"example.org")),
    ],
)
def test_every_way_to_look_up_a_name_is_refused(offline: None, look_up: Callable[[], object]) -> None:
    with pytest.raises(ModelError, match=r"offline: .* is not on this machine"):
        look_up()


def test_an_address_as_bytes_and_a_name_to_listen_at_are_refused(offline: None) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        with pytest.raises(ModelError, match=r"192\.0\.2\.1"):
            door.connect((bytearray(b"192.0.2.1"), 53))
        sys.audit("socket.bind", door, ("127.0.0.1", 0))
        sys.audit("socket.bind", door, ("0.0.0.0", 0))
        sys.audit("socket.bind", door, "relative.sock")
        for name in ("example.org", b"example.org", bytearray(b"example.org")):
            with pytest.raises(
                ModelError, match=r"example\.org"
            ):  # without a network, bind itself fails before it says so
                sys.audit("socket.bind", door, (name, 0))


def test_this_machine_is_reached(offline: None) -> None:
    assert socket.getnameinfo(("127.0.0.1", 80), socket.NI_NUMERICHOST)[0] == "127.0.0.1"
    with socket.socket() as free:
        free.bind(("0.0.0.0", 0))
    with socket.create_server(("127.0.0.1", 0)) as door:
        socket.create_connection(door.getsockname()).close()
    left, right = socket.socketpair()
    left.close()
    right.close()


def started(*args: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from maci.cli import main; main()", *args],
        cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("how", [("--offline", {}), (None, {"MACI_OFFLINE": "1"})], ids=["option", "environment"])
def test_a_debate_with_a_provider_elsewhere_ends_at_once_with_the_reason(tmp_path: Path, how) -> None:
    option, environ = how
    more = [option] if option else []
    ran = started(
        "debate", "dengue", "--agents", "openai/gpt-5,openai/gpt-5-mini", "--judges", "reader", "--out", "o", *more,
        cwd=tmp_path, OPENAI_API_KEY="sk-" + "a1" * 20, HTTPS_PROXY="http://127.0.0.1:9", **environ,
    )  # fmt: skip
    assert ran.returncode == 3
    assert "offline: api.openai.com is not on this machine" in ran.stderr and "Traceback" not in ran.stderr


def test_nothing_is_counted_for_calls_to_a_provider_elsewhere(tmp_path: Path) -> None:
    ran = started(
        "debate", "dengue", "--agents", "openai/gpt-5,openai/gpt-5-mini", "--judges", "reader", "--out", "o", "--offline",
        cwd=tmp_path, OPENAI_API_KEY="sk-" + "a1" * 20,
    )  # fmt: skip
    record = next((tmp_path / "o").rglob("transcript.jsonl")).read_text().splitlines()
    last = json.loads(record[-1])
    assert ran.returncode == 3 and last["type"] == "finished"
    assert last["spent"]["prompt"] == last["spent"]["lost"] == 0
    assert not any("not waited for" in warning for warning in last["warnings"])


def test_weights_of_the_hub_are_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "huggingface_hub.py").write_text(
        "import urllib.request\n"
        "def hf_hub_download(repository, file, local_files_only=False, **more):\n"
        "    urllib.request.urlopen('http://192.0.2.1:9/' + file, timeout=5)\n"
    )
    (tmp_path / "xllamacpp.py").write_text("")
    ran = started(
        "debate", "dengue", "--agents", "local/hf:org/repo/m.gguf,reader", "--judges", "reader", "--out", "o", "--offline",
        cwd=tmp_path, PYTHONPATH=f"{tmp_path}:{Path(__file__).parents[3] / 'src'}",
    )  # fmt: skip
    assert ran.returncode == 3 and "offline" in ran.stderr and "Traceback" not in ran.stderr


LOOKING = """
import asyncio, json, socket, sys
seen = []
def look(event, given):
    if event == "socket.getaddrinfo" or (event == "socket.connect" and isinstance(given[1], tuple)):
        seen.append(given[0] if event == "socket.getaddrinfo" else given[1][0])
sys.addaudithook(look)
import maci
from maci.errors import MaciError
from maci.llm.model import Message, Request
AGENTS, ASKED = ["openai/gpt-5", "openai/gpt-5-mini"], Request(messages=(Message("user", "Hello?"),), max_tokens=9)
OFF = {OFF}
def house():
    from maci.llm.models import House
    return House(**OFF)
def door():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))  # sends nothing
async def streamed():
    async for event in maci.stream("dengue", AGENTS, [], **OFF):
        if {ASKED}:
            door()  # the program's own, between two events
    return event
async def by_hand(direct):
    async with house() as one:
        model = one.model("openai/gpt-5")
        await (model.provider.send(ASKED) if direct else model.prepare(ASKED).within())
async def provider():
    from maci.llm.keys import Key
    from maci.llm.providers import Http, OpenAI
    await OpenAI(model="gpt-5", key=Key("sk-" + "a1" * 20), http=Http(**OFF)).send(ASKED)
async def mcp():
    from pathlib import Path
    from maci.cases.case import load_case
    from maci.integrations.mcp import DebateService
    from maci.seating.seating import PanelChoice
    async def tell(message): pass
    Path("maci").mkdir()
    Path("maci/panels.yaml").write_text("panels: {pair: {agents: [openai/gpt-5, openai/gpt-5-mini], judges: []}}")
    choice = PanelChoice(panel="pair", no_cache=True, **OFF)
    return await DebateService(Path("mcp")).debate(load_case("dengue"), choice, {"max_rounds": 2}, tell)
def own():
    class Mine(maci.Agent):
        family = "own"
        def __init__(self, name): self.name = name
        async def turn(self, request):
            import urllib.request
            return await asyncio.to_thread(urllib.request.urlopen, "http://api.openai.com/v1", timeout=5)
    return maci.run("dengue", [Mine("a"), Mine("b")], [], **OFF)
ROADS = {
    "house": lambda: asyncio.run(by_hand(False)), "send": lambda: asyncio.run(by_hand(True)),
    "provider": lambda: asyncio.run(provider()),
    "run": lambda: maci.run("dengue", AGENTS, [], **OFF), "arun": lambda: asyncio.run(maci.arun("dengue", AGENTS, [], **OFF)),
    "stream": lambda: asyncio.run(streamed()), "mcp": lambda: asyncio.run(mcp()), "own": own,
}
for road, go in ROADS.items():
    del seen[:]
    try:
        said = repr(go())
    except MaciError as error:
        said = str(error)
    reached = [host for host in seen if host not in ("localhost", "127.0.0.1", "192.0.2.1", None)]
    try:
        door()
        after = "open"
    except MaciError:
        after = "refused"
    print(json.dumps([road, said, reached, after]))
"""


@pytest.mark.parametrize(("how", "after"), [("python", "open"), ("environment", "refused")])
def test_every_road_from_python_is_refused_before_a_name_is_looked_up(tmp_path: Path, how: str, after: str) -> None:
    off = {"offline": True} if how == "python" else {}
    script = LOOKING.replace("{OFF}", repr(off)).replace("{ASKED}", repr(bool(off)))
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("MACI_OFFLINE", "OPENAI_"))}
    environ |= {
        "OPENAI_API_KEY": "sk-" + "a1" * 20,
        "XDG_CONFIG_HOME": str(tmp_path),
        "MACI_CACHE": str(tmp_path / "c"),
    }
    environ |= {"MACI_OFFLINE": "1"} if how == "environment" else {}
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    told = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]
    assert [road for road, *_ in told] == ["house", "send", "provider", "run", "arun", "stream", "mcp", "own"]
    for road, said, reached, own in told:
        assert "offline: api.openai.com is not on this machine" in said and "leave out --offline" in said, (road, said)
        assert "attempts" not in said, (road, said)
        # what an agent of one's own opens is stopped by the audit hook, after others' hooks have seen it
        assert reached == [] or road == "own", road
        assert own == after, road


def test_a_provider_of_a_plug_in_is_refused_by_its_origin_and_within_its_own_sockets() -> None:
    asked = Request(messages=(Message("user", "Hello?"),), max_tokens=9)
    there = FakeProvider("mine/m", [Reply(text="never")], origin="models.example.org:443")
    with pytest.raises(ModelError, match=r"offline: models\.example\.org:443 is not on this machine"):
        asyncio.run(Client(there, family="mine", offline=True).prepare(asked).within())
    assert there.history == []

    async def opens(request: Request) -> Reply:
        socket.create_connection(("192.0.2.1", 9), timeout=5)
        raise AssertionError

    liar = FakeProvider("local/m", opens, origin="local")
    with pytest.raises(ModelError, match=r"offline: 192\.0\.2\.1"):
        asyncio.run(Client(liar, family="mine", offline=True, retries=0).prepare(asked).within())
    here = FakeProvider("mine/m", [Reply(text="here")], origin="127.0.0.1:8000")
    assert asyncio.run(Client(here, family="mine", offline=True).prepare(asked).within()).text == "here"


def test_staying_here_ends_with_its_block_and_covers_what_it_began() -> None:
    async def inside() -> bool:
        return is_offline()

    async def both() -> tuple[bool, bool, bool]:
        with staying_here():
            begun = asyncio.create_task(inside())
            thread = await asyncio.to_thread(is_offline)
        return await begun, thread, is_offline()

    assert asyncio.run(both()) == (True, True, False)


@pytest.mark.parametrize("where", ["http://[::1]:80/v1", "127.0.0.1:8000", "localhost", "::1", "http://localhost/x"])
def test_addresses_of_this_machine_pass(where: str) -> None:
    check_here(where, asked=True)


@pytest.mark.parametrize(
    "where",
    [
        "http://localhost.example.org",
        "http://exfil.localhost:9/v1",
        "exfil.localhost",
        "10.0.0.1:6379",
        "2001:db8::1",
        "http://127.0.0.1@example.org/",
        "",
    ],
)
def test_other_addresses_do_not(where: str) -> None:
    with pytest.raises(ModelError, match="offline: "):
        check_here(where, asked=True)


def test_a_source_and_a_database_elsewhere_are_refused_by_name(offline: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"offline: ask\.example\.org"):
        asyncio.run(HttpSource("http://ask.example.org/q")._post({}))
    psycopg = pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    monkeypatch.setattr(psycopg, "connect", lambda *given, **more: pytest.fail("the driver was called"))
    for url in (
        "postgresql://me@db.example.org/x", "postgres://me@127.0.0.1,db.example.org/x", "postgresql:///x?host=db.example.org",
        "postgresql://me@exfil.localhost/x", "postgresql://localhost/x?hostaddr=192.0.2.1", "postgresql:///x?service=elsewhere",
    ):  # fmt: skip
        with pytest.raises(ModelError, match=r"offline: .* is not on this machine"):
            open_store(Path("nowhere"), url, name="s")
    monkeypatch.setenv("PGHOST", "db.example.org")
    with pytest.raises(ModelError, match=r"offline: db\.example\.org"):
        open_store(Path("nowhere"), "postgresql:///x", name="s")


def test_a_ray_cluster_elsewhere_is_refused_by_name(offline: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from maci.lab.study import engine

    given: list[object] = []
    fake = SimpleNamespace(init=lambda **options: given.append(options["address"]))
    monkeypatch.setattr(engine, "installed", lambda *names: fake)
    monkeypatch.setattr(engine, "Away", lambda *of: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    study = SimpleNamespace(offline=True)
    for address in ("10.0.0.1:6379", "ray://head.example.org:10001", "auto"):
        with pytest.raises(ModelError, match=r"offline: .* is not on this machine"):
            engine.Ray(study, 1, None, address)._connect()
    engine.Ray(study, 1, None)._connect()
    assert given == ["local"]
