"""What `maci doctor` looks at: this machine, keys, and models. Each check says what it found and, where something is wrong, the fix."""

from __future__ import annotations

import asyncio
import json
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from maci import __version__
from maci.agents.judges.crit import check_families
from maci.config import Config
from maci.errors import MaciError, WrongKey, install
from maci.llm.catalogue import family
from maci.llm.client import Client
from maci.llm.keys import SERVICES, address_of, is_loopback, key_help
from maci.llm.local.registry import WEIGHTS
from maci.llm.local.weights import status
from maci.llm.model import Message, Reply, Request, Schema
from maci.llm.reasoning import Reasoning
from maci.llm.structured import object_schema
from maci.llm.usage import Usage
from maci.paths import cache_dir, panel_files
from maci.seating import choose
from maci.seating.file import find
from maci.seating.models import Models
from maci.seating.project import find_project, project_defaults
from maci.seating.seating import PanelChoice, open_house
from maci.seating.spec import JudgeSpec, PanelSpec, is_model
from maci.story.words import plural

State = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the doctor."""

    subject: str
    state: State
    says: str
    usage: Usage = field(default_factory=Usage)


_EXTRAS: Mapping[str, tuple[str, ...]] = {
    "dense": ("onnxruntime", "tokenizers"),
    "pdf": ("pypdf",),
    "eval": ("scipy", "sklearn"),
    "local": ("xllamacpp",),
    "litellm": ("litellm",),
}


def machine() -> Iterator[CheckResult]:
    """Python, the package, its extras, folders and files."""
    version = platform.python_version()
    fine = sys.version_info >= (3, 11)
    yield CheckResult(
        "python", "ok" if fine else "problem", version if fine else f"{version}: MACI needs 3.11 or newer"
    )
    yield CheckResult("maci", "ok", __version__)
    have = [extra for extra, modules in _EXTRAS.items() if all(find_spec(module) for module in modules)]
    lack = [extra for extra in _EXTRAS if extra not in have]
    more = f"; not installed: {', '.join(lack)} ({install(lack[0])})" if lack else ""
    yield CheckResult("extras", "ok", f"{', '.join(have) or 'none'}{more}")
    yield _writable(cache_dir())
    try:
        found, files = find(project=False), list(panel_files())
    except MaciError as error:
        yield CheckResult("panels", "problem", str(error))
    else:
        where = f" in {', '.join(map(str, files))}" if files else "; docs/panels.md says how to write some"
        about = f"{len(found.panels)} with a name, {plural(len(found.models), 'entry')} about models{where}"
        yield CheckResult("panels", "ok", about)
    try:
        project = find_project()
    except MaciError as error:
        yield CheckResult("project", "problem", str(error))
    else:
        if project is not None:
            about = "names the panel" if project.panel else "names no panel"
            yield CheckResult("project", "ok", f"{project.path} {about}")


def project_panel() -> str | None:
    """The panel of the project file; ``None`` where there is none or it cannot be read, which another check says."""
    try:
        return project_defaults().panel_name
    except MaciError:
        return None


def _writable(folder: Path) -> CheckResult:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        return CheckResult(
            "cache", "problem", f"{folder} cannot be written ({error.strerror}): point MACI_CACHE at a folder that can"
        )
    return CheckResult("cache", "ok", str(folder))


async def models(
    panel: str | None, agents: str | None, judges: str | None, *, offline: bool, seconds: float | None
) -> list[CheckResult]:
    """The models that were named, or the services and weights that are at hand."""
    names: list[tuple[str, Reasoning | None]]
    named = not (panel is None and agents is None and judges is None)
    if not named:
        spec, names = _known_models(), [(name, None) for name in local_models()]
    else:
        chosen = choose(panel, agents, judges, least=1) if agents or panel else choose("readers", None, judges)
        if isinstance(chosen, str) or not chosen.seated:
            name = chosen if isinstance(chosen, str) else chosen.name or "panel"
            return [CheckResult(name, "ok", "needs no model")]
        spec, seats = chosen, (*chosen.agents, *(chosen.judges or ()))
        names = list(dict.fromkeys((seat.model, seat.reasoning) for seat in seats if is_model(seat.model)))
    async with open_house(spec, PanelChoice(no_cache=True, offline=offline, fetches=False)) as house:
        services, found = ([], []) if named else keyed_services(house, spec)
        asked = [  # a model of this machine has to be loaded first
            ask_model(
                house, name, level, offline=offline, seconds=seconds or (180.0 if name.startswith("local/") else 30.0)
            )
            for name, level in names
        ]
        listed = [] if offline else [ask_service(house, service, seconds or 30.0) for service in services]
        answers = await asyncio.gather(*asked)
        found += _families(spec)
        found += [finding for finding in await asyncio.gather(*listed) if finding is not None]
        return [*found, *(finding for answer in answers for finding in answer)]


def _families(spec: PanelSpec) -> list[CheckResult]:
    """Whether the judges may judge these debaters."""

    def members(seats: Sequence[JudgeSpec]) -> list[tuple[str, str]]:
        models = [(seat.name or seat.model, seat.model) for seat in seats if is_model(seat.model)]
        return [(name, spec.options(model).family or family(model)) for name, model in models]

    allowed = str(spec.settings.get("crit.same_family", False)).lower() == "true"
    try:
        warnings = check_families(members(spec.agents), members(spec.judges or ()), allowed)
    except MaciError as error:
        return [CheckResult("families", "problem", str(error))]
    return [CheckResult("families", "warning", warning) for warning in warnings]


def _known_models() -> PanelSpec:
    try:
        return PanelSpec(models=find().options)
    except MaciError:  # said already, by the check of the panels files
        return PanelSpec()


def keyed_services(models: Models, spec: PanelSpec) -> tuple[list[str], list[CheckResult]]:
    """Services to ask when nothing is named: those with a key, and those on this machine; and what stands in the way."""
    names, keys = [], 0
    for name, service in SERVICES.items():
        given = spec.options(f"{name}/")
        if not (given.base_url or address_of(name) or service.base_url):  # Azure, where nobody said where it is
            continue
        try:
            provider = models.model(f"{name}/any").provider
            provider.check()
        except MaciError as error:
            if isinstance(error, WrongKey) and given.key_env is None:
                continue
            return [], [CheckResult(name if isinstance(error, WrongKey) else "keys", "problem", str(error))]
        keys += bool(provider.key_source)
        if provider.key_source or is_loopback(given.base_url or service.base_url):
            names.append(name)
    if keys:
        return names, []
    example = key_help("openai")
    return names, [CheckResult("keys", "warning", f"none found; for models of a provider, for example: {example}")]


def local_models() -> list[str]:
    """Models whose weights are on this machine."""
    return [f"local/{name}" for name, weight in WEIGHTS.items() if weight.extra == "local" and status(name).present]


async def ask_service(models: Models, name: str, seconds: float) -> CheckResult | None:
    """Whether a service is there and takes our key; ``None``: one of this machine that is not running, which nobody asked for."""
    provider = models.model(f"{name}/any").provider
    try:
        async with asyncio.timeout(seconds):
            offers = await provider.models()
    except (MaciError, TimeoutError) as error:
        return None if not provider.key_source else CheckResult(name, "problem", _said(error, f"{name}/any", seconds))
    source = f"takes the key from {provider.key_source}, " if provider.key_source else ""
    names = ", ".join(offers[:_NAMES]) + (" …" if len(offers) > _NAMES else "")
    listed = f"{plural(len(offers), 'model')}{': ' if names else ''}{names}"
    return CheckResult(name, "ok", f"{source}{listed}; to try one: maci doctor --agents {name}/NAME")


_NAMES = 20
"""Most models a service is listed with."""
_FORM = Schema("check", object_schema(outcome={"type": "string"}, fine={"type": "boolean"}))
_ASK = Request(
    messages=(
        Message(
            "user",
            "Two days after a picnic, six of ten guests are ill; all six ate the egg salad, and so did one who is well. Is the egg "
            'salad the likeliest cause? Answer with a JSON object such as {"outcome": "egg salad", "fine": true}, and nothing else.',
        ),
    ),
    max_tokens=min(Config().agents.max_tokens, Config().crit.max_tokens),
    schema=_FORM,
    temperature=Config().crit.judge_temperature,
    seed=1,
)
"""What a debate asks, within the limit a debate has."""


async def ask_model(
    models: Models, name: str, reasoning: Reasoning | None = None, *, offline: bool, seconds: float
) -> list[CheckResult]:
    """Everything about one model: key or weights, an answer within a debate's limits, and whether it can be held to a form."""
    before = _at_hand(models, name)
    local = name.startswith("local/")
    if any(finding.state == "problem" for finding in before):
        return before
    if offline and not local:
        return [*before, CheckResult(name, "warning", "not asked (--offline)")]
    try:
        model = models.model(name).at(reasoning)
        async with asyncio.timeout(seconds):
            usage, reply, cut_off = await _try(model)
    except (MaciError, TimeoutError) as error:
        return [*before, CheckResult(name, "problem", _said(error, name, seconds))]
    usd = 0.0 if model.price is None else model.price.usd(usage)
    cost = ", price unknown" if model.price is None else "" if usd else ", free"
    found = [CheckResult(name, "ok", f"answers, family {model.family}{cost}", replace(usage, usd=usd))]
    if model.thinks or reply.usage.thought:
        found.append(_thinking(name, reply, cut_off))
    if reply.without:
        found.append(
            CheckResult(name, "ok", f"does not take {', '.join(reply.without)}: left out, and said in the record")
        )
    return [*before, *found, _structured(name, model.provider.structured, reply)]


