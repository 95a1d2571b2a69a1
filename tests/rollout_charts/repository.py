"""A Helm repository on loopback with the charts of this folder; it can be stopped and can stop answering."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import yaml

from tests.rollout_charts.packing import BAD, SHAPES, described, file_name, packed

# Every chart in the versions that an application goes through.
VERSIONS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(SHAPES, ("0.0.1", "0.0.2")),
    **dict.fromkeys(BAD, ("0.0.1",)),
}


class Repository:
    """A running repository: its address, and what was asked for."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.asked: list[str] = []
        self._files = files
        self._answers = threading.Event()
        self._answers.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """Its address, as an Application names it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def hang(self) -> None:
        """Take every request from now on, and answer none."""
        self._answers.clear()

    def start(self) -> None:
        """Serve."""
        self._thread.start()

    def stop(self) -> None:
        """Be gone: connections are refused from now on."""
        self._answers.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        repository = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                repository.asked.append(self.path)
                repository._answers.wait()
                content = repository._files.get(self.path.removeprefix("/"))
                self.send_response(404 if content is None else 200)
                self.send_header("content-length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library calls it
                """Say nothing."""

        return Handler


@contextmanager
def chart_repository(versions: Mapping[str, Sequence[str]] = VERSIONS) -> Iterator[Repository]:
    """Run a repository of these versions of charts for the length of a block."""
    archives = {(chart, each): packed(chart, each) for chart, listed in versions.items() for each in listed}
    entries: dict[str, list[object]] = {}
    for (chart, version), content in archives.items():
        entries.setdefault(chart, []).append(described(chart, version, content))
    index = {"apiVersion": "v1", "entries": entries, "generated": "2019-06-08T12:00:00Z"}
    files = {file_name(chart, version): content for (chart, version), content in archives.items()}
    repository = Repository({**files, "index.yaml": yaml.safe_dump(index).encode()})
    repository.start()
    try:
        yield repository
    finally:
        repository.stop()
