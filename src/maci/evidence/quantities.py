"""Numbers, dates and times in a text, and whether a text bears out what a claim says of them.

A claim bounds a quantity (*above 6.5 mmol/l*, *before 1 June*, *fewer than eight characters*) or states it (*25 named users*). A
quantity of a text is compared with it if it is of the same dimension, or, where one of them has no unit, if words of the claim stand
beside it. What the claim says of two quantities (*revenue was higher than costs*, *three years passed*, *below 80 per cent*) is
compared with their order, difference or ratio.

>>> agreement("The potassium is above 6.5 mmol/l.", "Potassium 6.9 mmol/l, measured twice.")
1
>>> agreement("It came after 1 June.", "Signed for on 28 May."), agreement("It came after 1 June.", "It is painted blue.")
(-1, 0)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from maci.evidence.lexical import terms

Sign = Literal[-1, 0, 1]

_ONES = re.split(
    " ",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
)
_TENS = re.split(" ", "twenty thirty forty fifty sixty seventy eighty ninety")
_WORDS = {word: n for n, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_SCALE = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "dozen": 12}
_ALONE = {"half": 0.5, "twice": 2.0, "double": 2.0, "triple": 3.0} | {
    f"a {word}": float(n) for word, n in _SCALE.items()
}
_CALENDAR = (
    "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,september sep sept,october oct,november nov,"
    "december dec"
)
_MONTHS = {name: n for n, names in enumerate(re.split(",", _CALENDAR), 1) for name in names.split()}
_UNITS = {
    "degree": "°C,c,celsius,degrees,degree,°", "mass": "g,gram,grams,gramme,grammes:1;kg,kilo,kilos,kilogram,kilograms:1000;"
    "t,tonne,tonnes,ton,tons:1000000;mg,milligram,milligrams:0.001", "length": "m,metre,metres,meter,meters:1;mm,millimetre,"
    "millimetres:0.001;cm,centimetre,centimetres,centimeters:0.01;km,kilometre,kilometres,kilometers:1000",
    "time": "s,sec,second,seconds:1;min,minute,minutes:60;h,hr,hour,hours:3600;day,days:86400;week,weeks:604800;month,months:2629800;"
    "year,years:31557600", "volume": "l,litre,litres,liter,liters:1;ml,millilitre,millilitres:0.001", "share": "%,percent,per cent,"
    "percentage:1", "money": "euro,euros,€,eur,dollar,dollars,usd,pound,pounds,gbp,francs,chf:1", "sound": "db,decibel,decibels:1",
    "current": "a,amp,amps,ampere,amperes:1", "tension": "v,volt,volts:1;kv,kilovolts:1000", "power": "w,watt,watts:1;kw,kilowatt,"
    "kilowatts:1000;mw,megawatts:1000000", "pressure": "bar,bars:1;mbar:0.001;kpa:0.01;pa:0.00001",
    "brightness": "mag,magnitude,magnitudes:1",
    "mmol/l": "mmol/l:1", "g/l": "g/l:1", "mg/kg": "mg/kg:1", "mg/l": "mg/l:1;µg/l:0.001", "speed": "m/s:1;km/h:0.2778;mph:0.447",
    "area": "m²,sqm,square metre,square metres,square meters:1;ha,hectare,hectares:10000;km²,square kilometres:1000000", "mille":
    "‰,per mille:1", "times": "times,fold:1", "memory": "byte,bytes:1;kb:1000;mb,megabytes:1000000;gb,gigabytes:1000000000",
}  # fmt: skip
_UNIT = {
    name: (dimension, float(factor or 1))
    for dimension, groups in _UNITS.items()
    for names, _, factor in (group.partition(":") for group in groups.split(";"))
    for name in names.casefold().split(",")
}
_NAMES = "|".join(re.escape(name) for name in sorted(_UNIT, key=len, reverse=True))
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WORD = "|".join(sorted((*_ALONE, *_WORDS), key=len, reverse=True))
_TOKEN = re.compile(
    rf"(?P<day>\b\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\b\.?(?: (?P<year>\d{{4}}))?"
    rf"|(?P<month2>\b(?:{_MONTH})) (?P<day2>\d{{1,2}})\b(?:,? (?P<year2>\d{{4}}))?"
    r"|\b(?P<iso>\d{4}-\d\d-\d\d)\b"
    r"|\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?(?! ?(?:mm|m)\b)"
    r"|(?<![\w.])(?P<code>[A-Z]\d{1,2})(?!\w)"
    rf"|(?<![\w.])(?P<number>[-−]?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?|(?:{_WORD})(?:[- ](?:{_WORD}))?)(?![\w])"
    rf"(?: (?P<scale>{'|'.join(_SCALE)})s?\b)?(?:[ -]?(?P<unit>{_NAMES})(?![\w°])(?:(?:/| per )(?P<per>{_NAMES})(?!\w))?)?",
    re.IGNORECASE,
)
_SHARED = re.compile(
    rf"(?: ?[-–] ?| (?:to|by|and|or) )(?:\d[\d.,]*|{_WORD})[ -]?(?P<unit>{_NAMES})(?![\w/°])", re.IGNORECASE
)
"""*11 to 14 °C*: the unit behind the second number is that of the first as well."""
_COUNTED = re.compile(r" (?:(?!of|per|for|each|in|at|on)[a-z-]+ )?(?P<noun>(?!is|was|has|plus|times)[a-z]+s)\b")
"""*Twelve steps*, *two further shares*: a number of things, not a measure."""
_RELATIVE = re.compile(r" (?:(?P<up>above|over|more than|higher|up)|below|under|less than|lower|down)\b")
_MORE = re.compile(
    r"\b(?:(?:well |far |clearly )?(?:above|over|exceed(?:s|ed|ing)?|beyond|past|after|(?:more|greater|higher|longer|larger|older|"
    r"warmer|hotter|stronger|later|heavier|faster|wider|taller|bigger|deeper) than|at least|not (?:less|fewer|under|below)(?: than)?|"
    r"no (?:less|fewer|earlier) than|minimum(?: of)?|upwards of)|(?:fell|dropped|rose|grew) by over)\b",
    re.IGNORECASE,
)
_LESS = re.compile(
    r"\b(?:well |far |clearly )?(?:below|under|before|within|until|up to|(?:less|fewer|lower|smaller|shorter|younger|colder|cooler|"
    r"weaker|earlier|lighter|slower|narrower|cheaper) than|at most|not (?:more|above|over|exceed|later)(?: than)?|"
    r"no (?:more|later|higher) than|maximum(?: of)?|does not exceed|did not exceed)\b",
    re.IGNORECASE,
)
_HIGHEST = re.compile(r"\b(?:highest|top|most|best|largest|biggest|greatest|fastest|longest|heaviest|maximum)\b", re.I)
_LOWEST = re.compile(r"\b(?:lowest|least|fewest|smallest|cheapest|shortest|slowest|lightest|minimum)\b", re.I)
_ORDER = re.compile(
    r"([\w' ]+?) (?:(?:was|were|is|are|stood|lay|came out|costs?|took|takes|has|had) )?(?:(?:much|far|well|clearly|slightly) )?"
    r"(?P<how>higher|greater|more|larger|longer|older|above|exceed(?:s|ed)|later|heavier|faster|lower|less|fewer|smaller|shorter|cheaper|"
    r"younger|below|earlier|lighter|slower)(?: (?:\w+ ){0,2}?than)? (?:the |its |of |that of )*([\w' ]+)",
    re.IGNORECASE,
)
_DOWN = {"lower", "less", "fewer", "smaller", "shorter", "cheaper", "younger", "below", "earlier", "lighter", "slower"}
_SAME = re.compile(
    r"\b(?:unchanged|constant|stable|the same|did not (?:change|fall|rise|drop|move|vary)|no (?:change|loss|drop|fall))\b",
    re.I,
)
_FELL = re.compile(r"\b(?:fell|fall|falls|dropped|drop|sank|declined|decreased|shrank|lost|went down)\b", re.I)
_ROSE = re.compile(r"\b(?:rose|rise|rises|grew|increased|climbed|gained|went up)\b", re.I)
_BY = re.compile(
    r"\b(?:chang|var[iy]|differ|swing|sw[au]ng|fell|fall|drop|r[io]se|grew|grow|cut|increas|decreas|declin)\w* by "
    r"(?:\w+ ){0,3}$",
    re.I,
)
"""*Fell by more than* two points: a difference."""
_MULTIPLE = re.compile(r"\b(?:doubled|(?P<half>halved)|(?P<three>tripled|trebled))\b", re.I)
_IN_TIME = re.compile(
    r"\b(?:(?:on|in|within) (?:the )?(?:time|period)|punctual\w*|before the (?:deadline|date|expiry))\b", re.I
)
_LATE = re.compile(
    r"\b(?:(?:too )?late|overdue|belated\w*|after (?:the |its )?(?:deadline|date|expiry)|expired|out of time)\b", re.I
)
_DUE = re.compile(
    r"\b(?:due|deadline|scheduled|agreed|expir\w*|end(?:s|ed)?|until|promised|latest|last day|limit|valid)\b", re.I
)
_IDENTICAL = re.compile(r"\b(?:identical|the same|no (?:deviation|difference)|exactly)\b", re.I)


_SIZE = 5
"""A number is of another's size if it is within this factor."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text."""

    value: float
    """In the base unit of its dimension; of a date the day of a year of 372 days, of a time the minute of the day."""
    dimension: str
    """``""`` where no unit stands beside it."""
    start: int
    end: int
    beside: frozenset[str]
    """The content words of its clause."""
    counts: str = ""
    """What it is a number of, where that stands behind it."""
    year: bool = False
    """Of a date: whether the year is named."""
    raw: float = 0.0
    """The number as it is written, whatever its unit."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """What a claim says of a quantity."""

    quantity: Quantity
    sign: Sign
    """1: above, −1: below, 0: as stated."""

    def holds(self, value: float) -> bool:
        named = self.quantity.value
        if self.sign == 0:
            return abs(value - named) <= 1e-9 + 0.005 * abs(named)
        return value >= named if self.sign > 0 else value <= named


def _number(text: str) -> float | None:
    text = text.casefold().replace("−", "-")
    if text in _ALONE:
        return _ALONE[text]
    if re.match(r"-?\d", text):
        return float(text.replace(",", ""))
    parts = re.split(r"[- ]", text)
    if any(part not in _WORDS for part in parts) or (
        len(parts) == 2 and (_WORDS[parts[0]] < 20 or _WORDS[parts[1]] > 9)
    ):
        return float(_WORDS[parts[0]]) if parts[0] in _WORDS else None
    return float(sum(_WORDS[part] for part in parts))


@lru_cache(maxsize=4096)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every number, date and time of a text, in order.

    >>> [(q.value, q.dimension) for q in quantities("On 2 May twenty-five users lost 1,200 euros in 3 hours.")]
    [(126.0, 'date'), (25.0, ''), (1200.0, 'money'), (10800.0, 'time')]
    """
    return tuple(_found(text))


