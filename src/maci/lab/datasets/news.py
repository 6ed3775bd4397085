"""News data sets: how an article leans, whether a sentence is biased, and how raters differ about it.

Names of outlets are masked in the texts (:func:`mask_outlets`): many labels come from the outlet, and could be read off
its name.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.errors import InputError
from maci.lab.datasets.dataset import DataFile, DataSet, Example, Option, Task, TaskItem, deal
from maci.lab.datasets.files import json_lines, plain, table, text_id

STEPS = OutcomeSpace(kind="ordered", labels=("-2", "-1", "0", "+1", "+2"), positions=(-2, -1, 0, 1, 2))
LEAN = OutcomeSpace(kind="ordered", labels=("left", "center", "right"), positions=(-1, 0, 1))
BIAS = OutcomeSpace(kind="ordered", labels=("Non-biased", "Biased"), positions=(0, 1))

SLANT = "How does the article lean, from -2 (for the Democrats) over 0 (neutral) to +2 (for the Republicans)?"
TONE = "What is the article's tone towards the parties, from -2 (negative) over 0 (neutral) to +2 (positive)?"
STANCE = "Does the article lean left, center or right?"
BIASED = "Is this sentence biased, by its choice of words or by what it implies?"

Mask = Annotated[bool, Option("replace outlets' names")]
Words = Annotated[int, Option("words of an article that a case shows; 0: all")]
PerLabel = Annotated[int, Option("development texts of each label that are evidence")]
Scale = Annotated[
    str,
    Option(
        "slant: (republican - democrat)/2, raters on that axis; tone: the columns as they are and their mean, as in the paper",
        ("slant", "tone"),
    ),
]
Scandals = Annotated[bool, Option("only articles with a scandal among their topics")]

_VOTES = {"Negative": -2, "SomewhatNegative": -1, "Neutral": 0, "SomewhatPositive": 1, "Positive": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """An article or sentence before it is dealt."""

    id: str
    text: str
    label: str
    side: str
    """What decides between development and test: pieces that have it in common stay together."""
    group: str = ""
    raters: Mapping[str, float] = field(default_factory=dict)


def _task(
    pieces: Iterable[_Piece],
    space: OutcomeSpace,
    question: str,
    *,
    seed: int,
    per_label: int,
    words: int = 0,
    notes: Sequence[str] = (),
) -> Task:
    """Some development pieces of each label are evidence (the first 120 words of long ones); ``words`` cuts the cases."""
    if words < 0:
        raise InputError(f"words is {words}: give 0 for the whole text, or how many words of it")
    by_id = {piece.id: piece for piece in pieces}
    examples = (Example(piece.id, piece.label) for piece in by_id.values())
    evidence, dev, test = deal(examples, seed, per_label, evidence_from="dev", key=lambda i: by_id[i].side)

    def item(example: Example) -> TaskItem:
        piece = by_id[example.text]
        text = _first(piece.text, words)
        case = Case(
            question=question, context=text, context_is="evidence", outcomes=space, gold=piece.label, id=piece.id
        )
        return TaskItem(case=case, group=piece.group, raters=piece.raters)

    return Task(
        evidence=tuple(Document(_first(by_id[e.text].text, 120), "evidence", label=e.label) for e in evidence),
        dev=tuple(map(item, dev)),
        test=tuple(map(item, test)),
        notes=tuple(notes),
    )


def _first(text: str, words: int) -> str:
    """The first words of a text; 0: all of it.

    >>> _first("one two three", 2), _first("one two", 0)
    ('one two …', 'one two')
    """
    parts = text.split()
    return " ".join(parts[:words]) + " …" if words and len(parts) > words else text


def step(value: float) -> str:
    """The label of the step nearest to a value; halfway goes to the neutral side.

    >>> step(0.5), step(-0.75), step(1.5), step(-2)
    ('0', '-1', '+1', '-2')
    """
    whole = int(math.copysign(math.ceil(abs(value) - 0.5), value))
    return f"{whole:+d}" if whole else "0"


def _positions(ratings: Sequence[tuple[float, float]], scale: str) -> tuple[float, dict[str, float]]:
    """Where an article is, and where each column puts it: on the axis between the parties, or of tone as it was written down."""
    democrat = sum(d for d, _ in ratings) / len(ratings)
    republican = sum(r for _, r in ratings) / len(ratings)
    left = democrat if scale == "tone" else 0.0 - democrat
    return (left + republican) / 2, {"democrat_vote": left, "republican_vote": republican}


def budak_allsides_text(
    folder: Path,
    seed: int = 0,
    *,
    scale: Scale = "slant",
    scandals: Scandals = False,
    mask: Mask = True,
    words: Words = 0,
    per_label: PerLabel = 4,
) -> Task:
    """Articles with text and the ratings of two people each."""
    pieces = []
    needed = ("source", "title", "text", "ratings")
    for entry in json_lines(folder / "budak_allsides_text" / "articles.jsonl", needed):
        ratings = entry["ratings"]
        if scandals and not any("Scandal" in f"{r['primary_topic']}{r['secondary_topic']}" for r in ratings):
            continue
        where, raters = _positions([(r["democrat_vote"], r["republican_vote"]) for r in ratings], scale)
        pieces.append(_article(entry, step(where), mask, plain(entry["text"]), raters))
    question = TONE if scale == "tone" else SLANT
    return _task(pieces, STEPS, question, seed=seed, per_label=per_label, words=words)


def _article(
    entry: Mapping[str, Any], label: str, mask: bool, side: str, raters: Mapping[str, float] | None = None
) -> _Piece:
    text = f"{entry['title'].strip()}\n\n{entry['text'].strip()}"
    return _Piece(
        id=text_id(entry["text"]),
        text=mask_outlets(text, outlet_names(entry["source"])) if mask else text,
        label=label,
        side=side,
        group=(outlet_names(entry["source"]) or (entry["source"],))[0],
        raters=raters or {},
    )


def budak2016(folder: Path, _seed: int = 0, *, scale: Scale = "slant", scandals: Scandals = False) -> Task:
    """Ratings of articles whose text is not here: for statistics of raters only."""
    columns = ("url", "q3", "perceived", "primary_topic", "secondary_topic", "democrat_vote", "republican_vote")
    by_url: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in table(folder / "budak2016" / "newsArticlesWithLabels.tsv", columns, delimiter="\t"):
        if row["democrat_vote"] in _VOTES and row["republican_vote"] in _VOTES:
            by_url[row["url"]].append(row)
    items = []
    for url, rows in by_url.items():
        if scandals and not any("Scandal" in row["primary_topic"] + row["secondary_topic"] for row in rows):
            continue
        votes = [(_VOTES[row["democrat_vote"]], _VOTES[row["republican_vote"]]) for row in rows]
        where, raters = _positions(votes, scale)
        for row, vote in zip(rows, votes, strict=True):
            raters["outlet_shown" if row["perceived"] == "1" else "blinded"] = _positions([vote], scale)[0]
        name = hashlib.sha256(url.encode()).hexdigest()[:12]  # addresses may differ in case alone
        case = Case(question=TONE if scale == "tone" else SLANT, outcomes=STEPS, gold=step(where), id=name)
        items.append((url, TaskItem(case=case, group=rows[0]["primary_topic"], raters=raters)))
    return Task.split(items)


def allsides_articles(
    folder: Path, seed: int = 0, *, mask: Mask = True, words: Words = 0, per_label: PerLabel = 10
) -> Task:
    """Articles of outlets that AllSides rates left, center or right."""
    needed = ("source", "title", "text", "bias_text")
    pieces = [
        _article(entry, entry["bias_text"], mask, plain(entry["text"]))
        for entry in json_lines(folder / "allsides_articles" / "articles.jsonl", needed)
        if entry["bias_text"] in LEAN.labels
    ]
    return _task(pieces, LEAN, STANCE, seed=seed, per_label=per_label, words=words)


_STANCES = {"liberal": "left", "left": "left", "center": "center", "conservative": "right", "right": "right"}


def basil(folder: Path, seed: int = 0, *, mask: Mask = True, words: Words = 0, per_label: PerLabel = 8) -> Task:
    """One event as three outlets told it; all three are on the same side of the split."""
    needed = ("triplet", "source", "title", "text", "article_annotations")
    pieces = [
        _article(entry, _STANCES[stance], mask, entry["triplet"])
        for entry in json_lines(folder / "basil" / "basil.jsonl", needed)
        if (stance := str(entry["article_annotations"].get("relative_stance")).casefold()) in _STANCES
    ]
    return _task(pieces, LEAN, STANCE, seed=seed, per_label=per_label, words=words)


def babe(
    folder: Path,
    seed: int = 0,
    *,
    without_mbic: Annotated[bool, Option("leave out the sentences that mbic has too")] = False,
    per_label: PerLabel = 40,
) -> Task:
    """Sentences that experts call biased or not; ``without_mbic``: none that mbic has too."""
    shared: set[str] = set()
    if without_mbic:
        shared = {plain(row["text"]) for row in table(folder / "mbic" / "sentences.csv", ("text",))}
    pieces = [
        _sentence(row, row["label_bias"], row["type"])
        for row in table(folder / "babe" / "final_labels_SG2.csv", ("text", "type", "label_bias"), delimiter=";")
        if row["label_bias"] in BIAS.labels and plain(row["text"]) not in shared
    ]
    return _task(pieces, BIAS, BIASED, seed=seed, per_label=per_label)


def _sentence(row: Mapping[str, str], label: str, group: str, raters: Mapping[str, float] | None = None) -> _Piece:
    text, side = row["text"].strip(), plain(row["text"])
    return _Piece(id=text_id(side), text=text, label=label, side=side, group=group or "unknown", raters=raters or {})


def mbic(
    folder: Path,
    seed: int = 0,
    *,
    gold: Annotated[
        str, Option("whose label is true: the majority of raters, or the experts'", ("majority", "expert"))
    ] = "majority",
    per_label: PerLabel = 40,
) -> Task:
    """Sentences with many raters each, whose politics are known: shares of left and of right raters who see bias."""
    column = "mbic_majority_label" if gold == "majority" else "expert_sg1_label"
    votes = _rater_votes(folder / "mbic" / "annotations.csv")
    pieces = [
        _sentence(row, row[column], row["outlet_leaning"], _shares(votes.get(row["sentence_idx"], ())))
        for row in table(folder / "mbic" / "sentences.csv", ("sentence_idx", "text", "outlet_leaning", column))
        if row[column] in BIAS.labels
    ]
    return _task(pieces, BIAS, BIASED, seed=seed, per_label=per_label, notes=_floor(votes))


def _rater_votes(path: Path) -> dict[str, list[tuple[float, bool]]]:
    """By sentence: each rater's politics (below 0 left, above 0 right) and whether he saw bias; his first word counts."""
    columns = ("sentence_idx", "annotator_idx", "political_ideology", "label_bias")
    votes: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for row in table(path, columns):
        who = row["sentence_idx"], row["annotator_idx"]
        if who not in seen and row["label_bias"] in BIAS.labels and row["political_ideology"]:
            seen.add(who)
            votes[who[0]].append((float(row["political_ideology"]), row["label_bias"] == "Biased"))
    return votes


