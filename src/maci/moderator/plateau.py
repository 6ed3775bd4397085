r"""Has progress stalled? The ratios r_I, r_D and the flags π_I, π_D.

.. math::
   r_I = \frac{\mathrm{MA}_w(\hat I)}{\mathrm{MA}_w(H(p^{(t-1)})/\log|\mathcal Y|) + \eta},\qquad
   r_D = \frac{\mathrm{MA}_w([D^{(t-1)} - D^{(t)}]_+)}{\mathrm{MA}_w(D^{(t-1)}) + \eta}

Three ways to read them (D2): ``relative`` and ``absolute`` are the paper's literal tests; ``default`` sees geometric convergence
(which ``relative`` does not) and is not fooled by stubborn agents, a rising D or steady gains (which ``absolute`` is). The paper's
``absolute`` test is on Î before it is clipped: a mixture that grows less sure has a negative gain there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maci.config import Plateau


@dataclass(frozen=True, slots=True)
class Progress:
    """What one round t ≥ 1 added, as the plateau test sees it."""

    fall: float
    """(H(p⁽ᵗ⁻¹⁾) − H(p⁽ᵗ⁾))/log|𝒴|, below 0 where the mixture grew less sure."""
    capacity: float
    """H(p⁽ᵗ⁻¹⁾)/log|𝒴|: what there was to gain."""
    d_before: float | None
    d: float | None
    shift: float
    """TV(p⁽ᵗ⁾, p⁽ᵗ⁻¹⁾)"""

    @property
    def gain(self) -> float:
        """Î⁽ᵗ⁾: the fall of entropy, 0 where it rose."""
        return max(0.0, self.fall)


@dataclass(frozen=True, slots=True)
class Flags:
    """π_I and π_D with the ratios behind them."""

    r_i: float
    r_d: float | None
    pi_i: bool
    pi_d: bool


def moving_average(values: Sequence[float], window: int) -> float:
    """MA_w: mean of the last ≤ w values; 0 of none (no round has passed).

    >>> moving_average([1.0, 2.0, 3.0, 4.0], 3)
    3.0
    """
    last = values[-window:]
    return sum(last) / len(last) if last else 0.0


def ratios(rounds: Sequence[Progress], window: int, eta: float) -> tuple[float, float | None]:
    """r_I and r_D after the last of ``rounds``; r_D is undefined while D never was defined."""
    gain = moving_average([r.gain for r in rounds], window)
    capacity = moving_average([r.capacity for r in rounds], window)
    falls = [(max(0.0, r.d_before - r.d), r.d_before) for r in rounds if r.d is not None and r.d_before is not None]
    if not falls:
        return gain / (capacity + eta), None
    fall = moving_average([f for f, _ in falls], window)
    before = moving_average([d for _, d in falls], window)
    return gain / (capacity + eta), fall / (before + eta)


def _rise(rounds: Sequence[Progress], window: int) -> float:
    """How far D stands above its lowest value of the last w rounds: slow rises add up, a wobble does not count."""
    recent = [r.d_before for r in rounds[-window:] if r.d_before is not None]
    return (rounds[-1].d or 0.0) - min(recent)


def flags(rounds: Sequence[Progress], config: Plateau, d_max: float) -> Flags:
    """The flags after the last of ``rounds``; an undefined D never counts as stalled.

    Steady gains of 0.1 are progress to the default rule and a plateau to the literal absolute one:

    >>> steady = [Progress(0.1, 1 - 0.1 * t, 1.0, 1.0, 0.2) for t in range(3)]
    >>> flags(steady, Plateau(), 0.3).pi_i, flags(steady, Plateau(mode="absolute"), 0.3).pi_i
    (False, True)
    """
    r_i, r_d = ratios(rounds, config.window, config.eta)
    now = rounds[-1]
    if now.d is None or now.d_before is None or r_d is None:
        change, d = None, None
    else:
        change, d = now.d - now.d_before, now.d
    match config.mode:
        case "relative":
            pi_i = r_i < config.epsilon_i
            pi_d = change is not None and r_d is not None and r_d < config.epsilon_d
        case "absolute":
            falls = [r.fall for r in rounds]
            rise = moving_average(falls, config.window) - moving_average(falls[:-1], config.window)
            pi_i = rise < config.epsilon_i
            pi_d = change is not None and abs(change) < config.epsilon_d
        case "default":
            early = len(rounds) < 2
            pi_i = not early and (r_i < config.epsilon_i or now.gain < config.epsilon_i) and now.shift < config.tv_max
            stalled = (
                change is not None
                and d is not None
                and r_d is not None
                and (r_d < config.epsilon_d or (abs(change) < config.epsilon_d and d <= d_max))
                and _rise(rounds, config.window) < config.epsilon_d
            )
            pi_d = not early and stalled
    return Flags(r_i, r_d, pi_i, pi_d)
