"""``maci init``: look for what this machine has, propose a panel, say what it costs, write ``maci.toml``."""

from __future__ import annotations

import json as jsonlib
import math
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maci.cli.options import BudgetOptions, Corpus, Json, PanelOptions, Plain, Quiet, grouped
from maci.cli.output import emit
from maci.errors import EnvironmentError_, InputError
from maci.llm.offline import stay_offline

if TYPE_CHECKING:
    from maci.debating.estimate import CostEstimate
    from maci.seating.discover import Inventory
    from maci.seating.propose import PanelProposal

_NAMES = {
    "openai": "OpenAI", "anthropic": "Anthropic", "gemini": "Gemini", "openrouter": "OpenRouter", "groq": "Groq",
    "mistral": "Mistral", "deepseek": "DeepSeek", "together": "Together", "xai": "xAI", "azure": "Azure", "ollama": "Ollama",
    "lmstudio": "LM Studio", "vllm": "vLLM", "llamacpp": "llama-server",
}  # fmt: skip
_ROUNDS = 3
"""Rounds of a typical debate."""
_HOSTED, _OWN = 8.0, 10.0
"""Seconds that a call is assumed to take: at a provider, where those of a step run together; at your own server, one after
another."""
_WEIGHTS = 50.0
"""Seconds of one core that a call of weights MACI runs itself is assumed to take, for each billion parameters. A debate of two
Qwen 1.5B over two rounds (two openings, four turns, a recommendation) took 345 to 655: docs/decisions/006-local-models.md."""
_TYPICAL = {
    "question": "Which change caused the outage?",
    "context": "Checkout requests began to fail at 14:05. The error rate reached 40 % within ten minutes.",
    "outcomes": ["database migration", "new load balancer", "expired certificate", "traffic peak"],
    "evidence": [
        "14:02 The database migration 0187 adds an index to the table orders and takes a lock on it.",
        "14:04 The new load balancer takes over the second half of the requests.",
        "14:05 First time-outs: the connection pool of the orders database is exhausted.",
        "14:06 No expired certificate: all are valid for at least 30 days.",
        "14:10 No traffic peak: requests per second are at 104 % of an ordinary Tuesday.",
        "14:21 Migration 0187 is cancelled. 14:23 The error rate is back below 0.1 %.",
    ],
}


SCHEMAS = "maci-schemas"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions:
    """What `maci init` asks, writes and looks at."""

    use: Annotated[
        str | None,
        typer.Option(help="Only these providers, such as ollama or openai,anthropic.", metavar="PROVIDERS"),
    ] = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: write the file.")] = False
    force: Annotated[bool, typer.Option("--force", help="Write over a maci.toml that is there.")] = False
    schemas: Annotated[
        bool, typer.Option("--schemas", help=f"Also write JSON Schemas for your editor to {SCHEMAS}, and name them.")
    ] = False
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no server, not even on this machine.", callback=stay_offline)
    ] = False