def _shares(votes: Sequence[tuple[float, bool]]) -> dict[str, float]:
    """The share that sees bias, among raters left and right of the middle; a side without raters is left out."""
    left = [biased for politics, biased in votes if politics < 0]
    right = [biased for politics, biased in votes if politics > 0]
    return {side: sum(mine) / len(mine) for side, mine in (("left", left), ("right", right)) if mine}


def _gap(votes: Mapping[str, Sequence[tuple[float, bool]]]) -> float:
    """Mean distance between the two sides' shares, over sentences that have both."""
    sides = [_shares(given) for given in votes.values()]
    gaps = [abs(s["left"] - s["right"]) for s in sides if len(s) == 2]
    return sum(gaps) / len(gaps) if gaps else math.nan


def _floor(votes: Mapping[str, Sequence[tuple[float, bool]]], shuffles: int = 5) -> tuple[str, ...]:
    """The gap between left and right, and the one that chance makes: raters' politics shuffled within each sentence."""
    rng = np.random.default_rng(0)

    def mixed(given: Sequence[tuple[float, bool]]) -> list[tuple[float, bool]]:
        order = rng.permutation(len(given))
        return [(given[i][0], biased) for i, (_, biased) in zip(order, given, strict=True)]

    floors = [_gap({sentence: mixed(given) for sentence, given in votes.items()}) for _ in range(shuffles)]
    if math.isnan(gap := _gap(votes)):
        return ()
    return (
        f"mbic: left and right raters differ by {gap:.3f} a sentence, but by {sum(floors) / shuffles:.3f} when their politics are "
        f"shuffled within the sentence ({shuffles} shuffles): only the difference is partisan, report gaps against that floor.",
    )


