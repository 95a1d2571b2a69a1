"""Serves the functions of a hook file as webhooks, with nothing but the standard library.

    python webhook.py catset/hook.py --port 8080

POST /sync calls its function `sync` with the request's JSON and answers what that returns; the same for the others.
"""

from __future__ import annotations

import argparse
import json
import runpy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOOKS = ("sync", "finalize", "customize")


class Webhooks(ThreadingHTTPServer):
    """An HTTP server that knows the hooks of one file."""

    def __init__(self, address: tuple[str, int], file: str) -> None:
        super().__init__(address, Webhook)
        functions = runpy.run_path(file)
        self.hooks = {f"/{name}": functions[name] for name in HOOKS if name in functions}


class Webhook(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Webhooks

    def do_POST(self) -> None:
        """Call the hook that the path names; what goes wrong is told with a status that is no success."""
        hook = self.server.hooks.get(self.path)
        if hook is None:
            self.answer(404, {"message": f"{self.path}: is none of {', '.join(self.server.hooks)}"})
            return
        try:
            answer = hook(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        except Exception as error:  # noqa: BLE001 - one broken parent must not end the server
            self.answer(500, {"message": f"{self.path}: {type(error).__name__}: {error}"})
        else:
            self.answer(200, answer)

    def answer(self, status: int, body: dict[str, Any]) -> None:
        """Write a JSON body."""
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve the functions of a hook file as webhooks.")
    parser.add_argument("file", help="a Python file with sync, finalize or customize")
    parser.add_argument("--address", default="127.0.0.1", help="where to listen")
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one")
    given = parser.parse_args()
    with Webhooks((given.address, given.port), given.file) as server:
        print(f"serving {' '.join(server.hooks)} on http://{given.address}:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
