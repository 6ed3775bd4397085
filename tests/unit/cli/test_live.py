"""The live area: what it shows at every size, what it makes of hostile names, and that it leaves the terminal clean."""

from __future__ import annotations

import io
from time import monotonic, sleep

import pytest
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions
from rich.text import Text

from helpers import arg, open_debate, play, script, seat, settings, turn
from maci.cli.ending import Remarks
from maci.cli.live import LiveArea, Look, frame, spark
from maci.cli.terminal import Below
from maci.cli.view import DebateView
from maci.controller.inputs import Intervened, JudgeAbstention, Pending, Sent, TurnTaken
from maci.llm.usage import Usage
from maci.story import Story


def table(name: str = "first", claim: str = "It is dengue."):
    first = script(name, turn(0.8, 0.1, 0.1, args=[arg(claim, "e1")], tokens=900))
    second = script("second", turn(0.2, 0.7, 0.1, args=[arg("No.", "nowhere")]), turn(0.3, 0.6, 0.1))
    return seat([first, second])


def events(**more):
    return play(table(**more), settings("max_rounds=3", "budget.tokens=10000"))


def lines(story: Story, **look) -> list[str]:
    return [line.plain for line in frame(story, Look(**look))]


def until(happened, kind: str, round: int) -> Story:
    end = next(i for i, e in enumerate(happened) if e.type == kind and e.round == round)
    return Story.of(happened[: end + 1])


def test_a_wide_terminal_shows_dials_signals_beliefs_spending_and_arguments():
    story = until(events(), "turn", 2)
    shown = "\n".join(lines(story, width=100, height=40, elapsed=75, left=30))
    last = story.closed[-1]
    assert "round 2 of at most 3" in shown and "1:15, at most 0:30 more" in shown
    assert f"{story.spent.tokens:,} of 10,000 tokens" in shown
    assert f"CL {story.current.dials.cl:.2f}" in shown
    assert f"D {last.signals.d:.2f} {spark([r.signals.d for r in story.closed])}" in shown
    assert f"all agents ████{'█' * round(10 * max(last.mixture.values()) - 4)}" in shown
    assert "… 2A1 first: It is dengue." in shown


def test_an_argument_that_was_rejected_is_shown_with_its_reason():
    happened = events()
    story = until(happened, "gated", 1)
    rejected = next(item for item in story.current.said if item.fate == "rejected")
    shown = lines(story, width=100, height=40)
    fit = f"fit {rejected.admission.q:.2f}, needs {story.current.dials.tau_q:.2f}"
    assert f"✗ 1A1 first: Not admitted: the cited text has little to do with this case ({fit})."[:99] in shown
    assert any(line.startswith("Round 1: 2 arguments, 1 admitted, 1 rejected") for line in shown)


@pytest.mark.parametrize("width", [20, 40, 60, 100])
@pytest.mark.parametrize("height", [4, 8, 12, 24, 50])
def test_every_size_fits_and_the_status_is_never_lost(width, height):
    happened = events(name="an agent with a very long name indeed", claim="长" * 200)
    for upto in range(1, len(happened)):
        shown = lines(Story.of(happened[:upto]), width=width, height=height)
        assert 1 <= len(shown) <= height - 1
        assert all(cell_len(line) < width for line in shown)
        assert shown[0].startswith(("openings", "round"))


def test_a_short_terminal_still_says_who_leads():
    story = until(events(), "measured", 1)
    assert any("all agents" in line and "dengue" in line for line in lines(story, width=60, height=8))


def test_hostile_names_and_claims_do_not_reach_the_terminal():
    happened = events(name="a\x1b[2Jb", claim="\x1b]0;title\x07 \u202eevil\nsecond line")
    text = "\n".join(lines(until(happened, "turn", 1), width=100, height=40))
    assert not {"\x1b", "\x07", "\u202e"} & set(text) and "a�[2Jb" in text
    assert "evil second line" in text


def test_without_block_characters_letters_stand_for_them():
    story = until(events(), "turn", 2)
    shown = "\n".join(lines(story, width=100, height=40, blocks=False))
    assert not set("▁▂▃▄▅▆▇█✓✗…") & set(shown) and "#" in shown and "? 2A1" in shown


def test_the_status_names_who_is_out_and_in_short_counts_them():
    story = Story(opened=open_debate(seat([script("x", turn(1.0)), script("y", turn(1.0))])))
    story = story.follow(Sent(round=0, calls=tuple(Pending(kind="turn", who=who, tokens=10) for who in ("x", "y"))))
    assert lines(story)[0] == "openings · waiting for x, y · 0:00"
    story = story.follow(TurnTaken(round=0, agent="x", turn=turn(1.0, tokens=1500)))
    story = story.follow(Sent(round=0, calls=(Pending(kind="score", who="j#0", argument="0A1", tokens=5),)))
    assert lines(story)[0] == "openings · waiting for y · 1 score to come · 0:00"
    assert lines(story, width=40)[0] == "openings · 0:00 · 1 out · 1 to score"
    paused = story.follow(Intervened(pause=True))
    assert "paused by a person" in lines(paused)[0]
    usage = Usage(prompt=500, usd=0.25)
    story = story.follow(JudgeAbstention(round=1, argument="1A1", slot="j#0", reason="", usage=usage))
    assert "$0.2500" in lines(story)[1]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def told(happened):
    """Every event with the story up to it."""
    story = Story(opened=happened[0])
    yield happened[0], story
    for event in happened[1:]:
        story = story.follow(event)
        yield event, story


