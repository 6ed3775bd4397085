"""Where the words of counted phrases stand in development texts: when does a case mention one? (`bench_acquisition.py mentions`)

Everything is shown: complaints in prose (symptom2disease), and whole symptom lists (kaggle_symptom_disease). A phrase is one of several
words that the plan would count (`maci.acquisition.features`).
"""

from __future__ import annotations

import argparse
from collections import Counter

from maci.acquisition.features import Features, _entries, sentences
from maci.agents.library import Library
from maci.evidence.encode import load_encoder
from maci.evidence.lexical import terms
from maci.evidence.retrieve import CachedEncoder
from maci.evidence.span import Span
from maci.lab.datasets import load
from maci.paths import data_dir

SETS = ("symptom2disease", "kaggle_symptom_disease")


def where(key: tuple[str, ...], text: str) -> str | None:
    """The narrowest place of a text that has all the terms of a phrase."""
    run = f" {' '.join(terms(text))} "
    if not set(terms(text)).issuperset(key):
        return None
    if f" {' '.join(key)} " in run:
        return "side by side"
    if any(set(terms(" ".join(words))).issuperset(key) for words in _entries(text)):
        return "in one entry"
    return "in one sentence" if any(set(terms(s)).issuperset(key) for s in sentences(text)) else "in several sentences"


def mentions(options: argparse.Namespace) -> dict[str, object]:
    encoder, seed, told = CachedEncoder(load_encoder(), None), 100, dict[str, object]()
    for name in SETS:
        task = load(name, data_dir(options.data), seed=seed, options={"tune": True})
        spans = [Span.of(d.text, d.source, 0, d.label) for d in task.evidence]
        library = Library(spans, task.dev[0].case.outcomes.labels, encoder)
        phrases = [f.key for f in Features(library.spans, library.subject, library.outcomes).all if len(f.key) > 1]
        texts = [", ".join((item.case.context, *item.case.hidden)) for item in task.dev]
        counts = Counter(place for text in texts for key in phrases if (place := where(key, text)) is not None)
        told[name] = {"cases": len(texts), "phrases": len(phrases), **dict(counts.most_common())}
    return told
