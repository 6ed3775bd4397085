#!/bin/sh
# Is debate worth it on your cases? Four methods on a CSV of complaints, the same agents and evidence for all of them.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)"

maci study run "$here/complaints.toml" --quick --out study --quiet
maci study report study | sed '/^Differences/,$d'
