"""Every setting, by section."""

from __future__ import annotations

from typing import Literal

from pydantic import PrivateAttr

from maci.config.fields import (
    ByAgent,
    ByCoverage,
    ByOutcome,
    ScheduleOfPlugin,
    SettingsGroup,
    by_agent,
    by_coverage,
    by_outcome,
    param,
)


class Gate(SettingsGroup):
    """The information dial τ: which arguments are admitted (SPEC 3, 4, D4, D5)."""

    tau_q: float = param(0.50, "τ_Q", "evidence-quality gate at round 1", ge=0, le=1)
    tau_crit: float = param(0.30, "τ_CRIT", "argument-quality gate at round 1", ge=0, le=1)
    tau_max: float = param(0.80, "τ_max", "no gate rises above this", ge=0, le=1)
    gamma: float = param(0.10, "γ", "step by which both gates rise while information gain has stalled", ge=0, le=1)
    fit_tau_q: bool = param(
        True, "τ_Q", "where no τ_Q was learnt or set, start at min(τ_Q, median cosine of the retrieved spans)"
    )
    guard: bool = param(True, "D4", "a gate rises only if enough recent candidates would still pass")
    guard_share: float = param(0.5, "D4", "share of recent candidates that must pass both new gates", ge=0, le=1)
    guard_rounds: int = param(3, "D4", "how many rounds count as recent", ge=1, le=100)
    q_gate: bool = param(True, "τ_Q", "apply the evidence-quality gate")
    crit_gate: bool = param(True, "τ_CRIT", "apply the argument-quality gate")


class Dials(SettingsGroup):
    """The behaviour dial CL and what moves it (SPEC 4, 6, 9)."""

    schedule: Literal["course", "plateau", "ladder", "fixed", "ucb", "linucb"] | ScheduleOfPlugin = param(
        "course",
        "CL",
        "what moves contentiousness: `course` lowers it every round (D17), `plateau` while progress stalls (the paper); `ucb` and "
        "`linucb` learn by how much `plateau` lowers it, over the debates of a task; `plugin:NAME` is of an installed package",
    )
    alpha: float = param(
        0.2, "α", "fall of CL each round under `course`, and once more while both have stalled", ge=0, le=1
    )
    alpha_i: float = param(0.2, "α_I", "fall of CL while information gain has stalled", ge=0, le=1)
    alpha_d: float = param(0.2, "α_D", "fall of CL while disagreement has stalled", ge=0, le=1)
    cl_min: float = param(0.1, "CL", "lowest contentiousness", ge=0, le=1)
    cl_max: float = param(0.9, "CL", "highest contentiousness", ge=0, le=1)
    cl_first: float | None = param(
        None, "CL⁽¹⁾", "where `course`, `plateau` and the learned schedules start; without it by Q₀ and D₀", ge=0, le=1
    )
    cl_fixed: float = param(0.9, "CL", "the level held by the schedule `fixed`", ge=0, le=1)
    q_lo: float = param(0.5, "τ_Q^lo", "Q₀ at or below this is low", ge=-1, le=1)
    q_hi: float = param(0.7, "τ_Q^hi", "Q₀ at or above this is high", ge=-1, le=1)
    d_lo: float = param(0.3, "τ_D^lo", "D₀ at or below this is low", ge=0, le=1)
    d_hi: float = param(0.5, "τ_D^hi", "D₀ at or above this is high", ge=0, le=1)


class Bandit(SettingsGroup):
    """The learned schedules (SPEC 9). Steps start at α = `dials.alpha_i` = `dials.alpha_d` and γ = `gate.gamma`."""

    w_gain: float = param(0.5, "w₁", "what a rise of Î earns", ge=0, le=1)
    w_drop: float = param(0.5, "w₂", "what a fall of D earns", ge=0, le=1)
    cost_weight: float = param(
        0.1, "λ_c", "what a round's tokens cost, over C_max (`regime.c_max`; else the dearest round seen)", ge=0, le=1
    )
    exploration: float = param(1.0, "√", "times which the bonus for the untried counts", ge=0, le=100)
    ridge: float = param(1.0, "A⁽⁰⁾", "how much evidence the regressions of `linucb` ask for", ge=1e-6, le=1e6)
    headroom: float = param(
        1.5, "ĉ", "a round may cost this much more than the dearest before it, times the growth seen", ge=1, le=100
    )


