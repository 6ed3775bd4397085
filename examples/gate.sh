#!/bin/sh
# A gate for CI: it opens only where a debate gives an answer, it is the one you need, and it is sure enough.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)"
maci index "$here/pump/reports.csv" --out reports --quiet

gate() {                                                  # case, the answer that opens the gate
  maci debate "$1" --panel readers --corpus reports --risk 0.3 --json > result.json
  python3 - "$2" <<'PYTHON'
import json, sys

result = json.load(open("result.json"))
sure = result["abstained"] is None
print(result["answer"] if sure else "withheld", "→", "open" if sure and result["answer"] == sys.argv[1] else "closed")
PYTHON
}
gate "$here/pump/case.yaml" Cavitation
gate "$here/pump/unclear.yaml" Cavitation
