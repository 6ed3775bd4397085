"""Where word statistics cannot decide a case (D21), no view gives the best guess as the answer, and each says that it is withheld."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helpers import LABELS, make_case, of, open_debate, play, script, seat, settings, turn, write
from maci.acquisition.gain import Stakes
from maci.cli.app import app
from maci.cli.batch.run import _answer, _summarise, in_words, row
from maci.controller import ending
from maci.controller.decisions import Planned
from maci.debating.batch import Batch, Done, entries
from maci.record.replay import replay
from maci.record.transcript import read
from maci.seating.seating import PanelChoice, Seating
from maci.story import Story
from maci.story.report.page import to_markdown
from maci.story.result import result_of
from maci.story.training import Debated
from maci.story.whatif import other_rules, otherwise
from maci.web.guard import Visit
from maci.web.index import Found, History
from maci.web.pages.compare import Side, compare_page
from maci.web.pages.debate import debate_page
from maci.web.pages.home import home_page
from maci.web.pages.layout import standing
from maci.web.pages.whatif import whatif_result

GUESS, WHY = LABELS[0], "Word statistics cannot decide this case (2 texts for 3 outcomes)"
RULES = settings("max_rounds=2", "answer.recommendation=off")


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same debate twice: `held`, whose answer is withheld, and `given`."""
    monkeypatch.chdir(tmp_path)
    for name, why in (("held", "2 texts for 3 outcomes"), ("given", "")):
        table, case = seat([script("x", turn(0.9, 0.1)), script("y", turn(0.8, 0.2))]), make_case(gold=GUESS)
        opened = open_debate(table, RULES, case, unfit=why, panel="readers", created="2026-11-16T09:27:31Z")
        write(Path(name, "transcript.jsonl"), table, opened=opened)


def told(*words: str) -> Callable[[str], str]:
    """What a command prints; the last word names the run."""

    def view(name: str) -> str:
        done = CliRunner().invoke(app, [*words, name])
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    return view


def report(kind: str) -> Callable[[str], str]:
    def view(name: str) -> str:
        told("report", "--format", kind, "--out", f"page.{kind}")(name)
        return " ".join(Path(f"page.{kind}").read_text(encoding="utf-8").split())

    return view


def story(name: str) -> Story:
    return Story.of(read(Path(name, "transcript.jsonl")).events)


def note(name: str) -> str:
    return " ".join(to_markdown(story(name)).split())


def page(name: str) -> str:
    events = list(read(Path(name, "transcript.jsonl")).events)
    return debate_page(name, Story.of(events), events, "finished", Visit("session"))


def listed(name: str) -> str:
    return home_page(Found([s for s in History(Path()).search().rows if s.id == name], 1, 1), Visit("session"))


def compared(name: str) -> str:
    other = "held" if name == "given" else "given"
    both = [Side(id, story(id), "finished") for id in (name, other)]
    found = compare_page((), (both[0], both[1]), (name, other), None)
    return found.partition('<th scope="row">Answer</th>')[2].partition("</td>")[0]


def done(name: str) -> Done:
    events = tuple(read(Path(name, "transcript.jsonl")).events)
    return Done(entry=entries([make_case(gold=GUESS)], Path())[0], status="done", events=events)


def batched(name: str) -> str:
    return f"{_answer(row(done(name)))}; {in_words([row(done(name))])}"


def ruled(name: str) -> str:
    events = read(Path(name, "transcript.jsonl")).events
    return whatif_result(otherwise(events, other_rules(RULES, sets=["tau_crit=0.1"])), "others", ())