def _found(text: str) -> Iterator[Quantity]:
    for match in _TOKEN.finditer(text):
        got = match.groupdict()
        beside = frozenset(terms(_clause(text, match.start(), match.end())))
        day, month, year = got["day"] or got["day2"], got["month"] or got["month2"], got["year"] or got["year2"]
        if got["iso"]:
            year, month_number, day = got["iso"].split("-")
        else:
            month_number = str(_MONTHS[month.casefold()]) if month else ""
        value: float | None
        raw = 0.0
        if month_number and day:
            value, dimension = 31.0 * (int(month_number) - 1) + int(day), "date"
            value += 372.0 * int(year) if year else 0.0
        elif got["hour"]:
            value, dimension = 60.0 * int(got["hour"]) + int(got["minute"]), "clock"
        elif got["code"]:
            value, dimension = 100.0 * ord(got["code"][0]) + int(got["code"][1:]), "code"
        else:
            value = _number(got["number"])
            if value is None or (got["number"].casefold() == "one" and not got["unit"]):
                continue
            word = got["number"].casefold()
            raw = value = value * _SCALE.get((got["scale"] or "").casefold(), 1)
            shared = None if got["unit"] else _SHARED.match(text, match.end())
            dimension, factor = _UNIT.get((got["unit"] or (shared["unit"] if shared else "")).casefold(), ("", 1.0))
            value *= factor
            if got["per"]:
                dimension += f"/{_UNIT[got['per'].casefold()][0]}"
            if text[: match.start()].endswith("minus "):
                raw, value = -raw, -value
            relative = _RELATIVE.match(text, match.end()) if dimension == "share" else None
            if relative:
                value = 100 + value if relative["up"] else 100 - value
            if word == "half" and not dimension and not re.match(r" an?\b", text[match.end() :]):
                dimension, value = "share", 50.0
            elif word in {"twice", "double", "triple"}:
                dimension = "times"
            elif not dimension and re.fullmatch(r"1[0-9]\d\d|20\d\d", got["number"]):
                dimension = "year"
        counted = None if dimension else _COUNTED.match(text, match.end())
        counts = terms(counted["noun"])[0] if counted and terms(counted["noun"]) else ""
        yield Quantity(value, dimension, match.start(), match.end(), beside, counts, bool(year), raw)


