"""Credentials of an endpoint go to the endpoint and nowhere else: not to a record, a page, a log, a terminal or an error."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from maci.llm.keys import without_credentials
from unit.cli.test_plan_command import CASE
from web_helpers import Browser, visit

PASSWORD, QUERY, HEADER = "pw-Canary-4711", "qk.Canary+0815", "hdr-Canary-9999"
FORMS = [
    form
    for secret in (PASSWORD, QUERY, HEADER)
    for form in (secret, secret.upper(), secret[::-1], " ".join(secret), base64.b64encode(secret.encode()).decode())
]  # fmt: skip


class Echo(BaseHTTPRequestHandler):
    """Answers with everything it was sent, in several forms; ``status`` is what it answers with."""

    status = 200
    seen: list[dict[str, str]] = []  # noqa: RUF012

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        asked = json.loads(self.rfile.read(length))
        Echo.seen.append({**dict(self.headers), "path": self.path})
        said = f"I saw {self.path}, {' and '.join(FORMS)} in http://me:{PASSWORD}@x/?k={QUERY}; hidden claws: yes"
        body = json.dumps({"text": said, "subject": asked["subject"]}).encode()
        self.send_response(self.status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An endpoint whose URL has a password and a key, in a folder with a case."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MACI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACKS_TOKEN", f"Bearer {HEADER}")
    (tmp_path / "case.yaml").write_text(CASE, encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Echo.status, Echo.seen = 200, []
    yield f"http://me:{PASSWORD}@127.0.0.1:{server.server_port}/ask?api_key={QUERY}"
    server.shutdown()
    server.server_close()


def clean(text: str) -> bool:
    return not [form for form in FORMS if form in text]


def files(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in folder.rglob("*") if path.is_file())


HEAD = ("--source-header", "Authorization-Extra=TRACKS_TOKEN")


def test_credentials_reach_the_endpoint_and_nothing_else(maci, url, tmp_path):
    done = maci("debate", "case.yaml", "--acquire", "1", "--source", url, *HEAD, "--out", "run", "--plain")
    assert done.code == 0, done.err
    assert Echo.seen[0]["Authorization-Extra"] == f"Bearer {HEADER}"
    assert Echo.seen[0]["Authorization"] == "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    assert f"api_key={QUERY}" in Echo.seen[0]["path"]
    assert "***" in done.out and clean(done.out + done.err)
    for args in (
        ("show", "run"),
        ("plan", "run", "--json"),
        ("replay", "run"),
        ("report", "run", "--out", "page.html"),
        ("show", "run", "--json"),
    ):
        told = maci(*args)
        assert clean(told.out + told.err), args
    again = maci("debate", "case.yaml", "--acquire", "1", "--source", url, *HEAD, "--out", "two", "--json", "--force")
    assert json.loads(again.out)["answer"] and clean(again.out + again.err)
    assert (tmp_path / "page.html").exists()
    found = files(tmp_path)
    assert '"type":"acquired"' in found and clean(found)
    recorded = json.loads((tmp_path / "run" / "transcript.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert recorded["source"] == without_credentials(url)

    async def walk(browser: Browser) -> str:
        return "".join([(await browser.get(page)).text for page in ("/", "/debates/run")])

    pages = visit(tmp_path, walk)
    assert "Which animal" in pages and clean(pages)


@pytest.mark.parametrize("status", [404, 500])
def test_an_endpoint_that_fails_and_echoes_gives_nothing_away(maci, url, tmp_path, status):
    Echo.status = status
    done = maci("debate", "case.yaml", "--acquire", "1", "--source", url, *HEAD, "--out", "run", "--plain")
    assert f"HTTP {status}" in done.out and clean(done.out + done.err) and clean(files(tmp_path))


def test_errors_about_the_source_do_not_repeat_it(maci, url, monkeypatch):
    for wrong in (url.replace("http:", "ftp:"), url):
        done = maci(
            "debate", "case.yaml", "--source", wrong, *(("--acquire", "1") if wrong != url else ()), "--out", "run"
        )
        assert done.code == 2 and "***" in done.err and clean(done.out + done.err)
    for header, says in (("Authorization", "takes NAME=VARIABLE"), ("Authorization=NOT_THERE", "NOT_THERE is not set")):
        done = maci("debate", "case.yaml", "--acquire", "1", "--source", url, "--source-header", header, "--out", "run")
        assert done.code == 2 and says in done.err and clean(done.err)


def test_a_broken_debate_is_resumed_with_the_source_given_again(maci, url, tmp_path):
    loop = ["debate", "case.yaml", "--acquire", "1", "--source", url, *HEAD, "--out", "run", "--quiet"]
    assert maci(*loop).code == 0
    path = tmp_path / "run" / "transcript.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"\n", 0, whole.index(b'"type":"acquired"')) + 1])
    without = maci("debate", "--resume", "--out", "run", "--trust-record")
    assert without.code == 2 and "Give --source again" in without.err and clean(without.err)
    asked = len(Echo.seen)
    assert maci(*loop, "--resume").code == 0
    assert len(Echo.seen) > asked and f"api_key={QUERY}" in Echo.seen[-1]["path"]
    assert clean(files(tmp_path))
