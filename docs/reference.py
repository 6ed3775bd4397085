"""The reference pages that are written from the code: commands, methods, Python, events, JSON Schemas.

They are written when the site is built and are not under version control. What has no description raises, so that the site cannot be
built with an option, an event or a public name that nobody described.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from typer.testing import CliRunner

import maci
from maci.cli.app import COMMANDS, app, opened
from maci.controller.events import schema
from maci.lab.methods import MethodEntry, entries
from maci.lab.methods.maci import ABLATIONS, UNSCHEDULED

ROLE = re.compile(r":(?:class|mod|func|data|meth|attr):`~?\.?(?:[\w.]*\.)?([\w]+)`")


class Undescribed(Exception):
    """Something a person can use has no description."""


def plain(text: str | None, what: str) -> str:
    """A docstring as Markdown."""
    if not text or not text.strip():
        raise Undescribed(f"{what} has no description")
    return ROLE.sub(r"`\1`", inspect.cleandoc(text)).replace("``", "`")


def pages() -> dict[str, str]:
    """Path below docs/ → text."""
    found = dict(_commands()) | dict(_methods())
    return found | {
        "reference/python.md": _python(),
        "reference/events.md": _events(),
        "reference/schemas.md": _schemas(),
    }


# --- commands -----------------------------------------------------------------------------------------------------------------


def leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command, or the commands of a group."""
    if hasattr(command, "commands"):
        for each, inner in command.commands.items():
            yield from leaves(f"{name} {each}", inner)
    else:
        yield name, command


def _commands() -> Iterator[tuple[str, str]]:
    rows = [f"| [`maci {name}`](commands/{name}.md) | {about} |" for name, about in COMMANDS.items()]
    listed = "\n".join(("| command | what it does |", "|---|---|", *rows))
    every = "\n".join(f"commands/{name}" for name in COMMANDS)
    yield (
        "reference/commands.md",
        (
            "# Commands\n\nWritten from the commands themselves. Exit codes: 0 done, 1 a check failed, 2 wrong use or "
            "input, 3 provider or "
            "environment,\n4 the budget ended the work before a first answer, 130 interrupted.\n\n"
            f"{listed}\n\n```{{toctree}}\n:hidden:\n\n{every}\n```\n"
        ),
    )
    for name in COMMANDS:
        parts = [f"# maci {name}\n\n{COMMANDS[name]}"]
        found = list(leaves(name, opened(name)))
        for full, command in found:
            for option in command.params:
                if not option.help:
                    raise Undescribed(f"maci {full}: {option.opts[0]} has no description")
            shown = CliRunner().invoke(app, [*full.split(), "--help"], prog_name="maci", env={"COLUMNS": "100"})
            heading = f"## maci {full}\n\n" if len(found) > 1 else ""
            parts.append(f"{heading}```text\n{shown.stdout.strip()}\n```")
        yield f"reference/commands/{name}.md", "\n\n".join(parts) + "\n"


# --- methods ------------------------------------------------------------------------------------------------------------------


def _methods() -> Iterator[tuple[str, str]]:
    rows = [f"| [`{entry.name}`]({entry.name}.md) | {entry.about} |" for entry in entries()]
    every = "\n".join(entry.name for entry in entries())
    yield "methods/index.md", "\n".join((
        "# Methods\n\nWhat a [study](../studies.md) can compare. "
        "Every method asks the same agents, with the same evidence, budget and seed.\n",
        "| method | what it is |", "|---|---|", *rows, f"\n```{{toctree}}\n:hidden:\n\n{every}\n```\n",
    ))  # fmt: skip
    for entry in entries():
        yield f"methods/{entry.name}.md", _method(entry)


def _method(entry: MethodEntry) -> str:
    made = entry.make()
    settings = (
        ABLATIONS[entry.name][1] if entry.name in ABLATIONS else UNSCHEDULED if entry.name == "unscheduled" else {}
    )
    about = entry.about.replace("maci, but", "MACI, but")
    lines = [f"# {entry.name}", f"{about[0].upper()}{about[1:]}."]
    if not entry.ablation:
        lines.append(plain(type(made).__doc__, entry.name))
    if settings:
        changed = "\n".join(f"| `{key}` | `{value}` |" for key, value in settings.items())
        lines.append(
            f"It is `maci` with these [settings](../settings.md):\n\n| setting | value |\n|---|---|\n{changed}"
        )
    cost = type(made).answer.__doc__
    if cost:
        lines.append(f"**What it costs:** {plain(cost, entry.name)}")
    own = {each.name: each for each in fields(made) if each.name in entry.options}  # type: ignore[arg-type]
    if own:
        values = "\n".join(f"| `{name}` | {_default(each)} |" for name, each in own.items())
        lines.append(f"| option | default |\n|---|---|\n{values}")
    each = "each = true                       # once with every agent\n" if entry.each else ""
    lines.append(f'In a study:\n\n```toml\n[[methods]]\nuse = "{entry.name}"\n{each}```')
    return "\n\n".join(lines) + "\n"


def _default(each: Any) -> str:
    return "none" if each.default is MISSING else f"`{each.default}`"


# --- Python, events, schemas ----------------------------------------------------------------------------------------------------


