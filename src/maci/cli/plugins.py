"""``maci plugins``."""

from __future__ import annotations

from dataclasses import asdict

from maci.cli.options import Json
from maci.cli.output import publish


def plugins(json: Json = False) -> None:
    """List the plugins of installed packages: name, kind, package, version, and whether each loads.

    Packages add them by entry points, in the groups maci.providers, maci.agents, maci.judges, maci.schedules, maci.encoders,
    maci.sources, maci.methods and maci.datasets.
    """
    from maci.config.plugins import listed

    found = listed()
    lines = [
        f"{each.name}  {each.kind}  {each.package} {each.version}  {(each.error and 'does not load: ' + each.error) or 'loads'}"
        for each in found
    ]
    publish({"plugins": [asdict(each) for each in found]}, lines or ["No plugins are installed."], json=json)