def test_what_is_left_is_the_mean_round_times_the_rounds_to_come():
    clock, area = Clock(), None
    area = LiveArea(Console(file=io.StringIO(), force_terminal=True, width=100, height=30), clock)
    for event, story in told(events()):
        clock.now += 10 if event.type in ("initialized", "measured") else 0
        area.follow(story)
        if event.type == "measured" and event.round == 1:
            break
    # two of four rounds closed in 20 s; then 4 s of the third have passed
    assert area.left() == pytest.approx(20)
    clock.now += 4
    assert area.left() == pytest.approx(16)
    area.begin()  # what came before was from a record
    assert area.left() is None
    area.close()


def test_a_debate_takes_the_alternate_screen_and_prints_what_was_said_when_it_gives_the_terminal_back(monkeypatch):
    monkeypatch.setattr("maci.cli.terminal._GRACE", 0.0)
    out = io.StringIO()
    area = LiveArea(Console(file=out, force_terminal=True, width=80, height=24, legacy_windows=False))
    for event, story in told(events()):
        area.say(event.type)
        area.follow(story)
        deadline = monotonic() + 5
        while 1 < story.events < 4 and " tokens" not in out.getvalue() and monotonic() < deadline:
            sleep(0.01)
    written = out.getvalue()
    assert "openings" in written and " of at most 3" in written
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h") == 1  # the cursor is hidden once and shown again
    assert written.count("\x1b[?1049h") == written.count("\x1b[?1049l") == 1
    before, _, rest = written.partition("\x1b[?1049h")
    normal = before + rest.rpartition("\x1b[?1049l")[2]
    said = [line for line in normal.replace("\x1b[?25l", "").replace("\x1b[?25h", "").splitlines() if line]
    assert said == [event.type for event in events()]  # each once, none lost
    area.close()


def test_a_debate_that_is_over_at_once_leaves_the_screen_alone():
    out = io.StringIO()
    area = LiveArea(Console(file=out, force_terminal=True, width=80, height=24, legacy_windows=False))
    for event, story in told(events()):
        area.follow(story)
        area.say(event.type)
    assert out.getvalue().splitlines() == [event.type for event in events()]


class Sized(Console):
    """A terminal that somebody pulls at."""

    columns = 80

    @property
    def size(self) -> ConsoleDimensions:
        return ConsoleDimensions(self.columns, 24)


@pytest.fixture
def area():
    out = io.StringIO()
    screen = Sized(file=out, force_terminal=True, legacy_windows=False)
    area = Below(screen, lambda: Text(f"{'a' * 70}\nb"), per_second=0.001)
    area.start()
    yield area, screen, out
    area._over.set()


@pytest.mark.parametrize("columns", [80, 60, 30, 100])
def test_the_cursor_waits_at_the_first_cell_so_that_erasing_needs_no_width(area, columns):
    below, screen, out = area
    assert out.getvalue().endswith("b\x1b[?7h\r\x1b[1A")  # two lines: one up
    before = len(out.getvalue())
    screen.columns = columns  # the terminal breaks the lines, and takes the cursor along with its cell
    below.say("said")
    assert out.getvalue()[before:].startswith("\r\x1b[Jsaid\n\x1b[?7laaa")


def test_no_line_of_an_area_is_as_wide_as_the_terminal(area):
    below, screen, out = area
    before = len(out.getvalue())
    screen.columns = 70
    below.redraw()
    assert out.getvalue()[before:].startswith(f"\r\x1b[J\x1b[?7l{'a' * 69}\n")


def test_what_did_not_change_is_not_written_again(area):
    below, _, out = area
    before = out.getvalue()
    below.redraw()
    assert out.getvalue() == before
    below.say("new")
    assert out.getvalue() == f"{before}\r\x1b[Jnew\n\x1b[?7l{'a' * 70}\nb\x1b[?7h\r\x1b[1A"


def test_only_a_terminal_that_can_has_a_live_area(monkeypatch):
    assert DebateView()._lines.area is None  # a pipe
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert DebateView()._lines.area is not None
    assert (
        DebateView(plain=True)._lines.area is None
        and DebateView(silent=True)._lines.area is None
        and DebateView(full=True)._lines.area is None
    )
    monkeypatch.setenv("TERM", "dumb")
    assert DebateView()._lines.area is None


def test_without_colour_there_are_no_colours():
    story = until(events(), "turn", 2)
    out = io.StringIO()
    screen = Console(file=out, force_terminal=True, width=80, no_color=True)
    for line in frame(story, Look()):
        screen.print(line)
    assert "\x1b[3" not in out.getvalue()


def test_a_complaint_that_was_not_printed_counts_as_new() -> None:
    remarks = Remarks()
    assert remarks.new("x", "no key", printed=False)
    assert remarks.once("round 1: x abstained: no key") == "round 1: x abstained: no key"
    assert remarks.once("round 2: x abstained: no key") == "round 2: x abstained, as above"
    assert remarks.once("round 2: x abstained: no network") == "round 2: x abstained: no network"
    missing = "3 of 3 scores are missing: j#0 on 1A1: it is down"
    assert remarks.once(f"round 1: {missing}") == f"round 1: {missing}"
    assert remarks.once(f"round 2: {missing}") == "round 2: 3 of 3 scores are missing, as above"
    assert remarks.once("undecided: a, b") == "undecided: a, b"
