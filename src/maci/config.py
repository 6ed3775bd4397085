"""One frozen configuration: every parameter with its symbol, its meaning and its range.

A value comes from, each overriding the one before: the profile (``default`` or ``paper``), a TOML file,
the environment (``MACI_GATE_TAU_Q=0.6``), flags (``--set gate.tau_q=0.6``). A key may be given by its
last part alone (``tau_q``) where only one section has it. Unknown keys and values out of range
are refused with the valid range.

>>> load(sets=["tau_q=0.6"]).gate.tau_q
0.6
>>> load(sets=["tau_q=1.6"])
Traceback (most recent call last):
maci.errors.ConfigError: gate.tau_q = 1.6 is out of range: τ_Q must be between 0 and 1
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo

from maci.errors import ConfigError

__all__ = ["LEARNED", "PROFILES", "Config", "Parameter", "load", "parameters", "unplanned"]


def _param(default: Any, symbol: str, meaning: str, *, ge: float | None = None, le: float | None = None) -> Any:
    return Field(default, ge=ge, le=le, description=meaning, json_schema_extra={"symbol": symbol})


def _by_agent(symbol: str, meaning: str, *, most: float) -> Any:
    return Field({}, description=meaning, json_schema_extra={"symbol": symbol, "most": most})


def _by_coverage(symbol: str, meaning: str) -> Any:
    valid = "coverage=threshold pairs, coverages above 0 and below 1, thresholds between 0 and 1"
    return Field({}, description=meaning, json_schema_extra={"symbol": symbol, "valid": valid})


def _named_numbers(value: Any) -> Any:
    """``a=1,b=2`` as a mapping."""
    if not isinstance(value, str):
        return value
    pairs = [item.rpartition("=") for item in value.split(",") if item.strip()]
    return {name.strip(): number.strip() for name, _, number in pairs}


def _positive(value: Mapping[str, float], info: ValidationInfo) -> Mapping[str, float]:
    most = {"calibration.agents": 100.0, "calibration.doubt": 1.0}.get(f"calibration.{info.field_name}", 1000.0)
    if wrong := [name for name, number in value.items() if not 0 < number <= most]:
        raise ValueError(f"{wrong[0]} has {value[wrong[0]]}, which is not above 0 and at most {most:g}")
    return value


def _levels(value: Mapping[str, float]) -> Mapping[str, float]:
    for level, number in value.items():
        try:
            known = 0 < float(level) < 1
        except ValueError:
            known = False
        if not known or not 0 <= number <= 1:
            raise ValueError(f"{level}={number} is not a coverage above 0 and below 1 with a threshold between 0 and 1")
    return value


_ByAgent = Annotated[Mapping[str, float], BeforeValidator(_named_numbers), AfterValidator(_positive)]
"""A number for some of the agents, by name."""
_ByCoverage = Annotated[Mapping[str, float], BeforeValidator(_named_numbers), AfterValidator(_levels)]
"""A threshold for some coverages."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Gate(_Section):
    """The information dial τ: which arguments are admitted (SPEC 3, 4, D4, D5)."""

    tau_q: float = _param(0.50, "τ_Q", "evidence-quality gate at round 1", ge=0, le=1)
    tau_crit: float = _param(0.30, "τ_CRIT", "argument-quality gate at round 1", ge=0, le=1)
    tau_max: float = _param(0.80, "τ_max", "no gate rises above this", ge=0, le=1)
    gamma: float = _param(0.10, "γ", "step by which both gates rise while information gain has stalled", ge=0, le=1)
    fit_tau_q: bool = _param(
        True, "τ_Q", "without a calibration profile start at min(τ_Q, median cosine of the retrieved spans)"
    )
    guard: bool = _param(True, "D4", "a gate rises only if enough recent candidates would still pass")
    guard_share: float = _param(0.5, "D4", "share of recent candidates that must pass both new gates", ge=0, le=1)
    guard_rounds: int = _param(3, "D4", "how many rounds count as recent", ge=1, le=100)
    q_gate: bool = _param(True, "τ_Q", "apply the evidence-quality gate")
    crit_gate: bool = _param(True, "τ_CRIT", "apply the argument-quality gate")


