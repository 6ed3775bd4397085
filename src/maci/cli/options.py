"""Options of commands, each declared once. Those that belong together form a group: a frozen dataclass, one parameter of a command.

Typer has no groups. :func:`grouped` declares the fields of each group as single options and builds the group from their values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from maci.errors import InputError
from maci.llm.offline import stay_offline

if TYPE_CHECKING:
    from maci.seating.seating import PanelChoice


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command for Typer: a parameter whose type is a group is replaced by the options of that group.

    Two options with the same name raise ``ValueError`` when the command is declared.
    """
    declared = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: each.annotation for name, each in declared.items() if is_dataclass(each.annotation)}
    spread = [
        option for name, each in declared.items() for option in (_fields(groups[name]) if name in groups else [each])
    ]
    signature = inspect.Signature([option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in spread])

    @wraps(command)
    def called(**options: Any) -> None:
        given = signature.bind(**options)
        given.apply_defaults()
        values = given.arguments
        made = {name: group(**{f.name: values.pop(f.name) for f in fields(group)}) for name, group in groups.items()}
        command(**made, **values)

    vars(called)["__signature__"] = signature
    return called


def _fields(group: Any) -> list[inspect.Parameter]:
    types = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(
            f.name,
            kind,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=types[f.name],
        )
        for f in fields(group)
    ]


def complete(command: Callable[..., None]) -> Callable[..., None]:
    """The command with ``--plain`` and ``--quiet``, which every command takes.

    One that declares neither prints no colour, no bars and nothing but its result as it is, so they change nothing there.
    """
    signature = inspect.signature(command, eval_str=True)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in (("plain", Plain), ("quiet", Quiet))
        if name not in signature.parameters
    ]

    @wraps(command)
    def called(**options: Any) -> None:
        for option in more:
            options.pop(option.name)
        command(**options)

    vars(called)["__signature__"] = signature.replace(parameters=[*signature.parameters.values(), *more])
    return called


