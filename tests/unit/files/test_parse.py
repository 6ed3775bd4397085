"""What people hand in is read within bounds: no file crashes, fills the memory or takes a minute."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maci.errors import EnvironmentError_, InputError
from maci.files import worker
from maci.files.bounds import BYTES, Beyond, harmless
from maci.files.parse import parse, read, read_bytes, read_lines

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)
MERGED = "m0: &m0 {k: 1}\n" + "".join(f"m{i}: &m{i}\n  <<: [*m{i - 1}, *m{i - 1}]\n" for i in range(1, 25))


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        ("YAML", "[" * 25_000, r"nested more than 64 deep \(line 1\)"),
        ("YAML", "- " * 12_000, r"nested more than 64 deep \(line 1\)"),
        ("YAML", "".join(" " * i + "a:\n" for i in range(300)), r"nested more than 64 deep \(line 65\)"),
        ("YAML", "&a\nquestion: q\ncontext: *a\n", r"refers to itself \(\*a in line 3\)"),
        ("YAML", BOMB, "stands for more than 200,000 values"),
        ("YAML", MERGED, "stands for more than 200,000 values"),
        ("YAML", "id: 0x" + "9" * 50_000, "whole number of more than 300 digits"),
        ("YAML", "id: " + "9" * 100_000, "whole number of more than 300 digits: write it between quotes"),
        ("YAML", "a: 1\nb: {c: 1, d: 2,\n  c: 3}\n", r"has the key 'c' twice \(lines 2 and 3\): keep one of them"),
        ("YAML", "# " + "x" * 70_000 + "\na: 1\n'a': 2\n", r"has the key 'a' twice \(lines 2 and 3\)"),
        ("TOML", "id = " + "9" * 100_000, "whole number of more than 300 digits: write it between quotes"),
        ("JSON", '{"id": ' + "9" * 100_000 + "}", "whole number of more than 300 digits: write it between quotes"),
        ("JSON", '{"id": ' + "9" * 10_000 + "}", "whole number of more than 300 digits: write it between quotes"),
        ("TOML", ".".join("a" * 20_000) + " = 1", r"nested more than 64 deep \(line 1\)"),
        ("TOML", "a = " + "[" * 20_000, r"nested more than 64 deep \(line 1\)"),
        ("TOML", "a = " + "{a." + "a." * 60 + "b = {" * 30, "deep|not valid TOML"),
        ("JSON", "[" * 100_000, r"nested more than 64 deep \(line 1\)"),
        ("JSON", '{"id": "\\ud800"}', "not text that UTF-8 can write"),
        ("JSON", "[" + "0," * 200_001 + "0]", "more than 200,000 values"),
    ],
)  # fmt: skip
def test_what_would_crash_or_fill_a_parser_is_refused_at_once(kind: str, text: str, says: str) -> None:
    began = time.process_time()
    with pytest.raises(InputError, match=f"^mine {says}|^mine .*{says}"):
        parse(text, kind, "mine")  # type: ignore[arg-type]
    assert time.process_time() - began < 2


def test_brackets_in_strings_and_comments_are_no_nesting() -> None:
    text = "[" * 100
    assert parse(f"a = \"{text}\" # {text}\nb = '''{text}'''", "TOML", "x") == {"a": text, "b": text}
    assert parse(f'{{"a": "\\"{text}"}}', "JSON", "x") == {"a": f'"{text}'}
    assert parse(f'a: "{text}"', "YAML", "x") == {"a": text}


@pytest.mark.parametrize(("name", "text"), [("a.json", '{"a": 1}'), ("a.toml", "a = 1"), ("a.yaml", "a: 1")])
@pytest.mark.parametrize("padding", [0, 70_000])
def test_a_mark_of_the_byte_order_is_passed_over(tmp_path: Path, name: str, text: str, padding: int) -> None:
    (tmp_path / name).write_text(text + " " * padding, encoding="utf-8-sig")
    assert read(tmp_path / name) == {"a": 1}


def test_a_key_that_overrides_what_is_merged_is_no_repetition() -> None:
    text = "inner:\n  a: &a {<<: &c {x: 1, y: 2}, x: 3}\nouter: {<<: *a, y: 4}\n"
    assert parse(text, "YAML", "x") == {"inner": {"a": {"x": 3, "y": 2}}, "outer": {"x": 3, "y": 4}}
    assert parse("", "YAML", "x") is None and parse("1: a\n'1': b\n", "YAML", "x") == {1: "a", "1": "b"}


def test_long_json_is_read_by_a_child_that_can_be_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    long = f'{{"a": [1, 2.5, null, true, "{"x" * (1 << 16)}"]}}'
    assert parse(long, "JSON", "x")["a"][:4] == [1, 2.5, None, True]
    monkeypatch.setattr(worker, "ask", lambda kind, text: kind)
    assert parse(long, "JSON", "x") == "JSON" and parse('{"a": 1}', "JSON", "x") == {"a": 1}


def test_what_a_child_reads_is_what_is_read_here() -> None:
    text = "1: [2024-01-02, 2024-01-02T03:04:05Z, null, 1.5, .nan]\n'': {a: !!set {b}, c: !!binary aGk=}\nd: &d {e: yes}\nf: *d\n"
    data = parse(text, "YAML", "x")
    assert data[1][:2] == [datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)]
    assert data[1][4] != data[1][4] and data[""] == {"a": {"b"}, "c": b"hi"} and data["d"] == data["f"] == {"e": True}
    long = "# " + "x" * (1 << 16) + "\nat = 07:32:00\n"
    assert parse(long, "TOML", "x") == parse("at = 07:32:00", "TOML", "x") == {"at": datetime.time(7, 32)}


def test_short_plain_files_start_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker.subprocess, "Popen", lambda *_, **__: pytest.fail("a child was started"))
    monkeypatch.setattr(worker, "_idle", [])
    assert parse("question: R&D or 5*3?\noutcomes: [a, b]", "YAML", "x")["outcomes"] == ["a", "b"]
    assert parse("a.b = [1]", "TOML", "x") == {"a": {"b": [1]}}
    assert not harmless("a: &b 1", "YAML") and not harmless("x" * (1 << 17), "TOML")


def test_a_file_larger_than_a_document_is_refused_whatever_its_size_says(tmp_path: Path) -> None:
    with (tmp_path / "big.yaml").open("wb") as file:
        file.truncate(BYTES + 1)
    with pytest.raises(InputError, match=r"big\.yaml has more than 8,388,608 bytes, the most that is read: split it"):
        read(tmp_path / "big.yaml")
    with pytest.raises(InputError, match="line 1 has more than"):
        list(read_lines(tmp_path / "big.yaml"))
    if Path("/dev/zero").exists():
        with Path("/dev/zero").open("rb") as endless, pytest.raises(InputError, match="zero has more than"):
            read_bytes(endless, "zero")
        with pytest.raises(InputError, match="is a pipe or a device"):
            read(Path("/dev/zero"))


def test_lines_are_numbered_and_keep_what_only_python_takes_for_an_end_of_line(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes('\ufeff{"a": "x\u2028y"}\n\n[1]\n'.encode())
    assert list(read_lines(tmp_path / "c.jsonl")) == [(1, {"a": "x\u2028y"}), (3, [1])]
    (tmp_path / "c.jsonl").write_text('{}\n{"a": ')
    with pytest.raises(InputError, match=r"c\.jsonl, line 2 is not valid JSON"):
        list(read_lines(tmp_path / "c.jsonl"))


# --- the child --------------------------------------------------------------------------------------------------------


def test_a_child_is_kept_for_the_next_file_and_replaced_when_it_is_gone() -> None:
    worker.ask("YAML", text="a: 1")
    kept = worker._idle[-1]
    worker.ask("YAML", text="a: 1")
    assert worker._idle[-1] is kept
    kept.kill()
    kept.wait()
    assert worker.ask("YAML", text="a: 1") == {"a": 1} and worker._idle[-1] is not kept


def test_a_child_has_no_keys_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr(worker, "_idle", [])
    worker.ask("YAML", text="a: 1")
    (child,) = worker._idle
    if sys.platform == "linux":
        assert b"sk-secret" not in Path(f"/proc/{child.pid}/environ").read_bytes()
    worker._end_all()
    assert child.returncode is not None


def test_a_child_that_does_not_start_is_no_fault_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_idle", [])
    monkeypatch.setattr(worker.sys, "executable", "/bin/false")
    with pytest.raises(
        EnvironmentError_, match=r"\(/bin/false\) could not be started.*\(exit 1\)\. The file may be fine"
    ):
        parse("a: &a 1", "YAML", "mine.yaml")
    monkeypatch.setattr(worker.sys, "executable", "/no/such/python")
    with pytest.raises(EnvironmentError_, match="could not be started"):
        parse("a: &a 1", "YAML", "mine.yaml")


@pytest.mark.parametrize(("name", "says"), [("SIGSEGV", "makes its reader crash"), ("SIGKILL", "takes more than 10 s")])
def test_a_child_that_dies_is_an_error_about_the_file(monkeypatch: pytest.MonkeyPatch, name: str, says: str) -> None:
    take = worker._take

    def dying() -> subprocess.Popen[bytes]:
        child = take()
        os.kill(child.pid, getattr(signal, name))
        return child

    monkeypatch.setattr(worker, "_idle", [])
    monkeypatch.setattr(worker, "_take", dying)
    with pytest.raises(Beyond, match=says):
        worker.ask("YAML", text="a: 1")
    assert worker._idle == []


@pytest.mark.skipif(sys.platform == "win32", reason="the clock alone is the limit there")
def test_computing_and_memory_of_a_child_are_limited() -> None:
    began = time.monotonic()
    with pytest.raises(Beyond, match="takes more than 1 s to read"):
        worker.ask("HTML", seconds=1, text="<a " * 200_000)
    assert time.monotonic() - began < 10
    with pytest.raises(Beyond, match="takes more than 200 MB to read"):
        worker.ask("YAML", text=f"%TAG ! tag:{'x' * (1 << 20)}\n---\n[{'!a 1, ' * 300}]", memory=200 << 20)