_PARTIES = (
    "The columns democrat_vote and republican_vote are the tone TOWARDS each party as one and the same rater saw it, not votes by "
    "Democrats and by Republicans; a rater's own party is not in the data. What the paper calls the gap between partisan annotators "
    "is a gap between two targets."
)
_BELONGS = "news text belongs to the outlets"
_BABE = "github.com/Media-Bias-Group/Neural-Media-Bias-Detection-Using-Distant-Supervision-With-BABE"

SETS = (
    DataSet(
        about="tone towards both parties, two ratings each of 10,502 articles, no texts",
        purpose="statistics of raters (G2); methods have nothing to read",
        licence="unknown",
        source="github.com/qtuan1401/Sway, backend/data/raw/kaggleIn.tsv",
        files=(DataFile("budak2016/newsArticlesWithLabels.tsv"),),
        citation="Budak, Goel and Rao 2016, Public Opinion Quarterly",
        notes=(
            f"budak2016: {_PARTIES}",
            "budak2016: labels only, no text: it can be used for statistics of raters, not for answering. Two raters of one article "
            "correlate at about 0.37, which bounds what any method can score; answering `neutral` always has distance 0 from the "
            "centre, so distance from the centre is not accuracy. No filter gives the paper's 619 articles.",
        ),
        loader=budak2016,
    ),
    DataSet(
        about="articles of budak2016 whose text is in AllSides",
        purpose="slant of articles with evidence (G2)",
        licence=f"Apache-2.0 (repository); {_BELONGS}",
        source="budak2016 joined by address to github.com/ramybaly/Article-Bias-Prediction",
        files=(DataFile("budak_allsides_text/articles.jsonl"),),
        citation="Budak, Goel and Rao 2016; Baly et al. 2020",
        notes=(
            f"budak_allsides_text: {_PARTIES}",
            "budak_allsides_text: most articles are neutral and two raters agree little; compare with answering `0` always. Outlets' "
            "names are masked, house style is not.",
        ),
        loader=budak_allsides_text,
        partial=True,
    ),
    DataSet(
        about="sentences with about ten raters each, whose politics are known",
        purpose="a real gap between partisan raters (G2)",
        licence="AGPL-3.0 (repository)",
        source=f"{_BABE}, raw_labels_MBIC.xlsx, final_labels_MBIC.xlsx, final_labels_SG1.csv",
        files=(DataFile("mbic/sentences.csv"), DataFile("mbic/annotations.csv")),
        citation="Spinde et al. 2021, MBIC",
        notes=(
            "mbic: sentences without agreement are left out. Nearly all of its sentences are in babe too; both are split by text, so "
            "that no sentence is development in one and test in the other.",
        ),
        loader=mbic,
    ),
    DataSet(
        about="sentences that five experts call biased or not",
        purpose="accuracy on bias (G2)",
        licence="AGPL-3.0 (repository)",
        source=f"{_BABE}, data/final_labels_SG2.csv",
        files=(DataFile("babe/final_labels_SG2.csv"), DataFile("mbic/sentences.csv", "without_mbic=true")),
        citation="Spinde et al. 2021, BABE (Findings of EMNLP)",
        notes=(
            "babe: nearly half of its sentences are in mbic too; both are split by text, so that no sentence is development in one and "
            "test in the other; without_mbic=true leaves them out.",
        ),
        loader=babe,
    ),
    DataSet(
        about="100 events as three outlets told them, with annotated bias",
        purpose="the same event from several sides (G2)",
        licence=f"unknown; {_BELONGS}",
        source="github.com/launchnlp/BASIL, second release",
        files=(DataFile("basil/basil.jsonl"),),
        citation="Fan et al. 2019, EMNLP",
        notes=(
            "basil: the stance of an article is relative to the two others about the same event; `liberal` is read as left and "
            "`conservative` as right. The three articles of an event stay on one side of the split, and are not independent.",
        ),
        loader=basil,
    ),
    DataSet(
        about="articles of outlets rated left, center or right",
        purpose="accuracy on lean (G2)",
        licence=f"Apache-2.0 (repository); {_BELONGS}",
        source="github.com/ramybaly/Article-Bias-Prediction, 100 articles of each class",
        files=(DataFile("allsides_articles/articles.jsonl"),),
        citation="Baly et al. 2020, EMNLP",
        notes=(
            "allsides_articles: the label is AllSides' rating of the outlet, not a reading of the article. Outlets' names are masked, "
            "boilerplate and house style are not, and articles of one outlet are on both sides of the split.",
        ),
        loader=allsides_articles,
    ),
)


