"""One small debate with a provider's model, capped, to see whether everything a debate needs works there: ``maci doctor --live``.

Two seats and a judge of the same model debate for one round about a case that ships with this file. What comes of it is told in a
report that can be shared: without keys, addresses, file names, names of deployments, and without what the models said.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from maci import __version__
from maci.cases.case import parse_case
from maci.debating.loop import debate
from maci.errors import MaciError, WrongKey, said
from maci.llm.keys import SERVICES, Key, host_of, redact, service_at
from maci.llm.models import price_for
from maci.llm.usage import PROMPT_CUT, dollars
from maci.seating.discover import key_variables
from maci.seating.file import PanelFiles
from maci.seating.seating import PanelChoice, seat_case
from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec
from maci.seating.table import commit
from maci.seating.trust import is_hosted
from maci.story import Story

TOKENS, USD = 30_000, 0.1
"""The most one trial may cost."""
_CASE = {
    "question": "Who pays for the repair of the roof?",
    "context": "Water comes through the ceiling of a rented shop. The roof is 31 years old.",
    "outcomes": ["landlord", "tenant"],
    "evidence": [
        "Lease, clause 7: the tenant keeps the interior in good order.",
        "Lease, clause 9: the landlord maintains the structure and the roof.",
    ],
}
_SETTINGS = {
    "budget.tokens": TOKENS,
    "stop.min_rounds": 1,
    "stop.max_rounds": 1,
    "crit.k": 1,
    "crit.same_family": True,
    "plan.enabled": False,
    "answer.recommendation": "off",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTrial:
    """How one debate went."""

    provider: str
    model: str
    works: bool
    host: str = ""
    stop_reason: str = ""
    calls: int = 0
    failed: int = 0
    """Calls that gave nothing usable."""
    tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0
    structured: bool | None = None
    """Whether the server holds the model to a schema; ``None`` where it was not reached."""
    remarks: tuple[str, ...] = ()


def trial_models(found: PanelFiles, named: PanelSpec | None = None) -> tuple[str, ...]:
    """One model for each configured provider: of the panel that was named, else of every panel there is."""
    panels = [named] if named is not None else [found.spec(name) for name in found.panels]
    first: dict[str, str] = {}
    for panel in panels:
        for model in panel.seated:
            first.setdefault(model.partition("/")[0], model)
    return tuple(first.values())


async def try_model(model: str, found: PanelFiles) -> LiveTrial:
    """Debate once with a model; whatever goes wrong is part of what is found."""
    provider, began = model.partition("/")[0], time.monotonic()
    judge = JudgeSpec(model=model, name="judge")
    spec = PanelSpec(agents=(_seat(model, "first"), _seat(model, "second")), judges=(judge,), models=found.options)
    given = spec.options(model)
    price = price_for(model, given)
    settings = {**_SETTINGS, **({} if price is None else {"budget.usd": USD})}
    where = _host(provider, given.base_url)
    keys = tuple(_keys(given.key_env))
    try:
        seated = seat_case(
            parse_case(_CASE, "the trial"), PanelChoice(spec=spec, given=settings, no_cache=True, fetches=False)
        )
        assert seated.house is not None
        try:
            story = Story.of([event async for event in debate(seated.opened, seated.table)])
            structured = seated.house.model(model).provider.structured
        finally:
            await seated.house.aclose()
    except MaciError as error:
        return LiveTrial(
            provider=provider, model=_shown(model), works=False, host=where, remarks=(_clean(said(error), model, keys),)
        )
    result, calls = story.result, story.calls
    assert result is not None
    failed = [call.failed for call in calls if call.failed]
    remarks = [*failed, *(warning for warning in result.warnings if PROMPT_CUT in warning)]
    if result.answer is None and not failed:
        remarks.append(result.detail)
    return LiveTrial(
        provider=provider,
        model=_shown(model),
        works=result.answer is not None and not failed,
        host=where,
        stop_reason=result.stop_reason,
        calls=len(calls),
        failed=len(failed),
        tokens=sum(call.usage.tokens for call in calls),
        usd=None if price is None else sum(call.usage.usd for call in calls),
        seconds=time.monotonic() - began,
        structured=structured,
        remarks=tuple(dict.fromkeys(_clean(each, model, keys) for each in remarks)),
    )


def _seat(model: str, name: str) -> AgentSpec:
    return AgentSpec(model=model, name=name)


def _host(provider: str, base_url: str | None) -> str:
    """Where it is, as far as everybody may know."""
    if provider == "local":
        return "this machine"
    known = service_at(provider, base_url)
    if known is not None and known.variables and known.base_url:
        return host_of(known.base_url)
    return provider if provider in {"azure", "bedrock", "litellm"} else "your own server"


def _shown(model: str) -> str:
    provider = model.partition("/")[0]
    if provider == "azure":
        return "azure/[deployment]"
    return model if is_hosted(model) else f"{provider}/[file]"


_ADDRESS = re.compile(r"https?://\S+|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\b[\w-]+(?:\.[\w-]+)+:\d+\b")
_PATH = re.compile(r"(?<![\w.])(?:~|[A-Za-z]:)?(?:[/\\][\w.@+-]+)+")


def _keys(own: str | None) -> Iterator[Key]:
    """Every key of the environment that a message could hold."""
    for variable in key_variables() | ({own} if own else set()):
        with suppress(WrongKey):
            yield Key(os.environ.get(variable, ""), variable)


def _clean(text: str, model: str, keys: Sequence[Key]) -> str:
    """A message without keys, addresses, paths and the names of deployments; hosts of known services may stay."""
    for key in keys:
        text = redact(text, key)
    text = redact(text).replace(model, _shown(model))
    if _shown(model) != model:
        text = text.replace(model.partition("/")[2], "[name]")
    public = {host_of(service.base_url) for service in SERVICES.values() if service.variables}

    def address(found: re.Match[str]) -> str:
        host = host_of(found[0]) if "://" in found[0] else found[0]
        return host if host in public else "[address]"

    return _PATH.sub("[path]", _ADDRESS.sub(address, text))[:400]


def live_report(trials: Sequence[LiveTrial]) -> str:
    """The trials as a Markdown page to share."""
    return "\n".join(_lines(trials)) + "\n"


def _lines(trials: Sequence[LiveTrial]) -> Iterator[str]:
    code = f" ({commit()})" if commit() else ""
    yield "# MACI live report"
    yield ""
    yield f"MACI {__version__}{code}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
    yield f"{datetime.now(UTC):%Y-%m-%d}. One debate of one round with each provider, at most {TOKENS:,} tokens."
    yield "Keys, addresses, file names and what the models said are left out."
    yield ""
    yield "| provider | model | host | works | stopped | calls | failed | tokens | cost | seconds | schema |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for each in trials:
        cost = "unknown" if each.usd is None else dollars(each.usd)
        schema = {True: "held to", False: "only asked for", None: "not reached"}[each.structured]
        cells = [
            each.provider,
            each.model,
            each.host,
            "yes" if each.works else "no",
            each.stop_reason or "–",
            str(each.calls),
        ]
        cells += [str(each.failed), f"{each.tokens:,}", cost, f"{each.seconds:.1f}", schema]
        yield f"| {' | '.join(cells)} |"
    for each in trials:
        if each.remarks:
            yield ""
            yield f"## {each.model}"
            yield from (f"- {remark}" for remark in each.remarks)