class Dials(_Section):
    """The behaviour dial CL and what moves it (SPEC 4, 6, 9)."""

    schedule: Literal["plateau", "ladder", "fixed", "ucb", "linucb"] = _param(
        "plateau", "CL", "what moves contentiousness; `ucb` and `linucb` learn how far, over the debates of a task"
    )
    alpha_i: float = _param(0.2, "α_I", "fall of CL while information gain has stalled", ge=0, le=1)
    alpha_d: float = _param(0.2, "α_D", "fall of CL while disagreement has stalled", ge=0, le=1)
    cl_min: float = _param(0.1, "CL", "lowest contentiousness", ge=0, le=1)
    cl_max: float = _param(0.9, "CL", "highest contentiousness", ge=0, le=1)
    cl_fixed: float = _param(0.9, "CL", "the level held by the schedule `fixed`", ge=0, le=1)
    q_lo: float = _param(0.5, "τ_Q^lo", "Q₀ at or below this is low", ge=-1, le=1)
    q_hi: float = _param(0.7, "τ_Q^hi", "Q₀ at or above this is high", ge=-1, le=1)
    d_lo: float = _param(0.3, "τ_D^lo", "D₀ at or below this is low", ge=0, le=1)
    d_hi: float = _param(0.5, "τ_D^hi", "D₀ at or above this is high", ge=0, le=1)


class Bandit(_Section):
    """The learned schedules (SPEC 9). Steps start at α = `dials.alpha_i` = `dials.alpha_d` and γ = `gate.gamma`."""

    w_gain: float = _param(0.5, "w₁", "what a rise of Î earns", ge=0, le=1)
    w_drop: float = _param(0.5, "w₂", "what a fall of D earns", ge=0, le=1)
    cost_weight: float = _param(
        0.1, "λ_c", "what a round's tokens cost, over C_max (`regime.c_max`; else the dearest round seen)", ge=0, le=1
    )
    exploration: float = _param(1.0, "√", "times which the bonus for the untried counts", ge=0, le=100)
    ridge: float = _param(1.0, "A⁽⁰⁾", "how much evidence the regressions of `linucb` ask for", ge=1e-6, le=1e6)
    headroom: float = _param(
        1.5, "ĉ", "a round may cost this much more than the dearest before it, times the growth seen", ge=1, le=100
    )


class Plateau(_Section):
    """When progress counts as stalled (SPEC 4, D2)."""

    mode: Literal["default", "relative", "absolute"] = _param(
        "default", "π", "`default` (D2), or the paper's literal `relative` or `absolute` test"
    )
    window: int = _param(3, "w", "length of the moving averages", ge=1, le=100)
    eta: float = _param(1e-3, "η", "keeps the ratios finite", ge=1e-12, le=1)
    epsilon_i: float = _param(0.02, "ε_I", "information gain below this has stalled", ge=0, le=1)
    epsilon_d: float = _param(0.05, "ε_D", "a change of disagreement below this has stalled", ge=0, le=1)
    tv_max: float = _param(
        0.10, "TV", "while the mixture moves more than this, information has not stalled", ge=0, le=1
    )


class Stop(_Section):
    """When the debate ends (SPEC 7, D3)."""

    tau_stop: int = _param(2, "τ_stop", "rounds a condition must hold in a row", ge=1, le=100)
    tau_o: float = _param(0.30, "τ_O", "overlap of cited evidence below this blocks agreement", ge=0, le=1)
    min_rounds: int = _param(2, "t_min", "no agreement is declared before this round", ge=1, le=1000)
    max_rounds: int = _param(8, "t_max", "the last round", ge=1, le=1000)
    d_max: float = _param(
        0.3, "D", "disagreement above this is not an agreement (1 switches the clause off)", ge=0, le=1
    )
    consensus: bool = _param(True, "D3", "stop on consensus")
    d_once: float = _param(0.02, "D3", "D at or below this once is consensus", ge=0, le=1)
    d_twice: float = _param(0.05, "D3", "D at or below this two rounds running is consensus", ge=0, le=1)
    crit_stable: bool = _param(True, "Var, Γ̄", "stop when judging has settled and progress has stalled")
    crit_agreement: bool = _param(True, "D3", "`crit_stable` also needs D, Q and O as a plateau does")
    epsilon_v: float = _param(0.01, "ε_v", "across-judge variance below this has settled", ge=0, le=1)
    delta_v: float = _param(0.02, "δ_v", "a change of mean CRIT below this has settled", ge=0, le=1)
    impasse: bool = _param(True, "impasse", "stop when progress has ended without agreement")
    impasse_cl: float = _param(0.5, "CL", "an impasse is declared only at or below this contentiousness", ge=0, le=1)


