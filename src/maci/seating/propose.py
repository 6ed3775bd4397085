"""A panel from what was found: two debaters of different families, and a judge of a third where there is one.

What costs nothing goes before what does: with models on this machine no paid provider is proposed unless it is named. Which models
stand for a paid provider is listed in ``HOSTED``: small ones, whose price is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from maci.errors import InputError, MaciError
from maci.llm.catalogue import family
from maci.llm.keys import SERVICES, address_of, is_loopback, is_public
from maci.llm.local.registry import WEIGHTS
from maci.llm.models import House, ModelOptions, price_for
from maci.render.markup import listed
from maci.seating.discover import LOCAL_SERVERS, FoundServer, Inventory, Machine
from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec, names

HOSTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "openai": ("gpt-4o-mini", "gpt-4.1-mini"),
        "anthropic": ("claude-haiku-4-5",),
        "gemini": ("gemini-2.5-flash", "gemini-2.5-flash-lite"),
        "openrouter": ("openai/gpt-4o-mini", "google/gemini-2.5-flash", "anthropic/claude-haiku-4.5"),
        "groq": ("llama-3.3-70b-versatile", "qwen/qwen3-32b", "openai/gpt-oss-120b"),
        "mistral": ("mistral-small-latest",),
        "deepseek": ("deepseek-chat",),
        "together": ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "mistralai/Mistral-7B-Instruct-v0.2"),
        "xai": ("grok-3-mini",),
    }
)
"""Paid provider → models that are proposed for it, the best for the purpose first."""
_BILLIONS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
_SMALL = 3.0
"""Billions of parameters below which models follow the forms of a debate badly."""
_WEAK = frozenset({"local/smollm2-135m"})
"""Weights that are there to try the path out."""
_ROOM = 1.2
"""Memory a model takes, as a multiple of its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOffer:
    """A model that could sit at the table."""

    model: str
    family: str
    billions: float | None = None
    memory: float | None = None
    """Bytes it takes of this machine's memory, where that is known."""
    paid: bool = False
    options: ModelOptions | None = None
    """What has to be known of it, where its provider alone does not say."""

    @property
    def provider(self) -> str:
        """Who serves it."""
        return self.model.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelProposal:
    """A panel, and what a person should know of it."""

    agents: tuple[ModelOffer, ...] = ()
    judges: tuple[ModelOffer, ...] = ()
    panel: str | None = None
    """A configured panel by its name, instead of seats."""
    warnings: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    """Providers that have a key and are not used."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seats(self) -> tuple[ModelOffer, ...]:
        """Debaters and judges."""
        return (*self.agents, *self.judges)

    @property
    def spec(self) -> PanelSpec:
        """The panel as one can sit down at it."""
        agents, judges = names(
            [AgentSpec(model=each.model) for each in self.agents], [JudgeSpec(model=each.model) for each in self.judges]
        )
        models = {each.model: each.options for each in self.seats if each.options is not None}
        return PanelSpec(name="project", agents=agents, judges=judges, models=models, settings=self.settings)


def offers(found: Inventory) -> list[ModelOffer]:
    """Every model that could debate here, free ones first, then in the order in which they are preferred."""
    free = [each for server in found.servers for each in _served(server, found)]
    free += [
        ModelOffer(model=name, family=family(name), billions=_billions(name), memory=weights_memory(name))
        for name in found.weights
        if name not in _WEAK
    ]
    free.sort(key=lambda each: -(each.billions or 7.0))
    paid = [
        ModelOffer(model=f"{key.provider}/{name}", family=family(f"{key.provider}/{name}"), paid=True)
        for key in found.keys
        for name in HOSTED.get(key.provider, ())
    ]
    return free + paid


def _served(server: FoundServer, found: Inventory) -> list[ModelOffer]:
    memory = found.machine.memory if is_loopback(server.base_url) else None
    own = _written(server.provider, server.base_url)
    return [
        ModelOffer(
            model=f"{server.provider}/{each.name}",
            family=family(f"{server.provider}/{each.name}"),
            billions=_billions(each.name) or (each.size / 6e8 if each.size else None),  # about five bits a weight
            memory=each.size * _ROOM if memory is not None and each.size else None,
            options=own,
        )
        for each in server.models
        if each.size is None or memory is None or each.size * _ROOM <= memory
    ]


def weights_memory(model: str) -> float | None:
    """Bytes of memory that weights take which MACI loads itself; ``None`` where it does not know the file."""
    weight = WEIGHTS.get(model.removeprefix("local/"))
    return None if weight is None else weight.size * _ROOM


def _written(provider: str, url: str | None) -> ModelOptions | None:
    """The address that the file has to name, so that it sends nowhere else in a shell that lacks the variable.

    A file may only name this machine; a server at its usual address needs no word.
    """
    if url is None or url == SERVICES[provider].base_url or not is_loopback(url) or not is_public(url):
        return None
    return ModelOptions(base_url=url)


def _billions(name: str) -> float | None:
    """Parameters as a model's name states them.

    >>> _billions("llama3.1:8b-instruct"), _billions("qwen2.5-coder-1.5b"), _billions("mistral")
    (8.0, 1.5, None)
    """
    found = _BILLIONS.findall(name)
    return float(found[-1]) if found else None


def propose(found: Inventory, use: Sequence[str] = ()) -> PanelProposal | None:
    """The panel to be used here; ``None`` where nothing was found. ``use``: only these providers, paid ones included."""
    pool = offers(found)
    keyed = tuple(key.provider for key in found.keys)
    if use:
        _check_use(use, pool)
        pool = [each for each in pool if each.provider in use]
    else:
        if name := _configured(found):
            return PanelProposal(panel=name, unused=keyed)
        if any(not each.paid for each in pool):
            pool = [each for each in pool if not each.paid]
    pool, left_out = _loadable(pool, found.machine)
    if not pool:
        return None
    agents, judges = seat(pool)
    used = {each.provider for each in (*agents, *judges)}
    return PanelProposal(
        agents=agents,
        judges=judges,
        warnings=(*_warnings(agents, judges), *left_out, *_crowded((*agents, *judges), found.machine)),
        unused=tuple(each for each in keyed if each not in used),
    )


def seat(pool: Sequence[ModelOffer]) -> tuple[tuple[ModelOffer, ...], tuple[ModelOffer, ...]]:
    """Debaters and judges.

    Three families: two debate, the third judges. Two: two of one debate, the other judges. One: two debate, and nobody judges.
    """
    families: dict[str, list[ModelOffer]] = {}
    for each in pool:
        families.setdefault(each.family, []).append(each)
    groups = list(families.values())
    if len(groups) > 2:
        return (groups[0][0], groups[1][0]), (groups[2][0],)
    groups.sort(key=lambda group: len(group) < 2)  # two different models of a family rather than one twice
    first = groups[0]
    return (first[0], first[1] if len(first) > 1 else first[0]), (groups[1][0],) if len(groups) > 1 else ()


def _loadable(pool: Sequence[ModelOffer], machine: Machine) -> tuple[list[ModelOffer], list[str]]:
    """The pool without weights that would not fit into memory beside the others of their panel, and what was left out, in words.

    MACI keeps the weights of a whole panel loaded. A server loads and unloads models itself, see :func:`_crowded`.
    """
    left, said = list(pool), []
    while left and machine.memory is not None:
        seats = {each.model: each for part in seat(left) for each in part if each.provider == "local" and each.memory}
        need = sum(each.memory or 0 for each in seats.values())
        if need <= machine.memory:
            break
        out = max(seats.values(), key=lambda each: each.memory or 0)
        together = f"with {listed(name for name in seats if name != out.model)} it" if len(seats) > 1 else "it"
        said.append(f"{out.model} is not seated: {together} needs about {_of(need, machine.memory)}.")
        left.remove(out)
    return left, said


def _crowded(seats: Sequence[ModelOffer], machine: Machine) -> Iterator[str]:
    """A warning where models do not fit into the memory of this machine together."""
    held = {each.model: each.memory for each in seats if each.memory}
    need = sum(held.values())
    if machine.memory is None or need <= machine.memory:
        return
    own = all(name.startswith("local/") for name in held)
    how = (
        "Choose smaller ones"
        if own
        else "A server then loads them again and again, which takes long: choose smaller ones"
    )
    yield f"{listed(held)} need about {_of(need, machine.memory)} together. {how}."


def _of(need: float, memory: int) -> str:
    return f"{need / 1e9:.1f} of {memory / 1e9:.1f} GB of memory"


def _warnings(agents: Sequence[ModelOffer], judges: Sequence[ModelOffer]) -> list[str]:
    said = []
    if not judges:
        said.append(
            f"Only one model family ({agents[0].family}) was found, so nobody scores the arguments (CRIT-free): a judge of the "
            "debaters' own family may share their mistakes. Add a second family for a judge."
        )
    elif len({each.family for each in agents}) == 1:
        said.append(
            f"Both debaters are of one family ({agents[0].family}), because the other one judges. A third family makes a better panel."
        )
    if agents[0].model == agents[1].model:
        said.append(f"{agents[0].model} debates against itself.")
    small = [each.model for each in (*agents, *judges) if each.billions is not None and each.billions < _SMALL]
    if small:
        said.append(f"Small models argue badly: {', '.join(dict.fromkeys(small))}.")
    return said


def _configured(found: Inventory) -> str:
    """The first panel of the panels files whose models have their keys."""
    for name in found.panels.panels:
        spec = found.panels.spec(name)
        house = House(cache=None, options=spec.models, offline=True)
        try:
            for model in spec.seated:
                house.model(model).provider.check()
        except MaciError:
            continue
        return name
    return ""


def _check_use(use: Sequence[str], pool: Sequence[ModelOffer]) -> None:
    offered = {each.provider for each in pool}
    for name in use:
        if name in offered:
            continue
        if name in HOSTED:
            raise InputError(f"--use {name}: there is no key for it in the environment, in keys.toml or in --env-file")
        if name in LOCAL_SERVERS:
            raise InputError(f"--use {name}: no such server answered: start it, or name its address (docs/start.md)")
        if name in {"azure", "bedrock", "litellm"}:
            raise InputError(f"--use {name}: name its models: maci init --agents {name}/A,{name}/B --judges …")
        known = ", ".join([*HOSTED, *LOCAL_SERVERS, "local"])
        raise InputError(f"--use {name}: nothing of that name was found; the providers are {known}")


def named(spec: PanelSpec, machine: Machine) -> PanelProposal:
    """A panel that a person named."""

    def offer(seat: JudgeSpec) -> ModelOffer:
        given = spec.options(seat.model)
        price = price_for(seat.model, given)
        paid = price is None or price.at_most(1000, 1000) > 0
        provider = seat.model.partition("/")[0]
        own = _written(provider, address_of(provider)) if given == ModelOptions() else None
        return ModelOffer(
            model=seat.model,
            family=given.family or family(seat.model),
            billions=_billions(seat.model),
            memory=weights_memory(seat.model) if provider == "local" else None,
            paid=paid,
            options=own,
        )

    agents, judges = tuple(map(offer, spec.agents)), tuple(map(offer, spec.judges or ()))
    return PanelProposal(agents=agents, judges=judges, warnings=tuple(_crowded((*agents, *judges), machine)))