VIEWS: dict[str, tuple[Callable[[str], str], str, str]] = {
    "screen": (told("debate", "--resume", "--plain", "--out"), f"Answer: {GUESS}", WHY),
    "verbose": (told("debate", "--resume", "--plain", "--verbose", "--out"), f"Answer: {GUESS}", WHY),
    "quiet": (told("debate", "--resume", "-q", "--out"), f"Answer: {GUESS}", WHY),
    "json": (told("debate", "--resume", "--json", "--out"), f'"answer":"{GUESS}"', WHY),
    "show": (told("show", "--plain"), f"Answer: {GUESS}", WHY),
    "replay": (told("replay", "--set", "tau_crit=0.1"), f"{GUESS} p = 0.85", "withheld"),
    "export": (told("export", "--format", "arguments"), f'"answer": "{GUESS}"', '"answer": null'),
    "markdown": (note, f"**{GUESS}**, 85", WHY),
    "html": (report("html"), f'<bdi>{GUESS}</bdi></p><p class="sure">', WHY),
    "page": (page, f'<bdi>{GUESS}</bdi></p><p class="sure">', WHY),
    "list": (listed, f">{GUESS}<", "withheld"),
    "compare": (compared, f">{GUESS}", ">withheld"),
    "batch": (batched, f"test: {GUESS}", "withheld because word statistics cannot decide"),
    "what if": (ruled, f">{GUESS}<", ">withheld<"),
}
"""View → how it is made, how it gives an answer, and what it says of one that is withheld."""


@pytest.mark.parametrize("name", VIEWS)
def test_a_withheld_answer_is_nowhere_given(name: str) -> None:
    view, answer, reason = VIEWS[name]
    assert answer in view("given")  # this is how the view gives an answer
    assert answer not in view("held") and reason in view("held")
    assert "best guess" not in view("held").lower()


@pytest.mark.parametrize("name", ["page", "html", "markdown"])
def test_pages_and_reports_say_how_to_see_the_guess_in_words_that_fit_them(name: str) -> None:
    said = re.sub("<[^>]*>", "", VIEWS[name][0]("held")).replace("&#x27;", "'")
    assert "To see the readers' guess all the same, start again with the setting answer.force=true." in said
    first = said.partition("The debate")[0]  # the audit of a report names every setting with its option
    assert "--force" not in first and "`maci init`" not in first
    assert "add `--force`" in VIEWS["screen"][0]("held")


def test_the_record_has_the_reason_and_an_older_one_that_has_advice_too_is_told_the_same() -> None:
    assert story("held").result.abstained == WHY  # type: ignore[union-attr]
    path, why = Path("early", "transcript.jsonl"), "2 texts for 3 outcomes"
    old = f"{WHY}. Use a language model (`maci init`). To see the readers' guess all the same, add `--force`."
    table = seat([script("x", turn(0.9, 0.1)), script("y", turn(0.8, 0.2))])
    opened = open_debate(
        table, RULES, make_case(gold=GUESS), unfit=why, panel="readers", created="2026-11-16T09:27:31Z"
    )
    with pytest.MonkeyPatch.context() as before:
        before.setattr(ending, "abstention", lambda *_, **__: old)
        write(path, table, opened=opened)
    assert old in path.read_text(encoding="utf-8")
    assert replay(read(path).events).complete and result_of(story("early"), Path()).abstained == WHY
    for name in ("screen", "show", "html", "markdown"):
        told_now, told_then = VIEWS[name][0]("held"), VIEWS[name][0]("early")
        for words in ("Use a language model", "To see the readers' guess", "`--force`", "`maci init`", WHY):
            assert told_now.count(words) == told_then.count(words), (name, words)


def test_a_withheld_answer_is_neither_right_nor_exact_and_counts_for_no_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    held, given = (Debated(run=name, events=(), story=story(name), was=GUESS) for name in ("held", "given"))
    assert (held.right, given.right) == (None, True)
    assert (held.story.exact, given.story.exact) == (None, True)
    assert (result_of(held.story, Path()).unfit, result_of(given.story, Path()).unfit) == (True, False)
    assert "finished: answer withheld" in standing("finished", held.story)
    run = Batch((), Seating(PanelChoice(panel="readers")), Path())
    _summarise([row(done("held")), row(done("given"))], run, Path(), asked=True)
    assert "Answered by single: 0, vote: 0, debate: 1." in capsys.readouterr().out


