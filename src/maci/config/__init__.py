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

from maci.config.loading import PROFILES, Parameter, build, full_key, load, parameters
from maci.config.sections import LEARNED, Budget, Config, Dials, Plateau, Regime, Triage, unplanned

__all__ = [
    "LEARNED", "PROFILES", "Budget", "Config", "Dials", "Parameter", "Plateau", "Regime", "Triage", "build", "full_key", "load",
    "parameters", "unplanned",
]  # fmt: skip
