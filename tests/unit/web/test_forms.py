"""What people fill in: read safely, refused in words."""

from __future__ import annotations

import pytest

from maci.errors import ConfigError, EvidenceError, InputError, MaciError
from maci.web import Limits
from maci.web.forms import Kept, Upload, case_of, choice_of, person, together

FORM = {"question": " Which animal? ", "outcomes": "cat\ndog", "context": "Small tracks."}
LIMITS = Limits()


def test_a_form_becomes_a_case_with_its_evidence() -> None:
    form = {**FORM, "evidence": "A cat hides\nits claws.\n\nA dog does not."}
    table = Upload("C:\\notes\\more.csv", b"text,label\nRound tracks,cat\n")
    case = case_of(form, {"files": [table]}, LIMITS)
    assert case.question == "Which animal?" and case.outcomes.labels == ("cat", "dog")
    assert [document.text for document in case.evidence] == [
        "A cat hides its claws.",
        "A dog does not.",
        "Round tracks",
    ]
    assert case.evidence[-1].label == "cat" and case.evidence[-1].source.startswith("more.csv")


def test_a_case_file_counts_before_the_form() -> None:
    case = case_of(FORM, {"case_file": [Upload("a.yaml", b"question: Is it?\noutcomes: [yes, no]")]}, LIMITS)
    assert case.question == "Is it?" and case.outcomes.labels == ("yes", "no")


def test_a_built_in_case_takes_evidence_along() -> None:
    case = case_of({"builtin": "dengue", "evidence": "Dengue fever hurts."}, {}, LIMITS)
    assert case.evidence[-1].text == "Dengue fever hurts."


@pytest.mark.parametrize(
    ("form", "file", "said"),
    [
        ({}, None, "what shall be debated"),
        ({"builtin": "../../etc/passwd"}, None, "no built-in case"),
        (
            {"question": "x", "outcomes": "cat"},
            None,
            "there is only 'cat'. Name two or more, .* or leave the field empty",
        ),
        ({"question": "x", "outcomes": " , ,"}, None, "no name stands between the commas"),
        ({}, Upload("a.py", b"x"), "YAML, TOML or JSON"),
        ({}, Upload("a.yaml", b"\xff\xfe"), "UTF-8"),
        ({}, Upload("a.yaml", b"x" * ((1 << 20) + 1)), "bytes"),
        ({}, Upload("a.json", b"{"), "not valid JSON"),
        ({}, Upload("a.yaml", b"!!python/object/apply:os.system ['true']"), "not valid YAML"),
        ({}, Upload("a.yaml", b"question: q\noutcomes: &a [x, *a]"), "refers to itself"),
    ],
)
def test_what_is_no_case_is_refused_in_words(form: dict[str, str], file: Upload | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        case_of(form, {"case_file": [file] if file else []}, LIMITS)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([Upload("a.exe", b"MZ")], "not a kind of file"),
        ([Upload("a.txt", b"")], "holds no text"),
        ([Upload("a.txt", b"\0\1\2")], "binary"),
        ([Upload("a.txt", b"x " * 3000)], "characters"),
        ([Upload("a.txt", b"x" * 9000)], "over the limit"),
        ([Upload(f"{n}.txt", b"x") for n in range(3)], "3 files were sent"),
    ],
)
def test_evidence_beyond_the_limits_is_refused_in_words(files: list[Upload], said: str) -> None:
    with pytest.raises(EvidenceError, match=said):
        case_of(FORM, {"files": files}, Limits(files=2, file=8000, text=1000))


def test_names_of_files_lose_their_folders_and_signs() -> None:
    assert Upload("../../etc/passwd.txt", b"").plain_name == "passwd.txt"
    assert Upload("<b>x</b>.txt", b"").plain_name == "b_.txt"


