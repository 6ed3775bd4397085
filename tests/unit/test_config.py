from __future__ import annotations

from pathlib import Path

import pytest

from maci.config import PROFILES, Config, full_key, load, parameters
from maci.errors import ConfigError, InputError


def refused(*sets: str, **more: object) -> str:
    with pytest.raises(InputError) as error:
        load(sets=sets, **{"environ": {}, **more})  # type: ignore[arg-type]
    return str(error.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("tau_q=1.6", "gate.tau_q = 1.6 is out of range: τ_Q must be between 0 and 1"),
        ("tau_q=-0.1", "must be between 0 and 1"),
        ("tau_q=nan", "gate.tau_q = nan"),
        ("tau_q=inf", "gate.tau_q = inf"),
        ("tau_q=", "gate.tau_q = None"),
        ("tau_q=much", "gate.tau_q = much is not valid"),
        ("max_rounds=0", "stop.max_rounds = 0 is out of range: t_max must be a whole number between 1 and 1000"),
        ("max_rounds=3.5", "a whole number"),
        ("guard=maybe", "gate.guard = maybe is not valid: D4 must be true or false"),
        ("schedule=spiral", "must be one of course, plateau, ladder, fixed"),
        ("beliefs.tolerance=0.6", "between 0 and 0.5"),
        ("budget.tokens=-1", "between 0 and"),
    ],
)
def test_a_value_out_of_range_is_refused_with_key_value_and_range(given: str, says: str) -> None:
    assert says in refused(given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("gate.tau=0.5", "unknown setting 'gate.tau': did you mean gate.tau_"),
        ("taq_q=0.5", "did you mean tau_q"),
        ("stop.tau_q=0.5", "unknown setting 'stop.tau_q'"),
        ("zzzzzz=1", "`maci config` lists every key"),
        ("temperature=1", "agents.temperature"),
        ("profile=paper", "unknown setting 'profile'"),
        ("=1", "unknown setting ''"),
        ("tau_q", "write key=value, for example --set stop.max_rounds=5"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_ones(given: str, says: str) -> None:
    assert says in refused(given)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[stop]\nmax_rounds = true\n", "stop.max_rounds = True is not valid"),
        ("[gate]\ntau_q = false\n", "gate.tau_q = False is not valid"),
        ("[budget]\nusd = true\n", "budget.usd = True is not valid"),
        ("[calibration]\nagents = {a = true}\n", "calibration.agents"),
    ],
)
def test_true_and_false_are_no_numbers(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "my.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=says):
        load(file=file, environ={})


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    assert refused(profile="papper") == "unknown profile 'papper': choose one of default, paper"


def test_an_unknown_environment_variable_of_a_section_is_refused() -> None:
    says = refused(environ={"MACI_GATE_TAU": "0.5"})
    assert says.startswith("unknown setting in the environment: MACI_GATE_TAU; did you mean MACI_GATE_TAU_")


def test_environment_variables_of_other_programs_are_left_alone() -> None:
    assert load(environ={"MACI_CACHE": "/x", "MACI_DATA": "/y", "GATE_TAU_Q": "0.9", "PATH": "/bin"}) == Config()


def test_flags_win_over_environment_over_file_over_profile(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text('profile = "paper"\ntau_crit = 0.2\n[gate]\ntau_q = 0.1\ngamma = 0.2\n[stop]\nmax_rounds = 3\n')
    config = load(file=file, environ={"MACI_GATE_TAU_Q": "0.2", "MACI_STOP_MAX_ROUNDS": "4"}, sets=["max_rounds=5"])
    assert (config.profile, config.plateau.mode) == ("paper", "relative")
    assert (config.gate.gamma, config.gate.tau_crit) == (0.2, 0.2)
    assert config.gate.tau_q == 0.2
    assert config.stop.max_rounds == 5
    assert load("default", file=file, environ={}).plateau.mode == "default"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[gate\n", "is not valid TOML"),
        ("tau_q = ", "is not valid TOML"),
        ("[gate]\ntau = 1", "unknown setting 'gate.tau'"),
        ("[gates]\ntau_q = 1", "unknown setting 'gates.tau_q'"),
        ('[gate]\ntau_q = "high"', "gate.tau_q = high is not valid"),
        ("[gate.tau_q]\nx = 1", "gate.tau_q"),
        ("profile = 5", "unknown profile 5"),
        ('profile = ["paper"]', "unknown profile ['paper']"),
    ],
)
def test_a_bad_config_file_is_refused_by_name(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "my.toml"
    file.write_text(text)
    assert says in refused(file=file)


def test_a_config_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert "cannot read" in refused(file=tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    assert "is not a text file (UTF-8)" in refused(file=tmp_path / "bytes.toml")


def test_limits_that_cross_are_refused() -> None:
    assert "stop.min_rounds = 2 is above stop.max_rounds = 1: set both" in refused("max_rounds=1", "min_rounds=2")
    assert "stop.min_rounds = 9 is above stop.max_rounds = 8: set both" in refused("min_rounds=9")
    assert "dials.cl_min = 0.5 is above dials.cl_max = 0.4" in refused("cl_min=0.5", "cl_max=0.4")


def test_who_lowers_max_rounds_alone_lowers_min_rounds_with_it_and_is_told() -> None:
    alone = load(sets=["max_rounds=1"], environ={})
    assert (alone.stop.min_rounds, alone.stop.max_rounds) == (1, 1)
    assert alone.notes == ("min_rounds was lowered from 2 to 1, because max_rounds is 1",)
    panels = load(base={"min_rounds": 5}, environ={"MACI_MIN_ROUNDS": "4"}, sets=["max_rounds=3"])  # chosen lower down
    assert panels.stop.min_rounds == 3 and panels.notes[0].startswith("min_rounds was lowered from 4 to 3")
    assert not load(sets=["max_rounds=1", "min_rounds=1"], environ={}).notes and not load(environ={}).notes
    recorded = Config.model_validate_json(alone.model_dump_json())
    assert recorded == alone and not recorded.notes  # a record holds the settings alone
    assert alone != load(environ={})


def test_every_parameter_has_a_symbol_a_meaning_and_a_range() -> None:
    rows = parameters(Config())
    assert len(rows) == len({row.key for row in rows}) > 50
    for row in rows:
        assert row.symbol and row.meaning and row.valid
        assert row.value == row.default
        assert full_key(row.key) == row.key


def test_every_value_a_profile_sets_is_a_known_parameter_and_differs_from_the_default() -> None:
    default = {row.key: row.value for row in parameters(Config())}
    for changes in PROFILES.values():
        for key, value in changes.items():
            assert default[key] != value


def test_a_config_cannot_be_changed_after_it_was_checked() -> None:
    config = Config()
    with pytest.raises(Exception, match="frozen"):
        config.gate.tau_q = 5  # type: ignore[misc]


def test_values_that_are_given_need_no_reading_and_prevail_over_key_value():
    config = load(sets=["max_rounds=4", "usd=none"], given={"stop.max_rounds": 5, "budget.usd": 0.5}, environ={})
    assert (config.stop.max_rounds, config.budget.usd) == (5, 0.5)
    with pytest.raises(ConfigError, match=r"stop.max_rounds = 0 is out of range"):
        load(given={"stop.max_rounds": 0}, environ={})
