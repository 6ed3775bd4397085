"""A real PostgreSQL server for tests: Debian's binaries, a folder of its own, loopback only, ended with the test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PASSWORD = "s3cret-pa55word"  # of nobody's


def binaries() -> Path | None:
    """Where initdb and postgres are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: float(p.parts[-3]))
    if found:
        return found[-1].parent
    here = shutil.which("initdb")
    return Path(here).resolve().parent if here else None


class Server:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path, bin: Path, user: str | None, *, durable: bool = False) -> None:
        self._folder, self._bin, self._user, self._durable = folder, bin, user, durable
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._run(
            "initdb", "-D", "data", "-U", "maci", "-A", "scram-sha-256", "--pwfile", "password", "-E", "UTF8", "-N"
        )

    @property
    def url(self) -> str:
        return f"postgresql://maci:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories=''"
        options += "" if self._durable else " -c fsync=off"
        self._run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def stop(self, how: str = "immediate") -> None:
        self._run("pg_ctl", "-D", "data", "-w", "-m", how, "stop")

    def _run(self, program: str, *args: str) -> None:
        done = subprocess.run(
            [str(self._bin / program), *args],
            cwd=self._folder, user=self._user, group=None if self._user is None else "nogroup", extra_groups=None,
            env={"PATH": os.environ["PATH"], "HOME": str(self._folder), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{program}: {done.stderr}"


@contextmanager
def postgres(*, durable: bool = False) -> Iterator[Server]:
    """A running server, which waits for its disk where it is ``durable``.

    As user ``nobody`` where the tests are run by root, whom PostgreSQL refuses.
    """
    bin = binaries()
    assert bin is not None
    user = "nobody" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="maci-postgres-", dir="/tmp"))
    try:
        (folder / "password").write_text(PASSWORD)
        if user is not None:
            for path in (folder, folder / "password"):
                shutil.chown(path, user, "nogroup")
        server = Server(folder, bin, user, durable=durable)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
