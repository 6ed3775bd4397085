r"""How likely a source is to answer at all; a question that stays unanswered brings nothing.

.. math:: \pi_k = \frac{a + \text{answered}_k}{a + b + \text{asked}_k},\qquad G_\pi = \pi\,G,\qquad V_\pi = \pi\,V

==========  ==========================================================================================================
k           the kind of an item (a person knows their history, not the result of a test), or the menu of the source
a, b        the prior, Beta(a, b): (1, 1) where nothing is known, Laplace's rule of succession; (1, 0) for what the source
            says it has, and for a source that is sure to answer: certain, until it does not
==========  ==========================================================================================================

That there is no answer is taken to say nothing of the outcome. It is then one more answer with the same probability 1 − π
under every outcome, and G and V with it are exactly π times what they are without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from maci.acquisition.plan import Candidate, Item

_MENU = "menu"


def rule_of_succession(answered: int, asked: int, *, sure: bool = False) -> float:
    """π, the mean of the Beta distribution.

    >>> rule_of_succession(0, 0), rule_of_succession(3, 4), rule_of_succession(0, 0, sure=True), rule_of_succession(0, 1, sure=True)
    (0.5, 0.6666666666666666, 1.0, 0.5)
    """
    return (1 + answered) / ((1 if sure else 2) + asked)


def chances(
    candidates: Iterable[Candidate], so_far: Sequence[tuple[Item, bool]], *, sure: bool = False
) -> dict[str, float]:
    """Candidate → π, from what was asked so far and whether an answer came of it."""
    tally: dict[str, list[bool]] = {}
    for item, answered in so_far:
        tally.setdefault(_group(item), []).append(answered)
    found = {}
    for candidate in candidates:
        group = _group(candidate)
        counts = tally.get(group, [])
        found[candidate.id] = rule_of_succession(sum(counts), len(counts), sure=sure or group == _MENU)
    return found


def _group(of: Candidate | Item) -> str:
    return _MENU if _MENU in of.origin else of.kind
