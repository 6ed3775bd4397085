"""The bound on prompt tokens: never below what a real tokenizer counts, and tight once a prompt is known."""

from __future__ import annotations

import importlib.util
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maci.llm import tokens
from maci.llm.model import Message, Schema
from maci.llm.tokens import MeasuredPrompt, PromptBound, byte_bound

tokenizers = pytest.importorskip("tokenizers")

STRANGE = "ﷺ½…²ﬁ\u00a0①Å한글漢字e\u0301\u0323🦠👩\u200d⚕️\U0001d15e\u0958/\\\r\n\t  —“”"
WORDS = [
    "fever",
    "dengue",
    "The patient",
    " has",
    " a rash",
    ".",
    ",",
    "\n",
    "\n\n",
    "\n- ",
    "\n/",
    " ",
    "[E12]",
    "80,000",
    STRANGE,
]
TEXT = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from([*WORDS, *STRANGE]), max_size=400).map("".join),
)
LONG = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=5)), max_size=1200).map("".join)


def trained(pattern: str):
    """A byte-level BPE whose pieces are those of a regular expression, as in the GPT family."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([split, level])
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["".join(WORDS) * 20, Path(tokens.__file__).read_text()], trainer)
    return tokenizer


@cache
def counter(name: str):
    if name == "gpt-2-like":
        return trained(r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    if name == "o200k-like":
        return trained(
            r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        )
    package, path = {
        "llama-2": ("wordllama", "tokenizers/l2_supercat_tokenizer_config.json"),
        "nfkc": ("litellm", "litellm_core_utils/tokenizers/anthropic_tokenizer.json"),
    }[name]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    tokenizer = tokenizers.Tokenizer.from_file(str(Path(spec.origin).parent / path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


TOKENIZERS = ("gpt-2-like", "o200k-like", "llama-2", "nfkc")


def count(name: str, messages: list[Message]) -> int:
    """A chat template: five tokens around each message, three more at the end."""
    return 3 + sum(5 + len(counter(name).encode(m.content.encode("utf-8", "replace").decode()).ids) for m in messages)


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=150, deadline=None)
@given(text=TEXT)
def test_no_text_has_more_tokens_than_its_byte_bound(name, text):
    text = text.encode("utf-8", "replace").decode()
    assert len(counter(name).encode(text, add_special_tokens=False).ids) <= byte_bound(text) + 1  # llama-2: a leading ▁


@settings(max_examples=300, deadline=None)
@given(text=TEXT)
def test_no_normal_form_a_tokenizer_uses_is_longer_than_the_byte_bound(text):
    text = text.encode("utf-8", "replace").decode()
    forms = (text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFKC", text))
    assert all(len(form.encode()) <= byte_bound(text) for form in forms)


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=100, deadline=None)
@given(system=st.sampled_from(["", "You debate."]), texts=st.lists(LONG, min_size=1, max_size=3), data=st.data())
def test_a_learned_bound_is_never_too_small(name, system, texts, data):
    """Prompts that begin alike, in any order, each counted by the tokenizer and then learned."""
    bound, known = PromptBound(), [Message("system", system)]
    for text in texts:
        before = data.draw(st.sampled_from([message.content for message in known]))
        cut = data.draw(st.integers(0, len(before)))
        last = Message("user", before[:cut] + text)
        prompt = data.draw(st.sampled_from([[known[0], last], [*known, last], [last]]))
        found = count(name, prompt)
        assert found <= bound.at_most(prompt)
        bound.learn(MeasuredPrompt(prompt), found)
        known.append(last)


def lines(n: int, word: str = "round") -> str:
    return "".join(f"{word} {i}: the patient has a fever and a rash, platelets 80,000\n" for i in range(n))


def test_a_bound_is_tight_once_most_of_the_prompt_has_been_counted():
    bound = PromptBound()
    first = [Message("system", "You debate."), Message("user", lines(200))]
    second = [first[0], Message("user", lines(200) + lines(3, "new"))]
    blind = bound.at_most(second)
    counted = count("gpt-2-like", first)
    bound.learn(MeasuredPrompt(first), counted)
    assert blind > len(lines(200))
    assert bound.at_most(first) <= counted + 60
    assert counted < bound.at_most(second) <= counted + len(lines(3, "new")) + 600 < blind / 2


def test_an_unrelated_prompt_learns_nothing():
    bound = PromptBound()
    other = [Message("user", lines(50, "other"))]
    before = bound.at_most(other)
    bound.learn(MeasuredPrompt([Message("user", lines(50))]), 400)
    assert bound.at_most(other) == before


def test_the_same_words_in_another_role_or_under_another_schema_are_another_prompt():
    bound = PromptBound()
    said = [Message("user", lines(50))]
    bound.learn(MeasuredPrompt(said), 400)
    schema = Schema("answer", {"type": "object"})
    fresh = PromptBound()
    assert bound.at_most([Message("assistant", lines(50))]) == fresh.at_most(said)
    assert bound.at_most(said, schema) == fresh.at_most(said, schema)
    assert bound.at_most(said) < fresh.at_most(said)


def test_the_same_end_after_another_beginning_is_another_prompt():
    end = "then\n" + lines(40)
    short, long = [Message("user", "A. " * 400 + end)], [Message("user", "木" * 1200 + end)]
    bound = PromptBound()
    bound.learn(MeasuredPrompt(short), 800)
    assert bound.at_most(long) == PromptBound().at_most(long)


def test_a_schema_adds_its_own_bytes_and_the_instructions_around_it():
    said = [Message("user", "x")]
    schema = Schema("answer", {"type": "object", "description": "d" * 100})
    assert PromptBound().at_most(said, schema) >= PromptBound().at_most(said) + len(schema.text) + 512


def test_a_count_that_no_tokenizer_can_reach_is_not_believed():
    bound = PromptBound()
    said = [Message("user", lines(100))]
    bound.learn(MeasuredPrompt(said), 1)
    assert bound.at_most(said) >= len(lines(100)) // 16


def test_a_bound_that_was_exceeded_is_raised_for_good():
    bound = PromptBound()
    said = [Message("user", "hello")]
    before = bound.at_most(said)
    bound.exceeded(1000)
    assert bound.at_most(said) == before + 1000


def test_what_is_remembered_does_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(tokens, "_ENTRIES", 100)
    bound = PromptBound()
    for i in range(500):
        bound.learn(MeasuredPrompt([Message("user", f"case {i}")]), 10)
    assert len(bound._seen) <= 101
    assert len(tokens._known) <= 1024


def test_lone_surrogates_do_not_break_the_bound():
    assert PromptBound().at_most([Message("user", "a\ud800b")]) > 0