@grouped
def init(
    *,
    panel: PanelOptions,
    options: InitOptions,
    profile: Annotated[str | None, typer.Option(help="Profile to write: `default` or `paper`.")] = None,
    corpus: Corpus = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of the data sets, to write.", metavar="DIR", exists=True, file_okay=False),
    ] = None,
    budget: BudgetOptions,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Find the models this machine can use, propose a panel, and write it to maci.toml.

    Looks at panels files, keys (environment, keys.toml, .env), servers on this machine (Ollama, LM Studio, llama-server, vLLM)
    and local weights. Models on this machine are preferred to paid ones. No provider that can send a bill is contacted.
    """
    import asyncio

    from maci.paths import PROJECT
    from maci.render.markup import clean
    from maci.seating.discover import take_inventory

    path = Path(PROJECT)
    there = path.exists() or path.is_symlink()
    if there and options.yes and not options.force:
        raise InputError(f"{path} is here already and is not overwritten: add --force, or edit it")
    env_file = panel.env_file or (Path(".env") if Path(".env").is_file() else None)
    found = asyncio.run(take_inventory(env_file, offline=options.offline))
    proposal = _proposed(panel, options, found)

    def say(text: str = "") -> None:
        if not json:
            typer.echo("\n".join(map(clean, text.split("\n"))))

    for line in _found(found, proposal) if not quiet else ():
        say(line)
    if proposal is None:
        _nothing(found, json=json, say=say)
        raise typer.Exit(EnvironmentError_.exit if options.yes else 0)  # told to write a file, and nothing to write
    cost = asyncio.run(_estimate(proposal))
    ceilings = _budget(budget, cost, proposal)
    text = written(proposal, found, budget=ceilings, profile=profile, corpus=corpus, data=data, there=path)
    for line in (*_panel(proposal, found), *_costs(cost, proposal, ceilings, found.machine.cores)) if not quiet else ():
        say(line)
    if not options.yes and not json:
        if not sys.stdin.isatty():
            raise InputError("there is no terminal to ask on: to write maci.toml, run `maci init --yes`")
        say()
        question = f"{path} is here already. Overwrite it?" if there else f"Write {path}?"
        if not typer.confirm(question, default=not there):
            say("Nothing was written.")
            return
    write = options.yes or not json
    if write:
        if options.schemas:
            text = f"#:schema {SCHEMAS}/project.json\n{text}"
            _write_schemas(Path(SCHEMAS))
        _write(path, text, over=there)
    following = _next(proposal, found)
    if json:
        emit(_object(found, proposal, cost, path if write else None, following, ceilings))
        return
    hint = "" if plain or quiet else "    (`maci cases` lists built-in ones)"
    say(f"{'' if quiet else chr(10)}Wrote {path}. Next: {following}{hint}")


def _proposed(panel: PanelOptions, options: InitOptions, found: Inventory) -> PanelProposal | None:
    """The panel that was named, or one from what was found."""
    from maci.seating import choose
    from maci.seating.propose import PanelProposal, named, propose
    from maci.seating.spec import PanelSpec

    if panel.panel is not None and panel.agents is None:
        chosen = choose(panel.panel, None, panel.judges)
        if not isinstance(chosen, PanelSpec) or panel.judges is None:
            return PanelProposal(panel=panel.panel)
        return named(chosen.model_copy(update={"models": found.panels.options}), found.machine)
    if panel.agents is not None or panel.judges is not None:
        if panel.agents is None:
            raise InputError(f"--judges {panel.judges}: name the debaters too, with --agents")
        spec = choose(panel.panel, panel.agents, panel.judges)
        assert isinstance(spec, PanelSpec)
        own = spec.model_copy(update={"models": found.panels.options})  # not those of the file to be written
        return named(own, found.machine)
    use = [each.strip() for each in (options.use or "").split(",") if each.strip()]
    return propose(found, use)


async def _estimate(proposal: PanelProposal) -> CostEstimate | None:
    """What a typical debate would cost, rehearsed; ``None`` where the panel is a script."""
    from maci.cases.case import parse_case
    from maci.debating.estimate import estimate
    from maci.seating.seating import PanelChoice

    if proposal.panel == "paper":
        return None
    case = parse_case(_TYPICAL, "a typical case")
    choice = PanelChoice(panel=proposal.panel) if proposal.panel else PanelChoice(spec=proposal.spec)
    return await estimate(case, choice)


def _found(found: Inventory, proposal: PanelProposal | None) -> Iterator[str]:
    """What was found, a line each."""
    from maci.llm.keys import host_of
    from maci.seating.discover import LOCAL_SERVERS
    from maci.seating.propose import weights_memory

    memory = f", {found.machine.memory / 1e9:.0f} GB of memory" if found.machine.memory else ""
    cores = found.machine.cores
    yield "Found:"
    yield f"  this machine: {cores} {'core' if cores == 1 else 'cores'}{memory}"
    for name, (_, path) in found.panels.panels.items():
        yield f"  panel {name} in {path}"
    for server in found.servers:
        who = _NAMES[server.provider] + ("" if server.provider in LOCAL_SERVERS else "-compatible server")
        names = [model.name for model in server.models]
        listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        if server.locked:
            listed = f"asks for a key; name its models with --agents {server.provider}/NAME"
        if server.loading:
            listed = "is still loading its model"
        yield f"  {who} at {host_of(server.base_url)}: {listed or 'no model is loaded'}"
    for name in found.weights:
        large = found.machine.memory is not None and (weights_memory(name) or 0) > found.machine.memory
        why = (
            " (too weak to debate)" if name == "local/smollm2-135m" else " (too large for the memory)" if large else ""
        )
        yield f"  weights {name}{why}"
    for key in found.keys:
        idle = proposal is not None and key.provider in proposal.unused
        unused = f"; not used, because it is paid (`maci init --use {key.provider}` uses it)" if idle else ""
        yield f"  key for {_NAMES[key.provider]}: {key.source}{unused}"
    for variable, host in found.unasked:
        yield f"  {variable} names {host}, which was not asked; name its models with --agents"
    if not (found.panels.panels or found.servers or found.weights or found.keys or found.unasked):
        yield "  no panel, no server, no weights, no key"


def _nothing(found: Inventory, *, json: bool, say: Any) -> None:
    steps = _steps(found)
    if json:
        emit(_object(found, None, None, None, steps[0]))
        return
    say("\nNo language model was found that can debate, so nothing was written. One of these changes that:")
    for step in steps:
        say(f"  - {step}")
    say("Until then `maci debate` uses three embedded readers, which match words and do not reason.")


def _steps(found: Inventory) -> list[str]:
    from maci.errors import install
    from maci.llm.keys import host_of

    running = next((server for server in found.servers if not server.locked), None)
    first = (
        "wait until the server at {} has loaded its model"
        if running and running.loading
        else "load a model in the server at {}"
    )
    return [
        f"{first.format(host_of(running.base_url))}, then run `maci init` again"
        if running
        else "start a local server (Ollama, LM Studio, llama-server or vLLM), then run `maci init` again",
        "set a provider's key, such as OPENAI_API_KEY, in the environment or in .env, then run `maci init` again",
        f"run a model without a server: {install('local')}, then `maci models pull qwen2.5-coder-1.5b` and `maci init`",
    ]


def _panel(proposal: PanelProposal, found: Inventory) -> Iterator[str]:
    """Who would debate, and where the case goes."""
    from maci.seating.discover import LOCAL_SERVERS

    if proposal.panel is not None:
        entry = found.panels.panels.get(proposal.panel)
        yield f"\nPanel: {proposal.panel}" + (f" of {entry[1]}" if entry else " (built in)")
        if entry:
            seats = found.panels.spec(proposal.panel)
            yield f"  debaters {', '.join(seat.model for seat in seats.agents)}"
            judges = "the reader judges" if seats.judges is None else ", ".join(s.model for s in seats.judges) or "none"
            yield f"  judges   {judges}"
        return
    yield "\nPanel:"
    for part, seats_ in (("debater", proposal.agents), ("judge", proposal.judges)):
        for each in seats_:
            yield f"  {part:<7}  {each.model} (family {each.family})"
    if not proposal.judges:
        yield "  no judge (CRIT-free)"
    for warning in proposal.warnings:
        yield f"Warning: {warning}"
    if any(each.provider == "ollama" for each in proposal.seats):
        yield (
            "Ollama cuts prompts that are longer than its context length, often 4,096 tokens: start it with "
            "OLLAMA_CONTEXT_LENGTH=16384."
        )
    hosts, near = sorted(hosts_of(proposal, found)), sorted(hosts_of(proposal, found, here=True))
    if hosts:
        yield f"A debate sends the case and its evidence to {' and '.join(hosts)}."
    elif near:
        yield f"MACI sends the case and its evidence only to {' and '.join(near)}, on this machine."
        if any(each.provider not in {*LOCAL_SERVERS, "local", "reader"} for each in proposal.seats):
            yield "If a server there is a gateway, it may forward them."
    elif any(not _is_reader(each.model) for each in proposal.seats):
        yield "Nothing leaves this machine."
    for variable, host, otherwise in _moved(proposal, found):
        yield f"This holds as long as {variable} names {host}; without it, MACI sends to {otherwise}."


def _is_reader(model: str) -> bool:
    from maci.seating.spec import is_reader

    return is_reader(model)


def hosts_of(proposal: PanelProposal, found: Inventory, *, here: bool = False) -> set[str]:
    """Hosts beyond this machine that a debate of these would send to; ``here``: servers on this machine instead."""
    from maci.llm.keys import SERVICES, address_of, host_of, is_loopback

    hosts = set()
    for each in proposal.seats:
        if each.provider in {"local", "reader"}:
            continue
        given = each.options or found.panels.options.get(each.model) or found.panels.options.get(each.provider)
        known = SERVICES.get(each.provider)
        url = (given.base_url if given else None) or address_of(each.provider) or (known.base_url if known else "")
        if is_loopback(url) == here:
            hosts.add(host_of(url) or each.provider)
    return hosts


def _moved(proposal: PanelProposal, found: Inventory) -> Iterator[tuple[str, str, str]]:
    """Addresses that only a variable says and the file does not: the variable, the host, and where requests go without it."""
    from maci.llm.keys import ADDRESSES, SERVICES, address_of, host_of

    for provider in dict.fromkeys(each.provider for each in proposal.seats if each.options is None):
        seats = [each for each in proposal.seats if each.provider == provider]
        given = [found.panels.options.get(each.model) or found.panels.options.get(provider) for each in seats]
        if (url := address_of(provider)) is None or all(each and each.base_url for each in given):
            continue
        if (otherwise := host_of(SERVICES[provider].base_url)) not in ("", host_of(url)):
            yield ADDRESSES[provider], host_of(url), otherwise


def _costs(
    cost: CostEstimate | None, proposal: PanelProposal, ceilings: Mapping[str, Any], cores: int
) -> Iterator[str]:
    """What a typical debate costs and takes."""
    if cost is None:
        return
    row = _typical(cost)
    calls = sum(each.calls for each in cost.rounds if each.round <= row.round)
    if not calls:
        return
    rounds = "1 round" if row.round == 1 else f"{row.round} rounds"
    yield (
        f"A typical debate (4 outcomes, 6 pieces of evidence, {rounds}): about {calls} calls, {row.so_far}; "
        f"{_duration(calls, row.round, proposal, cores)}."
    )
    if cost.unpriced:
        yield f"No price is known for {', '.join(cost.unpriced)}."
    said = [f"{ceilings['tokens']:,} tokens"] if "tokens" in ceilings else []
    said += [f"${ceilings['usd']:.2f}"] if "usd" in ceilings else []
    if not said:
        return
    last, usual = cost.rounds[-1], cost.ceiling.tokens
    why = f": all {last.round} rounds are expected to take {last.so_far.tokens:,} tokens, and the usual ceiling is {usual:,}"
    yield f"The file sets a ceiling of {' and '.join(said)} for each debate{why if ceilings.get('tokens', 0) > usual else ''}."


def _typical(cost: CostEstimate) -> Any:
    return next((row for row in cost.rounds if row.round == _ROUNDS), cost.rounds[-1])


def _duration(calls: int, rounds: int, proposal: PanelProposal, cores: int) -> str:
    """How long it takes, with what that assumes."""
    own = any(not each.paid for each in proposal.seats)
    weights = [each for each in proposal.seats if each.provider == "local"]
    one, on = _OWN if own else _HOSTED, ""
    if weights:  # the calls of a debate are shared among its seats
        each_takes = [_WEIGHTS * (each.billions or 7.0) / cores if each in weights else _OWN for each in proposal.seats]
        one, on = sum(each_takes) / len(each_takes), f" on {cores} {'core' if cores == 1 else 'cores'}"
    seconds = calls * one if own else (1 + 2 * rounds) * one
    long = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
    how = "they run one after another" if own else "those of a step run together"
    return f"about {long} if calls take {one:.0f} s{on} and {how}"


def _ceiling(cost: CostEstimate) -> float:
    """Dollars for one debate: what all rounds are expected to cost, twice, in whole tenths."""
    whole = cost.rounds[-1].so_far.usd or 0.0
    return max(0.1, math.ceil(whole * 20) / 10)


def _budget(given: BudgetOptions, cost: CostEstimate | None, proposal: PanelProposal) -> dict[str, Any]:
    """The ceilings to write: those given, and one in dollars where a debate is paid and its price known."""
    found = {key.partition(".")[2]: value for key, value in given.given.items() if value is not None}
    if "usd" not in found and cost is not None and proposal.panel is None and cost.rounds[-1].so_far.usd:
        found["usd"] = _ceiling(cost)
    if "tokens" not in found and cost is not None and cost.rounds[-1].so_far.tokens > cost.ceiling.tokens:
        found["tokens"] = math.ceil(cost.rounds[-1].so_far.tokens * 1.5 / 50_000) * 50_000
    return found


def written(
    proposal: PanelProposal,
    found: Inventory,
    *,
    budget: Mapping[str, Any],
    profile: str | None = None,
    corpus: Path | None = None,
    data: Path | None = None,
    there: Path,
) -> str:
    """The file as text."""
    from maci.files.parse import parse
    from maci.seating.project import ProjectFile

    lines = ["# Who debates in this folder and below. Written by `maci init`; options on the command line go first."]
    if proposal.panel is not None:
        lines.append(f"panel = {_quoted(proposal.panel)}")
    if profile is not None:
        lines.append(f"profile = {_quoted(profile)}")
    if corpus is not None:
        lines.append(f"corpus = {_quoted(corpus.as_posix())}")
    if data is not None:
        lines.append(f"data = {_quoted(data.as_posix())}")
    if proposal.panel is None:
        agents, judges = ([each.model for each in seats] for seats in (proposal.agents, proposal.judges))
        lines += ["", "[panel]", f"agents = [{', '.join(map(_quoted, agents))}]"]
        if not judges:
            lines.append("# CRIT-free: no model of another family was found to judge")
        lines.append(f"judges = [{', '.join(map(_quoted, judges))}]")
        lines += [f"# {note}" for note in _where(proposal, found)]
    if budget:
        lines += ["", "[budget]  # of one debate", *(f"{key} = {value}" for key, value in sorted(budget.items()))]
    for model, given in {each.model: each.options for each in proposal.seats if each.options is not None}.items():
        lines += ["", f"[models.{_quoted(model)}]", f"base_url = {_quoted(str(given.base_url))}"]
    text = "\n".join(lines) + "\n"
    ProjectFile.model_validate(parse(text, "TOML", str(there)))
    return text


def _where(proposal: PanelProposal, found: Inventory) -> Iterator[str]:
    """Addresses that stay in the environment, such as those of other machines."""
    for variable, _, otherwise in _moved(proposal, found):
        yield f"{variable} says where the server is; without it, requests go to {otherwise}"


def _quoted(text: str) -> str:
    return jsonlib.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write(path: Path, text: str, *, over: bool) -> None:
    """Write the file, all of it or nothing; one that has appeared meanwhile, or a link, is not written through."""
    target = path.with_name(f".{path.name}.{os.getpid()}.part") if over else path
    try:
        with target.open("x", encoding="utf-8", newline="\n") as file:
            try:
                file.write(text)
                file.flush()
            except BaseException:
                target.unlink()
                raise
        target.replace(path)
    except FileExistsError:
        raise InputError(f"{path} is here already and is not overwritten: add --force, or edit it") from None
    except OSError as error:
        raise EnvironmentError_(
            f"cannot write {path}: {error.strerror}; run `maci init` in a folder you may write to"
        ) from error


def _write_schemas(folder: Path) -> None:
    """The formats of the files that people write, for editors."""
    from pydantic import BaseModel

    from maci.cases.case import CaseFile
    from maci.lab.study.spec import StudySpec
    from maci.seating.file import PanelsFile
    from maci.seating.project import ProjectFile

    files: dict[str, type[BaseModel]] = {
        "case": CaseFile,
        "panels": PanelsFile,
        "project": ProjectFile,
        "study": StudySpec,
    }
    try:
        folder.mkdir(exist_ok=True)
        for name, model in files.items():
            schema = jsonlib.dumps(model.model_json_schema(), indent=1, ensure_ascii=False)
            (folder / f"{name}.json").write_text(f"{schema}\n", encoding="utf-8")
    except OSError as error:
        raise EnvironmentError_(
            f"cannot write {folder}: {error.strerror}; leave out --schemas, or choose another folder"
        ) from error


def _next(proposal: PanelProposal, found: Inventory) -> str:
    """The command to go on with."""
    used = {each.provider for each in proposal.seats}
    filed = next((key.env_file for key in found.keys if key.env_file is not None and key.provider in used), None)
    return "maci debate CASE" + (f" --env-file {filed}" if filed else "")


def _object(
    found: Inventory,
    proposal: PanelProposal | None,
    cost: CostEstimate | None,
    path: Path | None,
    following: str,
    ceilings: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """The answer of ``--json``."""
    panel: dict[str, Any] | None = None
    if proposal is not None:
        panel = {"name": proposal.panel or "project", "agents": [each.model for each in proposal.agents]}
        panel |= {"judges": [each.model for each in proposal.judges], "paid": any(each.paid for each in proposal.seats)}
    row = None if cost is None else _typical(cost)
    return {
        "found": {
            "cores": found.machine.cores,
            "memory": found.machine.memory,
            "panels": list(found.panels.panels),
            "servers": [
                {"provider": s.provider, "base_url": s.base_url, "models": [m.name for m in s.models]}
                for s in found.servers
            ],
            "keys": [{"provider": key.provider, "source": key.source} for key in found.keys],
            "weights": list(found.weights),
        },
        "panel": panel,
        "warnings": [] if proposal is None else list(proposal.warnings),
        "estimate": None if row is None else {"rounds": row.round, "tokens": row.so_far.tokens, "usd": row.so_far.usd},
        "budget": dict(ceilings),
        "file": None if path is None else str(path),
        "next": following,
    }
