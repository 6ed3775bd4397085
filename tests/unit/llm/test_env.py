from __future__ import annotations

from pathlib import Path

import pytest

from maci.errors import InputError, MaciError
from maci.seating.discover import read_env_file, use_env_file


def test_only_keys_of_providers_are_read(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(
        '# a comment\nexport OPENAI_API_KEY="sk-one"  # mine\nANTHROPIC_API_KEY = sk-two # yours\nGEMINI_API_KEY=\n'
        "OPENAI_BASE_URL=https://evil.example\nPATH=/evil\nXAI_API_KEY='sk-three'\nnot a line\n",
        encoding="utf-8",
    )
    found = read_env_file(path)
    assert {name: key.reveal() for name, key in found.items()} == {
        "OPENAI_API_KEY": "sk-one",
        "ANTHROPIC_API_KEY": "sk-two",
        "XAI_API_KEY": "sk-three",
    }
    assert "sk-" not in repr(found)


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "keys.env"
    path.write_text("OPENAI_API_KEY=sk-file\nGROQ_API_KEY=gsk-file\n", encoding="utf-8")
    environ = {"OPENAI_API_KEY": "sk-mine"}
    assert use_env_file(path, environ) == ("GROQ_API_KEY",)
    assert environ == {"OPENAI_API_KEY": "sk-mine", "GROQ_API_KEY": "gsk-file"}


@pytest.mark.parametrize("text", ["OPENAI_API_KEY=sk two words\n", "OPENAI_API_KEY=schlüssel-sk\n"])
def test_a_broken_key_is_refused_without_being_shown(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".env"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MaciError) as error:
        read_env_file(path)
    assert "OPENAI_API_KEY in" in str(error.value)
    assert "sk" not in str(error.value).replace(str(path), "").replace("characters a key", "")


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the file of keys"):
        read_env_file(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfeO")
    with pytest.raises(InputError, match="not a text file"):
        read_env_file(tmp_path / "bytes")
