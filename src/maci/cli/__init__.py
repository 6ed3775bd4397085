"""The command line."""

from maci.cli.app import main

__all__ = ["main"]