def test_no_action_is_favoured_where_the_answer_is_withheld() -> None:
    stakes = Stakes(actions={"treat": {GUESS: 5, "otherwise": -2}, "wait": {"otherwise": 0}})
    Path("worth.yaml").write_text(f"treat: {{{GUESS}: 5, otherwise: -2}}\nwait: {{otherwise: 0}}\n", encoding="utf-8")
    for why, action in (("2 texts for 3 outcomes", None), ("", "treat")):
        table = seat([script("x", turn(0.9, 0.1)), script("y", turn(0.8, 0.2))])
        events = play(table, opened=open_debate(table, RULES, unfit=why, stakes=stakes))
        favoured = [planned.favoured and planned.favoured.action for planned in of(Planned, events)]
        assert favoured == [action]
        name = "given" if action else "held"
        printed = json.loads(told("plan", "--utilities", "worth.yaml", "--json")(name))["favoured"]
        assert (printed and printed["action"]) == action


@pytest.mark.parametrize("words", [(), ("--verbose",), ("-q",)])
def test_an_agent_asked_alone_does_not_name_the_guess_either(words: tuple[str, ...]) -> None:
    rules = settings("triage.enabled=true", "triage.worth=0", "answer.recommendation=off")
    for name, why in (("held", "2 texts for 3 outcomes"), ("given", "")):
        table, case = seat([script("x", turn(0.9, 0.1)), script("y", turn(0.8, 0.2))]), make_case()
        opened = open_debate(table, rules, case, unfit=why, panel="readers", created="2026-11-16T09:27:31Z")
        write(Path("alone", name, "transcript.jsonl"), table, opened=opened)
    view, answer = told("debate", "--resume", "--plain", *words, "--out"), f"answers {GUESS}"
    assert answer in view("alone/given") and answer not in view("alone/held") and WHY in view("alone/held")


TRACKS = """
question: Which animal left these tracks?
context: Round tracks in the snow along the garden wall.
outcomes: [cat, dog, fox]
evidence:
  - {text: "small round tracks, hidden claws, short steps", label: cat}
  - {text: "small round tracks, hidden claws, soft pads", label: cat}
  - {text: "large tracks, clear claw marks, long steps", label: dog}
  - {text: "large tracks, clear claw marks, deep prints", label: dog}
  - {text: "narrow tracks, clear claw marks, one straight line", label: fox}
  - {text: "narrow tracks, bushy tail marks, one straight line", label: fox}
hidden: {clear claw marks: "no", one straight line: "no", hidden claws: "yes"}
"""


def test_the_plan_does_not_say_who_leads_where_the_answer_is_withheld() -> None:
    Path("tracks.yaml").write_text(TRACKS, encoding="utf-8")
    for name, force in (("plan-given", ("--force",)), ("plan-held", ())):
        told("debate", "tracks.yaml", *force, "--acquire", "1", "--source", "hidden", "--plain", "--out")(name)
    views = {
        "plan": told("plan"),
        "more": told("plan", "--top", "9"),
        "html": report("html"),
        "page": page,
        "again": told("debate", "--resume", "--plain", "--verbose", "--out"),
    }
    for view in views.values():
        said = view("plan-held")
        assert "keeps the lead" not in said and "takes the lead" not in said and "now leads" not in said
        assert "these outcomes lead" not in said
    assert any("s the lead" in view("plan-given") for view in views.values())
    for made in (told("plan", "--json"), told("plan", "--top", "9", "--json")):
        assert all(not item["shifts"] for item in json.loads(made("plan-held"))["items"])
        assert any(item["shifts"] for item in json.loads(made("plan-given"))["items"])
    assert views["plan"]("plan-held").startswith("Answer withheld: Word statistics cannot decide this case")
    assert "withheld" not in views["plan"]("plan-given")
    told("plan", "--export", "queries.json")("plan-held")
    assert all(not query["decision"] for query in json.loads(Path("queries.json").read_text(encoding="utf-8")))
