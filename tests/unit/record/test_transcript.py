from __future__ import annotations

import errno
import hashlib
import json
import multiprocessing
import os
from pathlib import Path

import pytest

from helpers import open_debate, play, script, seat, settings, turn, write
from maci.agents.argument import Turn
from maci.controller.events import FORMAT, dump, parse, schema
from maci.controller.inputs import Opened, TurnTaken
from maci.errors import EnvironmentError_, InputError, TranscriptError
from maci.llm.usage import Usage
from maci.record.replay import replay
from maci.record.transcript import Transcript, lock, read, read_key, sign, signatures

CONFIG = settings("max_rounds=2")


def table():
    return seat([script("x", turn(0.8, 0.2)), script("y", turn(0.2, 0.8))])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "transcript.jsonl"


def forge(lines: list[dict]) -> bytes:
    """A transcript with a sound chain over whatever content."""
    last, out = hashlib.sha256(b"maci transcript").hexdigest(), b""
    for number, line in enumerate(lines, 1):
        rest = json.dumps({"seq": number, **line}, separators=(",", ":"))[2:].encode()
        last = hashlib.sha256(last.encode() + rest).hexdigest()
        out += b'{"hash":"%s","%s\n' % (last.encode(), rest)
    return out


def test_what_is_written_is_read_back_equal(path: Path) -> None:
    events = write(path, table(), CONFIG)
    recording = read(path)
    assert list(recording.events) == events
    assert (recording.torn, recording.size) == (0, path.stat().st_size)
    assert isinstance(recording.opened, Opened)
    assert all(json.loads(line)["seq"] == n for n, line in enumerate(path.read_text().splitlines(), 1))


def test_the_folder_holds_one_jsonl(path: Path) -> None:
    write(path, table(), CONFIG)
    assert [file.name for file in path.parent.iterdir()] == ["transcript.jsonl"]


def test_an_existing_transcript_is_never_overwritten(path: Path) -> None:
    write(path, table(), CONFIG)
    before = path.read_bytes()
    with pytest.raises(
        InputError, match=r"exists: continue it with `maci debate --resume --out .*`, or choose another folder"
    ):
        Transcript.create(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is not a transcript: it holds no whole line; remove it and start again"),
        (b'{"hash":"', "holds no whole line"),
        (b"hello\n", "is not a transcript: its first line opens no debate"),
        (b"\n", "its first line opens no debate"),
        (forge([{"type": "failed", "error": "x"}]), "line 1 does not open a debate"),
        (
            forge([{"type": "opened", "format": FORMAT + 1}]),
            f"has format {FORMAT + 1}, and this version of maci reads format {FORMAT}: upgrade maci",
        ),
        (
            forge([{"type": "opened", "format": FORMAT - 1}]),
            f"has format {FORMAT - 1}, and this version of maci reads format {FORMAT}: it was written before 1.0, "
            "when evidence, prompts and judges were counted otherwise; run the debate again",
        ),
        (forge([{"type": "opened", "format": "x"}]), "has format x"),
        (forge([{"type": "opened", "format": FORMAT}]), "line 1: not an event of this format"),
    ],
)
def test_a_file_that_is_no_transcript_is_refused_with_the_reason(tmp_path: Path, data: bytes, says: str) -> None:
    file = tmp_path / "t.jsonl"
    file.write_bytes(data)
    with pytest.raises(TranscriptError) as error:
        read(file)
    assert says in str(error.value)
    assert str(file) in str(error.value)
    with pytest.raises(TranscriptError):  # and leaves no open file behind
        Transcript.resume(file)
    assert file.read_bytes() == data


def test_signatures_after_the_result_are_kept_and_chained(path: Path) -> None:
    write(path, table(), CONFIG)
    whole = read(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    bare = [{key: value for key, value in line.items() if key not in ("hash", "seq")} for line in lines]
    signed = {"type": "signature", "by": "Ada", "value": "c2ln"}
    path.write_bytes(forge([*bare, signed]))
    again = read(path)
    assert again.events == whole.events and again.finished
    assert again.signatures == (signed,) and not whole.signatures
    path.write_bytes(forge([*bare, signed]).replace(b"Ada", b"Eve"))
    with pytest.raises(TranscriptError, match="the chain is broken"):
        read(path)
    path.write_bytes(forge([*bare[:-1], signed, bare[-1]]))
    with pytest.raises(TranscriptError, match="not an event of this format"):
        read(path)


def test_a_signature_tells_the_author_from_somebody_who_wrote_the_whole_chain_anew(path: Path) -> None:
    write(path, table(), CONFIG)
    ours, other = b"k" * 32, b"o" * 32
    sign(path, ours, "Ada")
    sign(path, other, "Bob")
    assert [(each.by, each.valid) for each in signatures(path, ours)] == [("Ada", True), ("Bob", False)]
    assert replay(read(path).events).complete
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    bare = [{key: value for key, value in line.items() if key not in ("hash", "seq")} for line in lines]
    bare[0]["case"]["question"] = "Another?"
    path.write_bytes(forge(bare))
    assert not any(each.valid for each in signatures(path, ours))
    renamed = [{**line, "by": "Eve"} if line["type"] == "signature" else line for line in bare]
    path.write_bytes(forge(renamed))
    assert not any(each.valid for each in signatures(path, ours))


def test_only_a_finished_debate_is_signed_and_a_short_key_is_refused(path: Path) -> None:
    write(path, table(), CONFIG)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="no result yet"):
        sign(path, b"k" * 32, "Ada")
    short = path.with_name("key")
    short.write_text("secret\n")
    with pytest.raises(InputError, match="6 bytes"):
        read_key(short)


