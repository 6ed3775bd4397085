"""How numbers are written for people: a minus sign, a no-break space before %, and signs where a change is meant.

JSON and ``--plain`` keep the ASCII that programs read.
"""

from __future__ import annotations

import re

_BELOW_ZERO = re.compile(r"(?<![\w.−-])-(?=\d+\.\d)")
_PERCENT = re.compile(r"(?<=\d) ?%")


def fixed(value: float, digits: int) -> str:
    """A number with so many digits; nothing is "minus zero".

    >>> fixed(-0.0814, 3), fixed(-0.0001, 2), fixed(1.5, 1)
    ('−0.081', '0.00', '1.5')
    """
    written = f"{value:.{digits}f}"
    return written.removeprefix("-") if float(written) == 0 else written.replace("-", "−")


def signed(value: float, digits: int) -> str:
    """How far something moved.

    >>> signed(0.031, 2), signed(-0.2, 2), signed(-0.001, 2)
    ('+0.03', '−0.20', '0.00')
    """
    written = f"{value:+.{digits}f}"
    return written[1:] if float(written) == 0 else written.replace("-", "−")


def percent(p: float | None) -> str:
    """A probability; 100 % and 0 % are kept for what is certain, and the space does not break.

    >>> [" ".join(percent(p).split()) for p in (None, 0.8349, 0.9996, 1.0, 0.0004)]
    ['–', '83 %', '> 99 %', '100 %', '< 1 %']
    """
    if p is None:
        return "–"
    if 0.995 <= p < 1:
        return ">\N{NO-BREAK SPACE}99\N{NO-BREAK SPACE}%"
    if 0 < p < 0.005:
        return "<\N{NO-BREAK SPACE}1\N{NO-BREAK SPACE}%"
    return f"{100 * p:.0f}\N{NO-BREAK SPACE}%"


def typeset(sentence: str) -> str:
    """A sentence of the record with its numbers as people write them; labels such as -2 stay as they are.

    >>> typeset("q -0.081 < τ_Q 0.100; -2 leads"), typeset("x-1.5")
    ('q −0.081 < τ_Q 0.100; -2 leads', 'x-1.5')
    """
    return _PERCENT.sub("\N{NO-BREAK SPACE}%", _BELOW_ZERO.sub("−", sentence))