class Reliability(_Section):
    """How much an agent's belief weighs (SPEC 4)."""

    decay: float = _param(0.8, "λ", "memory of an agent's argument quality", ge=0, le=1)
    floor: float = _param(1e-6, "ε", "keeps every weight positive", ge=1e-12, le=1)
    gamma_0: float = _param(0.5, "Γ⁽⁰⁾", "quality every agent starts with", ge=0, le=1)
    weights: Literal["crit", "uniform"] = _param("crit", "ω", "weights from argument quality, or equal ones")
    prior: _ByAgent = _by_agent(
        "ω⁽⁰⁾", "times which each agent's weight counts, from a development split, as agent=number,…; else 1", most=1000
    )


class Crit(_Section):
    """The judge panel (SPEC 5)."""

    enabled: bool = _param(True, "CRIT", "false is the CRIT-free controller: no scores, no CRIT gate, equal weights")
    k: int = _param(3, "K", "scores per argument", ge=1, le=25)
    judge_temperature: float = _param(0.3, "T", "sampling temperature of judges", ge=0, le=2)
    same_family: bool = _param(False, "family", "allow a judge of a debater's model family (recorded)")
    max_tokens: int = _param(600, "C", "most tokens a judge may write, reasoning included", ge=64, le=10**6)
    aggregation: Literal["mean", "reliability"] = _param(
        "mean", "CRIT", "scores count equally (the paper), or by how well each judge has agreed with the others so far"
    )


class Dispersion(_Section):
    """The dispersion gate (SPEC 10, D9)."""

    gate: Literal["backed", "all", "off"] = _param(
        "backed",
        "ν",
        "when a round raises D: `backed` keeps moves backed by newly admitted evidence and reverts the rest, "
        "`all` reverts every belief (the paper), `off` keeps all",
    )
    nu: float = _param(0.0, "ν", "rise of D that is tolerated", ge=0, le=1)


class Beliefs(_Section):
    """Reading and comparing beliefs (SPEC 2, 4)."""

    delta: float = _param(1e-6, "δ", "smoothing inside divergences", ge=0, le=0.1)
    tolerance: float = _param(0.1, "Σp", "how far a stated belief may be from summing to 1", ge=0, le=0.5)
    label_match: float = _param(0.9, "cos", "open outcomes closer than this are one", ge=0, le=1)


class Agents(_Section):
    """The debaters (SPEC 2, 3, D12)."""

    order: Literal["simultaneous", "sequential"] = _param("simultaneous", "D12", "who sees whose turn of a round")
    temperature: float = _param(0.7, "T", "sampling temperature of debaters", ge=0, le=2)
    evidence: Literal["shared", "split"] = _param(
        "shared",
        "ℰ",
        "whether every debater is shown all retrieved evidence, or each a part of its own until it is cited",
    )
    arguments: int = _param(2, "M", "most arguments a model is asked for in a turn", ge=1, le=10)
    max_tokens: int = _param(1200, "C", "most tokens a model may write in a turn, reasoning included", ge=64, le=10**6)
    tone: Literal["stance", "placebo"] = _param(
        "stance",
        "CL",
        "the words in which models are told CL: those of its stance, or as many that say nothing of manner (for the audit)",
    )


