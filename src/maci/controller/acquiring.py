r"""What happens where a debate ends or pauses: the plan is made, a source is asked, its answers enter the debate.

A stop is first a pause (:class:`~maci.controller.state.Closing`): MACI looks for what could be found out and makes the plan. With
acquisitions left (`plan.acquire`) and something worth its cost, it asks the best items, turns the answers into findings and
spans, and continues the debate where it stood: same record, dials, beliefs and budget, at most `stop.max_rounds` further rounds.
θ stays frozen.

A question that stays unanswered brings nothing, so gain G and value V count with the chance π that the source answers at all:

.. math:: \pi_k = \frac{a + \text{answered}_k}{a + b + \text{asked}_k},\qquad G_\pi = \pi\,G,\qquad V_\pi = \pi\,V

==========  ==========================================================================================================
k           the kind of an item (a person knows their history, not the result of a test), or the menu of the source
a, b        the prior, Beta(a, b): (1, 1) where nothing is known, Laplace's rule of succession; (1, 0) for what the source
            says it has, and for a source that is sure to answer: certain, until it does not
==========  ==========================================================================================================

A missing answer is assumed to say nothing about the outcome. It is then one more answer with the same probability 1 − π
under every outcome, and G and V with it are exactly π times what they are without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from maci.acquisition.finding import gist
from maci.acquisition.gain import Utilities, favoured
from maci.acquisition.plan import CONTRAST, MENU, AcquisitionPlan, Item, Proposal, Residual, make_plan
from maci.agents.anchor import Finding, Question
from maci.config import Config
from maci.controller.decisions import Decision, Gained, Planned
from maci.controller.dials import fitted_tau_q
from maci.controller.ending import Step, forfeit, unfit
from maci.controller.inputs import Acquired, Surveyed, unpack
from maci.controller.reading import calibrated
from maci.controller.recommending import end
from maci.controller.state import Closing, Stake, State
from maci.controller.stop import StopReason
from maci.evidence.span import Span
from maci.moderator.belief import entropy
from maci.moderator.signals import evidence_qualities


def rule_of_succession(answered: int, asked: int, *, sure: bool = False) -> float:
    """π, the mean of the Beta distribution.

    >>> rule_of_succession(0, 0), rule_of_succession(3, 4), rule_of_succession(0, 0, sure=True), rule_of_succession(0, 1, sure=True)
    (0.5, 0.6666666666666666, 1.0, 0.5)
    """
    return (1 + answered) / ((1 if sure else 2) + asked)


def chances(
    candidates: Iterable[Proposal], so_far: Sequence[tuple[Item, bool]], *, sure: bool = False
) -> dict[str, float]:
    """Candidate → π, from what was asked so far and whether an answer came of it."""
    tally: dict[str, list[bool]] = {}
    for item, answered in so_far:
        tally.setdefault(_group(item), []).append(answered)
    found = {}
    for candidate in candidates:
        group = _group(candidate)
        counts = tally.get(group, [])
        found[candidate.id] = rule_of_succession(sum(counts), len(counts), sure=sure or group == MENU)
    return found


def _group(of: Proposal | Item) -> str:
    return MENU if MENU in of.origin else of.kind


_NO_MORE = frozenset({"error", "budget", "stopped_by_user"})
"""Ends after which nothing more is asked."""
_TRIES, _PATIENCE = 3, 3
"""Questions asked for each answer that is wanted; failures in a row after which nobody is asked any more."""
_BATCH = 4
"""Passages of one answer from which they are compared with each other."""
USED = frozenset({"present", "absent", "told"})
"""Verdicts that are findings."""


def conclude(state: State, reason: StopReason, detail: str, decisions: tuple[Decision, ...] = ()) -> Step:
    """End the debate; where a plan is wanted, only once it is made."""
    if reason == "error" or not state.config.plan.enabled or state.mixture is None:
        return end(state, reason, detail, decisions)
    return forfeit(state).but(closing=Closing(reason, detail)), decisions


def question(state: State) -> Question:
    """What agents and judges may know of the case."""
    case = state.opened.case
    named = case.outcomes.named(state.labels)
    return Question(case.question, case.context, case.outcomes.kind, named, state.findings)


def residual(state: State) -> Residual:
    """What is still open, for a survey."""
    p = calibrated(state)
    told = (answer.text for _, answer in state.acquired if answer.verdict == "told")  # also what it says is not there
    return Residual(
        question=state.opened.case.question,
        text="\n".join((question(state).told, *told)),
        labels=state.labels[: len(p)],
        p=tuple(p.tolist()),
        leads=tuple(dict.fromkeys(state.labels[int(belief.argmax())] for belief in state.beliefs.values())),
        requests=state.requests,
        asked=tuple(item.subject for item, _ in state.acquired),
        unanswered=tuple(item.subject for item, answer in state.acquired if answer.verdict not in USED),
    )


def plan_for(
    state: State, candidates: Sequence[Proposal], *, size: int | None = None, utilities: Utilities | None = None
) -> AcquisitionPlan:
    """The plan for the state of a debate, by bits or by value under ``utilities``."""
    rules, p = state.config.plan, calibrated(state)
    told = {found.subject for found in state.findings}
    so_far = [(item, item.subject in told) for item, answer in state.acquired if answer.verdict != "stopped"]
    asked = [c for c in candidates if _can_be_asked(state, c)] if state.opened.source else []
    backing = {
        entry.id: frozenset({f"{entry.round}{entry.seat}", *(c.span for c in entry.argument.citations)})
        for entry in state.record
    }
    return make_plan(
        state.labels[: len(p)],
        p,
        candidates,
        rules if size is None else rules.model_copy(update={"size": size}),
        backing=backing,
        utilities=utilities,
        chances=chances(asked, so_far, sure=state.opened.sure),
    )


def make(state: State, survey: Surveyed) -> Step:
    """The plan; then the end, or a question to the source."""
    closing = state.closing
    assert closing is not None
    p = calibrated(state)
    utilities = state.utilities(len(p))
    plan = plan_for(state, survey.candidates, utilities=utilities)
    wanted = _worth_asking(state, plan.items, utilities)
    if not any(_can_be_asked(state, item) for item in plan.items):  # what the source can answer is not on the list
        fitting = [c for c in survey.candidates if _can_be_asked(state, c)]
        wanted = _worth_asking(state, plan_for(state, fitting, utilities=utilities).items, utilities)
    more = tuple(item for item in wanted if item.id not in {i.id for i in plan.items})
    why = "" if wanted else _not_asked(state, plan.items, utilities)
    planned = Planned(
        round=state.round,
        stop=closing.reason,
        items=(*plan.items, *more),
        entropy=plan.entropy,
        joint_gain=plan.joint_gain,
        considered=survey.considered,
        notes=tuple(note for note in (plan.note, why, survey.note) if note),
        acquire=tuple(item.id for item in wanted),
        favoured=None if utilities is None or unfit(state) else favoured(p, utilities),
    )
    state = state.but(planned=planned, acquiring=wanted)
    if wanted:
        return state, (planned,)
    return end(state, closing.reason, closing.detail, (planned,))


def _left(state: State) -> int:
    """How many items may still be asked."""
    assert state.closing is not None
    rules = state.config.plan
    verdicts = [answer.verdict for _, answer in state.acquired]
    left = min(rules.acquire - sum(v in USED for v in verdicts), _TRIES * rules.acquire - len(verdicts))
    enough = "stopped" in verdicts or verdicts[-_PATIENCE:] == ["failed"] * _PATIENCE
    return 0 if enough or state.closing.reason in _NO_MORE else max(0, left)


def _can_be_asked(state: State, of: Proposal | Item) -> bool:
    """Whether the source answers such an item, and has it where it has a menu."""
    kinds = state.opened.answers
    return of.askable and (not kinds or of.kind in kinds)


def _worth_asking(state: State, items: tuple[Item, ...], utilities: Utilities | None) -> tuple[Item, ...]:
    worth = [i for i in items if _can_be_asked(state, i) and _pays(state, i, utilities)]
    return tuple(worth[: min(_left(state), state.config.plan.batch)])


def _pays(state: State, item: Item, utilities: Utilities | None) -> bool:
    """Whether an item is worth its cost: in bits, or in utility where there are utilities."""
    if utilities is not None and item.value is not None:
        return item.value >= utilities.cost * item.cost
    return item.added_gain >= state.config.plan.worth * item.cost


def _not_asked(state: State, items: tuple[Item, ...], utilities: Utilities | None) -> str:
    """Why nothing more is asked, where more might be and there is something on the list."""
    asked = [item for item in items if _can_be_asked(state, item)]
    if not _left(state) or not items:
        return ""
    if not asked:
        return f"No further question is asked: the source ({state.opened.source}) has an answer to none of them."
    if utilities is not None:
        best = max(asked, key=lambda item: (item.value or 0.0) / item.cost)
        return (
            f"No further question is worth asking: the best is worth {best.value or 0.0:.3g} and costs "
            f"{utilities.cost * best.cost:.3g} (in utility)."
        )
    best = max(asked, key=lambda item: item.added_gain / item.cost)
    return (
        f"No further question is worth asking: the best would reduce the uncertainty by {best.added_gain / best.cost:.2g} bits "
        f"per unit of cost; at least {state.config.plan.worth:g} are needed (plan.worth)."
    )


def enter(state: State, item: Acquired) -> tuple[State, bool | None]:
    """The state with an answer in it, and what then: ``True`` go on debating, ``False`` the end, ``None`` ask on."""
    asked = next(i for i in state.acquiring if i.id == item.item)
    rest = tuple(i for i in state.acquiring if i.id != item.item)
    stake = state.stake or Stake(entropy(calibrated(state)), _leader(state), (), 0.0)
    spans = _through_the_gate(state, asked, item)
    rejected, warnings = len(item.spans) - len(spans), state.warnings
    if rejected:
        note = (
            f"{rejected} of {len(item.spans)} passages found for “{asked.subject}” were not used: they have too little to do with "
            "the case (τ_Q)"
        )
        warnings = (*warnings, note)
    if item.verdict in USED and (spans or not rejected):
        present = {"present": True, "absent": False}.get(item.verdict)
        found = Finding(
            asked.subject,
            _for_readers(state, asked, item, spans),
            present,
            state.round,
            tuple(span.id for span in spans),
        )
        stake = Stake(stake.entropy, stake.leader, (*stake.items, item.item), stake.predicted + asked.if_answered)
        state = state.but(
            findings=(*state.findings, found),
            spans={**state.spans, **{span.id: span for span in spans}},
            vectors={**state.vectors, **{i: unpack(v) for i, v in item.vectors.items()}},
            stake=stake,
        )
    state = state.but(acquired=(*state.acquired, (asked, item)), acquiring=rest, warnings=warnings)
    if item.verdict == "stopped":
        return state.but(acquiring=()), bool(stake.items)
    return state, True if stake.items and not rest else None  # where nothing came of it, the next best is looked for


def _for_readers(state: State, asked: Item, item: Acquired, spans: Sequence[Span]) -> str:
    """What readers, who match words, are told of an answer."""
    if asked.kind == "retrieval" and spans:
        return ""
    quoted = [shift.answer for shift in asked.shifts]
    if CONTRAST in asked.origin and item.text in quoted:
        return gist(item.text, (*(other for other in quoted if other != item.text), *state.labels))
    return item.text


def _through_the_gate(state: State, asked: Item, item: Acquired) -> tuple[Span, ...]:
    """The spans of an answer that are admitted: passages that were looked up must fit the case as cited evidence must.

    A debate that began with little evidence has a τ_Q that says nothing about this encoder and corpus: unless it was learnt or set
    the better half of what was found passes, as it does at the start (SPEC 4); a few passages alone have no better half.
    """
    if asked.kind != "retrieval" or not state.config.plan.gate or state.theta is None:
        return item.spans
    fit = evidence_qualities([[unpack(item.vectors[span.id])] for span in item.spans], state.theta)
    least = fit_for(state.dials.tau_q, fit, state.config)
    return tuple(span for span, q in zip(item.spans, fit, strict=True) if q is not None and q >= least)


def fit_for(tau_q: float, fit: Sequence[float | None], config: Config) -> float:
    """What passages found together have to reach."""
    known = [q for q in fit if q is not None]
    fitted = fitted_tau_q(tau_q, known, config) if len(known) >= _BATCH else None
    return tau_q if fitted is None else fitted


def realised(state: State) -> Step:
    """After the first round that knew the answers: what they brought."""
    stake = state.stake
    if stake is None:
        return state, ()
    gained = Gained(
        round=state.round,
        items=stake.items,
        predicted=stake.predicted,
        realised=stake.entropy - entropy(calibrated(state)),
        before=stake.leader,
        after=_leader(state),
    )
    return state.but(stake=None), (gained,)


def _leader(state: State) -> str:
    return state.labels[int(state.mixed.argmax())]
