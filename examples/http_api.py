"""A debate over HTTP: start the server, ask it as any OpenAI client would, read answer and probabilities."""

import json
import re
import subprocess
import sys
import tempfile
import urllib.request

asked = {
    "model": "readers",
    "outcomes": ["Dengue fever", "Measles", "Gout"],
    "messages": [{"role": "user", "content": "Which disease brings fever and pain behind the eyes?"}],
}
command = [sys.executable, "-m", "maci", "serve", "--port", "0", "--dir", tempfile.mkdtemp()]
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
    assert server.stdout is not None
    address = next(found[0] for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
    request = urllib.request.Request(
        f"{address}/v1/chat/completions", json.dumps(asked).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        reply = json.load(answer)
    server.terminate()

print(reply["choices"][0]["message"]["content"].splitlines()[0])
print({name: round(p, 2) for name, p in reply["maci"]["distribution"].items()})
