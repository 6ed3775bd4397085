"""Is a phrase the name of a finding, so that one can ask for it? A fragment of a sentence is not.

A finding is a noun phrase: *calf pain*, *loss of the key*, *duplicate invoice number*. There is no part-of-speech tagger here. The
check knows the closed classes of English (articles, prepositions, auxiliaries …), verbs and adjectives that are rarely nouns, and
what their order shows: inside a noun phrase an article follows a preposition (*loss of the key*); straight after another word, it
marks that word as a verb (*lost the key*).

:func:`gist` keeps a few telling words of a sentence.

>>> [is_finding(phrase) for phrase in ("calf pain", "failure to pay rent", "oxygen saturation stays normal", "in the job log", "south")]
[True, True, False, False, False]
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from maci.agents.argument import Kind, Subkind
from maci.evidence.lexical import terms

_WORD = re.compile(r"[^\W_]+(?:['’./-][^\W_]+)*")
_LONGEST = 8
"""Words of a finding."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ARTICLES = _words(
    """
    a an the this that these those my your his her its our their each every both some any several
    """
)
_PREPOSITIONS = _words(
    """
    of in on at by for from to with without into onto over under above below between among through during after before since
    until behind beside near against across along around about within outside inside per via despite towards toward upon beyond
    off up down out like except besides
    """
)
_JOINING = _words("and or nor plus")
_SUBORDINATE = _words("while because although though unless whereas since as if than so")
_CLAUSE = _words(
    """
    but because if when while whether than so as though although unless which who whom whose what where why how that not no
    never neither either else then there here i you he she it we they me him us them himself herself itself themselves myself
    one's let's
    """
)
"""Words that only sentences have; *that* is also an article, and a finding needs neither."""
_AUXILIARIES = _words(
    """
    is are was were be been being am has have had having do does did doing done would could should must might may shall cannot
    can't isn't aren't wasn't weren't doesn't don't didn't hasn't haven't hadn't won't wouldn't couldn't shouldn't it's i'm he's
    she's they're there's that's
    """
)
_VERBS = _words(
    """
    stay stays remain remains become becomes became get gets got getting go goes went going come comes came coming make makes
    making take takes took taking give gives gave say says said saying tell tells ask asks seem seems appear appears keep keeps
    keeping let lets bring brings lead occur occurs happen happens begin begins began put puts know knows knew think thinks
    thought see sees want wants tend tends use uses include includes contain contains cause find finds feel feels felt show turn
    turns run ran try tries leave leaves mean means meant needs hold holds write writes wrote send sends receive receives pay
    pays buy buys sell sells sit sits sat stand stands stood lose loses hear hears grow grows grew allow allows require requires
    provide provides offer agree agrees deny denies refuse refuses claim report state suggest suggests indicate indicates
    confirm confirms describe describes explain explains fail fails start stop stops continue continues increase decrease rise
    rises rose fall fell improve improves worsen worsens affect affects involve involves follow follows depend depends differ
    differs belong belongs exist exists consist consists arrive arrives move moves live lives works expect expects decide
    decides choose chooses chose open opens close closes sign signs check checks look looks call reach reaches last lasts cover
    covers apply applies arise arises arose speak speaks spoke ignore ignores accept accepts break breaks broke carry carries
    drop drops exceeds expire expires prefer prefers produce produces prove proves respond responds spread spreads submit
    submits wear wears wore win wins won compile compiles render renders return
    """
)
_PARTICIPLES = _words(
    """
    taken given known seen lost found left paid sold made sent written chosen spoken held told brought led kept bought heard
    grown shown begun built driven spent
    """
)
"""Like words in -ed, they may stand before a noun (*lost key*)."""
_NOUNS_TOO = _words(
    """
    leaves signs checks claims reports states offers calls covers drops falls rises breaks looks returns needs means works lives
    stops turns runs shows uses report claim offer call cover drop fall rise break look return need work turn run show use sign
    check stop start state spread cause lead increase decrease last close open feel
    """
)
"""Forms that are nouns as well: they end a finding, or stand before its last word."""
_ADJECTIVES = _words(
    """
    normal abnormal high low higher lower late later early earlier red yellow green blue black white brown grey gray quiet loud
    pink orange purple pale dark bright big small large little long short tall wide narrow thick thin heavy strong weak hard
    soft hot cold warm cool dry wet old new young recent good bad better worse best worst sure unsure certain uncertain likely
    unlikely possible impossible clear unclear true false right wrong same different similar equal full empty ready able unable
    available present absent positive negative severe mild moderate acute chronic common rare usual unusual typical general
    special main major minor sudden gradual slow fast quick steep deep shallow flat round smooth rough sharp dull stiff swollen
    broken torn stolen frozen worn hidden done gone known unknown fine ok okay own free busy alone alive dead ill sick well
    happy sad angry tired lazy aware afraid expensive cheap cheaper important necessary required safe unsafe legal illegal
    public private due overdue unpaid intact stable unstable active inactive online offline responsive unresponsive slower
    faster larger smaller older newer longer shorter more most less least enough other another such much whole entire only
    single double first second third next final previous former latter several various everyday daily weekly monthly yearly
    alike apart asleep awake away fair poor rich itchy dizzy sleepy foggy cloudy hairy sticky shiny greasy rusty dusty noisy
    faulty guilty tricky messy dirty sandy rocky wavy spiky scaly flaky runny watery milky easy lengthy costly
    """
)
_ADVERBS = _words(
    """
    very too also again always often sometimes usually never ever soon now today tomorrow yesterday still already yet just even
    quite rather almost nearly perhaps maybe however therefore thus hence instead together twice once later ago abroad ahead
    back forward forwards backwards home upstairs downstairs indoors outdoors everywhere somewhere anywhere nowhere elsewhere
    well far hard fast overnight
    """
)
_EMPTY = _words(
    """
    south north east west left right start begin beginning centre center thing things way ways lot lots kind kinds sort sorts
    part parts bit set type types example examples fact facts matter reason reasons time times day days week weeks month months
    year years hour hours minute minutes second seconds morning afternoon evening night monday tuesday wednesday thursday friday
    saturday sunday january february march april june july august september october november december spring summer autumn
    winter man men woman women people person persons someone somebody anyone anybody everyone everybody nobody something
    anything everything nothing none yes one two three four five six seven eight nine ten hundred thousand million half dozen
    percent per rest other others etc same mean means last close open tuesdays mondays
    """
)
"""Nouns that name nothing, with an adjective or without."""
_BARE = _words(
    """
    case cases number numbers amount amounts piece form forms point points result results level levels place places area areas
    line lines page pages section sections item items list lists note notes name names word words group groups end top bottom
    front middle side call calls state states look work works use uses show shows need needs turn turns
    """
)
"""Nouns that name nothing by themselves (*wrong number* does)."""
_ED_NOUNS = _words(
    "seed bed weed shed feed breed reed speed deed watershed flatbed seabed newsfeed hundred creed greed"
)
_LY_NOUNS = _words(
    """
    family assembly anomaly supply reply butterfly jelly belly ally fly monopoly bully gully rally subfamily
    """
)
_ADJECTIVAL = re.compile(r".{3,}(?:ful|less|ous|[^tcri]able|[^r]ible|ish)$")
_NOT_ADJECTIVAL = _words(
    """
    rubbish radish finish polish varnish blemish fish vegetable receivable payable handful fistful mouthful spoonful crucible
    """
)


