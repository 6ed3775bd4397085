"""What errors advise must work: above all, no command that installs somebody else's package."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from maci import errors
from maci.errors import MissingExtra, explain, install, installed

ROOT = Path(errors.__file__).resolve().parents[2]


def test_in_a_clone_the_clone_itself_is_installed(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    monkeypatch.chdir(ROOT)
    assert install("local") == ".venv/bin/pip install -e '.[local]'"
    monkeypatch.chdir(tmp_path)
    assert install("local") == f"cd {ROOT} && .venv/bin/pip install -e '.[local]'"
    monkeypatch.setattr(sys, "prefix", str(tmp_path))  # another environment that sees the clone
    assert install("local") == f"{sys.executable} -m pip install -e '{ROOT}[local]'"


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """As installed from a wheel: no clone around the package."""
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "lib" / "site-packages" / "maci" / "errors.py"))
    listed = [
        "numpy>=1.26",
        "xllamacpp>=2025.10; extra == 'local'",
        "scipy>=1; extra == 'eval'",
        "maci-debate[eval,local]; extra == 'all'",
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: listed)


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_the_packages_of_the_extra_are_named_and_never_maci():
    assert install("local") == f"{sys.executable} -m pip install 'xllamacpp>=2025.10'"
    assert install("all") == f"{sys.executable} -m pip install 'scipy>=1' 'xllamacpp>=2025.10'"
    assert "maci[" not in str(MissingExtra("scipy", "eval", "a metric")) + install("all")


@pytest.mark.usefixtures("elsewhere")
def test_without_metadata_no_command_is_made_up(monkeypatch):
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert install("local").startswith("install the extra `local` from the source")


def test_no_page_and_no_message_installs_maci_by_its_name():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("src/maci/**/*.py")]
    wrong = [str(p.relative_to(ROOT)) for p in pages if "pip install 'maci" in p.read_text(encoding="utf-8")]
    assert not wrong


def test_a_module_that_is_not_installed_names_its_package_and_extra():
    assert installed("json.decoder", "eval", "reading").JSONDecoder
    with pytest.raises(MissingExtra, match=r"reading needs the package 'no_such_package': .*eval") as caught:
        installed("no_such_package.inner", "eval", "reading")
    assert (caught.value.package, caught.value.extra) == ("no_such_package", "eval")


def test_of_several_complaints_the_one_that_got_furthest_is_explained():
    complaints = [
        {"loc": ("a",), "type": "int_type", "msg": "Input should be a valid integer", "input": "x"},
        {"loc": ("a", "function-wrap", 0, "nam"), "type": "extra_forbidden", "msg": "", "input": 1},
    ]
    assert explain(complaints, lambda path: ["name", "seed"]) == "unknown key 'a.0.nam': did you mean name?"
    assert explain(complaints[:1], lambda path: []) == "a is 'x': input should be a valid integer"
    assert explain(complaints[:1], lambda path: [], lambda path, one: "write 3") == "a is 'x': write 3"