def _share(text: str) -> float:
    """A number between 0 and 1; nan is none."""
    with suppress(ValueError):
        if 0 <= (value := float(text)) <= 1:
            return value
    raise typer.BadParameter(f"{text} is not a number between 0 and 1")


Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output and nothing else.")]
Plain = Annotated[bool, typer.Option("--plain", help="No colour, no bars: for pipes and screen readers.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the result.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="TOML file with settings.", dir_okay=False)]
Sets = Annotated[
    list[str] | None, typer.Option("--set", help="key=value; `maci config` lists the keys.", metavar="KEY=VALUE")
]
Corpus = Annotated[Path | None, typer.Option(help="Evidence: a folder made by `maci index`.", exists=True)]
Cache = Annotated[
    Path | None,
    typer.Option(help="Where models' replies are kept and found again.", dir_okay=False, metavar="FILE"),
]
EnvFile = Annotated[
    Path | None,
    typer.Option(
        help="A file such as .env: providers' keys are read from it, and nothing else.",
        envvar="MACI_ENV_FILE",
        show_envvar=True,
        dir_okay=False,
        metavar="FILE",
    ),
]
Offline = Annotated[
    bool, typer.Option("--offline", help="Reach nothing but this machine, and fetch no weights.", callback=stay_offline)
]
Risk = Annotated[
    float | None,
    typer.Option(
        help="Risk of a wrong answer you accept, such as 0.1: above it none is given.", parser=_share, metavar="SHARE"
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Give the readers' answer even where word statistics cannot decide the case.")
]
TranscriptPath = Annotated[
    Path, typer.Argument(help="A transcript.jsonl, or the folder that holds it.", metavar="TRANSCRIPT")
]
KeyFile = Annotated[
    Path, typer.Option("--key", help="A file with the key: 32 bytes or more, secret.", dir_okay=False, metavar="FILE")
]
DataDir = Annotated[
    Path | None, typer.Option("--data", help="Folder of the data sets (default: MACI_DATA).", metavar="DIR")
]
Redact = Annotated[
    list[str] | None,
    typer.Option(
        "--redact",
        help="Take this out of cases before anything is sent or recorded: context, sources, ids, title, hidden, aliases. Repeatable.",
        metavar="FIELD",
    ),
]


def redacted(fields: Sequence[str] | None) -> dict[str, str | None]:
    """The same as a setting."""
    return {"evidence.redact": ",".join(fields) if fields else None}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOptions:
    """The case to debate."""

    case: Annotated[
        str | None,
        typer.Argument(help="A case file (YAML, TOML, JSON), `-`, a built-in name, or a question.", metavar="CASE"),
    ] = None
    question: Annotated[str | None, typer.Option(help="Instead of a case: the question.")] = None
    outcomes: Annotated[
        str | None, typer.Option(help="With --question: the outcomes, comma-separated (default: open).")
    ] = None
    context: Annotated[str, typer.Option(help="With --question: what is known.")] = ""
    redact: Redact = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelOptions:
    """The panel: agents and judges."""

    panel: Annotated[
        str | None,
        typer.Option(
            help="Who debates: readers, paper, a YAML script, or a named panel (default: the panel of maci.toml, else readers)."
        ),
    ] = None
    agents: Annotated[
        str | None,
        typer.Option(help="Debaters, as provider/model,provider/model,…; one may be named twice.", metavar="MODELS"),
    ] = None
    judges: Annotated[
        str | None,
        typer.Option(help="Judges of other families, as provider/model,…; `reader` or `none`.", metavar="MODELS"),
    ] = None
    env_file: EnvFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOptions:
    """Profile, settings file and single settings."""

    profile: Annotated[
        str | None, typer.Option("--profile", help="`default` or `paper` (the paper's literal rules).")
    ] = None
    config: ConfigFile = None
    sets: Sets = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """Ceilings in tokens and dollars."""

    budget_tokens: Annotated[int | None, typer.Option(help="Most tokens, all calls together.", min=0)] = None
    budget_usd: Annotated[float | None, typer.Option(help="Most dollars, all calls together.", min=0)] = None

    @property
    def given(self) -> dict[str, Any]:
        """The same as settings; ``None`` for an option that was not given."""
        return {"budget.tokens": self.budget_tokens, "budget.usd": self.budget_usd}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyOptions:
    """The response cache, and whether weights may be downloaded."""

    cache: Cache = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no replies, ask models every time.")] = False
    offline: Offline = False

    def __post_init__(self) -> None:
        if self.cache is not None and self.no_cache:
            raise InputError("give --cache or --no-cache, not both")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Where a debate is recorded, and whether to resume it or only to estimate its cost."""

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing: estimate tokens and dollars.")] = False
    out: Annotated[
        Path | None, typer.Option(help="Folder for transcript.jsonl (default: maci-runs/…).", file_okay=False)
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue the broken debate in --out.")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print every round, not only the result.")] = False
    trust_record: Annotated[
        bool,
        typer.Option(
            "--trust-record",
            help="With --resume: use hosts, keys and code that only the record names, not your configuration.",
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How results are printed."""

    json: Json = False
    plain: Plain = False
    quiet: Quiet = False

    @property
    def silent(self) -> bool:
        """Whether to print the result only, without progress."""
        return self.json or self.quiet


def chosen(
    panel: PanelOptions,
    settings: SettingsOptions,
    replies: ReplyOptions,
    given: Mapping[str, Any],
    *,
    seed: int,
    quiet: bool,
    corpus: Path | None = None,
    source: str | None = None,
    source_headers: Sequence[str] = (),
    utilities: Path | None = None,
) -> PanelChoice:
    """The choice that the options of a command make.

    ``given``: settings that have an option, ``None`` if it was not used. ``quiet``: download weights without a progress bar.
    """
    from maci.acquisition.gain import load_stakes
    from maci.cli.models import fetch
    from maci.seating.discover import use_env_file
    from maci.seating.seating import PanelChoice

    if panel.env_file is not None:
        use_env_file(panel.env_file)
    return PanelChoice(
        panel=panel.panel, agents=panel.agents, judges=panel.judges, corpus=corpus,
        profile=settings.profile, config=settings.config, sets=settings.sets or (),
        given={key: value for key, value in given.items() if value is not None}, seed=seed,
        cache=replies.cache, no_cache=replies.no_cache, offline=replies.offline,
        fetch=partial(fetch, offline=replies.offline, quiet=quiet), source=source, source_headers=tuple(source_headers),
        stakes=None if utilities is None else load_stakes(utilities), stakes_from=str(utilities or ""),
    )  # fmt: skip
