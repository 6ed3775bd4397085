from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maci.evidence.documents import MOST, ReadOptions, chunks, read_document, stream_chunks, words
from maci.evidence.span import sentences


@given(st.text(alphabet="ab .!\n高é", max_size=3000), st.integers(1, 20), st.integers(1, 40))
def test_pieces_are_slices_that_lose_no_letter(text: str, least: int, more: int) -> None:
    pieces = list(chunks(text, least=least, most=least + more))
    assert all(text[start : start + len(piece)] == piece for start, piece in pieces)
    assert "".join("".join(piece for _, piece in pieces).split()) == "".join(text.split())
    assert all(words(piece) <= least + more + 1 for _, piece in pieces)


@given(st.lists(st.text(alphabet="ab. \n", max_size=50), max_size=20))
def test_streamed_pieces_equal_whole_ones_for_short_text(blocks: list[str]) -> None:
    assert list(stream_chunks(blocks)) == list(chunks("".join(blocks)))


def test_pieces_of_prose_hold_60_to_120_words() -> None:
    prose = "\n\n".join(
        " ".join(f"Sentence {n} of paragraph {p} has eight words." for n in range(5)) for p in range(20)
    )
    sizes = [words(piece) for _, piece in chunks(prose)]
    assert all(60 <= size <= MOST for size in sizes[:-1])


def test_positions_hold_across_blocks_of_a_long_stream() -> None:
    text = "".join(f"Line {n} says that the fever was {n} degrees.\n" for n in range(60_000))
    pieces = list(stream_chunks(text[i : i + 65536] for i in range(0, len(text), 65536)))
    assert all(text.startswith(piece, start) for start, piece in pieces)
    assert sum(len(piece.split()) for _, piece in pieces) == len(text.split())


LOG = [
    f"2026-11-18 09:{n // 60:02}:{n % 60:02} WARN db query {200 + n} ms... SELECT * FROM coupons WHERE d = 2026-11-{n % 28 + 1:02}. "
    f"Retry {n} path=/orders (pool exhausted!) Next in 3 s"
    for n in range(60)
]


@pytest.mark.parametrize("name", ["app.log", "app.txt"])
def test_a_log_is_cut_only_between_lines(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("\n".join(LOG) + "\n", encoding="utf-8")
    found = list(read_document(path, name, ReadOptions()))
    assert [line for span in found for line in span.text.split("\n")] == LOG
    assert all(len(span.text.split()) <= 120 for span in found) and len(found) < len(LOG)


def test_a_log_without_time_stamps_is_cut_between_lines_too(tmp_path: Path) -> None:
    lines = [f"Worker {n} failed. Retry later... FROM coupons in {n} s, then stop. End" for n in range(40)]
    (tmp_path / "app.log").write_text("\n".join(lines), encoding="utf-8")
    found = read_document(tmp_path / "app.log", "app.log", ReadOptions())
    assert [line for span in found for line in span.text.split("\n")] == lines


def test_a_case_that_is_a_log_is_cut_into_its_entries() -> None:
    trace = "Traceback (most recent call last):\n  File x. Line 3. Timeout"
    assert [text for _, text in sentences("\n".join(LOG[:6]))] == LOG[:6]
    text = f"The shop is slow. Orders fail.\n\n{LOG[0]}\n{LOG[1]}\n{LOG[2]}\n{trace}\n\nWhy? Nobody knows."
    found = list(sentences(text))
    said = ["The shop is slow.", "Orders fail.", *LOG[:2], f"{LOG[2]}\n{trace}", "Why?", "Nobody knows."]
    assert [piece for _, piece in found] == said
    assert all(text[start : start + len(piece)] == piece for start, piece in found)


def test_prose_with_a_time_in_it_is_cut_into_sentences() -> None:
    text = 'He said "go."\n\nIt was too late. The train had left at\n10:12 and the next\nwas at noon. He walked.'
    assert [piece for _, piece in sentences(text)] == [
        'He said "go.', "It was too late.", "The train had left at\n10:12 and the next\nwas at noon.", "He walked."
    ]  # fmt: skip