def test_a_forged_line_number_is_noticed(path: Path) -> None:
    write(path, table(), CONFIG)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["hash"]
    path.write_bytes(forge(lines))
    assert replay(read(path).events).complete  # the forger's chain itself is sound
    lines[3]["seq"] = 99
    path.write_bytes(forge(lines))
    with pytest.raises(TranscriptError, match=r"line 4: .*wrong sequence number"):
        read(path)


def test_a_forged_score_out_of_range_is_refused_and_not_a_crash(path: Path) -> None:
    write(path, table(), CONFIG)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["hash"]
        if line["type"] == "scored":
            line["score"]["logic"] = 7
    path.write_bytes(forge(lines))
    with pytest.raises(TranscriptError, match="not an event of this format"):
        read(path)


@pytest.mark.parametrize("round", [1e20, 10**9, -5])
def test_a_forged_round_is_refused_before_anything_is_made_of_it(path: Path, round: float) -> None:
    write(path, table(), CONFIG)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["hash"]
        if line.get("round"):
            line["round"] = round
    path.write_bytes(forge(lines))
    with pytest.raises(TranscriptError, match=r"line \d+: not an event of this format: \w+\.round: ") as refused:
        read(path)
    assert len(str(refused.value)) < 300


def test_missing_files_and_folders_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read the transcript .*none.jsonl: No such file"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match=r"is a folder: name the transcript.jsonl in it"):
        read(tmp_path)
    with pytest.raises(InputError, match="nothing to resume"):
        Transcript.resume(tmp_path / "none.jsonl")


def test_a_torn_last_line_is_reported_and_cut_away_on_resume(path: Path) -> None:
    events = write(path, table(), CONFIG)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    recording = read(path)
    assert recording.torn > 0
    assert len(recording.events) == len(events) - 1
    assert not replay(recording.events).complete
    transcript, _ = Transcript.resume(path)
    with transcript:
        assert path.stat().st_size == recording.size
        play(table(), CONFIG, record=transcript, recorded=recording.events)
    assert path.read_bytes() == whole


def test_a_finished_record_resumes_to_itself(path: Path) -> None:
    events = write(path, table(), CONFIG)
    whole = path.read_bytes()
    transcript, recording = Transcript.resume(path)
    with transcript:
        assert play(table(), CONFIG, record=transcript, recorded=recording.events) == events
    assert path.read_bytes() == whole


def _hold(path: Path, ready, done) -> None:
    with Transcript.create(path) as transcript:
        transcript.append(open_debate(table(), CONFIG), sync=True)
        ready.set()
        done.wait(30)


def test_two_processes_cannot_write_the_same_transcript(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(path, ready, done))
    other.start()
    try:
        assert ready.wait(60)
        with pytest.raises(EnvironmentError_, match="is being written by another process"):
            Transcript.resume(path)
        with pytest.raises(InputError, match="exists"):
            Transcript.create(path)
    finally:
        done.set()
        other.join(30)
    assert other.exitcode == 0
    transcript, recording = Transcript.resume(path)  # free again
    transcript.close()
    assert len(recording.events) == 1


def test_a_second_writer_in_the_same_process_is_refused(path: Path) -> None:
    with Transcript.create(path) as transcript:
        transcript.append(open_debate(table(), CONFIG), sync=True)
        with pytest.raises(EnvironmentError_, match="another process"):
            Transcript.resume(path)


class Full:
    """A disk that fills up after some bytes."""

    def __init__(self, file, room: int) -> None:
        self._file, self._room = file, room

    def __getattr__(self, name: str):
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        if len(data) > self._room:
            self._file.write(data[: self._room])
            self._room = 0
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._room -= len(data)
        return self._file.write(data)