# --- outlets ----------------------------------------------------------------------------------------------------------------

MASK = "[outlet]"

_KNOWN = (
    "ABC News", "Alternet", "AlterNet", "American Spectator", "Associated Press", "BBC News", "BBC", "Bloomberg", "Breitbart News",
    "Breitbart", "Business Insider", "CBN News", "CBN", "CBS News", "Chicago Sun-Times", "Chicago Tribune", "Christian Science Monitor",
    "CNBC", "CNN", "Daily Beast", "Daily Caller", "Daily Kos", "Daily Mail", "Daily Stormer", "Daily Wire", "Drudge Report",
    "FiveThirtyEight", "Fox News Channel", "Fox News", "FoxNews", "FOX News", "Fox Business", "HuffPost", "Huffington Post",
    "International Business Times", "Los Angeles Times", "Mother Jones", "MSNBC", "National Review", "NBC News", "NBCNews",
    "New York Magazine", "New York Times", "New York Post", "Newsmax", "NPR", "NYT", "Politico", "POLITICO", "RealClearPolitics",
    "Reuters", "The Atlantic", "The Blaze", "TheBlaze", "The Economist", "The Federalist", "The Guardian", "The Intercept",
    "Townhall", "USA TODAY", "USA Today", "Vanity Fair", "Wall Street Journal", "Washington Examiner", "Washington Post",
    "Washington Times", "Yahoo News",
)  # fmt: skip
"""Names that mean an outlet wherever they stand; those that are also words are masked in their own articles only."""
_NICKNAMES = {
    "Fox News": ("Fox", "FNC"),
    "New York Times": ("Times", "NYTimes"),
    "Washington Times": ("Times",),
    "Wall Street Journal": ("Journal", "WSJ"),
    "HuffPost": ("HuffPo", "Huffington Post"),
    "Christian Science Monitor": ("Monitor",),
}
_ABBREVIATED = {"nyt": "New York Times", "fox": "Fox News", "fox online news": "Fox News", "hpo": "HuffPost"}
"""Sources that go by another name, without case."""
_SUFFIX = re.compile(r"\s*(\(.*\)|- \w+|Online News|\.com)\s*$")


