"""The form that starts a debate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from maci.cases.case import Case
from maci.config import PROFILES, Budget
from maci.debating.estimate import CostEstimate, totals
from maci.errors import MaciError, Undecidable, said
from maci.render.markup import Child, Markup, el, join
from maci.story.outline import ON_PAGE, forced
from maci.story.report.verdict import sentence
from maci.story.words import plural
from maci.web import Limits
from maci.web.forms import CASE_KINDS, Files, Upload
from maci.web.guard import Visit
from maci.web.pages.layout import hidden, page


def new_page(
    given: Mapping[str, str],
    cases: Mapping[str, Case],
    panels: Sequence[tuple[str, str]],
    kinds: Sequence[str],
    limits: Limits,
    visit: Visit,
    *,
    budget: Budget,
    models: Sequence[str] = (),
    wrong: MaciError | None = None,
    kept: Files | None = None,
    found: CostEstimate | None = None,
) -> str:
    """The form; what was given before is there again, files that are ``kept`` too; ``wrong`` says why it is shown again, and marks
    the field it is about. ``budget`` has the usual ceilings, ``models`` are those that can be chosen by name, ``found`` is what the
    debate is expected to cost.
    """
    held = _Kept(given.get("kept", ""), [(name, file) for name, files in (kept or {}).items() for file in files])
    alert = None
    if wrong is not None:
        given = {**given, _WRONG: wrong.about}
        more = f".{forced(ON_PAGE)}" if isinstance(wrong, Undecidable) and wrong.guess else ""
        alert = el(
            "div", el("p", "The debate was not started."), el("p", sentence(said(wrong) + more)),
            el("p", "Everything you wrote and the files you sent are still there.", class_="soft"),
            class_="verdict wrong", role="alert", tabindex=-1, id="wrong",
        )  # fmt: skip
    again = given.get("from", "")
    head = None
    if again:
        link = el("a", "a debate on record", href=f"/debates/{quote(again)}")
        head = el(
            "p", "Filled in from ", link, ": change what you like. What was recorded stays as it is.", class_="notice"
        )
    form = el(
        "form",
        hidden(visit, **({"from": again} if again else {}), **({"kept": held.word} if held.files else {})),
        el("div", _case(given, cases, limits, held), _evidence(given, kinds, limits, held), class_="stack"),
        el(
            "div",
            _table(given, panels, models),
            _limits(given, budget),
            _price(found) if found is not None else None,
            el(
                "p",
                el("button", "Start the debate", type="submit", class_="home", id="start"),
                " ",
                el("button", "Estimate its price", type="submit", name="estimate", value="yes", id="estimate"),
            ),
            class_="stack",
        ),
        method="post",
        action="/debates",
        enctype="multipart/form-data",
        class_="two",
        id="new",
        data_most=limits.body,
    )
    return page(
        "New debate",
        el("h1", "New debate"),
        None if again else _templates(),
        head,
        alert,
        form,
        here="/new",
        script="files.js",
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    """Files that were sent before, in the order of the form's fields for them."""

    word: str
    files: Sequence[tuple[str, Upload]]

    def of(self, field: str) -> Markup | None:
        """Those of one field, to be used or left out."""
        rows = []
        for number, (name, file) in enumerate(self.files):
            if name == field:
                tick = el(
                    "input", type="checkbox", name=f"kept_{number}", id=f"kept_{number}", value="yes", checked=True
                )
                words = f" {file.plain_name} ({max(1, len(file.data) >> 10):,} kB), sent before"
                rows.append(el("li", el("label", tick, words, for_=f"kept_{number}")))
        return el("ul", rows, class_="plain") if rows else None


def _price(found: CostEstimate) -> Markup:
    """What the debate would take; nothing was sent."""
    least, last = totals(found)
    who = ", ".join(seat.name for seat in (*found.agents, *found.judges))
    unknown = f" No price is known for {', '.join(found.unpriced)}." if found.unpriced else ""
    some = f"{least.so_far} if it ends after {plural(least.round, 'round')}"
    ends = f", {last.so_far} after {last.round}" if last.round != least.round else ""
    return el(
        "div",
        el("p", f"{some}{ends}.{unknown}"),
        el("p", f"Nothing was sent. At the table: {who}.", class_="soft"),
        class_="verdict",
        role="status",
        id="price",
    )


