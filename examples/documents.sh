#!/bin/sh
# A question answered from your own documents: 15 short service reports, read by the embedded panel. Nothing leaves the machine.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)"

maci index "$here/pump/reports.csv" --out reports                 # a folder, PDF, HTML, Markdown, JSON and logs work too
maci debate "$here/pump/case.yaml" --panel readers --corpus reports --out pump --quiet | head -n 1
maci report pump --format md | sed -n '/^## /p'                   # the same debate as a note for a ticket: its sections