class Plateau(SettingsGroup):
    """When progress counts as stalled (SPEC 4, D2)."""

    mode: Literal["default", "relative", "absolute"] = param(
        "default", "π", "`default` (D2), or the paper's literal `relative` or `absolute` test"
    )
    window: int = param(3, "w", "length of the moving averages", ge=1, le=100)
    eta: float = param(1e-3, "η", "keeps the ratios finite", ge=1e-12, le=1)
    epsilon_i: float = param(0.02, "ε_I", "information gain below this has stalled", ge=0, le=1)
    epsilon_d: float = param(0.05, "ε_D", "a change of disagreement below this has stalled", ge=0, le=1)
    tv_max: float = param(
        0.10,
        "TV",
        "while the belief of all agents moves more than this, information has not stalled",
        ge=0,
        le=1,
    )


class Stop(SettingsGroup):
    """When the debate ends (SPEC 7, D3)."""

    tau_stop: int = param(2, "τ_stop", "rounds a condition must hold in a row", ge=1, le=100)
    tau_o: float = param(0.30, "τ_O", "overlap of cited evidence below this blocks agreement", ge=0, le=1)
    min_rounds: int = param(2, "t_min", "no agreement is declared before this round", ge=1, le=1000)
    max_rounds: int = param(8, "t_max", "the last round", ge=1, le=1000)
    d_max: float = param(
        0.3, "D", "disagreement above this is not an agreement (1 switches the clause off)", ge=0, le=1
    )
    consensus: bool = param(True, "D3", "stop on consensus")
    d_once: float = param(0.02, "D3", "D at or below this once is consensus", ge=0, le=1)
    d_twice: float = param(0.05, "D3", "D at or below this two rounds running is consensus", ge=0, le=1)
    crit_stable: bool = param(True, "Var, Γ̄", "stop when judging has settled and progress has stalled")
    crit_agreement: bool = param(True, "D3", "`crit_stable` also needs D, Q and O as a plateau does")
    epsilon_v: float = param(0.01, "ε_v", "across-judge variance below this has settled", ge=0, le=1)
    delta_v: float = param(0.02, "δ_v", "a change of mean CRIT below this has settled", ge=0, le=1)
    starved: bool = param(True, "stalemate", "nothing admitted is a stalemate too; in the paper low CRIT alone is")
    impasse: bool = param(True, "impasse", "stop when progress has ended without agreement")
    impasse_cl: float = param(0.5, "CL", "an impasse is declared only at or below this contentiousness", ge=0, le=1)


class Reliability(SettingsGroup):
    """How much an agent's belief weighs (SPEC 4)."""

    decay: float = param(0.8, "λ", "memory of an agent's argument quality", ge=0, le=1)
    floor: float = param(1e-6, "ε", "keeps every weight positive", ge=1e-12, le=1)
    gamma_0: float = param(0.5, "Γ⁽⁰⁾", "quality every agent starts with", ge=0, le=1)
    weights: Literal["crit", "uniform"] = param("crit", "ω", "weights from argument quality, or equal ones")
    prior: ByAgent = by_agent(
        "ω⁽⁰⁾", "times which each agent's weight counts, from a development split, as agent=number,…; else 1", most=1000
    )


class Crit(SettingsGroup):
    """The judge panel (SPEC 5)."""

    enabled: bool = param(True, "CRIT", "false is the CRIT-free controller: no scores, no CRIT gate, equal weights")
    k: int = param(3, "K", "scores per argument", ge=1, le=25)
    judge_temperature: float = param(0.3, "T", "sampling temperature of judges", ge=0, le=2)
    same_family: bool = param(False, "family", "allow a judge of a debater's model family (recorded)")
    max_tokens: int = param(600, "C", "most tokens a judge may write; thinking comes on top", ge=64, le=10**6)
    aggregation: Literal["mean", "reliability"] = param(
        "mean", "CRIT", "scores count equally (the paper), or by how well each judge has agreed with the others so far"
    )
    enough: int = param(
        0,
        "K",
        "scores of an argument from which the other judges are not waited for once they cannot change its admission; 0: all are waited "
        "for. Calls given up count in full. Not in `paper`",
        ge=0,
        le=25,
    )
    together: int = param(
        1, "K", "most arguments that a model scores in one call, where as many are in. Not in `paper`", ge=1, le=10
    )


class Dispersion(SettingsGroup):
    """The dispersion gate (SPEC 10, D9)."""

    gate: Literal["backed", "all", "off"] = param(
        "backed",
        "ν",
        "when a round raises D: `backed` keeps moves backed by newly admitted evidence and reverts the rest, "
        "`all` reverts every belief (the paper), `off` keeps all",
    )
    nu: float = param(0.0, "ν", "rise of D that is tolerated", ge=0, le=1)
    leave_ties: bool = param(True, "D19", "a move away from a tie is kept, whatever it does to D")


