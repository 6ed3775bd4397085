"""The study spec: what it comes to, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from maci.errors import ConfigError, InputError
from maci.lab.study.spec import load_spec, parse_spec
from maci.lab.study.study import differences, fingerprint
from study_helpers import spec_data, toml

QUICK = {
    "quick": {"limit": 3, "seeds": [7], "set": {"stop.max_rounds": 2}, "methods": ["maci"]},
    "set": {"stop": {"min_rounds": 1, "max_rounds": 6}},
}


def write(folder: Path, **changes: object) -> Path:
    path = folder / "study.toml"
    path.write_text(toml(spec_data(**changes)), encoding="utf-8")
    return path


def test_a_spec_is_read_from_toml_with_its_files_below_its_folder(tmp_path):
    spec = load_spec(write(tmp_path))
    assert spec.seeds == (0, 1) and spec.parts == ("dev", "test")
    assert spec.data[0].file == tmp_path / "cases.jsonl"
    assert [method.label for method in spec.methods] == ["single", "average", "maci"]
    assert spec.panel.name == "readers"


def test_quick_changes_what_its_table_says_and_nothing_else():
    whole, quick = parse_spec(spec_data(**QUICK), "t"), parse_spec(spec_data(**QUICK), "t", quick=True)
    assert (whole.limit, whole.seeds, len(whole.methods)) == (None, (0, 1), 3)
    assert (quick.limit, quick.seeds, [m.use for m in quick.methods]) == (3, (7,), ["maci"])
    assert whole.config().stop.max_rounds == 6 and quick.config().stop.max_rounds == 2
    assert quick.config().stop.min_rounds == 1


def test_a_limit_on_the_command_line_wins_over_that_of_quick():
    assert parse_spec(spec_data(**QUICK), "t", quick=True, limit=5).limit == 5


def test_each_makes_one_method_for_every_agent_with_the_options_of_the_entry():
    spec = parse_spec(spec_data(methods=[{"use": "self_consistency", "name": "sc", "n": 4, "each": True}]), "t")
    assert spec.methods[0].expand(["a", "b"]) == {
        "sc/a": {"n": 4, "agent": "a", "name": "sc/a"},
        "sc/b": {"n": 4, "agent": "b", "name": "sc/b"},
    }


def test_options_of_data_sets_are_part_of_their_name():
    data = [{"set": "symptom2disease"}, {"set": "symptom2disease", "per_label": 3}]
    spec = parse_spec(spec_data(data=data), "t")
    assert [entry.name for entry in spec.data] == ["symptom2disease", "symptom2disease(per_label=3)"]


def test_the_fingerprint_is_of_what_decides_rows():
    def printed(**changes):
        return fingerprint(parse_spec(spec_data(**changes), "t").identity)

    one = printed()
    for same in ({"about": "words"}, {"limit": 3}, {"budget": {"tokens": 5}}, {"report": {"reference": "single"}}):
        assert printed(**same) == one
    for other in (
        {"seeds": [0]},
        {"set": {"stop.max_rounds": 3}},
        {"profile": "paper"},
        {"methods": [{"use": "maci"}]},
    ):
        assert printed(**other) != one
    nested, dotted = {"set": {"stop": {"max_rounds": 3}}}, {"set": {"stop.max_rounds": 3}}
    assert printed(**nested) == printed(**dotted)


@pytest.mark.parametrize(
    "written",
    [
        '"reliability.prior" = { lexical = 2, "gpt-4.1" = 0.5 }',
        'reliability.prior = { lexical = 2, "gpt-4.1" = 0.5 }',
        '[set.reliability.prior]\nlexical = 2\n"gpt-4.1" = 0.5',
        'prior = { lexical = 2, "gpt-4.1" = 0.5 }',
        'reliability.prior = "lexical=2,gpt-4.1=0.5"',
    ],
)
def test_numbers_by_agent_may_be_written_as_a_table(tmp_path, written):
    head = 'name = "t"\n[[data]]\nset = "symptom2disease"\n[[methods]]\nuse = "maci"\n'
    path = tmp_path / "study.toml"
    path.write_text(f"{head}[quick.set]\n'stop.max_rounds' = 2\n[set]\n{written}\n", encoding="utf-8")
    for quick in (False, True):
        config = load_spec(path, quick=quick).config()
        assert config.reliability.prior == {"lexical": 2.0, "gpt-4.1": 0.5}
    assert load_spec(path, quick=True).config().stop.max_rounds == 2


def test_a_wrong_number_by_agent_names_the_setting():
    with pytest.raises(ConfigError, match=r"\[set\] reliability.prior = .*must be name=number pairs"):
        parse_spec(spec_data(set={"reliability": {"prior": {"lexical": -1}}}), "t")


@pytest.mark.parametrize("given", [{"reliability.prior": {"lexical": 2}}, {"prior": "lexical=2"}])
def test_numbers_by_agent_are_not_both_given_and_learnt(given):
    with pytest.raises(ConfigError, match="leave one out"):
        parse_spec(spec_data(set=given, learn={"agents": True}), "t")


def test_the_environment_has_no_say(monkeypatch):
    monkeypatch.setenv("MACI_MAX_ROUNDS", "3")
    assert parse_spec(spec_data(), "t").config().stop.max_rounds == 8


def test_differences_name_only_what_changed():
    old = parse_spec(spec_data(set={"stop.max_rounds": 3, "gate.tau_q": 0.4}), "t").identity
    new = parse_spec(spec_data(set={"stop.max_rounds": 5, "gate.tau_q": 0.4}), "t").identity
    assert differences(old, new) == ['set was {"stop.max_rounds": 3}, is {"stop.max_rounds": 5}']


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sets": {}}, "unknown key 'sets': did you mean set?"),
        ({"methods": []}, "methods is []: it needs at least one entry"),
        ({"methods": [{"use": "macy"}]}, "unknown method 'macy': did you mean maci?"),
        ({"methods": [{"use": "maci", "m": 3}]}, "method 'maci' has no option 'm': it has settings, beside name"),
        (
            {"methods": [{"use": "maci"}, {"use": "maci"}]},
            "two [[methods]] are called 'maci': give each a `name` of its own",
        ),
        ({"methods": [{"use": "maci", "each": True}]}, "each = true is for methods that rest on one agent (single, "),
        ({"methods": [{"use": "single", "each": True, "agent": "x"}]}, "has agent and each = true: leave one out"),
        ({"methods": [{"name": "x"}]}, "methods.0.use is missing: add `use = …`"),
        ({"methods": [{"use": "majority_vote", "n": 0}]}, "n = 0 must be a whole number between 1 and 1000"),
        ({"data": [{"set": "symptom2diseas"}]}, "no data set is named 'symptom2diseas': did you mean symptom2disease"),
        ({"data": [{"set": "symptom2disease", "per": 3}]}, "has no option 'per'"),
        ({"data": [{"file": "x.csv", "per_lable": 3}]}, "has an unknown key 'per_lable': did you mean per_label?"),
        ({"data": [{"file": "x.csv", "per_label": "3"}]}, "per_label = '3' must be a whole number"),
        ({"data": [{"file": "x.csv", "question": 3}]}, "question = 3 must be what is asked of every row"),
        ({"data": [{"file": "x.csv", "outcomes": []}]}, "outcomes = [] must be a list of labels"),
        ({"data": [{"label": "x"}]}, "a [[data]] needs `set` (`maci data` lists them) or `file`"),
        ({"data": [{"file": "a.csv", "maps": {}}]}, "has an unknown key 'maps': did you mean map?"),
        ({"data": [{"set": "symptom2disease", "map": {"gold": "x"}}]}, "has `map`, which is for a `file` of your own"),
        ({"data": [{"file": "a/x.csv"}, {"file": "b/x.csv"}]}, "two [[data]] are called 'x': give each a `label`"),
        ({"set": {"stop.max_round": 3}}, "[set] unknown setting 'stop.max_round': did you mean stop.max_rounds"),
        ({"set": {"stop.max_rounds": 0}}, "stop.max_rounds = 0 is out of range"),
        ({"profile": "papr"}, "unknown profile 'papr': choose one of default, paper"),
        ({"seeds": []}, "seeds is []: it needs at least one entry"),
        ({"seeds": [1, 1]}, "two seeds are '1'"),
        ({"parts": ["dev", "train"]}, "parts.1 is 'train': input should be 'dev' or 'test'"),
        ({"budget": {"token": 3}}, "unknown key 'budget.token': did you mean tokens?"),
        ({"budget": {"usd": -1}}, "budget.usd is -1: input should be greater than or equal to 0"),
        ({"panel": {"name": "readers", "recorded": True}}, "panel has name and recorded: give one of"),
        ({"panel": {"agents": ["local/x"]}}, "panel has one agent: a panel needs at least two"),
        ({"panel": {"agents": ["local/x", {"model": "local/y", "personna": ""}]}}, "did you mean persona?"),
        ({"name": "a/b"}, "name is 'a/b': it names a folder"),
        ({"quick": {"limit": 0}}, "quick.limit is 0: input should be greater than or equal to 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_value_and_a_remedy(changes, said):
    with pytest.raises(ConfigError) as refused:
        parse_spec(spec_data(**changes), "study.toml")
    assert str(refused.value).startswith("study.toml: ") and said in str(refused.value)


def test_quick_methods_must_be_there():
    with pytest.raises(ConfigError, match=r"quick.methods names 'mac': did you mean maci\?"):
        parse_spec(spec_data(quick={"methods": ["mac"]}), "t", quick=True)


def test_a_file_that_cannot_be_read_says_why(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*none.toml: No such file"):
        load_spec(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("name = \n", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad.toml is not valid TOML: .*line 1"):
        load_spec(tmp_path / "bad.toml")
