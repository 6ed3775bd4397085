#!/bin/sh
# What a debate of paid models would cost, before anything is sent; then a debate that its ceiling ends, and one that has room.
set -e
cd "$(mktemp -d)"

maci debate dengue --agents openai/gpt-4o-mini,anthropic/claude-haiku-4-5 --judges gemini/gemini-2.5-flash \
  --budget-usd 0.05 --dry-run | grep -E '^(In all|The ceiling)'

show() { python3 -c 'import json, sys; r = json.load(sys.stdin); print("{answer} · {stop_reason} · {tokens:,} tokens".format(**r))'; }
maci debate dengue --panel readers --budget-tokens 12000 --out short --json | show
maci debate dengue --panel readers --budget-tokens 50000 --out long --json | show