class Beliefs(SettingsGroup):
    """Reading and comparing beliefs (SPEC 2, 4)."""

    delta: float = param(1e-6, "δ", "smoothing inside divergences", ge=0, le=0.1)
    tolerance: float = param(0.1, "Σp", "how far a stated belief may be from summing to 1", ge=0, le=0.5)
    label_match: float = param(0.95, "cos", "open outcomes closer than this are one", ge=0, le=1)
    ask_names: int = param(
        3,
        "D14",
        "most names of open outcomes a round about which a model is asked whether they are one of those in use; 0: none",
        ge=0,
        le=50,
    )
    ask_from: float | None = param(
        None,
        "cos",
        "none: a name is put against all names in use at once; a number: against one at a time, and only names that share a word or "
        "are this similar",
        ge=0,
        le=1,
    )


class Agents(SettingsGroup):
    """The debaters (SPEC 2, 3, D12)."""

    order: Literal["simultaneous", "sequential"] = param("simultaneous", "D12", "who sees whose turn of a round")
    temperature: float = param(0.7, "T", "sampling temperature of debaters", ge=0, le=2)
    evidence: Literal["shared", "split"] = param(
        "shared",
        "ℰ",
        "whether every debater is shown all retrieved evidence, or each a separate part until it is cited",
    )
    arguments: int = param(2, "M", "most arguments a model is asked for in a turn", ge=1, le=10)
    max_tokens: int = param(
        1600, "C", "most tokens a model may write in a turn; a model's own thinking comes on top", ge=64, le=10**6
    )
    think_first: bool = param(
        True,
        "CoT",
        "whether a model's reply begins with its reasoning, which nobody else is shown; off for models that think by themselves",
    )
    replies: Literal["auto", "full", "brief"] = param(
        "auto",
        "C",
        "how much a model may write in each part of a turn; `auto`: brief for models that run on this machine (`local/…`)",
    )
    tone: Literal["stance", "placebo"] = param(
        "stance",
        "CL",
        "the words in which models are told CL: those of its stance, or as many that say nothing of manner (for the audit)",
    )


class Evidence(SettingsGroup):
    """Retrieval and citations (SPEC 2, 4)."""

    encoder: str = param(
        "wordllama", "φ", "wordllama, minilm, minilm-last or arctic (extra `dense`), st:MODEL or module:function"
    )
    adapt: bool = param(
        True,
        "φ",
        "take out of φ what all texts of the evidence share; false measures with the encoder as it is (the paper)",
    )
    q0: Literal["core", "all"] = param(
        "core",
        "Q₀",
        "the spans Q₀ is measured on: those that fit about as well as the best, or all retrieved (the paper)",
    )
    k_ret: int = param(32, "k_ret", "spans retrieved for a case", ge=1, le=1000)
    context_tokens: int = param(4000, "context", "most tokens of evidence an agent is shown", ge=100, le=1_000_000)
    theta: Literal["frozen", "moving"] = param(
        "frozen", "θ", "the target of Q: the case, or (an ablation) half the case and half what was admitted so far"
    )
    case: Literal["facts", "evidence"] = param(
        "facts",
        "D15",
        "what the case's own sentences are: `facts`, which can be cited and count neither in Q nor in O, or `evidence` (the paper)",
    )
    quote_match: float = param(0.8, "quote", "a quote this close to its span is verified", ge=0, le=1)
    redact: str = param(
        "",
        "case",
        "taken out of a case before anything is sent or recorded, comma-separated: context, sources, ids, title, hidden, aliases",
    )


class Calibration(SettingsGroup):
    """What a development split taught (SPEC 4); written by `maci calibrate`."""

    made_for: str = param(
        "", "φ", "the panel with its models, and the encoder, this calibration was made for; empty: none was made"
    )
    served: str = param(
        "", "φ", "versions it was made with, as servers report them: model=version,…; others are refused"
    )
    temperature: float = param(1.0, "T", "reported p is softmax(log p / T)", ge=0.01, le=100)
    agents: ByAgent = by_agent(
        "T_u", "each agent's own temperature, as agent=number,…; who is not named has 1", most=100
    )
    doubt: ByAgent = by_agent(
        "ε_u", "share of each agent's belief that is spread over all outcomes, as agent=number,…; else 0", most=1
    )
    bias: ByOutcome = by_outcome(
        "b_y",
        "how far agents favour an outcome whatever the evidence (nats), taken off every belief, as outcome=number,…; else 0",
    )
    score: Literal["lac", "aps"] = param(
        "lac", "s", "nonconformity of an outcome: 1 − p (`lac`), or the p of all that is at least as probable (`aps`)"
    )
    conformal: ByCoverage = by_coverage(
        "q̂", "largest nonconformity in a prediction set, as coverage=threshold,…; none: no prediction set"
    )
    conformal_n: int = param(0, "n", "cases the thresholds rest on", ge=0, le=10**9)