def _clause(text: str, start: int, end: int) -> str:
    """The words beside a number, up to the next comma or stop."""
    left = re.split(r"[;,.](?!\d)", text[:start])[-1]
    right = re.split(r"[;,.](?!\d)", text[end:], maxsplit=1)[0]
    return f"{left} {right}"


def _bounds(claim: str) -> Iterator[_Bound]:
    for quantity in quantities(claim):
        before, after = claim[: quantity.start], claim[quantity.end :]
        sign = _side(before)
        if re.match(r"\W*(?:[\w°]+ )?or (?:more|above|over|later|higher)", after):
            sign = 1
        elif re.match(r"\W*(?:[\w°]+ )?or (?:less|fewer|below|under|earlier|lower)|\W*at (?:most|the latest)", after):
            sign = -1
        yield _Bound(quantity, sign)


def _side(before: str) -> Sign:
    """Which way the words before a number bound it: those nearest to it, at most four words away."""
    found = [(m.end(), sign) for sign, pattern in ((1, _MORE), (-1, _LESS)) for m in pattern.finditer(before)]
    end, sign = max(found, default=(0, 0))
    between = before[end:]
    if not sign or len(between.split()) > 4 or re.search(r"[;.,]|\d", between):
        return 0
    if before[:end].endswith("over") and re.match(r" the\b", between):
        return 0  # over the three years
    return 1 if sign > 0 else -1


