"""``maci replay``."""

from __future__ import annotations

import json as jsonlib
from typing import TYPE_CHECKING

import typer

from maci.cli.options import Json, Quiet, SettingsOptions, TranscriptPath, grouped
from maci.cli.show import locate
from maci.errors import TranscriptError

if TYPE_CHECKING:
    from maci.record.transcript import Recording


@grouped
def replay(*, transcript: TranscriptPath, settings: SettingsOptions, json: Json = False, quiet: Quiet = False) -> None:
    """Recompute every number of a debate; with other settings, ask when they would have stopped it."""
    from maci.record.replay import replay as recomputed
    from maci.record.transcript import read
    from maci.story.words import plural

    path = locate(transcript)
    recording = read(path)
    if settings.profile or settings.config or settings.sets:
        _other(recording, settings, json=json)
        return
    done = recomputed(recording.events)
    if not done.complete or recording.torn:
        torn = f", and a line of {recording.torn} bytes is cut short" if recording.torn else ""
        raise TranscriptError(
            f"{path} is not complete: after {len(recording.events)} events {done.where()}{torn}. All {done.compared} decisions up "
            f"to there are right; continue it with: maci debate --resume --out {path.parent}"
        )
    assert done.state.finished is not None
    if json:
        typer.echo(jsonlib.dumps({"ok": True, "events": len(recording.events), "decisions": done.compared}))
    elif not quiet:
        result = done.state.finished
        typer.echo(
            f"{path}: chain of {len(recording.events)} events intact, {done.compared} decisions recomputed, all equal"
        )
        typer.echo(f"{result.answer or 'no answer'} after {plural(result.rounds, 'round')} ({result.stop_reason})")


def _other(recording: Recording, settings: SettingsOptions, *, json: bool) -> None:
    from maci.story.whatif import CAUTION, other_rules, otherwise
    from maci.story.words import plural

    rules = other_rules(recording.opened.config, settings.profile, file=settings.config, sets=settings.sets or ())
    found = otherwise(recording.events, rules)
    both = (found.recorded, found.other)
    if json:
        keys = ("rules", "stop_reason", "rounds", "answer", "p")
        rows = [{key: getattr(row, key) for key in keys} for row in both]
        typer.echo(
            jsonlib.dumps(
                {"off_policy": True, "decided": found.decided, "rules": rows, "remark": found.remark},
                ensure_ascii=False,
            )
        )
        return
    for row in both:
        typer.echo(
            f"{row.rules:<9} {row.stop_reason or row.lacking:<36} after {plural(row.rounds, 'round')}   {row.answer or 'no answer'} "
            + (f"p = {row.p:.3f}" if row.p is not None else "")
        )
    if found.ignored:
        typer.echo(f"Cannot be judged from a record, and was ignored: {', '.join(found.ignored)}")
    if found.remark:
        typer.echo(found.remark)
    typer.echo(CAUTION)