class Harm(SettingsGroup):
    """Watching for harm that the debate itself does: conformity, repetition, hollow consensus."""

    enabled: bool = param(True, "harm", "watch every round and warn")
    rollback: Literal["off", "worse", "unearned"] = param(
        "off",
        "S",
        "give the vote of the openings where the debate left it for an answer with less admitted evidence (`worse`), or with no "
        "more of it (`unearned`)",
    )
    collapse: float = param(0.3, "Î", "a gain from which growing sure without new evidence is a warning", ge=0, le=1)
    fall: float = param(0.1, "D", "a fall of D from which a consensus may be hollow", ge=0, le=1)
    rise: float = param(0.02, "O, Q", "a rise of O or Q from which it is not", ge=0, le=1)
    still: float = param(0.02, "TV", "a belief that moves no further than this has not moved", ge=0, le=1)
    stubborn_rounds: int = param(2, "t", "rounds of not listening before it is a warning", ge=1, le=100)
    same_words: float = param(
        0.8, "Jaccard", "share of words from which a claim is the same as an earlier one", ge=0, le=1
    )
    repeats: float = param(0.5, "n", "share of restated arguments from which they are a warning", ge=0, le=1)


class Answer(SettingsGroup):
    """When an answer is given, and how many outcomes it names."""

    risk: float | None = param(
        None, "r", "risk of a wrong answer you accept: none is given where p of the top is below 1 − r", ge=0, le=1
    )
    min_confidence: float | None = param(None, "p", "the same, as the least p of the top", ge=0, le=1)
    min_q: float | None = param(
        None, "Q", "no answer is given where the last round's evidence quality is below this", ge=-1, le=1
    )
    need_evidence: bool = param(
        True, "ψ", "with one of the three above: no answer is given that no admitted evidence speaks for"
    )
    force: bool = param(
        False, "D21", "give the readers' answer even where word statistics cannot decide the case (`--force`)"
    )
    coverage: float = param(
        0.9, "1 − α", "how often the prediction set of a calibrated debate holds the truth", ge=0.01, le=0.999
    )
    recommendation: Literal["model", "template", "off"] = param(
        "model",
        "D20",
        "who writes the recommendation at the end: a `model` of the panel, where one sits there, in one more call that is set aside "
        "from round 1 on; the `template` alone, which costs nothing; or nobody",
    )


class Regime(SettingsGroup):
    """Is debate worth it here (SPEC 6)."""

    tau_y: int = param(20, "τ_Y", "outcome spaces at least this large favour debate", ge=2, le=1_000_000)
    vote_y: int = param(
        4,
        "|𝒴|",
        "up to this many outcomes a vote suffices; up to 5 where it is known to be calibrated",
        ge=2,
        le=1_000_000,
    )
    collapse_y: int = param(100, "|𝒴|", "from this many outcomes voting collapses", ge=2, le=1_000_000)
    vote_ece: float | None = param(None, "ECE", "calibration error of a majority vote on development data", ge=0, le=1)
    c_max: float | None = param(None, "C_max", "95th percentile of tokens per round on development data", ge=0, le=1e12)
    ece_delta: float = param(0.1, "δ", "a vote's calibration error from which it is not to be trusted", ge=0, le=1)