def is_finding(phrase: str) -> bool:
    """Whether a phrase names something that may be there or not.

    >>> is_finding("a rash on the arm"), is_finding("no rash"), is_finding("rash is red")
    (True, False, False)
    """
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(phrase)]
    if words and words[0] in ("a", "an", "the"):
        words = words[1:]
    if not 0 < len(words) <= _LONGEST or _closed(words[0]) or _closed(words[-1]):
        return False
    if any(word in _CLAUSE or word in _AUXILIARIES for word in words):
        return False
    return all(not _acts(words, i) for i in range(len(words))) and all(map(_names, _parts(words)))


def is_fragment(text: str) -> bool:
    """Whether a text begins or ends in the middle of a phrase.

    >>> is_fragment("in the job log"), is_fragment("loss of"), is_fragment("Check the job log")
    (True, True, False)
    """
    words = [word.casefold() for word in _WORD.findall(text)]
    return not words or words[0] in _PREPOSITIONS | _JOINING | _SUBORDINATE or _closed(words[-1])


def is_sensible(text: str) -> bool:
    """Whether a request is more than a fragment: a question, an order to find something out, or the name of a finding.

    >>> [is_sensible(text) for text in ("Was notice given?", "Check the job log", "Biopsy", "in the job log", "south")]
    [True, True, True, False, False]
    """
    if not terms(text):
        return False
    return "?" in text or is_finding(text) or not (is_fragment(text) or len(text.split()) == 1)


def as_question(text: str) -> str:
    """A request as it is put to somebody: the name of a finding gets a question mark.

    >>> as_question("Bleeding or bruising"), as_question("Was notice given?"), as_question("Look at the lease.")
    ('Bleeding or bruising?', 'Was notice given?', 'Look at the lease.')
    """
    return f"{text}?" if is_finding(text) else text


def _closed(word: str) -> bool:
    return word in _ARTICLES or word in _PREPOSITIONS or word in _JOINING


def _parts(words: list[str]) -> list[list[str]]:
    """The noun phrases that prepositions and *and* join; what follows *to* may be what somebody does (*failure to pay rent*)."""
    parts: list[list[str]] = [[]]
    for place, word in enumerate(words):
        if word in _PREPOSITIONS or word in _JOINING:
            if word == "to" and place + 1 < len(words) and words[place + 1] in _VERBS | _NOUNS_TOO:
                return [part for part in parts if part]
            parts.append([])
        elif word not in _ARTICLES:
            parts[-1].append(word)
    return parts


