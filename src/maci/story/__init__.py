"""A debate as people read it: rounds, arguments, beliefs, spending. Terminal, report and web page are three readers of it."""

from maci.story.model import Round
from maci.story.story import Story

__all__ = ["Round", "Story"]
