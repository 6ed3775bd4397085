"""``maci replay``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maci import __version__
from maci.cli.options import Json, Quiet, SettingsOptions, TranscriptPath, grouped
from maci.cli.output import publish
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
    result, events = done.state.finished, len(recording.events)
    assert result is not None
    lines = [
        f"{path}: chain of {events} events intact, {done.compared} decisions recomputed, all equal",
        f"{result.given or 'no answer'} after {plural(result.rounds, 'round')} ({result.stop_reason})",
    ]
    if not done.warned:
        by = f"MACI {recording.opened.version}, this is {__version__}"
        lines.append(f"The warnings of the result were not compared: the record is of {by}.")
    publish(
        {"ok": True, "events": events, "decisions": done.compared, "warnings": done.warned},
        [] if quiet else lines,
        json=json,
    )


def _other(recording: Recording, settings: SettingsOptions, *, json: bool) -> None:
    from maci.record.replay import telling
    from maci.story.whatif import CAUTION, other_rules, otherwise
    from maci.story.words import plural

    rules = other_rules(recording.opened.config, settings.profile, file=settings.config, sets=settings.sets or ())
    with telling(recording.events):
        found = otherwise(recording.events, rules)
    keys, both = ("rules", "stop_reason", "rounds", "answer", "p", "withheld"), (found.recorded, found.other)
    rows = [{key: getattr(row, key) for key in keys} for row in both]
    lines = [
        f"{row.rules:<9} {row.stop_reason or row.lacking:<36} after {plural(row.rounds, 'round')}   {row.said} "
        + (f"p = {row.p:.3f}" if row.p is not None else "")
        for row in both
    ]
    inside, outside = found.flips
    lines += [f"now admitted: {', '.join(inside)}"] if inside else []
    lines += [f"not admitted any more: {', '.join(outside)}"] if outside else []
    if found.ignored:
        lines.append(f"Cannot be judged from a record, and was ignored: {', '.join(found.ignored)}")
    lines += [found.remark] if found.remark else []
    page = {"off_policy": True, "decided": found.decided, "rules": rows, "remark": found.remark}
    page["flips"] = {"admitted": inside, "rejected": outside}
    publish(page, [*lines, CAUTION], json=json)
