"""Stands in for host.py: the same protocol, and a server that answers like llama.cpp's. The file's name says what goes wrong."""

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

settings = {}
done = []
"""What was asked of the server's own paths, in order."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, kind="application/json"):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def allowed(self):
        if self.headers["Authorization"] == f"Bearer {settings['key']}":
            return True
        self.answer(401, json.dumps({"error": {"code": 401, "message": "Invalid API Key"}}))
        return False

    def do_GET(self):
        if not self.allowed():
            return
        if self.path == "/slots":
            self.answer(200, json.dumps([{"id": n, "is_processing": False} for n in range(settings["parallel"])]))
        else:
            self.answer(200, "llamacpp:prompt_tokens_total 7\nllamacpp:prompt_tokens_cached_total 3\n", "text/plain")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed():
            return
        if not self.path.startswith("/v1/"):
            self.own(body)
            return
        asked = body["messages"][-1]["content"]
        if asked == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if asked == "wait":
            time.sleep(60)
        if asked == "long":
            said = "request (9000 tokens) exceeds the available context size (512 tokens), try increasing it"
            self.answer(400, json.dumps({"error": {"code": 400, "message": said, "type": "exceed_context_size_error"}}))
            return
        text = json.dumps(
            {
                "pid": os.getpid(),
                "settings": {**settings, "key": ""},
                "body": body,
                "argv": sys.argv,
                "spin": os.environ.get("GOMP_SPINCOUNT"),
                "before": done[:],
            }
        )
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}
        self.answer(200, json.dumps({"model": settings["alias"], "choices": [choice], "usage": usage}))

    def own(self, body):
        """The paths that read a beginning once and copy it."""
        done.append([self.path, body])
        if self.path == "/apply-template":
            self.answer(200, json.dumps({"prompt": "".join(m["content"] for m in body["messages"]) + "<reply>"}))
        elif Path(settings["path"]).stem == "unshared":
            self.answer(501, json.dumps({"error": {"code": 501, "message": "not supported"}}))
        elif self.path.endswith("save"):
            (Path(settings["folder"]) / body["filename"]).write_text("what was read")
            self.answer(200, "{}")
        else:
            assert not self.path.endswith("restore") or (Path(settings["folder"]) / body["filename"]).is_file()
            self.answer(200, json.dumps({"id_slot": 1}))

    def log_message(self, *_):
        sys.stderr.write("I some line of a log\n")


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings.update(json.loads(sys.stdin.buffer.readline()))
    kind = Path(settings["path"]).stem
    if kind == "cut":
        sys.stderr.write(
            "0.01 E llama_model_load: error loading model: tensor 'x' data is not within the file bounds\n"
        )
        sys.stderr.write("0.02 E srv init: exiting due to model loading error\n")
        print(json.dumps({"error": "RuntimeError: Failed to init server"}), flush=True)
        sys.exit(1)
    if kind == "huge":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "slow":
        time.sleep(60)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    print(json.dumps({"address": address, "guided": kind != "plain"}), flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