@pytest.mark.parametrize("room", [4000, 6000, 8000])  # the first line alone takes more than 3000
def test_a_full_disk_is_an_environment_error_and_what_is_written_can_be_continued(path: Path, room: int) -> None:
    expected = play(table(), CONFIG)
    transcript = Transcript.create(path)
    transcript._file = Full(transcript._file, room)  # type: ignore[assignment]
    with (
        pytest.raises(
            EnvironmentError_, match=r"No space left on device; what is on disk can be continued with --resume"
        ),
        transcript,
    ):
        play(table(), CONFIG, record=transcript)
    assert 0 < path.stat().st_size <= room
    again, recording = Transcript.resume(path)
    with again:
        events = play(table(), CONFIG, record=again, recorded=recording.events)
    assert events[-1] == expected[-1]
    assert replay(read(path).events).complete


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_disk_that_is_full_only_at_the_flush_is_still_an_environment_error(path: Path) -> None:
    transcript = Transcript.create(path)
    transcript._file.close()
    transcript._file = Path("/dev/full").open("wb")  # noqa: SIM115
    with pytest.raises(EnvironmentError_, match="No space left on device"), transcript:
        transcript.append(open_debate(table(), CONFIG), sync=True)
    assert transcript._file.closed
    assert not path.exists()  # nothing was recorded: the place is free again


def test_a_transcript_that_was_never_written_to_leaves_no_file(path: Path) -> None:
    Transcript.create(path).close()
    assert not path.exists()
    Transcript.create(path).close()


def test_a_place_that_cannot_be_written_is_an_environment_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentError_, match="cannot write"):
        Transcript.create(tmp_path / "file" / "deep" / "transcript.jsonl")


def test_paid_replies_are_on_disk_before_they_are_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(path.stat().st_size))
    paid = Turn(belief={"dengue": 1.0}, usage=Usage(generated=5))
    free = Turn(belief={"dengue": 1.0})
    with Transcript.create(path) as transcript:
        transcript.append(open_debate(table(), CONFIG), sync=True)

        class Watch:
            def append(self, event, *, sync=False) -> None:
                assert sync == (isinstance(event, TurnTaken) and event.turn.usage.paid)

            def flush(self) -> None: ...

        play(seat([script("x", paid), script("y", free)]), CONFIG, record=Watch())
    assert len(synced) == 2  # the append, and the close


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_json_has_no_word_for_survive_the_record(value: float) -> None:
    event = TurnTaken(round=0, agent="x", turn=Turn(belief={"a": value}))
    line = dump(event)
    json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert dump(parse(line)) == line


def test_what_cannot_be_recorded_is_refused_with_its_kind() -> None:
    with pytest.raises(InputError, match=r"this cannot be recorded \(turn\)"):
        dump(TurnTaken(round=0, agent="x", turn=Turn(belief={"a": 1.0}, raw="\ud800")))
    with pytest.raises(InputError, match=r"this cannot be recorded \(turn\)"):
        dump(TurnTaken(round=0, agent="x", turn=Turn(belief={"a": "much"})))  # type: ignore[dict-item]


def test_the_schema_names_every_event() -> None:
    text = json.dumps(schema())
    for kind in ("opened", "turn", "turn_failed", "scored", "judge_abstained", "gated", "measured", "finished"):
        assert f'"{kind}"' in text


def test_a_pipe_and_a_line_without_end_are_refused(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(InputError, match="is a pipe or a device"):
        read(tmp_path / "pipe.jsonl")
    monkeypatch.setattr("maci.record.transcript._LONGEST", 1000)
    (tmp_path / "endless.jsonl").write_bytes(b"\0" * 5000)
    with pytest.raises(TranscriptError, match="line 1 is longer than"):
        read(tmp_path / "endless.jsonl")


def test_an_empty_transcript_is_removed_while_it_is_locked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked, unlink = [], Path.unlink

    def removed(self: Path, **more: bool) -> None:
        with self.open("rb") as file:
            locked.append(not lock(file))
        unlink(self, **more)

    monkeypatch.setattr(Path, "unlink", removed)
    Transcript.create(path).close()
    assert locked == [True] and not path.exists()


@pytest.mark.parametrize("cost", [{"usd": -1000.0}, {"prompt": -(10**7)}, {"usd": float("nan")}, {"usd": float("inf")}])
def test_a_cost_below_nothing_is_refused_since_it_would_lift_a_ceiling(cost) -> None:
    event = TurnTaken(round=0, agent="x", turn=Turn(belief={"a": 1.0}, usage=Usage(**cost)))
    with pytest.raises(InputError, match="dollars cannot be"):
        parse(dump(event))


def test_a_signature_says_nothing_but_a_name_and_breaks_no_check(path: Path) -> None:
    write(path, table(), CONFIG)
    sign(path, b"k" * 32, "Ada")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    bare = [{key: value for key, value in line.items() if key not in ("hash", "seq")} for line in lines]
    odd = [
        {"type": "signature", "algorithm": "hmac-sha256", "by": by, "value": "\ud800"}
        for by in ("A: valid\nB", "\ud800")
    ]
    path.write_bytes(forge([*bare, *odd]))
    assert [each.by for each in signatures(path, b"k" * 32)] == ["Ada", "A: valid B", "?"]