@lru_cache(maxsize=8192)
def agreement(claim: str, text: str) -> Sign:
    """Whether the numbers of a text bear a claim out: 1 yes, −1 no, 0 there is nothing to compare."""
    there = quantities(text)
    if not there:
        return 0
    said = [verdict for verdict in _verdicts(claim, there, text) if verdict]
    return -1 if -1 in said else 1 if said else 0


def _verdicts(claim: str, there: Sequence[Quantity], text: str) -> Iterator[Sign]:
    yield _ordered(claim, there, text)
    yield _changed(claim, there)
    yield _extreme(claim, there, text)
    yield _punctual(claim, there, text)
    context = frozenset(terms(claim))
    bounds = list(_bounds(claim))
    bounded = [bound for bound in bounds if bound.sign]
    for bound in bounds:
        if bound.sign == 0 and bounded:
            continue  # a stated number beside a bound is part of the circumstances
        yield _bounded(bound, claim, there, context, text)


def _bounded(bound: _Bound, claim: str, there: Sequence[Quantity], context: frozenset[str], text: str) -> Sign:
    named = bound.quantity
    derived = _derived(named, claim, there)
    if derived is not None:
        return 1 if bound.holds(derived) else -1
    comparable = [q for q in there if _comparable(named, q, context)]
    if bound.sign == 0 and any(q.dimension == named.dimension and bound.holds(q.value) for q in there):
        return 1
    if not comparable:
        return _lone(bound, there, bool(context & set(terms(text))))
    if bound.sign == 0:
        return -1 if _stated(named, comparable) else 0
    if named.dimension == "date" and not (named.year and all(q.year for q in comparable)):
        values = [q.value % 372 for q in comparable]
        day = named.value % 372
        fits = [v >= day if bound.sign > 0 else v <= day for v in values]
        return 1 if all(fits) else -1 if not any(fits) else 0
    most = max(q.value for q in comparable)
    if " plus " in text and len(comparable) == 2:
        most = sum(q.value for q in comparable)
    return 1 if bound.holds(most) else -1


