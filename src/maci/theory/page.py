"""The result of ``maci verify`` as one HTML page that needs nothing else: no scripts, no fonts, no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from maci.theory.svg import draw, standalone
from maci.theory.verdict import Kind, Verdict

__all__ = ["KINDS", "page", "plots"]

KINDS: dict[Kind, str] = {"proved": "theorem, checked", "measured": "measured", "negative": "negative finding"}
"""What a kind is called."""

_CHARTS = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#60666d;--paper:#fdfdfc;--card:#f4f4f1;--rule:#dcdcd6;--good:#1a7f4b;--bad:#b3261e;
--c0:#2459a9;--c1:#c2571a;--c2:#2b8a5b;--c3:#8a4fa3;--c4:#6b6b00}
@media(prefers-color-scheme:dark){:root{--ink:#e7e6e3;--soft:#a2a6ab;--paper:#16181b;--card:#1f2226;--rule:#363b41;--good:#5cc98f;
--bad:#ff8a80;--c0:#7fb0ff;--c1:#ffa66b;--c2:#74d3a3;--c3:#d29bea;--c4:#d6d15c}}
svg text{fill:var(--soft);font:12px system-ui,sans-serif}.grid{stroke:var(--rule)}.axis,.tick{stroke:var(--soft)}
.line{fill:none;stroke-width:2}.band{opacity:.18;stroke:none}
.line.c0{stroke:var(--c0)}.line.c1{stroke:var(--c1)}.line.c2{stroke:var(--c2)}.line.c3{stroke:var(--c3)}.line.c4{stroke:var(--c4)}
.band.c0,.dot.c0{fill:var(--c0)}.band.c1,.dot.c1{fill:var(--c1)}.band.c2,.dot.c2{fill:var(--c2)}.band.c3,.dot.c3{fill:var(--c3)}
.band.c4,.dot.c4{fill:var(--c4)}.line.bound{stroke:var(--soft);stroke-dasharray:5 4;stroke-width:1.5}
"""
"""Colours, by day and by night, and how charts are drawn."""

_STYLE = """
*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:72rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:0 0 .3rem}p{margin:.4rem 0}
.soft{color:var(--soft)}.good{color:var(--good);font-weight:600}.bad{color:var(--bad);font-weight:600}
.wide{overflow-x:auto;margin:1.2rem 0 2rem}table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:.45rem .8rem .45rem 0;border-bottom:1px solid var(--rule)}
th{font-weight:600;color:var(--soft)}td.n{text-align:right}td:first-child{width:34%}td.n{width:13%}td a{color:inherit}
section{background:var(--card);border-radius:.5rem;padding:1rem 1.2rem;margin:0 0 1rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem .9rem;margin:.5rem 0}dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
figure{margin:.8rem 0 0;max-width:40rem}
@media(min-width:62rem){section.drawn{display:grid;grid-template-columns:1fr 1fr;gap:0 1.6rem}section.drawn h2{grid-column:1/-1}
section.drawn figure{margin-top:.2rem}}
figcaption{font-weight:600;font-size:.92rem}svg{width:100%;height:auto;display:block}
ul.key{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1rem;margin:.2rem 0 0;padding:0;font-size:.85rem;color:var(--soft)}
.key span{display:inline-block;width:1.2rem;border-top:3px solid;margin-right:.4rem;vertical-align:middle}
.key .c0 span{color:var(--c0)}.key .c1 span{color:var(--c1)}.key .c2 span{color:var(--c2)}.key .c3 span{color:var(--c3)}
.key .c4 span{color:var(--c4)}.key .bound span{border-top:2px dashed var(--soft)}
@media(max-width:44rem){dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}section{padding:.8rem}
svg text{font-size:15px}
thead{display:none}tr{display:block;border-bottom:1px solid var(--rule);padding:.5rem 0}td{display:block;border:0;padding:.1rem 0}
td.n{text-align:left;color:var(--soft)}td:first-child,td.n{width:auto}}
@media print{section{break-inside:avoid;background:none;border:1px solid var(--rule)}}
"""


def page(verdicts: Sequence[Verdict], *, about: str) -> str:
    """The whole page; ``about`` says how it was made."""
    failed = [verdict for verdict in verdicts if not verdict.passed]
    outcome = (
        f'<span class="bad">{len(failed)} of {len(verdicts)} claims fail</span>'
        if failed
        else f'<span class="good">all {len(verdicts)} claims hold</span>'
    )
    rows = "".join(
        f'<tr><td><a href="#{verdict.id}">{escape(verdict.claim)}</a></td><td>{escape(verdict.measured)}</td>'
        f'<td class="n">{verdict.n:,} {escape(verdict.unit)}</td><td>{_mark(verdict)}</td></tr>'
        for verdict in verdicts
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><title>MACI: claims, checked</title>'
        f"<style>{_CHARTS}{_STYLE}</style></head><body><h1>What MACI claims, checked by simulation</h1>"
        f'<p>{outcome} <span class="soft">· {escape(about)}</span></p>'
        '<p class="soft">A negative finding passes when it is shown: it says what does <em>not</em> hold, and what the default rule '
        "does there. docs/theory.md has the proofs.</p>"
        f'<div class="wide"><table><thead><tr><th>claim</th><th>measured</th><th>n</th><th>verdict</th></tr></thead><tbody>{rows}'
        f"</tbody></table></div>{''.join(map(_section, verdicts))}</body></html>\n"
    )


def plots(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Every chart as an SVG file of its own, by file name."""
    return {
        f"{verdict.id}{f'-{number}' if number else ''}.svg": standalone(chart, _CHARTS)
        for verdict in verdicts
        for number, chart in enumerate(verdict.charts)
    }


def _mark(verdict: Verdict) -> str:
    shown = verdict.kind == "negative"
    word = ("shown" if shown else "pass") if verdict.passed else ("not shown" if shown else "fail")
    return f'<span class="{"good" if verdict.passed else "bad"}">{word}</span>'


def _section(verdict: Verdict) -> str:
    charts = "".join(draw(chart) for chart in verdict.charts)
    return (
        f'<section id="{verdict.id}" class="{"drawn" if charts else ""}"><h2>{escape(verdict.claim)}</h2><div><dl><dt>verdict</dt>'
        f'<dd>{_mark(verdict)} <span class="soft">({KINDS[verdict.kind]})</span></dd>'
        f"<dt>limit</dt><dd>{escape(verdict.limit)}</dd><dt>measured</dt><dd>{escape(verdict.measured)}</dd>"
        f"<dt>n</dt><dd>{verdict.n:,} {escape(verdict.unit)}</dd></dl>"
        f"<p>{escape(verdict.note)}</p></div><div>{charts}</div></section>"
    )