_TEMPLATES = (
    (
        "Decide between options",
        "Several ways forward, one to choose",
        {"question": "Which of these should we choose?", "outcomes": "option A\noption B\noption C"},
    ),
    (
        "Is this claim true?",
        "A claim, and evidence for and against",
        {"question": "Is it true that …?", "outcomes": "true\nfalse\nnot enough evidence", "risk": "20"},
    ),
    (
        "Rate on a scale",
        "How much, how strong, how likely",
        {
            "question": "How strongly does the text support …? From -2 (not at all) to +2 (fully).",
            "outcomes": "-2\n-1\n0\n+1\n+2",
            "scale": "yes",
        },
    ),
    (
        "Diagnose",
        "Findings, and what explains them",
        {"question": "What explains these findings?", "questions": "2", "risk": "20"},
    ),
)
"""Name, what it is for, and fields to begin with."""


def _templates() -> Markup:
    """Forms that are filled in to begin with."""
    links = (
        el("li", el("a", el("b", name), el("span", about), href=f"/new?{urlencode(fields)}"))
        for name, about, fields in _TEMPLATES
    )
    return el("nav", el("ul", links), aria_label="Templates", class_="templates")


_WRONG = "wrong field"
"""Where ``given`` says which field is wrong; no field of the form has this name."""


def _field(name: str, label: str, control: Markup, hint: str = "") -> Markup:
    said = el("span", hint, class_="small-print", id=f"{name}-hint") if hint else None
    return el("div", el("label", label, for_=name), control, said, class_="field")


def _control(
    tag: str, name: str, given: Mapping[str, str], label: str, hint: str, *children: Child, **more: Child
) -> Markup:
    """A field with a control in it; the one that is wrong is marked."""
    wrong, about = "true" if given.get(_WRONG) == name else None, f"{name}-hint" if hint else None
    control = el(tag, *children, name=name, id=name, **more, aria_describedby=about, aria_invalid=wrong)
    return _field(name, label, control, hint)


def _text(name: str, given: Mapping[str, str], label: str, hint: str = "", **more: Child) -> Markup:
    return _control("input", name, given, label, hint, **{"value": given.get(name, ""), "type": "text", **more})


def _area(name: str, given: Mapping[str, str], label: str, hint: str = "", rows: int = 4) -> Markup:
    return _control("textarea", name, given, label, hint, given.get(name, ""), rows=rows, dir="auto")


def _select(
    name: str, given: Mapping[str, str], label: str, options: Sequence[tuple[str, str]], hint: str = ""
) -> Markup:
    items = (el("option", text, value=value, selected=value == given.get(name, "")) for value, text in options)
    return _control("select", name, given, label, hint, items)


def _file(name: str, given: Mapping[str, str], accept: Sequence[str], most: int, held: _Kept, **more: Child) -> Markup:
    """A field for files of at most so many bytes, those sent before, and a place to say that one has more."""
    wrong = "true" if given.get(_WRONG) == name else None
    field = el("input", type="file", name=name, id=name, accept=",".join(accept), data_most=most, aria_invalid=wrong,
               aria_describedby=f"{name}-hint {name}-wrong", **more)  # fmt: skip
    return join(held.of(name), field, el("span", class_="bad-note", id=f"{name}-wrong", aria_live="polite"))


def _tick(name: str, given: Mapping[str, str], label: str) -> Markup:
    box = el("input", type="checkbox", name=name, id=name, value="yes", checked=bool(given.get(name)))
    return el("label", box, f" {label}", for_=name)


