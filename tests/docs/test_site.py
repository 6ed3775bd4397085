"""The documentation site builds without a warning and loads nothing from elsewhere; its links lead somewhere, its snippets are true."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from site_of_docs import DOCS, ROOT, build, reference

PAGES = sorted([ROOT / "README.md", *(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


class Links(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.leads: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.leads.append(given["href"])
        elif tag in {"script", "img", "source", "iframe"} and "src" in given:
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") in {"stylesheet", "icon", "preload"}:
            self.loads.append(given.get("href", ""))


def read(page: Path) -> Links:
    found = Links()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def test_the_site_loads_nothing_from_elsewhere_and_no_link_is_broken(site: Path) -> None:
    pages = {page.resolve(): read(page) for page in site.rglob("*.html") if "_static" not in page.parts}
    assert len(pages) > 90
    for page, found in pages.items():
        assert not [
            load for load in found.loads if urlsplit(load).scheme in {"http", "https"} or load.startswith("//")
        ], page
        for link in [*found.leads, *found.loads]:
            parts = urlsplit(link)
            if parts.scheme or link in {"", "#"}:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.exists(), f"{page.name} → {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{page.name} → {link}"
    assert not re.search(r"url\(['\"]?https?:", "".join(f.read_text("utf-8") for f in site.glob("_static/**/*.css")))


def test_the_site_can_be_searched_without_a_server(site: Path) -> None:
    """The index is a script, which a page opened as a file may load; nothing else is fetched."""
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert index.startswith("Search.setIndex(") and '"minor' in index
    assert "searchindex.js" in " ".join(read(site / "search.html").loads)
    assert "SHOW_SEARCH_SUMMARY: false" in (site / "_static" / "documentation_options.js").read_text(encoding="utf-8")


def test_every_page_can_be_reached_from_the_first(site: Path) -> None:
    listed = set(read(site / "index.html").leads)
    wanted = ("tutorial", "howto/audit", "reference/commands", "settings", "methods/index", "decisions/index")
    assert {f"{page}.html" for page in wanted} <= listed


# --- what is generated -----------------------------------------------------------------------------------------------------------


def test_what_nobody_described_cannot_be_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(reference.Undescribed, match="turn"):
        reference.plain("  ", "event turn")
    command = reference.opened("sign")
    command.params[0].help = None
    monkeypatch.setattr(reference, "opened", lambda name: command)
    with pytest.raises(reference.Undescribed, match="maci init"):
        dict(reference._commands())


def test_every_option_of_every_command_is_on_its_page() -> None:
    pages = reference.pages()
    for name in reference.COMMANDS:
        page = pages[f"reference/commands/{name}.md"]
        for full, command in reference.leaves(name, reference.opened(name)):
            for option in command.params:
                if option.param_type_name == "option":
                    assert option.opts[0] in page, f"maci {full} {option.opts[0]}"


def test_every_symbol_of_a_setting_is_explained() -> None:
    from maci.config import build, parameters

    known = (DOCS / "settings.md").read_text(encoding="utf-8") + (DOCS / "glossary.md").read_text(encoding="utf-8")
    assert [row.symbol for row in parameters(build("default", {})) if row.symbol.replace("|", "\\|") not in known] == []


# --- snippets --------------------------------------------------------------------------------------------------------------------


def blocks(kind: str) -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for block in re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            yield page, block


def commands() -> Iterator[tuple[str, str]]:
    """Every command line of MACI on any page: page, command."""
    for kind in ("sh", "console", "bash"):
        for page, block in blocks(kind):
            for line in block.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\||;", re.sub(r"(^|\s)#.*", "", line).removeprefix("$ ")):
                    words = part.strip().removeprefix("$ ")
                    words = re.sub(r"^(\w+=\S+ )+", "", words)
                    if words.startswith("maci ") and "[" not in words:
                        yield page.name, re.sub(r"\s[<>].*", "", words).strip()


@pytest.mark.parametrize(("page", "command"), sorted(set(commands())))
def test_a_command_that_is_shown_exists_with_its_options(page: str, command: str) -> None:
    _, *words = shlex.split(command)
    if words[0].startswith("-"):
        return
    assert words[0] in reference.COMMANDS, f"{page}: maci {words[0]}"
    found = dict(reference.leaves(words[0], reference.opened(words[0])))
    target = found.get(" ".join(words[:2])) or found.get(words[0])
    options = [option for one in ([target] if target else found.values()) for option in one.params]
    known = {"--help"}.union(*((*option.opts, *option.secondary_opts) for option in options))
    for word in words[1:]:
        if word.startswith("--"):
            assert word.split("=")[0] in known, f"{page}: {command}: {word}"


PARSERS: dict[str, Any] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load, "python": ast.parse}


@pytest.mark.parametrize("kind", PARSERS)
def test_a_snippet_of_a_file_can_be_read(kind: str) -> None:
    read = list(blocks(kind))
    assert read
    for page, block in read:
        try:
            PARSERS[kind](block)
        except Exception as error:
            raise AssertionError(f"{page.name}: {error}\n{block}") from error


def test_the_python_snippets_of_the_python_page_run_one_after_another(tmp_path: Path) -> None:
    """Those of audits.md and the README have tests of their own; those of other pages name files of the reader's."""
    code = "\n".join(block for page, block in blocks("python") if page.name == "python.md")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-1500:]
    assert done.stdout.startswith("Dengue fever 0.") and "lexical has spoken" in done.stdout
    assert done.stdout.endswith("unsafe consensus\n")


def test_messages_that_the_faq_quotes_are_messages_of_the_code() -> None:
    source = " ".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src" / "maci").rglob("*.py")))
    source = re.sub(r'"\s*f?"', "", re.sub(r"\s+", " ", source))
    quoted = re.findall(r'^## "(.*)"', (DOCS / "faq.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(quoted) >= 9
    for message in quoted:
        for part in re.split(
            r" ?… ?|openai|127\.0\.0\.1:11434 \(Connection refused\)|20 cases|Answer withheld: |tokens: 0.*", message
        ):
            assert part.strip(" ,:") in source, f"{message}: {part!r}"
