"""A finished debate as `--json` prints it."""

from __future__ import annotations

from pathlib import Path

from maci.record.result import AskResult, Result, Verdict
from maci.story.story import Story


def result_of(story: Story, transcript: Path, *, priced: bool = True) -> Result:
    """The result with its last plan, and with what triage decided where it was asked to; ``priced`` where all prices are known."""
    assert story.result is not None
    page = Result.of(story.result, transcript, planned=story.plan, priced=priced)
    if not story.opened.config.triage.enabled:
        return page
    verdicts = [Verdict.model_validate(each) for r in story.rounds for each in r.triaged]
    return AskResult(**page.model_dump(), stage=story.stage, explain=verdicts)
