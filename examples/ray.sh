#!/bin/sh
# The same study on a cluster: `--engine ray` hands its cases to the nodes. Without --address, Ray starts on this machine.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)"

maci study run "$here/complaints.toml" --quick --engine ray --jobs 2 --out study --quiet
maci study report study | head -n 4