class Evidence(_Section):
    """Retrieval and citations (SPEC 2, 4)."""

    encoder: str = _param(
        "wordllama", "φ", "wordllama, minilm or minilm-last (extra `dense`), st:MODEL or module:function"
    )
    k_ret: int = _param(32, "k_ret", "spans retrieved for a case", ge=1, le=1000)
    context_tokens: int = _param(4000, "context", "most tokens of evidence an agent is shown", ge=100, le=1_000_000)
    theta: Literal["frozen", "moving"] = _param(
        "frozen", "θ", "the target of Q: the case, or (an ablation) half the case and half what was admitted so far"
    )
    quote_match: float = _param(0.8, "quote", "a quote this close to its span is verified", ge=0, le=1)


class Calibration(_Section):
    """What a development split taught (SPEC 4); written by `maci calibrate`."""

    made_for: str = _param("", "φ", "the encoder this calibration was made with; empty: none was made")
    temperature: float = _param(1.0, "T", "reported p is softmax(log p / T)", ge=0.01, le=100)
    agents: _ByAgent = _by_agent(
        "T_u", "each agent's own temperature, as agent=number,…; who is not named has 1", most=100
    )
    doubt: _ByAgent = _by_agent(
        "ε_u", "share of each agent's belief that is spread over all outcomes, as agent=number,…; else 0", most=1
    )
    score: Literal["lac", "aps"] = _param(
        "lac", "s", "nonconformity of an outcome: 1 − p (`lac`), or the p of all that is at least as probable (`aps`)"
    )
    conformal: _ByCoverage = _by_coverage(
        "q̂", "largest nonconformity in a prediction set, as coverage=threshold,…; none: no prediction set"
    )
    conformal_n: int = _param(0, "n", "cases the thresholds rest on", ge=0, le=10**9)


class Harm(_Section):
    """Watching for harm that the debate itself does: conformity, repetition, hollow consensus."""

    enabled: bool = _param(True, "harm", "watch every round and warn")
    rollback: Literal["off", "worse", "unearned"] = _param(
        "off",
        "S",
        "give the round-0 vote where the debate left it for an answer with less admitted evidence (`worse`), or with no more of it "
        "(`unearned`)",
    )
    collapse: float = _param(0.3, "Î", "a gain from which growing sure without new evidence is a warning", ge=0, le=1)
    fall: float = _param(0.1, "D", "a fall of D from which a consensus may be hollow", ge=0, le=1)
    rise: float = _param(0.02, "O, Q", "a rise of O or Q from which it is not", ge=0, le=1)
    still: float = _param(0.02, "TV", "a belief that moves no further than this has not moved", ge=0, le=1)
    stubborn_rounds: int = _param(2, "t", "rounds of not listening before it is a warning", ge=1, le=100)
    same_words: float = _param(
        0.8, "Jaccard", "share of words from which a claim is the same as an earlier one", ge=0, le=1
    )
    repeats: float = _param(0.5, "n", "share of restated arguments from which they are a warning", ge=0, le=1)


class Answer(_Section):
    """When an answer is given, and how many outcomes it names."""

    risk: float | None = _param(
        None, "r", "risk of a wrong answer you accept: none is given where p of the top is below 1 − r", ge=0, le=1
    )
    min_confidence: float | None = _param(None, "p", "the same, as the least p of the top", ge=0, le=1)
    min_q: float | None = _param(
        None, "Q", "no answer is given where the last round's evidence quality is below this", ge=-1, le=1
    )
    need_evidence: bool = _param(
        True, "ψ", "with one of the three above: no answer is given that no admitted evidence speaks for"
    )
    coverage: float = _param(
        0.9, "1 − α", "how often the prediction set of a calibrated debate holds the truth", ge=0.01, le=0.999
    )


class Regime(_Section):
    """Is debate worth it here (SPEC 6)."""

    tau_y: int = _param(20, "τ_Y", "outcome spaces at least this large favour debate", ge=2, le=1_000_000)
    vote_y: int = _param(4, "|𝒴|", "up to this many outcomes a vote suffices", ge=2, le=1_000_000)
    collapse_y: int = _param(100, "|𝒴|", "from this many outcomes voting collapses", ge=2, le=1_000_000)
    vote_ece: float | None = _param(None, "ECE", "calibration error of a majority vote on development data", ge=0, le=1)
    c_max: float | None = _param(
        None, "C_max", "95th percentile of tokens per round on development data", ge=0, le=1e12
    )
    ece_delta: float = _param(0.1, "δ", "a vote's calibration error from which it is not to be trusted", ge=0, le=1)


