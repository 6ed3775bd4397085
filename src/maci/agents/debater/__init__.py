"""The debater: a language model that takes turns.

``prompt`` writes what it is asked, ``elicit`` gets a belief out of it, ``debater`` is the agent, with the form of its answers.
"""

from maci.agents.debater.debater import Debater
from maci.agents.debater.prompt import BRIEF, FULL, PROMPTS

__all__ = ["BRIEF", "FULL", "PROMPTS", "Debater"]