def _lone(bound: _Bound, there: Sequence[Quantity], akin: bool) -> Sign:
    """The one number of a text, which is taken for the one in question if it is of its size or if words are shared."""
    numbers = [q for q in there if q.raw and q.dimension != "year"] or list(there)
    named = bound.quantity
    if len(numbers) != 1 or not named.raw:
        return 0
    only = numbers[0]
    other = only.dimension and only.dimension != named.dimension and (named.dimension or not akin)
    if other or (named.dimension and only.counts):
        return 0
    if bound.sign == 0:
        return 0 if not akin or only.counts else 1 if only.raw == named.raw else -1
    if not (akin and not only.counts) and not 1 / _SIZE <= abs(only.raw / named.raw) <= _SIZE:
        return 0
    return 1 if (only.raw >= named.raw if bound.sign > 0 else only.raw <= named.raw) else -1


def _stated(named: Quantity, comparable: Sequence[Quantity]) -> bool:
    """Whether another value of a stated quantity speaks against it: not of dates and times, of which a text has many."""
    return named.dimension not in {"date", "clock", "time"} and len(comparable) < (
        2 if named.dimension == "year" else 3
    )


def _comparable(named: Quantity, other: Quantity, context: frozenset[str]) -> bool:
    if other.counts:
        return not named.dimension and other.counts in context
    if named.dimension == other.dimension:
        return bool(named.dimension) or bool(context & other.beside)
    if {named.dimension, other.dimension} & {"date", "clock", "year", "code", "share", "times"}:
        return False
    bare = other.dimension in {"", "money"} if not named.dimension else not other.dimension
    return bare and bool(context & other.beside)


def _derived(named: Quantity, claim: str, there: Sequence[Quantity]) -> float | None:
    """A difference or ratio of two quantities that a claim is about; ``None`` where it is about neither."""
    kinds = {q.dimension for q in there}
    if named.dimension == "time" and kinds & {"date", "clock"} and "time" not in kinds:
        dates = [q for q in there if q.dimension == "date"]
        if len(dates) == 2 and all(q.year for q in dates):
            return abs(dates[1].value - dates[0].value) * 31557600 / 372
        clocks = [q.value for q in there if q.dimension == "clock"]
        return abs(clocks[1] - clocks[0]) * 60.0 if len(clocks) == 2 and not dates else None
    if _BY.search(claim[: named.start]) and named.dimension != "share" and (pair := _pair(there)):
        return abs(pair[1] - pair[0])
    if named.dimension in {"share", "times"} and named.dimension not in kinds:
        pair = _pair(there)
        if pair is None:
            return None
        first, second = pair
        low, high = sorted((first, second))
        if low <= 0:
            return None
        if named.dimension == "times":
            return high / low
        if re.search(r"\b(?:fell|dropped|declined|rose|grew|lost|gained|increased|decreased)\b", claim, re.I):
            return 100 * abs(second - first) / first if first else None
        return 100 * low / high
    return None


