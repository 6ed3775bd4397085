"""The debater: a language model that takes turns.

``prompt`` writes what it is asked, ``reply`` reads what it answers, ``elicit`` gets a belief out of it, ``debater`` is the agent.
"""

from maci.agents.debater.debater import Debater
from maci.agents.debater.prompt import PROMPTS

__all__ = ["PROMPTS", "Debater"]
