"""A question of the plan as it is put to whoever looks at the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from maci.acquisition.answers import asks_which
from maci.acquisition.plan import Item

__all__ = ["Asking"]

_FEW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What is asked, what the answer would tell, and the answers that a button can give."""

    text: str
    tells: str = ""
    buttons: tuple[tuple[str, str], ...] = ()
    """What is answered, and what stands on the button."""

    @classmethod
    def of(cls, item: Item) -> Self:
        """Of an item of the plan; where a yes would not say which, the findings that it tells apart stand on the buttons."""
        apart = " from ".join(item.separates[:2]) if len(item.separates) > 1 else ""
        worth = "" if item.value_if_answered is None else f", worth {item.value_if_answered:.3g} by the utilities"
        tells = f"The answer tells {apart}; {item.if_answered:.2f} bits are expected of it{worth}." if apart else ""
        which = asks_which(item)[:_FEW]
        given = (*((way, way) for way in which), ("none", "None of these"))
        plain = (("yes", "Yes"), ("no", "No"))
        rest = (("unknown", "I do not know"), ("stop", "Ask no more"))
        return cls(text=item.text, tells=tells, buttons=(*(given if which else plain), *rest))
