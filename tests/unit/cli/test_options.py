"""Options in groups, and the door that opens one command at a time."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

import maci.cli
from maci.cli.app import COMMANDS, opened
from maci.cli.options import BudgetOptions, PanelOptions, ReplyOptions, SettingsOptions, chosen, grouped
from maci.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Meal:
    """What is eaten."""

    dish: Annotated[str, typer.Argument(help="The dish.")]
    spoons: Annotated[int, typer.Option(help="How many.", min=1)] = 2


@dataclass(frozen=True, kw_only=True)
class SmallMeal(Meal):
    """With another help, in the same place."""

    spoons: Annotated[int, typer.Option(help="How few.", max=3)] = 1


@dataclass(frozen=True, kw_only=True)
class Table:
    """Where."""

    seats: Annotated[list[str] | None, typer.Option("--seat")] = None
    outside: Annotated[bool, typer.Option("--outside")] = False


def served() -> tuple[typer.Typer, list[object]]:
    app, got = typer.Typer(), []

    @app.command()
    @grouped
    def eat(*, meal: Meal, loud: Annotated[bool, typer.Option("--loud")] = False, table: Table) -> None:
        """Eat."""
        got.append((meal, loud, table))

    return app, got


def test_a_command_is_handed_its_groups_as_objects() -> None:
    app, got = served()
    ran = CliRunner().invoke(app, ["soup", "--loud", "--seat", "a", "--seat", "b", "--spoons", "5"])
    assert ran.exit_code == 0, ran.output
    assert got == [(Meal(dish="soup", spoons=5), True, Table(seats=["a", "b"]))]


def test_what_is_left_out_has_the_default_of_its_field() -> None:
    app, got = served()
    assert CliRunner().invoke(app, ["soup"]).exit_code == 0
    assert got == [(Meal(dish="soup"), False, Table())]


def test_help_and_ranges_are_those_of_the_fields_in_their_order() -> None:
    app, _ = served()
    page = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120", "NO_COLOR": "1"}).output
    assert [page.index(name) for name in ("--spoons", "--loud", "--seat", "--outside")] == sorted(
        page.index(name) for name in ("--spoons", "--loud", "--seat", "--outside")
    )
    assert "How many." in page and "[default: 2" in page and "Eat." in page
    assert CliRunner().invoke(app, ["soup", "--spoons", "0"]).exit_code == 2
    assert CliRunner().invoke(app, []).exit_code == 2  # a field without a default is required


def test_a_group_that_derives_says_something_else_in_the_same_place() -> None:
    app, got = typer.Typer(), []

    @app.command()
    @grouped
    def nibble(*, meal: SmallMeal) -> None:
        got.append(meal)

    assert CliRunner().invoke(app, ["soup"]).exit_code == 0 and got == [SmallMeal(dish="soup", spoons=1)]
    assert CliRunner().invoke(app, ["soup", "--spoons", "4"]).exit_code == 2


def test_two_options_of_one_name_are_refused_when_the_command_is_declared() -> None:
    with pytest.raises(ValueError, match="duplicate parameter name: 'spoons'"):

        @grouped
        def eat(*, meal: Meal, spoons: int = 1) -> None: ...


def test_a_command_can_be_called_from_python_with_single_options() -> None:
    got = []

    @grouped
    def eat(*, meal: Meal, table: Table) -> None:
        got.append((meal, table))

    eat(dish="soup", outside=True)
    assert got == [(Meal(dish="soup"), Table(outside=True))]
    with pytest.raises(TypeError, match="dish"):
        eat(outside=True)


def test_cache_and_no_cache_exclude_each_other() -> None:
    with pytest.raises(InputError, match="give --cache or --no-cache, not both"):
        ReplyOptions(cache=Path("replies"), no_cache=True)


def test_options_that_are_settings_arrive_as_values_and_prevail_over_set() -> None:
    budget = BudgetOptions(budget_tokens=700)
    settings = SettingsOptions(sets=["budget.tokens=900", "stop.max_rounds=4"])
    choice = chosen(PanelOptions(), settings, ReplyOptions(), {**budget.given, "answer.risk": None}, seed=3, quiet=True)
    assert choice.given == {"budget.tokens": 700} and choice.seed == 3
    _, config = choice.settled()
    assert (config.budget.tokens, config.budget.usd, config.stop.max_rounds) == (700, None, 4)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_the_first_line_of_each_command(name: str) -> None:
    assert opened(name).help.split("\n\n")[0] == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_file_or_a_folder_of_its_name(name: str) -> None:
    own = "sign" if name == "verify-signature" else name.replace("-", "_")  # two halves of one subject
    place = Path(maci.cli.__file__).parent / own
    assert place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def test_a_command_opens_no_other() -> None:
    code = (
        "import sys\n"
        "sys.argv = ['maci', 'cases', '--help']\n"
        "from maci.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "print([name for name in ('ask', 'debate', 'study') if f'maci.cli.{name}' in sys.modules], file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "List the built-in cases, or print one as a YAML file." in ran.stdout
    assert ran.stderr.strip() == "[]"