def _pair(there: Sequence[Quantity]) -> tuple[float, float] | None:
    """Two numbers of one kind, and no third."""
    by: dict[str, list[float]] = {}
    for quantity in there:
        if quantity.dimension not in {"date", "clock", "year", "code"}:
            by.setdefault(quantity.dimension, []).append(quantity.value)
    return next(((values[0], values[1]) for values in by.values() if len(values) == 2), None)


def _ordered(claim: str, there: Sequence[Quantity], text: str) -> Sign:
    """*Revenue was higher than costs*: the number beside the one against the number beside the other."""
    match = _ORDER.search(claim)
    if match is None or any(
        match.start(3) <= q.start < match.end(3) and q.start - match.start(3) < 12 for q in quantities(claim)
    ):
        return 0
    names = [re.findall(r"[^\W_]+", match[group]) for group in (1, 3)]
    one, other = (_beside([word for word in names[n] if word not in names[1 - n]], there, text) for n in (0, 1))
    if one is None or other is None or one is other:
        return 0
    above = one.value > other.value
    return 1 if above != (match["how"].casefold() in _DOWN) and one.value != other.value else -1


def _beside(names: Sequence[str], there: Sequence[Quantity], text: str) -> Quantity | None:
    """The first number after a name: a word of the text that is one of these, in whatever form, or the same single capital."""
    if proper := [name for name in names if name[0].isupper() and re.search(rf"\b{re.escape(name)}\b", text)]:
        names = proper
    stems = {stem for name in names for stem in terms(name)}
    capitals = {name for name in names if len(name) == 1 and name.isupper()}
    places = [m.end() for m in re.finditer(r"[^\W_]+", text) if m[0] in capitals or set(terms(m[0])) & stems]
    return next((q for q in there if places and q.start >= places[0]), None)


def _changed(claim: str, there: Sequence[Quantity]) -> Sign:
    """*Did not fall*, *fell*, *rose*, *identical*: the first and the last of two numbers of one kind."""
    if _IDENTICAL.search(claim) and len(there) == 1 and not there[0].counts:
        return 1 if there[0].value == 0 else -1
    pair = _pair(there)
    if pair is None:
        return 0
    first, second = pair
    if multiple := _MULTIPLE.search(claim):
        ratio = second / first if first else 0.0
        return 1 if (ratio <= 0.6 if multiple["half"] else ratio >= (2.7 if multiple["three"] else 1.8)) else -1
    if _SAME.search(claim):
        return 1 if abs(first - second) <= 0.002 * max(abs(first), abs(second)) else -1
    if _FELL.search(claim) or _ROSE.search(claim):
        down = _FELL.search(claim) is not None
        return 1 if (second < first) == down and first != second else -1
    return 0


def _extreme(claim: str, there: Sequence[Quantity], text: str) -> Sign:
    """*Lund had the highest score*: the number beside the name against all the others."""
    high, low = _HIGHEST.search(claim), _LOWEST.search(claim)
    if not (high or low) or len(there) < 2 or _ORDER.search(claim):
        return 0
    names = [m[0] for m in re.finditer(r"\b[A-Z][\w'-]+", claim) if m[0] in text]
    own = _beside(names[-1:], there, text) if names else None
    if own is None:
        return 0
    values = [q.value for q in there if q.dimension == own.dimension]
    return 1 if own.value == (max(values) if high else min(values)) else -1


def _punctual(claim: str, there: Sequence[Quantity], text: str) -> Sign:
    """*Paid on time*, *delivered late*: the date that something was due against the other one."""
    in_time, late = _IN_TIME.search(claim), _LATE.search(claim)
    dates = [q for q in there if q.dimension == ("date" if any(q.dimension == "date" for q in there) else "clock")]
    if bool(in_time) == bool(late) or len(dates) != 2:
        return 0
    starts = [0, dates[0].end]
    due = [_DUE.search(text[start : q.start]) is not None for start, q in zip(starts, dates, strict=True)]
    if due[0] == due[1]:
        return 0
    limit, event = dates if due[0] else dates[::-1]
    return 1 if (event.value <= limit.value) == bool(in_time) else -1
