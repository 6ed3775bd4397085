"""Names, readers and what goes into the record."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from maci.errors import ConfigError
from maci.llm.models import ModelOptions
from maci.seating import choose
from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec, agents_of, judges_of, names


def test_the_same_model_twice_gets_a_number_across_agents_and_judges() -> None:
    agents, judges = names([AgentSpec(model="local/x"), AgentSpec(model="local/x")], [JudgeSpec(model="local/x")])
    assert [seat.name for seat in (*agents, *judges)] == ["local/x", "local/x#2", "local/x#3"]


def test_a_number_that_somebody_chose_as_a_name_is_passed_over() -> None:
    agents, _ = names([AgentSpec(model="a/x"), AgentSpec(model="a/x"), AgentSpec(model="b/y", name="a/x#2")], [])
    assert [seat.name for seat in agents] == ["a/x", "a/x#3", "a/x#2"]


def test_two_of_the_same_chosen_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two at the table are named 'sceptic'"):
        names([AgentSpec(model="a/x", name="sceptic"), AgentSpec(model="b/y", name="sceptic")], [])


def test_a_reader_named_again_is_another_debater_but_no_other_judge() -> None:
    seats, _ = names(agents_of([AgentSpec(model="reader"), AgentSpec(model="reader/lexical")]), [])
    assert [seat.name for seat in seats] == ["lexical", "semantic", "bayesian", "lexical#2"]
    with pytest.raises(ConfigError, match="reader/words is named twice, and would score alike"):
        judges_of([JudgeSpec(model="reader"), JudgeSpec(model="reader/words")])


def test_reader_stands_for_all_three() -> None:
    assert [seat.model for seat in judges_of([JudgeSpec(model="reader")])] == [
        "reader/letters",
        "reader/words",
        "reader/phrases",
    ]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("gpt-4o", "a model is named provider/model"),
        ("/x", "a model is named provider/model"),
        ("openai/", "a model is named provider/model"),
        ("reader/letters", "the readers here are reader/lexical, reader/semantic, reader/bayesian"),
    ],
)
def test_a_name_that_is_no_model_is_refused_with_an_example(model: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        agents_of([AgentSpec(model=model)])


def test_a_reader_has_no_settings() -> None:
    with pytest.raises(ConfigError, match="reader/lexical is a reader, who has no settings: leave out name, persona"):
        agents_of([AgentSpec(model="reader/lexical", persona="bold", name="b")])


@pytest.mark.parametrize("url", ["ftp://x", "127.0.0.1:8000", "http://me:secret@host/v1"])
def test_a_base_url_is_http_and_holds_no_password(url: str) -> None:
    with pytest.raises(ValidationError):
        ModelOptions(base_url=url)


def test_what_goes_into_the_record_comes_back_equal_and_names_only_who_is_seated() -> None:
    here = ModelOptions(base_url="http://127.0.0.1:8000/v1/", key_env="MINE", family="llama")
    spec = PanelSpec(
        name="clinic",
        agents=(AgentSpec(model="openai/a", name="a", persona="careful"), AgentSpec(model="openai/b", name="b")),
        judges=(),
        models={"openai/a": here, "openai/elsewhere": ModelOptions(family="x")},
        settings={"budget.usd": 1},
    )
    again = PanelSpec.model_validate(spec.record())
    assert again.agents == spec.agents
    assert again.judges == ()
    assert again.models == {"openai/a": here}
    assert again.models["openai/a"].base_url == "http://127.0.0.1:8000/v1"
    assert "settings" not in spec.record()


def test_judges_that_were_not_named_differ_from_none() -> None:
    named = choose(None, "a/x,a/y")
    assert isinstance(named, PanelSpec) and named.judges is None
    free = choose(None, "a/x,a/y", "none")
    assert isinstance(free, PanelSpec) and free.judges == ()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("readers", "a/x,b/y", None), "give --panel or --agents, not both"),
        ((None, "a/x", None), "a debate needs at least two"),
        ((None, "a/x,,b/y", None), "name models between the commas"),
        ((None, "a/x,b/y", "mistral"), "--judges 'mistral': a model is named"),
        (("paper", None, "a/x"), "is a script, which brings its own judges"),
        (("readrs", None, None), "did you mean readers"),
    ],
)
def test_a_choice_that_makes_no_panel_is_refused(given: tuple[str | None, str | None, str | None], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        choose(*given)


def test_judges_alone_judge_the_readers() -> None:
    panel = choose(None, None, "a/x")
    assert isinstance(panel, PanelSpec)
    assert [seat.name for seat in panel.agents] == ["lexical", "semantic", "bayesian"]
    assert panel.seated == ("a/x",)
