"""`hanse apiserver` in a process of its own, prepared with every kind, cleaned up now and then, and measured."""

from __future__ import annotations

import base64
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import yaml

from tests.fuzz.own_kinds import definitions
from tests.fuzz.requests.case import Sent, request
from tests.fuzz.requests.corpus import meant, namespaces
from tests.fuzz.requests.making import prepared
from tests.fuzz.requests.wire import Wire
from tests.fuzz.requests.wording import as_json
from tests.fuzz.watched import WatchedServer

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_READY_SECONDS = 60.0
_KEPT = ("namespaces", "customresourcedefinitions", "clusterroles", "clusterrolebindings", "priorityclasses")
_FAULTS = ("Traceback (most recent call last)", "never retrieved", "failed inside the server", "was never awaited")


class Served(WatchedServer):
    """A running server."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, wire: Wire) -> None:
        super().__init__(process, folder / "log")
        self.wire = wire
        self._own = {crd["metadata"]["name"] for crd in definitions()}

    def healthy(self) -> bool:
        """Tell whether the server answers as ever."""
        return self.wire.send(request("GET", "/readyz")).code == 200

    def troubles(self) -> list[str]:
        """Return the lines of the log that tell of something nobody foresaw."""
        return [line for line in self.log_text().splitlines() if any(words in line for words in _FAULTS)]

    def prepare(self) -> None:
        """Give the server every kind, the namespaces and the objects that requests speak of."""
        for crd in definitions():
            self._ask("POST", _CRDS, crd)
        self.refill()

    def refill(self) -> None:
        """Make the objects that requests speak of, as far as they are missing."""
        for name in namespaces():
            self._ask(
                "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
        for one in meant():
            if one.method == "POST" and "admissionregistration" not in one.path:
                self.wire.send(prepared(one))

    def sweep(self) -> None:
        """Remove what requests have left behind: what is stored is no growth of the server's own."""
        for path in self._collections():
            self._ask("DELETE", path)
            for item in (self._read(path).get("items") or ())[:3000]:
                self._release(path, item)
        for crd in self._read(_CRDS).get("items") or ():
            if crd["metadata"]["name"] not in self._own:
                self._ask("DELETE", f"{_CRDS}/{crd['metadata']['name']}")
        known = {*namespaces(), "default", "kube-system", "kube-public", "kube-node-lease"}
        for one in self._read("/api/v1/namespaces").get("items") or ():
            if one["metadata"]["name"] not in known:
                self._ask("DELETE", f"/api/v1/namespaces/{one['metadata']['name']}")

    def _release(self, path: str, item: Any) -> None:
        metadata = item["metadata"]
        if not metadata.get("finalizers"):
            return
        kept = path.rpartition("/")
        inner = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
        at = f"{kept[0]}{inner}/{kept[2]}/{metadata['name']}"
        self.wire.send(request("PATCH", at, b'{"metadata":{"finalizers":null}}', "application/merge-patch+json"))

    def _collections(self) -> Iterator[str]:
        for group in (
            "/api/v1",
            *(f"/apis/{one['preferredVersion']['groupVersion']}" for one in self._read("/apis")["groups"]),
        ):
            for kind in self._read(group).get("resources") or ():
                if "deletecollection" in kind["verbs"] and kind["name"] not in _KEPT:
                    yield f"{group}/{kind['name']}"

    def _read(self, path: str) -> Any:
        outcome = self.wire.send(request("GET", path))
        return orjson.loads(outcome.body) if outcome.code == 200 else {}

    def _ask(self, method: str, path: str, body: Any = None) -> None:
        self.wire.send(self._request(method, path, body))

    @staticmethod
    def _request(method: str, path: str, body: Any) -> Sent:
        return request(method, path, b"" if body is None else as_json(body))


@contextmanager
def served() -> Iterator[Served]:
    """Serve from a folder of its own for the length of a block."""
    with tempfile.TemporaryDirectory(prefix="hanse-fuzz-") as name:
        folder = Path(name)
        command = [sys.executable, "-m", "hanse", "apiserver", "--data-dir", str(folder / "data")]
        with (
            (folder / "log").open("wb") as log,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as process,
        ):
            wire: Wire | None = None
            try:
                wire = _connect(process, folder)
                yield Served(process, folder, wire)
            finally:
                if wire is not None:
                    wire.close()
                process.kill()


def _connect(process: subprocess.Popen[bytes], folder: Path) -> Wire:
    kubeconfig = folder / "data" / "kubeconfig"
    deadline = time.monotonic() + _READY_SECONDS
    while not kubeconfig.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"hanse apiserver did not start: {(folder / 'log').read_text()[-2000:]}")
        time.sleep(0.05)
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname = False
    tls.load_verify_locations(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    files = []
    for part in ("client-certificate", "client-key"):
        file = folder / part
        file.write_bytes(base64.b64decode(user[f"{part}-data"]))
        files.append(str(file))
    tls.load_cert_chain(*files)
    return Wire(int(cluster["server"].rpartition(":")[2]), tls)
