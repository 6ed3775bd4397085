"""What the project says of itself outside its documents: metadata, citation, templates."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import maci
from maci.files.parse import read

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_citation_has_the_version_and_licence_of_the_package() -> None:
    cited = read(ROOT / "CITATION.cff", "YAML")
    assert (cited["version"], cited["license"]) == (maci.__version__, PROJECT["project"]["license"])
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    (paper,) = cited["references"]
    assert f"*{paper['title']}*" in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_every_template_asks_something_that_must_be_answered() -> None:
    templates = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert len(templates) == 2
    for path in templates:
        form = read(path)
        assert form["name"] and form["description"]
        assert any(part.get("validations", {}).get("required") for part in form["body"])


def test_metadata_names_no_address_that_does_not_exist() -> None:
    """There is no public repository: no URL is made up."""
    assert "urls" not in PROJECT["project"] and PROJECT["project"]["authors"]
    for name in ("CITATION.cff", "SECURITY.md", ".github/ISSUE_TEMPLATE/config.yml"):
        assert not re.search(r"https?://", (ROOT / name).read_text(encoding="utf-8"))


def test_the_distribution_has_its_own_name_and_all_its_extras_are_in_all() -> None:
    extras: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
    assert PROJECT["project"]["name"] == "maci-debate"
    (everything,) = extras["all"]
    assert everything.startswith("maci-debate[")
    included = set(re.findall(r"\[(.*)\]", everything)[0].split(","))
    assert set(extras) - included == {"all", "inspect"}  # Inspect has an environment of its own


def test_the_description_reads_on_a_package_index() -> None:
    """Every link is absolute where the project has an address; where it has none, no link leads nowhere."""
    sys.path.append(str(ROOT))
    from hatch_build import described

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = re.compile(r"\]\((?!\w+:|#)")
    assert relative.search(readme)
    assert not relative.search(described(readme, None))
    absolute = described(readme, "https://example.org/maci/")
    assert not relative.search(absolute)
    assert "](https://example.org/maci/blob/main/docs/trust.md)" in absolute
    assert "](https://example.org/maci/raw/main/docs/images/web-agreed.png)" in absolute


def test_what_the_build_needs_is_what_the_weights_are_pinned_to() -> None:
    (pinned,) = PROJECT["dependency-groups"]["weights"]
    assert pinned in PROJECT["build-system"]["requires"]
    assert f"{pinned} \\" in (ROOT / "requirements" / "weights.txt").read_text(encoding="utf-8")
    assert not [each for each in PROJECT["project"]["dependencies"] if each.startswith(("wordllama", "tokenizers"))]