async def _try(model: Client) -> tuple[Usage, Reply, int]:
    """An answer in a form, what it cost, and the limit it was cut off at first, if it was."""
    request = model.fitted(_ASK)
    cut_off, usage = 0, Usage()
    while True:
        reply = model.counted(request, await model.provider.send(request))
        usage += reply.usage
        longer = model.longer(request, reply)
        if longer is None or longer.max_tokens - longer.thinking > _ASK.max_tokens:
            return Usage(prompt=usage.prompt, generated=usage.generated, thought=usage.thought), reply, cut_off
        cut_off, request = cut_off or request.max_tokens, longer


def _thinking(name: str, reply: Reply, cut_off: int) -> CheckResult:
    if not cut_off:
        thought = f"{reply.usage.thought:,} tokens here" if reply.usage.thought else "as its name says"
        return CheckResult(name, "ok", f"thinks before it answers ({thought}); replies get room for it")
    return CheckResult(
        name,
        "warning",
        f"thinks before it answers, and was cut off at {cut_off:,} tokens; in a debate its first reply is asked for twice. "
        f"Set `reasoning` for it (--agents {name}@reasoning=low, or in the panels file)",
    )


def _structured(name: str, held: bool, reply: Reply) -> CheckResult:
    try:
        followed = isinstance(json.loads(reply.text)["fine"], bool)
    except (ValueError, LookupError, TypeError):
        followed = False
    if followed and held:
        return CheckResult(name, "ok", "structured output: follows a JSON schema")
    if followed:
        why = "the server takes no schema; replies are checked, and repaired once"
    elif reply.truncated:
        why = f"it used {reply.usage.generated:,} tokens without an answer: set a lower `reasoning` for it, or raise crit.max_tokens"
    else:
        why = "it did not follow a simple form; expect turns that cannot be read"
    return CheckResult(name, "warning", f"structured output: {why}")


def _at_hand(models: Models, name: str) -> list[CheckResult]:
    """What can be said of a model without asking it: its extra, its key, its weights."""
    try:
        provider = models.model(name).provider
        provider.check()
    except MaciError as error:
        return [CheckResult(name, "problem", _said(error, name, 0).removesuffix(", then run `maci doctor`"))]
    service, _, rest = name.partition("/")
    if service != "local":
        return [CheckResult(name, "ok", f"key from {provider.key_source}")] if provider.key_source else []
    if rest not in WEIGHTS:
        return [CheckResult(name, "ok", "weights of your own")]
    now = status(rest)
    size = f"{now.size / 1e6:,.0f} MB"
    if now.present:
        return [CheckResult(name, "ok", f"weights are here, {size}")]
    return [CheckResult(name, "problem", f"weights are not here ({size}): maci models pull {rest}")]


def _said(error: BaseException, name: str, seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {seconds:g} s: check the network, or allow more with --timeout"
    return str(error).removeprefix(f"{name}: ").removeprefix(f"{name} ").removesuffix(" `maci doctor` tests it")
