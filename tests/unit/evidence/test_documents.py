from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maci.evidence.documents import MOST, chunks, stream_chunks, words


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
