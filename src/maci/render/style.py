"""One design for every page: a palette for day and night, rules for text, tables, forms and drawings.

The style sheet is the palette (here, so that a test can measure its contrast) and two files of rules beside this one. A page is
light or dark as the reader's system is; ``data-theme="light"`` or ``"dark"`` on its root decides otherwise; on paper it is light.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

PALETTE: Mapping[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#11161c"),
    "tint": ("#f4f6f9", "#1a2129"),
    "rule": ("#d5dae0", "#343e4a"),
    "ink": ("#1b1f24", "#e6edf3"),
    "soft": ("#57606a", "#9ea9b5"),
    "home": ("#0b5fb0", "#6cb6ff"),
    "good": ("#1a7f37", "#6bc46d"),
    "bad": ("#b91c26", "#ff938a"),
    "warn": ("#7a5200", "#e3b341"),
    "found": ("#ffeb94", "#5a4a00"),
    "c0": ("#0f757d", "#5fc9cf"),
    "c1": ("#a84a00", "#f0a35e"),
    "c2": ("#7a45d6", "#c297ff"),
    "c3": ("#1a7f37", "#6bc46d"),
    "c4": ("#b0327d", "#f48fc6"),
    "c5": ("#7a5c00", "#d9b84a"),
    "c6": ("#4a5fa5", "#9db1f5"),
    "c7": ("#b91c26", "#ff938a"),
    "s0": ("#8c2d04", "#ff9d6b"),
    "s1": ("#b8500c", "#f5b98a"),
    "s2": ("#8a6a2f", "#e8d0b0"),
    "s3": ("#5b6470", "#c3c9d1"),
    "s4": ("#3b74a6", "#a9cbea"),
    "s5": ("#1f5a94", "#7fb4e8"),
    "s6": ("#0b3d73", "#5a9ee6"),
    "a0": ("#37474f", "#b0bec5"),
    "a1": ("#6d3b2e", "#d9b8ac"),
    "a2": ("#283593", "#9fa8da"),
    "a3": ("#00695c", "#80cbc4"),
    "a4": ("#6a1b9a", "#ce93d8"),
    "a5": ("#9e2a2b", "#ffab91"),
}
"""Name → colour by day, colour by night. `home` marks what matters, `c0` … tell outcomes and series apart, `s0` … the outcomes
of a scale from one end to the other, `a0` … agents."""

COLOURS = sum(name[0] == "c" and name[1:].isdigit() for name in PALETTE)
DIVERGING = {2: "06", 3: "036", 4: "0156", 5: "01356", 6: "012456", 7: "0123456"}
"""How many outcomes a scale has → which of `s0` … they get."""
AGENTS = sum(name[0] == "a" and name[1:].isdigit() for name in PALETTE)


def _palette() -> str:
    def block(night: int) -> str:
        return "".join(f"--{name}:{pair[night]};" for name, pair in PALETTE.items())

    return (
        f":root{{color-scheme:light;{block(0)}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root:not([data-theme=light]){{color-scheme:dark;{block(1)}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{block(1)}}}}}\n"
    )


def _colours() -> str:
    names = [
        "home",
        "good",
        "bad",
        *(f"c{i}" for i in range(COLOURS)),
        *(f"a{i}" for i in range(AGENTS)),
        *(f"s{i}" for i in range(7)),
    ]
    badges = "".join(
        f".badge.a{i}{{background:var(--a{i})}}.who.a{i}{{border-bottom-color:var(--a{i})}}" for i in range(AGENTS)
    )
    return badges + "".join(
        f"svg .line.{n},svg .whisker.{n}{{stroke:var(--{n})}}svg .mark.{n},svg .band.{n},svg text.{n},svg .part.{n}{{fill:var(--{n})}}"
        f".key .{n}::before,.dot.{n}{{background:var(--{n})}}\n"
        for n in names
    )


def _part(name: str) -> str:
    return tight(files("maci.render").joinpath(name).read_text(encoding="utf-8"))


def tight(source: str) -> str:
    r"""A style sheet or script as it is sent: without indentation, empty lines and lines that are comments.

    >>> tight("// says it\nif (x) {\n  go();\n}\n")
    'if (x) {\ngo();\n}\n'
    """
    lines = (line.strip() for line in source.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


@cache
def drawing_sheet() -> str:
    """What a drawing needs, in a page or in a file of its own."""
    return _palette() + _part("drawing.css") + _colours()


@cache
def sheet() -> str:
    """The whole style sheet."""
    return drawing_sheet() + _part("page.css")


@cache
def script() -> str:
    """What pages do where scripts run: sort tables, step through rounds, choose light or dark, open everything for print."""
    return _part("page.js")


def hash_of(source: str) -> str:
    """A script or style sheet as a content security policy names it.

    >>> hash_of("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
