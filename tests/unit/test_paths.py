"""Folders: the variables that name them, and what is in which."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from maci import paths
from maci.errors import ConfigError, EnvironmentError_, InputError

SRC = Path(paths.__file__).parent


@pytest.mark.parametrize(
    ("variable", "found", "below"),
    [
        ("MACI_CACHE", paths.replies_file, "replies.sqlite"),
        ("MACI_CACHE", paths.embeddings_file, "embeddings.sqlite"),
        ("MACI_CACHE", lambda: paths.weights_dir("minilm"), "weights/minilm"),
        ("MACI_STATE", paths.schedules_file, "schedules.sqlite"),
        ("MACI_KEYS", paths.keys_file, ""),
        ("MACI_DATA", paths.data_dir, ""),
    ],
)
def test_a_variable_names_its_folder(variable, found, below, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    assert found() == tmp_path / below


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="folders of Linux")
def test_without_them_the_folders_are_the_platform_s(tmp_path, monkeypatch) -> None:
    for variable in ("MACI_CACHE", "MACI_STATE", "MACI_KEYS", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.cache_dir() == tmp_path / "cache/maci"
    assert paths.keys_file() == tmp_path / "config/maci/keys.toml"
    assert paths.schedules_file() == tmp_path / ".local/state/maci/schedules.sqlite"


def test_what_is_named_and_not_there_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MACI_PANELS", str(tmp_path / "none.yaml"))
    with pytest.raises(ConfigError, match=r"MACI_PANELS is .*none\.yaml"):
        list(paths.panel_files())
    monkeypatch.delenv("MACI_DATA", raising=False)
    with pytest.raises(InputError, match=r"MACI_DATA \(not set\)"):
        paths.data_dir()


@pytest.mark.parametrize(
    ("text", "name"),
    [("Dengue, or what?", "dengue-or-what"), ("…", "case"), ("a" * 39 + " b", "a" * 39), ("Übelkeit", "belkeit")],
)
def test_a_slug_is_safe_in_a_file_name(text: str, name: str) -> None:
    assert paths.slug(text) == name


def test_only_paths_knows_folders_and_every_variable_it_reads_is_in_its_table() -> None:
    code = {path: path.read_text(encoding="utf-8") for path in SRC.rglob("*.py") if path.name != "paths.py"}
    astray = [path for path, text in code.items() if re.search(r"Path\.home\(\)|XDG_|APPDATA|\"maci-runs\"", text)]
    assert astray == []
    text = Path(paths.__file__).read_text(encoding="utf-8")
    head, body = text.split('"""', 2)[1:]
    read = set(re.findall(r'"((?:MACI|XDG)_[A-Z_]+|(?:LOCAL)?APPDATA)"', body))
    assert read and all(f"``{variable}``" in head for variable in read)


def test_what_cannot_be_written_names_the_file_the_reason_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentError_, match=r"cannot write .*below: .+; name another with --export"):
        paths.save(tmp_path / "file" / "below", "text", "name another with --export")
    assert paths.save(tmp_path / "new" / "page.md", "a\nb\n").read_bytes() == b"a\nb\n"


def test_a_folder_is_checked_and_not_made(tmp_path: Path) -> None:
    paths.check_folder(tmp_path / "new" / "below")
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"--dir .*file/below: .*file is a file, not a folder; give another --dir"):
        paths.check_folder(tmp_path / "file" / "below", "--dir")
