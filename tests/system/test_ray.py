"""Studies on a real Ray cluster: two nodes in a network namespace of their own, one of which is killed in mid-run."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from maci.lab.study.store import SqliteStore
from study_helpers import Runs, kept, spec_data, toml, write_cases

pytestmark = pytest.mark.system
if importlib.util.find_spec("ray") is None:
    pytest.skip("needs the extra `ray`", allow_module_level=True)

BIN = Path(sys.executable).parent
METHODS = [{"use": "single", "each": True}, {"use": "average"}, {"use": "majority_vote", "n": 20}]
CASES = 80
ROWS = CASES * 2 * 5
HEAD, SECOND = "10.77.0.1", "10.77.0.2"
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("MACI_", "RAY_"))} | {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",  # as on a real cluster: who does not know it is not let in
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "PATH": f"/usr/sbin:{os.environ['PATH']}",
}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    """Ray writes into the home folder."""
    ENV["HOME"] = str(tmp_path_factory.mktemp("home"))


def can_isolate() -> bool:
    if os.geteuid() != 0 or shutil.which("ip", path=ENV["PATH"]) is None or shutil.which("unshare") is None:
        return False
    name = f"maci-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], env=ENV, capture_output=True).returncode == 0
    subprocess.run(["ip", "netns", "del", name], env=ENV, capture_output=True)
    return made


needs_namespaces = pytest.mark.skipif(not can_isolate(), reason="needs root and network namespaces (ip netns, unshare)")


@pytest.fixture
def folder(tmp_path):
    write_cases(tmp_path, CASES)
    (tmp_path / "study.toml").write_text(toml(spec_data(methods=METHODS)), encoding="utf-8")
    return tmp_path


@pytest.fixture
def runs(folder):
    with Runs(folder, ENV) as started:
        yield started


def count(path):
    if not path.exists():
        return 0
    with SqliteStore(path) as store:
        return len(store.keys())


class Cluster:
    """Nodes in one network namespace, each with an address and a process namespace of its own: to kill it is to pull its plug."""

    def __init__(self, logs: Path) -> None:
        self.name, self._logs = f"maci-{os.getpid()}", logs
        self.inside = ("ip", "netns", "exec", self.name)
        self._ip("netns", "add", self.name)
        self._ip("-n", self.name, "link", "set", "lo", "up")
        for address in (HEAD, SECOND):
            self._ip("-n", self.name, "addr", "add", f"{address}/24", "dev", "lo")
        self.nodes: list[subprocess.Popen[bytes]] = []
        self.temp = tempfile.mkdtemp(prefix="mr", dir="/tmp")

    def _ip(self, *args: str) -> None:
        subprocess.run(["ip", *args], env=ENV, check=True, capture_output=True)

    def add(self, *args: str, cpus: int = 1) -> subprocess.Popen[bytes]:
        usual = ["--block", f"--num-cpus={cpus}", "--object-store-memory=80000000"]
        command = [*self.inside, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        command += [str(BIN / "ray"), "start", *args, *usual]
        with (self._logs / f"node-{len(self.nodes)}.log").open("wb") as log:
            self.nodes.append(subprocess.Popen(command, env=ENV, stdout=log, stderr=log, start_new_session=True))
        return self.nodes[-1]

    def wait(self, nodes: int) -> None:
        """Until so many nodes are alive."""
        code = (
            "import ray, sys; ray.init(address=sys.argv[1], logging_level='ERROR', log_to_driver=False); "
            "print(sum(n['Alive'] for n in ray.nodes()))"
        )
        patience, said = time.monotonic() + 120, ""
        while time.monotonic() < patience and all(node.poll() is None for node in self.nodes):
            asked = [*self.inside, "timeout", "60", sys.executable, "-c", code, f"{HEAD}:6379"]
            done = subprocess.run(asked, env=ENV, capture_output=True, text=True)
            if done.returncode == 0 and int(done.stdout.split()[-1]) == nodes:
                return
            said = done.stderr
            time.sleep(1)
        logs = "".join(path.read_text(errors="replace")[-1500:] for path in sorted(self._logs.glob("node-*.log")))
        raise AssertionError(f"the cluster has not {nodes} nodes: {said[-1500:]}\n{logs}")

    def close(self) -> None:
        for node in self.nodes:
            if node.poll() is None:
                os.killpg(node.pid, signal.SIGKILL)
            node.wait()
        self._ip("netns", "del", self.name)
        shutil.rmtree(self.temp, ignore_errors=True)


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    try:
        own = f"--temp-dir={made.temp}"  # short, for sockets; not where other clusters of this machine are looked for
        made.add("--head", f"--node-ip-address={HEAD}", "--port=6379", "--include-dashboard=false", own)
        made.wait(1)
        yield made
    finally:
        made.close()


@needs_namespaces
def test_a_node_that_dies_in_mid_run_changes_nothing(folder, cluster, runs):
    runs.finish("--out", "local")
    second = cluster.add(f"--address={HEAD}:6379", f"--node-ip-address={SECOND}")
    cluster.wait(2)
    there = ("--engine", "ray", "--address", f"{HEAD}:6379", "--jobs", "2", "--out", "ray")
    process = runs.start(*there, inside=cluster.inside)
    at = runs.wait(process, lambda: count(folder / "ray" / "results.sqlite"), 30)
    os.killpg(second.pid, signal.SIGKILL)
    assert f"{ROWS} of {ROWS} answers, {ROWS} of them new" in runs.end(process)
    assert at < ROWS
    assert kept(folder / "ray") == kept(folder / "local")


@needs_namespaces
def test_a_cluster_that_is_gone_ends_the_run_which_goes_on_elsewhere(folder, cluster, runs):
    path = folder / "ray" / "results.sqlite"
    process = runs.start("--engine", "ray", "--address", f"{HEAD}:6379", "--out", "ray", inside=cluster.inside)
    runs.wait(process, lambda: count(path), 30)
    os.killpg(cluster.nodes[0].pid, signal.SIGKILL)
    _, err = process.communicate(timeout=180)
    assert process.returncode == 3 and "Traceback" not in err, err[-2000:]
    there = count(path)
    assert 30 <= there < ROWS, err[-2000:]
    assert f"{ROWS} of {ROWS} answers, {ROWS - there} of them new" in runs.finish("--out", "ray")


def test_without_a_cluster_this_machine_is_one(folder, runs):
    runs.finish("--out", "local", "--limit", "3")
    runs.finish("--engine", "ray", "--address", "local", "--out", "ray", "--limit", "3")
    assert kept(folder / "ray") == kept(folder / "local")


def test_an_address_where_nothing_is_is_refused(runs):
    process = runs.start("--engine", "ray", "--address", "127.0.0.1:1", "--out", "ray", "--limit", "1")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 3 and "Traceback" not in err
    assert "the Ray cluster at 127.0.0.1:1 does not let us in" in err
