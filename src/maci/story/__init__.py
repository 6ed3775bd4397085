"""A debate as people read it: rounds, arguments, beliefs, spending. Terminal, report and web page are three readers of it."""

from maci.story.model import Call, Cited, Hand, Judged, Round, Said
from maci.story.story import Story

__all__ = ["Call", "Cited", "Hand", "Judged", "Round", "Said", "Story"]
