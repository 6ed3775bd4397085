"""``maci doctor --live``: one capped debate with each configured provider, and a report that can be shared."""

from __future__ import annotations

import asyncio
import json as jsonlib
from dataclasses import asdict
from pathlib import Path

import typer

from maci.cli.options import PanelOptions
from maci.cli.output import echo
from maci.debating.live_trial import TOKENS, USD, LiveTrial, live_report, trial_models, try_model
from maci.errors import InputError
from maci.paths import check_file, save
from maci.seating import choose
from maci.seating.file import Found, find
from maci.seating.spec import PanelSpec


def live_check(panel: PanelOptions, out: Path, *, json: bool) -> bool:
    """Hold the debates, write the report, say how it went; whether all of them work."""
    named = None
    if panel.panel is not None or panel.agents is not None:
        chosen = choose(panel.panel, panel.agents, panel.judges, least=1)
        named = chosen if isinstance(chosen, PanelSpec) else PanelSpec()
    found = find()
    models = trial_models(found, named)
    if not models:
        raise InputError(
            "no provider is configured, so there is nothing to try: run `maci init`, or name models with --agents. A key in the "
            "environment alone is not used"
        )
    check_file(out)
    if not json:
        cap = f"at most {TOKENS:,} tokens each, and ${USD:.2f} where the price is known"
        echo(f"One small debate with each of {', '.join(models)}: {cap}.", err=True)
    trials = asyncio.run(_all(models, found, json=json))
    save(out, live_report(trials))
    fine = all(each.works for each in trials)
    if json:
        typer.echo(jsonlib.dumps({"ok": fine, "report": str(out), "trials": [asdict(each) for each in trials]}))
    else:
        echo(f"Report without keys and addresses, to share: {out}")
    return fine


async def _all(models: tuple[str, ...], found: Found, *, json: bool) -> list[LiveTrial]:
    trials = []
    for model in models:
        each = await try_model(model, found)
        trials.append(each)
        if not json:
            how = f"{each.calls} calls, {each.tokens:,} tokens, {each.seconds:.1f} s"
            echo(f"{'ok' if each.works else 'problem':<8} {each.model}  {how}")
            for remark in each.remarks:
                echo(f"         {remark}")
    return trials