class Triage(SettingsGroup):
    """One agent, a vote, or a debate (SPEC 6): what `maci ask` escalates by; the rates are written by `maci calibrate`."""

    enabled: bool = param(False, "triage", "escalate single → vote → debate only while it pays (what `maci ask` does)")
    worth: float = param(2000.0, "W", "tokens that one percentage point of accuracy is worth", ge=0, le=1e12)
    until_sure: bool = param(
        False,
        "r",
        "go on, whatever it costs, while the answer would be withheld at the risk asked for (`maci ask` does)",
    )
    learned_from: int = param(
        0, "n", "development cases behind the rates below; 0: none, each regime's own are used", ge=0, le=10**9
    )
    single_shift: float = param(0.0, "a₁", "one agent is right with logit a₁ + b₁·logit p", ge=-100, le=100)
    single_slope: float = param(1.0, "b₁", "the same", ge=0, le=100)
    vote_shift: float = param(0.0, "a₂", "a vote is right with logit a₂ + b₂·logit p", ge=-100, le=100)
    vote_slope: float = param(1.0, "b₂", "the same", ge=0, le=100)
    vote_rescue: float = param(0.0, "ρ₁", "share of one agent's wrong answers that the vote puts right", ge=0, le=1)
    vote_harm: float = param(0.0, "χ₁", "share of one agent's right answers that the vote turns wrong", ge=0, le=1)
    debate_rescue: float = param(
        0.0, "ρ₂", "share of a divided vote's wrong answers that debate puts right", ge=0, le=1
    )
    debate_harm: float = param(0.0, "χ₂", "share of a divided vote's right answers that debate turns wrong", ge=0, le=1)
    united_rescue: float = param(0.0, "ρ₃", "the same of a vote in which all lead with one outcome", ge=0, le=1)
    united_harm: float = param(0.0, "χ₃", "the same of a vote in which all lead with one outcome", ge=0, le=1)
    whole_rescue: float = param(
        0.0, "ρ₄", "share of one agent's wrong answers that vote and debate put right", ge=0, le=1
    )
    whole_harm: float = param(
        0.0, "χ₄", "share of one agent's right answers that vote and debate turn wrong", ge=0, le=1
    )
    debate_cost: float = param(3.0, "C_d", "tokens of a debate's rounds, as a multiple of the openings'", ge=0, le=1000)


class Budget(SettingsGroup):
    """Ceilings that are never exceeded (SPEC 4, 7)."""

    tokens: int = param(100_000, "C", "most tokens of a debate, all calls together", ge=0, le=10**12)
    usd: float | None = param(None, "C", "most dollars of a debate, all calls together", ge=0, le=10**9)
    seconds: float | None = param(None, "C", "most seconds of a debate", ge=0, le=10**9)
    hedge: float | None = param(
        None,
        "C",
        "seconds after which a request that has no answer is sent a second time; the first answer counts, both are set aside for and "
        "paid. Not for models on this machine, and not in `paper`",
        ge=0.001,
        le=10**6,
    )


class Plan(SettingsGroup):
    """What to find out next (SPEC 11)."""

    enabled: bool = param(True, "plan", "end every debate with a plan of what to find out next")
    size: int = param(
        6, "plan", "most items of a plan; what agents asked for is kept below them, up to twice as many", ge=1, le=50
    )
    least: float = param(0.01, "G", "bits an item must add to those above it", ge=0, le=10)
    price: float = param(0.005, "G/c", "bits that a unit of cost must bring for an item to be on the plan", ge=0, le=10)
    acquire: int = param(
        0, "N", "most answers that are had from a source during the debate (`--acquire`)", ge=0, le=1000
    )
    batch: int = param(1, "k", "items asked at once before the debate continues", ge=1, le=10)
    worth: float = param(0.02, "G/c", "bits that a unit of cost must bring for an item to be asked", ge=0, le=10)
    gate: bool = param(True, "τ_Q", "passages that a source looked up must reach τ_Q, as cited evidence must")
    costs: ByAgent = by_agent(
        "c",
        "what items cost, as kind=number,…; else question, history and retrieval 1, test and monitoring 3",
        most=1000,
    )


class Config(SettingsGroup):
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
    _notes: tuple[str, ...] = PrivateAttr(())

    def __eq__(self, other: object) -> bool:
        """Whether all settings are the same; how they came about is no part of them."""
        return isinstance(other, Config) and self.__dict__ == other.__dict__

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed so that the settings fit together, for whoever chose them; no part of a record of the settings."""
        return self._notes

    def shortened(self) -> Config:
        """The same with ``min_rounds`` no higher than ``max_rounds``, and a note that says so."""
        least, most = self.stop.min_rounds, self.stop.max_rounds
        if least <= most:
            return self
        config = self.model_copy(update={"stop": self.stop.model_copy(update={"min_rounds": most})})
        config._notes = (*self._notes, f"min_rounds was lowered from {least} to {most}, because max_rounds is {most}")
        return config


def unplanned(config: Config) -> Config:
    """The same without a plan and a recommendation at the end: for studies, and whoever else only wants the answer."""
    plan = config.plan.model_copy(update={"enabled": False, "acquire": 0})
    return config.model_copy(
        update={"plan": plan, "answer": config.answer.model_copy(update={"recommendation": "off"})}
    )


LEARNED = ("ucb", "linucb")
"""Schedules that learn."""