class Triage(_Section):
    """One agent, a vote, or a debate (SPEC 6): what `maci ask` escalates by; the rates are written by `maci calibrate`."""

    enabled: bool = _param(False, "triage", "escalate single → vote → debate only while it pays (what `maci ask` does)")
    worth: float = _param(2000.0, "W", "tokens that one percentage point of accuracy is worth", ge=0, le=1e12)
    learned_from: int = _param(
        0, "n", "development cases behind the rates below; 0: none, each regime's own are used", ge=0, le=10**9
    )
    single_shift: float = _param(0.0, "a₁", "one agent is right with logit a₁ + b₁·logit p", ge=-100, le=100)
    single_slope: float = _param(1.0, "b₁", "the same", ge=0, le=100)
    vote_shift: float = _param(0.0, "a₂", "a vote is right with logit a₂ + b₂·logit p", ge=-100, le=100)
    vote_slope: float = _param(1.0, "b₂", "the same", ge=0, le=100)
    vote_rescue: float = _param(0.0, "ρ₁", "share of one agent's wrong answers that the vote puts right", ge=0, le=1)
    vote_harm: float = _param(0.0, "χ₁", "share of one agent's right answers that the vote turns wrong", ge=0, le=1)
    debate_rescue: float = _param(
        0.0, "ρ₂", "share of a divided vote's wrong answers that debate puts right", ge=0, le=1
    )
    debate_harm: float = _param(
        0.0, "χ₂", "share of a divided vote's right answers that debate turns wrong", ge=0, le=1
    )
    united_rescue: float = _param(0.0, "ρ₃", "the same of a vote in which all lead with one outcome", ge=0, le=1)
    united_harm: float = _param(0.0, "χ₃", "the same of a vote in which all lead with one outcome", ge=0, le=1)
    whole_rescue: float = _param(
        0.0, "ρ₄", "share of one agent's wrong answers that vote and debate put right", ge=0, le=1
    )
    whole_harm: float = _param(
        0.0, "χ₄", "share of one agent's right answers that vote and debate turn wrong", ge=0, le=1
    )
    debate_cost: float = _param(
        3.0, "C_d", "tokens of a debate's rounds, as a multiple of the openings'", ge=0, le=1000
    )


class Budget(_Section):
    """Ceilings that are never exceeded (SPEC 4, 7)."""

    tokens: int = _param(100_000, "C", "most tokens of a debate, all calls together", ge=0, le=10**12)
    usd: float | None = _param(None, "C", "most dollars of a debate, all calls together", ge=0, le=10**9)
    seconds: float | None = _param(None, "C", "most seconds of a debate", ge=0, le=10**9)


class Plan(_Section):
    """What to find out next (SPEC 11)."""

    enabled: bool = _param(True, "plan", "end every debate with a plan of what to find out next")
    size: int = _param(6, "plan", "most items of a plan", ge=1, le=50)
    least: float = _param(0.01, "G", "bits an item must add to those above it", ge=0, le=10)
    price: float = _param(
        0.005, "G/c", "bits that a unit of cost must bring for an item to be on the plan", ge=0, le=10
    )
    acquire: int = _param(
        0, "N", "most answers that are had from a source during the debate (`--acquire`)", ge=0, le=1000
    )
    batch: int = _param(1, "k", "items asked at once before the debate goes on", ge=1, le=10)
    worth: float = _param(0.02, "G/c", "bits that a unit of cost must bring for an item to be asked", ge=0, le=10)
    gate: bool = _param(True, "τ_Q", "passages that a source looked up must reach τ_Q, as cited evidence must")
    costs: _ByAgent = _by_agent(
        "c",
        "what items cost, as kind=number,…; else question, history and retrieval 1, test and monitoring 3",
        most=1000,
    )


