"""What others wrote decides nothing that is trusted: hosts, keys and code come from the user's own configuration.

Others' words are a record that is resumed, and the panels file of a folder one happens to work in. A recorded debate continues with
the recorded seats and with what the user's panels files say of the models now. Where the record names another host, another key, code
or files, the differences are listed, and the user has to agree to them (``--trust-record``). A provider's key goes to no other host,
whoever agrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from maci.cases.case import REDACTED
from maci.config import full_key, load, plugins
from maci.errors import ConfigError
from maci.llm.keys import SERVICES, host_of, is_loopback, owner_of, service_at, without_credentials
from maci.llm.local.registry import WEIGHTS
from maci.llm.models import ModelOptions
from maci.llm.reasoning import split_level
from maci.seating.spec import PanelSpec, is_plugin, recorded_panel

if TYPE_CHECKING:
    from maci.controller.inputs import Opened
    from maci.seating.file import PanelFiles
    from maci.seating.seating import PanelChoice

_TRUSTED = ("base_url", "key_env", "extra")
"""What decides where a request goes, with which key, and what is in it."""


def is_hosted(model: str) -> bool:
    """Whether a name only stands for a model somebody serves or that is pinned here: no path, address, plugin or file of the hub."""
    provider, _, rest = model.partition("/")
    if provider == "local":
        return rest in WEIGHTS
    return "://" not in model and not names_plugin(model)


def names_plugin(model: str) -> bool:
    """Whether a seat would load code of an installed package: an agent, a judge or a provider."""
    provider = model.partition("/")[0]
    shipped = provider in SERVICES or provider in {"litellm", "bedrock", "local"}
    return is_plugin(model) or (not shipped and provider in plugins.names("providers"))


def leak(name: str, given: ModelOptions, *, any_secret: bool = False) -> str:
    """What others' words about a model would do with a key that belongs to another host, in words; nothing where they would not.

    ``any_secret``: no variable but a provider's own leaves this machine.
    """
    provider = name.partition("/")[0]
    known = SERVICES.get(provider)
    url = given.base_url or (known.base_url if known else "")
    if provider in {"litellm", "bedrock"} and (
        "://" in name or given.extra or not is_loopback(url or "http://localhost")
    ):
        return (
            "let litellm, which finds keys itself, send one elsewhere"  # base_url, extra.api_base, an address as a name
        )
    owner = owner_of(given.key_env or "")
    astray = any_secret and not is_loopback(url) if owner is None else service_at(provider, given.base_url) is not owner
    return f"send {given.key_env} to {host_of(url) or provider}" if given.key_env and astray else ""


def resumed(opened: Opened, choice: PanelChoice, own: PanelFiles) -> PanelSpec | str:
    """Who sits at a recorded table, with the user's ``own`` word on the models; raises where the record wants something else.

    With ``choice.trust_record`` the record's word counts where it differs.
    """
    panel = recorded_panel(opened)
    seats = panel if isinstance(panel, PanelSpec) else PanelSpec()
    ours = PanelSpec(models=own.options)
    other = {m: seats.options(m) for m in seats.seated if _named(seats.options(m)) != _named(ours.options(m))}
    differences = [
        *(f"{name} {_said(given)} (yours: {_said(ours.options(name))})" for name, given in other.items()),
        *(f"the model {name}" for name in seats.seated if not is_hosted(name) and name not in _mentioned(own, choice)),
        *(f"the plugin {name}" for name in _plugins(seats) if name not in _mentioned(own, choice)),
        *_code(opened, choice),
        *_files(opened, choice),
    ]
    strange = [name for name in seats.seated if name in other or name not in _mentioned(own, choice)]
    leaks = [f"{name} would {found}" for name in strange if (found := leak(name, seats.options(name)))]
    if leaks and choice.trust_record:
        raise ConfigError(
            f"the record is not resumed, not even with --trust-record: {'; '.join(leaks)}. If that is what you want, name the "
            "model in your own panels file (docs/panels.md)"
        )
    if differences and not choice.trust_record:
        raise ConfigError(
            f"the record names what your own configuration does not: {'; '.join(differences)}. A record can come from "
            "anyone. Add the models to your panels file, or repeat the options the debate was started with. If you trust the record, "
            "resume it at the command line: `maci debate --resume --out DIR --trust-record`"
        )
    if choice.trust_record:
        plugins.name_schedule(opened.config.dials.schedule)
    return panel if isinstance(panel, str) else panel.model_copy(update={"models": {**own.options, **other}})


def _plugins(panel: PanelSpec) -> Iterator[str]:
    """Agents and judges of installed packages, each once."""
    yield from dict.fromkeys(seat.model for seat in (*panel.agents, *(panel.judges or ())) if is_plugin(seat.model))


def _named(given: ModelOptions) -> tuple[object, ...]:
    return tuple(getattr(given, key) for key in _TRUSTED)


def _said(given: ModelOptions) -> str:
    """Where a model is and with which key; quoted, since a record may hold anything."""
    where = f"at {given.base_url!r}" if given.base_url else "at its usual address"
    key = f"with the key in {given.key_env}" if given.key_env else "with the usual key"
    return f"{where} {key}" + (f" and extra {given.extra!r}" if given.extra else "")


def _mentioned(own: PanelFiles, choice: PanelChoice) -> set[str]:
    """Models that the user names now."""
    given = f"{choice.agents or ''},{choice.judges or ''}".split(",")
    return own.mentioned | {split_level(name.strip())[0] for name in given}


def _code(opened: Opened, choice: PanelChoice) -> Iterator[str]:
    """Code that would be loaded and addresses that would be asked, unless the user names the same."""
    from maci.evidence.encode import SHIPPED

    encoder, schedule, source = opened.config.evidence.encoder, opened.config.dials.schedule, opened.source
    if encoder not in SHIPPED or schedule.startswith(plugins.SCHEDULE):
        named = {"evidence.encoder", "dials.schedule"}
        sets = [each for each in choice.sets if full_key(each.partition("=")[0].strip()) in named]
        own = load(file=choice.config, sets=sets)
        if encoder not in SHIPPED and own.evidence.encoder != encoder:
            yield f"the encoder {encoder!r}"
        if schedule.startswith(plugins.SCHEDULE) and own.dials.schedule != schedule:
            yield f"the schedule {schedule!r}"
    same = choice.source is not None and without_credentials(choice.source) == without_credentials(source)
    code = {"python", "http", "https", "corpus", *plugins.names("sources")}
    if source.partition(":")[0] in code and not same and REDACTED not in source:
        yield f"the source {without_credentials(source)!r}"


def _files(opened: Opened, choice: PanelChoice) -> Iterator[str]:
    """Files that would be opened, unless the user names the same: a stranger's words would be read as evidence, or argued."""
    if opened.corpus not in {"", REDACTED, choice.corpus and str(choice.corpus.resolve())}:
        yield f"the corpus {opened.corpus!r}"
    if opened.table is None and opened.panel not in {"", "readers", "paper", choice.panel}:
        yield f"the panel file {opened.panel!r}"