def _python() -> str:
    parts = [
        "# Python API\n\nThe public names of `maci`, from their docstrings. [From Python](../python.md) shows how they are used. "
        "Anything else can move between releases."
    ]
    for name in sorted(maci.__all__, key=str.lower):
        if name.startswith("__"):
            continue
        what = getattr(maci, name)
        if name == "Event":
            parts.append("## Event\n\nAny [event](events.md) of a debate.")
            continue
        about = plain(what.__doc__, f"maci.{name}")
        try:
            signature = f"```text\n{name}{_signature(what)}\n```\n\n"
        except (TypeError, ValueError):
            signature = ""
        parts.append(f"## {name}\n\n{signature}{_body(about)}")
        parts += [f"**`{name}.{each}`**  \n{text}" for each, text in _members(what)]
    return "\n\n".join(parts) + "\n"


def _signature(what: Any) -> str:
    found = inspect.signature(what)
    shown = [_parameter(each) for each in found.parameters.values() if each.name != "self"]
    if shown == ["*args", "**kwargs"]:
        raise TypeError("a protocol: what it is made with is its own")
    if sum(map(len, shown)) < 90:
        return f"({', '.join(shown)})"
    return "(\n" + "".join(f"    {each},\n" for each in shown) + ")"


def _parameter(each: inspect.Parameter) -> str:
    empty = inspect.Parameter.empty
    kind = "" if each.annotation is empty else f": {each.annotation}".replace("'", "").replace('"', "")
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(each.kind, "")
    default = "" if each.default is empty else f" = {'…' if callable(each.default) else repr(each.default)}"
    return f"{stars}{each.name}{kind}{default}"


def _body(text: str) -> str:
    """Examples of a docstring as code."""
    return re.sub(r"((?:^>>> .*\n?(?:^(?!\s*$).*\n?)*)+)", r"```pycon\n\1\n```\n", text, flags=re.MULTILINE)


def _members(what: Any) -> Iterator[tuple[str, str]]:
    """Methods and properties with their first line."""
    if not inspect.isclass(what):
        return
    for name, member in vars(what).items():
        found = getattr(member, "__func__", member)
        if not name.startswith("_") and (inspect.isfunction(found) or isinstance(member, property)) and member.__doc__:
            yield name, plain(member.__doc__, name).split("\n\n")[0]


def _events() -> str:
    found = schema()
    parts = [
        "# Events\n\nA transcript is one event in each line, as JSON. *Inputs* are what came from outside: openings, "
        "turns, scores, answers. "
        "Everything "
        "else is\ncomputed from them and can be recomputed: `maci replay`. The whole as a JSON Schema: "
        "[transcript.json](../schemas/transcript.json)."
    ]
    for kind, reference in sorted(found["discriminator"]["mapping"].items()):
        name = reference.rsplit("/", 1)[-1]
        shape = found["$defs"][name]
        parts.append(f"## {kind}\n\n{plain(shape.get('description'), f'event {kind}')}\n\n{_properties(shape)}")
    return "\n\n".join(parts) + "\n"


def _properties(shape: dict[str, Any]) -> str:
    required = set(shape.get("required", ()))
    rows = ["| field | type | required |", "|---|---|---|"]
    for name, about in shape.get("properties", {}).items():
        if name != "type":
            rows.append(f"| `{name}` | {_type(about)} | {'yes' if name in required else ''} |")
    return "\n".join(rows) if len(rows) > 2 else "No fields."


def _type(about: dict[str, Any]) -> str:
    if "$ref" in about:
        return str(about["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in about:
        return " or ".join(dict.fromkeys(map(_type, about["anyOf"])))
    if "oneOf" in about:
        return " or ".join(dict.fromkeys(map(_type, about["oneOf"])))
    if "enum" in about or "const" in about:
        return ", ".join(f"`{json.dumps(each)}`" for each in about.get("enum", [about.get("const")]))
    if about.get("type") == "array":
        return f"list of {_type(about.get('items', {}))}"
    if about.get("type") == "object" and isinstance(about.get("additionalProperties"), dict):
        return f"table of {_type(about['additionalProperties'])}"
    return str(about.get("type", "anything"))


SCHEMAS = {
    "argument": "a line of a file for `maci audit judges --arguments`",
    "ask": "what `maci ask --json` prints",
    "audit-judges": "what `maci audit judges` writes",
    "case": "a case file",
    "openapi": "every address of `maci serve`",
    "panels": "a panels file",
    "plan": "what `maci plan --json` prints",
    "project": "the project file `maci.toml`",
    "result": "what `maci debate --json` prints",
    "study": "a study spec",
    "transcript": "a line of a transcript",
}


def _schemas() -> str:
    from generate import DOCS, schemas

    found = {path.removeprefix("schemas/").removesuffix(".json"): json.loads(text) for path, text in schemas().items()}
    if missing := sorted(found.keys() ^ SCHEMAS.keys()):
        raise Undescribed(f"schema {missing[0]} has no description")
    parts = [
        "# JSON Schemas\n\nFor editors and programs. `maci init --schemas` writes those of files you edit into a folder."
    ]
    for name, about in SCHEMAS.items():
        assert (DOCS / "schemas" / f"{name}.json").exists()
        rows = "" if name in {"openapi", "transcript"} else f"\n\n{_properties(found[name])}"
        parts.append(f"## {name}\n\n{about[0].upper()}{about[1:]}: [{name}.json](../schemas/{name}.json).{rows}")
    return "\n\n".join(parts) + "\n"