class Config(_Section):
    """All parameters of a debate."""

    profile: str = "default"
    gate: Gate = Gate()
    dials: Dials = Dials()
    bandit: Bandit = Bandit()
    plateau: Plateau = Plateau()
    stop: Stop = Stop()
    reliability: Reliability = Reliability()
    crit: Crit = Crit()
    dispersion: Dispersion = Dispersion()
    beliefs: Beliefs = Beliefs()
    agents: Agents = Agents()
    evidence: Evidence = Evidence()
    calibration: Calibration = Calibration()
    harm: Harm = Harm()
    answer: Answer = Answer()
    regime: Regime = Regime()
    triage: Triage = Triage()
    budget: Budget = Budget()
    plan: Plan = Plan()


def unplanned(config: Config) -> Config:
    """The same without a plan at the end: for whoever only wants the answer."""
    return config.model_copy(update={"plan": config.plan.model_copy(update={"enabled": False, "acquire": 0})})


LEARNED = ("ucb", "linucb")
"""Schedules that learn."""

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    # The paper's literal rules: its flags, its stop test, gates that only rise, every rise of D reverted.
    "paper": {
        "gate.fit_tau_q": False,
        "gate.guard": False,
        "dials.cl_min": 0.0,
        "dials.cl_max": 1.0,
        "plateau.mode": "relative",
        "stop.min_rounds": 1,
        "stop.d_max": 1.0,
        "stop.consensus": False,
        "stop.crit_agreement": False,
        "stop.impasse": False,
        "dispersion.gate": "all",
    },
}


class Parameter(BaseModel):
    """One row of `maci config`."""

    model_config = ConfigDict(frozen=True)

    key: str
    value: Any
    default: Any
    symbol: str
    meaning: str
    valid: str


def _leaves() -> Iterator[tuple[str, str, Any]]:
    for section, info in Config.model_fields.items():
        model = info.annotation
        if isinstance(model, type) and issubclass(model, _Section):
            for name, leaf in model.model_fields.items():
                yield section, name, leaf


_KEYS: dict[str, Any] = {f"{section}.{name}": leaf for section, name, leaf in _leaves()}
_SHORT: dict[str, str] = {
    key.split(".")[1]: key for key in _KEYS if sum(k.endswith("." + key.split(".")[1]) for k in _KEYS) == 1
}


def _valid(leaf: Any) -> str:
    """The range of a field in words."""
    lo = next((m.ge for m in leaf.metadata if hasattr(m, "ge")), None)
    hi = next((m.le for m in leaf.metadata if hasattr(m, "le")), None)
    if lo is not None:
        kind = "a whole number " if leaf.annotation is int else ""
        return f"{kind}between {lo:g} and {hi:g}"
    if leaf.annotation is bool:
        return "true or false"
    if "valid" in leaf.json_schema_extra:
        return str(leaf.json_schema_extra["valid"])
    if "Mapping" in str(leaf.annotation):
        return f"name=number pairs, each number above 0 and at most {leaf.json_schema_extra['most']:g}"
    if options := getattr(leaf.annotation, "__args__", None):
        return "one of " + ", ".join(str(option) for option in options)
    return "text"


def parameters(config: Config) -> list[Parameter]:
    """Every parameter with its effective value, symbol, meaning and range."""
    rows = []
    for key, leaf in _KEYS.items():
        section, name = key.split(".")
        rows.append(
            Parameter(
                key=key,
                value=getattr(getattr(config, section), name),
                default=leaf.default,
                symbol=leaf.json_schema_extra["symbol"],
                meaning=leaf.description,
                valid=_valid(leaf),
            )
        )
    return rows


def full_key(name: str) -> str:
    """The dotted key for a name given in full or by its last part.

    >>> full_key("max_rounds")
    'stop.max_rounds'
    """
    if name in _KEYS:
        return name
    if name in _SHORT and name not in Config.model_fields:
        return _SHORT[name]
    if both := [key for key in _KEYS if key.startswith(f"{name}.") or key.endswith(f".{name}")]:
        raise ConfigError(f"{name!r} is not one setting: say which of {', '.join(both[:12])}")
    near = difflib.get_close_matches(name, [*_KEYS, *_SHORT], n=3)
    hint = f"did you mean {', '.join(near)}?" if near else "`maci config` lists every key"
    raise ConfigError(f"unknown setting {name!r}: {hint}")