def _case(given: Mapping[str, str], cases: Mapping[str, Case], limits: Limits, held: _Kept) -> Markup:
    options = [
        ("", "– none: as written above –"),
        *((name, f"{name}: {case.title or case.question}"[:90]) for name, case in cases.items()),
    ]
    file = _file("case_file", given, CASE_KINDS, limits.case_file, held)
    return el(
        "fieldset",
        el("legend", "The case"),
        _area("question", given, "Question", rows=2),
        _area("context", given, "What is known", "What the agents are told; evidence comes below.", rows=4),
        _area(
            "outcomes",
            given,
            "Possible outcomes",
            "One a line, or between commas. Empty: the agents name them; the embedded readers then choose among the conditions of "
            "their medical knowledge, and refuse a question about anything else.",
            rows=3,
        ),
        _tick("scale", given, "They are the steps of a scale, the lowest first"),
        _select("builtin", given, "Or a built-in case", options),
        _field(
            "case_file",
            "Or a case file",
            file,
            f"YAML, TOML or JSON, as for maci debate; up to {limits.case_file >> 20} MB.",
        ),
    )


def _evidence(given: Mapping[str, str], kinds: Sequence[str], limits: Limits, held: _Kept) -> Markup:
    files = _file("files", given, kinds, limits.file, held, multiple=True, data_files=limits.files)
    size = f"Up to {limits.files} files of {limits.file >> 20} MB, {limits.body >> 20} MB together"
    hint = f"{size}: {' '.join(kinds)}. Tables need a column text, and may have label and source."
    return el(
        "fieldset",
        el("legend", "Evidence"),
        _tick("keep_evidence", given, "Keep the evidence that came with that debate") if given.get("from") else None,
        _area("evidence", given, "Texts", "An empty line between two texts.", rows=4),
        _field("files", "Files", files, hint),
        el(
            "p",
            "Readers can only use texts that name an outcome or carry its label. Without any they use the built-in knowledge.",
            class_="small-print",
        ),
    )


def _table(given: Mapping[str, str], panels: Sequence[tuple[str, str]], models: Sequence[str]) -> Markup:
    named = f"This server's models: {', '.join(models)}." if models else "This server's panels name no models."
    options = [(name, f"{name}: {about}") for name, about in panels]
    return el(
        "fieldset",
        el("legend", "Who debates"),
        _select("panel", given, "Panel", options),
        el("p", el("a", "Who sits at each panel, and what a debate costs", href="/panels"), class_="small-print"),
        el(
            "details",
            el("summary", "Models of your own choice"),
            _text("agents", given, "Agents", f"Between commas, instead of a panel. {named}"),
            _text("judges", given, "Judges", "Of another family; reader for the embedded judges, none for no judges."),
            open=bool(given.get("agents") or given.get("judges")),
        ),
    )  # fmt: skip


def _limits(given: Mapping[str, str], budget: Budget) -> Markup:
    usd = None if budget.usd is None else f"{budget.usd:g}"
    profiles = [(name, name) for name in PROFILES]
    return el(
        "fieldset",
        el("legend", "Rules and limits"),
        _select("profile", given, "Profile", profiles, "paper: the paper's literal rules."),
        el(
            "div",
            _text("budget_tokens", given, "Most tokens", type="number", min=0, step=1, placeholder=str(budget.tokens)),
            _text("budget_usd", given, "Most dollars", type="number", min=0, step="any", placeholder=usd),
            _text("risk", given, "Accepted risk, %", type="number", min=0, max=100, step="any"),
            _text("questions", given, "Questions to you", type="number", min=0, max=20, step=1, placeholder="0"),
            _text("seed", given, "Seed", type="number", step=1, placeholder="0"),
            class_="grid",
        ),
        el("p", "Accepted risk: of a wrong answer. Where the answer is less sure than that, it is withheld; empty, it is always given.",
           class_="small-print"),
        el("details", el("summary", "Utilities"),
           _area("utilities", given, "What each action is worth", "Questions are then chosen by value, and the result says what to do. "
                 "A line for each action, as in treat: {Gout: 5, otherwise: -2}", rows=3),
           open=bool(given.get("utilities"))),
        el("details", el("summary", "Settings"), _area("settings", given, "One a line", "As in maci config: tau_q = 0.4", rows=3),
           open=bool(given.get("settings"))),
    )  # fmt: skip