def _acts(words: list[str], i: int) -> bool:
    """Whether the word at a place is a verb of its clause."""
    word, before = words[i], words[i - 1] if i else ""
    after = words[i + 1] if i + 1 < len(words) else ""
    if i and word in _ARTICLES and not _closed(before):
        return True  # it comes straight after another word, which is a verb
    if before == "to" and i >= 2:
        return False  # failure to pay
    if word in _VERBS and (word not in _NOUNS_TOO or after in _ADJECTIVES | _ADVERBS):
        return True
    content_before = bool(before) and not _closed(before) and before not in _ADJECTIVES and not _adverb(before)
    if word in _PARTICIPLES or (word.endswith("ed") and word not in _ED_NOUNS and len(word) > 4):
        return not after or _closed(after) or content_before or _adverb(after) or after.endswith("ing")
    third = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return third and bool(after) and (after in _ADJECTIVES or _adverb(after))


def _names(part: list[str]) -> bool:
    """Whether a run of words without prepositions ends in a noun."""
    if not part:
        return False
    last = part[-1]
    if last.isdigit() or (len(part) == 1 and (last in _EMPTY or last in _BARE or len(last) < 2)):
        return len(part) > 1 and part[-2] not in _EMPTY
    if last in _ADJECTIVES or _adverb(last):
        return False
    if _ADJECTIVAL.match(last) and last not in _NOT_ADJECTIVAL:
        return False
    return not all(word in _EMPTY or word in _ADJECTIVES or word.isdigit() for word in part)


def _adverb(word: str) -> bool:
    return word in _ADVERBS or (len(word) > 4 and word.endswith("ly") and word not in _LY_NOUNS)


DENYING = frozenset(
    ("none", "nil", "zero", "never", "denies", "denied", "deny", "absent", "negative", "lacks", "nothing")
)
"""Words that deny, and are no part of what is denied."""


_TELLING = 4
"""Words of a gist."""


def gist(sentence: str, others: Iterable[str]) -> str:
    """The first telling words of a sentence, without those of the others.

    Who says that a case is *closer* to a quoted sentence does not say all of it: the whole quotation would count as if the case did.

    >>> gist("In genuine claims the police report is filed within a day", ["In staged thefts the door is intact", "Genuine"])
    'claims police report filed'
    """
    known = {term for text in others for term in terms(text)}
    words = (word.strip(".,;:!?()“”") for word in sentence.split())
    return " ".join([word for word in words if terms(word) and not known & set(terms(word))][:_TELLING])


# --- what sort of finding out a text describes ----------------------------------------------------------------------------------

_TEST = re.compile(
    r"\b(test|antigen|antibod\w+|serology|culture|biops\w+|x-?ray|ct|mri|scan|ultrasound|echo\w*|ecg|ekg|smear|titre|level|levels|"
    r"count|assay|pcr|imaging|radiograph\w*|endoscopy|urinalysis|blood|swab|panel|spirometry)\b",
    re.IGNORECASE,
)
_SUBKINDS: tuple[tuple[Subkind, re.Pattern[str]], ...] = (
    (
        "imaging",
        re.compile(
            r"\b(imag(e|es|ing)|x-?rays?|ct|mri|scans?|ultrasound|sonograph\w*|echo\w*|radiograph\w*|photograph\w*|endoscop\w+)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "examination",
        re.compile(
            r"\b(examin\w+|inspect\w*|palpat\w+|auscultat\w+|blood pressure|tourniquet|reflex\w*|pulse|walk-?through)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "laboratory",
        re.compile(
            r"\b(lab\w*|antigen|antibod\w+|serology|cultures?|biops\w+|smear|titre|levels?|counts?|assay|pcr|blood|urine|urinalysis|"
            r"swab|panel|enzymes?|chemistry|sample|analys[ie]s)\b",
            re.IGNORECASE,
        ),
    ),
)
_HISTORY = re.compile(
    r"\b(history|travel\w*|family|exposure|exposed|smok\w+|vaccinat\w+|previous|recent|contact|ever)\b", re.IGNORECASE
)
_MONITOR = re.compile(r"\b(monitor\w*|follow[- ]?up|over the next|repeat|serial|watch for|daily)\b", re.IGNORECASE)


def kind_of(text: str) -> Kind:
    """What sort of finding out a text describes.

    >>> kind_of("Dengue IgM serology"), kind_of("Recent travel to the tropics?"), kind_of("skin rash")
    ('test', 'history', 'question')
    """
    if _MONITOR.search(text):
        return "monitoring"
    if _TEST.search(text):
        return "test"
    return "history" if _HISTORY.search(text) else "question"


def subkind_of(text: str) -> Subkind | None:
    """What sort of test a text describes, where it says so.

    >>> subkind_of("Abdominal ultrasound"), subkind_of("Dengue NS1 antigen"), subkind_of("Spirometry")
    ('imaging', 'laboratory', None)
    """
    return next((subkind for subkind, words in _SUBKINDS if words.search(text)), None)