def _from_env(environ: Mapping[str, str]) -> dict[str, Any]:
    names = {"MACI_" + short.upper(): key for short, key in _SHORT.items()}
    names |= {"MACI_" + key.replace(".", "_").upper(): key for key in _KEYS}
    sections = tuple(f"MACI_{section.upper()}_" for section in {key.split(".")[0] for key in _KEYS})
    found: dict[str, Any] = {}
    for variable, value in environ.items():
        if variable in names:
            found[names[variable]] = value
        elif variable.startswith(sections):
            near = difflib.get_close_matches(variable, names, n=1)
            raise ConfigError(
                f"unknown setting in the environment: {variable}" + (f"; did you mean {near[0]}?" if near else "")
            )
    return found


def _from_toml(path: Path) -> tuple[str | None, dict[str, Any]]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the config file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    profile = data.pop("profile", None)
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict):
            flat |= {full_key(f"{key}.{name}"): leaf for name, leaf in value.items()}
        else:
            flat[full_key(key)] = value
    return profile, flat


def _from_sets(sets: Iterable[str]) -> dict[str, Any]:
    flat = {}
    for item in sets:
        name, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"--set {item!r}: write key=value, for example --set stop.max_rounds=5")
        flat[full_key(name.strip())] = None if value.strip().lower() in {"none", ""} else value.strip()
    return flat


def build(profile: str, values: Mapping[str, Any]) -> Config:
    """A validated config from a profile and dotted values on top of it."""
    if not isinstance(profile, str) or profile not in PROFILES:
        raise ConfigError(f"unknown profile {profile!r}: choose one of {', '.join(PROFILES)}")
    nested: dict[str, Any] = {"profile": profile}
    chosen = {full_key(key): value for key, value in values.items()}
    if "gate.tau_q" in chosen:  # a gate that somebody set is not fitted to the evidence
        chosen.setdefault("gate.fit_tau_q", False)
    for key, value in {**PROFILES[profile], **chosen}.items():
        section, name = key.split(".")
        nested.setdefault(section, {})[name] = value
    try:
        config = Config.model_validate(nested)
    except ValidationError as error:
        raise ConfigError(_explain(error)) from error
    if config.dials.cl_min > config.dials.cl_max:
        raise ConfigError(f"dials.cl_min = {config.dials.cl_min} is above dials.cl_max = {config.dials.cl_max}")
    if config.dials.schedule in LEARNED and config.dials.alpha_i != config.dials.alpha_d:
        raise ConfigError(
            f"dials.schedule = {config.dials.schedule} moves one step α: dials.alpha_i = {config.dials.alpha_i} and "
            f"dials.alpha_d = {config.dials.alpha_d} must be the same"
        )
    if config.stop.min_rounds > config.stop.max_rounds:
        raise ConfigError(
            f"stop.min_rounds = {config.stop.min_rounds} is above stop.max_rounds = {config.stop.max_rounds}: set both"
        )
    return config


_BOUNDS = {"greater_than_equal", "less_than_equal"}


def _explain(error: ValidationError) -> str:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"][:2])
    leaf = _KEYS[key]
    symbol = leaf.json_schema_extra["symbol"]
    wrong = "is out of range" if first["type"] in _BOUNDS else "is not valid"
    return f"{key} = {first['input']} {wrong}: {symbol} must be {_valid(leaf)}"


def load(
    profile: str | None = None,
    *,
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    sets: Iterable[str] = (),
    base: Mapping[str, Any] = MappingProxyType({}),
) -> Config:
    """The effective config from profile, ``base`` (a panel's own settings), TOML file, environment and flags, in that order."""
    named, from_file = _from_toml(file) if file else (None, {})
    from_env = _from_env(os.environ if environ is None else environ)
    lowest = {full_key(key): value for key, value in base.items()}
    return build(profile or named or "default", {**lowest, **from_file, **from_env, **_from_sets(sets)})