@pytest.mark.parametrize(
    "form",
    [
        {"panel": "/etc/passwd"},
        {"panel": "script.yaml"},
        {"agents": "local//etc/passwd,local/./x.gguf"},
        {"agents": "openai/gpt-4o-mini,openai/gpt-4o-mini", "judges": "local/~/x.gguf"},
        {"settings": "evidence.encoder = os:system"},
        {"settings": "encoder = st:some/model"},
        {"settings": "no sign"},
        {"settings": "no_such_key = 1"},
    ],
)
def test_visitors_cannot_make_the_server_read_paths_or_load_code(form: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        choice_of(form)


def test_settings_and_budget_reach_the_choice() -> None:
    choice = choice_of(
        {"panel": "readers", "settings": "tau_q = 0.4", "budget_tokens": "5,000", "budget_usd": "0.5", "seed": "3"}
    )
    assert choice.sets == ["tau_q=0.4"] and choice.given == {"budget.tokens": 5000, "budget.usd": 0.5}
    assert choice.seed == 3
    with pytest.raises(InputError, match="whole number"):
        choice_of({"seed": "three"})


def test_somebody_without_a_name_is_somebody() -> None:
    assert person({"by": "  Ada \n Lovelace "}) == "Ada Lovelace"
    assert person({}) == "somebody at the web page"


def test_utilities_are_read_from_the_form() -> None:
    choice = choice_of({"utilities": "treat: {Gout: 5, otherwise: -2}\nwait: {otherwise: 0}\ncost: 0.1"})
    assert choice.stakes is not None
    assert choice.stakes.actions["treat"] == {"Gout": 5.0, "otherwise": -2.0}
    assert choice.stakes.cost == 0.1
    assert choice_of({"utilities": " "}).stakes is None
    for text, said in (
        ("treat: {Gout: 5}", "at least two actions"),
        ("treat: {Gout: much}\nwait: {Gout: 1}", "treat.Gout is 'much'"),
        ("a: &x {Gout: *x}\nb: *x", "refers to itself"),
        ("a: {", "not valid YAML"),
    ):
        with pytest.raises(MaciError, match=said):
            choice_of({"utilities": text})


@pytest.mark.parametrize(
    ("field", "text"),
    [("budget_tokens", "many"), ("budget_usd", "-1"), ("risk", "101"), ("questions", "2.5"), ("seed", "x")],
)
def test_a_number_that_is_none_is_said_of_its_field(field: str, text: str) -> None:
    with pytest.raises(InputError) as refused:
        choice_of({"panel": "readers", field: text})
    assert refused.value.about == field


def test_risk_is_in_percent_and_steps_of_a_scale_lie_where_they_say() -> None:
    assert choice_of({"panel": "readers", "risk": "5"}).given == {"answer.risk": 0.05}
    case = case_of({"question": "How much?", "outcomes": "-2\n0\n+1", "scale": "yes"}, {}, LIMITS)
    assert case.outcomes.kind == "ordered" and case.outcomes.positions == (-2.0, 0.0, 1.0)
    case = case_of({"question": "How much?", "outcomes": "little\nmuch", "scale": "yes"}, {}, LIMITS)
    assert case.outcomes.kind == "ordered" and case.outcomes.positions == (0.0, 1.0)
    with pytest.raises(InputError, match="a scale needs its steps") as refused:
        case_of({"question": "How much?", "scale": "yes"}, {}, LIMITS)
    assert refused.value.about == "outcomes"


@pytest.mark.parametrize(
    ("form", "files", "about"),
    [
        ({}, {}, "question"),
        ({"builtin": "nothing"}, {}, "builtin"),
        ({}, {"case_file": [Upload("a.json", b"{")]}, "case_file"),
        (FORM, {"files": [Upload("a.exe", b"x")]}, "files"),
        ({**FORM, "evidence": "x" * 2_000_001}, {}, "evidence"),
    ],
)
def test_what_is_wrong_names_its_field(form: dict[str, str], files: dict[str, list[Upload]], about: str) -> None:
    with pytest.raises(InputError) as refused:
        case_of(form, files, LIMITS)
    assert refused.value.about == about


def test_files_are_kept_for_who_sent_them_within_time_and_size() -> None:
    now = [0.0]
    kept = Kept(Limits(kept=10, kept_seconds=60), lambda: now[0])
    files = {"files": [Upload("a.txt", b"12345"), Upload("b.txt", b"678")]}
    word = kept.keep("ana", files)
    assert kept.files("ana", {"kept": word, "kept_1": "yes"}) == {"files": [files["files"][1]]}
    assert kept.files("ana", {"kept": word, "kept_1": "yes", "kept_01": "yes", "kept_\u0661": "yes"}) == {
        "files": [files["files"][1]]
    }
    assert kept.files("ana", {"kept": word}) == {"files": []}
    for session, form in (("bob", {"kept": word, "kept_0": "yes"}), ("ana", {"kept": "other", "kept_0": "yes"})):
        with pytest.raises(InputError, match="choose them again"):
            kept.files(session, form)
    more = kept.keep("bob", {"files": [Upload("c.txt", b"123456")]})  # too much together: the oldest go
    with pytest.raises(InputError, match="choose them again"):
        kept.files("ana", {"kept": word, "kept_0": "yes"})
    now[0] = 61.0
    with pytest.raises(InputError, match="choose them again"):
        kept.files("bob", {"kept": more, "kept_0": "yes"})


def test_a_case_file_sent_now_counts_before_the_one_kept() -> None:
    old, new, note = Upload("old.yaml", b"1"), Upload("new.yaml", b"2"), Upload("note.txt", b"3")
    assert together({"case_file": [new]}, {"case_file": [old], "files": [note]}) == {
        "case_file": [new],
        "files": [note],
    }
