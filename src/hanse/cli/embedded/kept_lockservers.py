"""What simulated lockservers hold, in the folder of an embedded federation: it is where it was when it starts again."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import orjson

from hanse.kube.runtime import Runtime
from hanse.vitess.topology.memory import MemoryLockserver

FILE = "vitess-lockservers.json"
# Of the cluster that alone can name it, "" where all can, and its address.
Address = tuple[str, str]


class KeptLockservers:
    """The simulated lockservers by their addresses, which are stored whenever one was written to."""

    def __init__(self, runtime: Runtime, write: Callable[[bytes], object] | None = None) -> None:
        """Without `write` nothing outlives the process."""
        self._runtime = runtime
        self._write = write
        self._servers: dict[Address, MemoryLockserver] = {}
        self._saved = 0

    def at(self, address: Address) -> MemoryLockserver:
        """Return the lockserver at an address, a new one where there was none."""
        return self._servers.setdefault(address, MemoryLockserver(self._runtime))

    def load(self, folder: Path) -> None:
        """Take up what was stored; a file that cannot be read is as good as none."""
        try:
            stored = orjson.loads((folder / FILE).read_bytes())
            for entry in stored:
                server = self.at((entry["cluster"], entry["address"]))
                for path, data in entry["files"].items():
                    server.write(path, base64.b64decode(data))
        except (OSError, ValueError, KeyError, TypeError):
            return
        self._saved = self._writes()

    def save(self) -> None:
        """Store what the lockservers hold, if that has changed."""
        writes = self._writes()
        if self._write is None or writes == self._saved:
            return
        entries = [
            {
                "cluster": cluster,
                "address": address,
                "files": {path: base64.b64encode(data).decode() for path, data in server.lasting().items()},
            }
            for (cluster, address), server in sorted(self._servers.items())
        ]
        self._write(orjson.dumps(entries))
        self._saved = writes

    def _writes(self) -> int:
        return sum(server.writes for server in self._servers.values())
