"""``maci sign`` and ``maci verify-signature``: exit codes are what scripts go by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_a_signature_holds_for_its_own_key_alone(
    maci: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert maci("debate", "paper-hepatitis", "--panel", "paper", "--out", "run", "--quiet").code == 0
    Path("key").write_text("0123456789abcdef" * 4)
    Path("other").write_text("fedcba9876543210" * 4)
    unsigned = maci("verify-signature", "run", "--key", "key")
    assert unsigned.code == 1
    assert maci("sign", "run", "--key", "key", "--by", "Ada").code == 0
    assert maci("verify-signature", "run", "--key", "key").code == 0
    foreign = maci("verify-signature", "run", "--key", "other")
    assert foreign.code == 1 and "Ada: not made with this key" in foreign.out
    assert maci("verify-signature", "run", "--key", "other", "--json").code == 1
    record = Path("run/transcript.jsonl")
    record.write_text(record.read_text().replace("0.", "0.0", 1))
    assert maci("verify-signature", "run", "--key", "key").code != 0