def outlet_names(source: str) -> tuple[str, ...]:
    """The names by which a source may call itself.

    >>> outlet_names("New York Times - News"), outlet_names("CNN (Web News)"), outlet_names("The Hill")
    (('New York Times', 'Times', 'NYTimes'), ('CNN',), ('The Hill',))
    """
    bare = _ABBREVIATED.get(source.casefold(), source)
    while (shorter := _SUFFIX.sub("", bare)) != bare:
        bare = shorter
    name = bare.strip()
    return (name, *_NICKNAMES.get(name, ())) if len(name) > 1 else ()


@lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    every = sorted({*_KNOWN, *names}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:[Tt]he )?(?:{'|'.join(map(re.escape, every))})(?:\.com)?(?!\w)|\b[\w.-]+\.com\b")


def mask_outlets(text: str, names: Iterable[str] = ()) -> str:
    """The text with every known outlet, those named besides, and web addresses replaced.

    >>> mask_outlets("Washington (CNN) The New York Times wrote on foxnews.com of Slate.")
    'Washington ([outlet]) [outlet] wrote on [outlet] of Slate.'
    >>> mask_outlets("Slate has learned", ["Slate"])
    '[outlet] has learned'
    """
    return _pattern(tuple(sorted(names))).sub(MASK, text)
