"""A lockserver in memory, for simulations on virtual time: versions, leases and locks behave as in etcd."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from hanse.kube.runtime import Runtime
from hanse.vitess.topology.locking import hold
from hanse.vitess.topology.paths import LOCKS
from hanse.vitess.topology.store import (
    LOCK_PATIENCE_SECONDS,
    BadVersion,
    Lock,
    NodeExists,
    NoNode,
    TopologyStore,
    Unreachable,
    Version,
    Versioned,
)


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes
    revision: int
    lease: int = 0


class MemoryLockserver:
    """What one etcd cluster holds; set `up` to False and nobody is answered."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.up = True
        self.writes = 0
        self._files: dict[str, _File] = {}
        self._leases: dict[int, tuple[int, float]] = {}
        self._revision = 0
        self._last_lease = 0

    def store(self, root: str, link: Link | None = None) -> MemoryStore:
        """Return the store of a root, as seen through a link that may be cut."""
        return MemoryStore(self, root, link or Link())

    def files(self) -> dict[str, _File]:
        """Return what is there now; what had a lease that ran out is gone."""
        now = self.runtime.monotonic()
        for lease, (_, ends) in list(self._leases.items()):
            if ends <= now:
                self.end(lease)
        return self._files

    def lasting(self) -> dict[str, bytes]:
        """Return what outlives those who wrote it: all but what has a lease."""
        return {path: file.data for path, file in self.files().items() if not file.lease}

    def write(self, path: str, data: bytes, lease: int = 0) -> int:
        """Store a file and return its revision."""
        self._revision += 1
        self.writes += 1
        self._files[path] = _File(data, self._revision, lease)
        return self._revision

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._revision += 1
        self.writes += 1
        del self._files[path]

    def grant(self, seconds: int) -> int:
        """Return a new lease."""
        self._last_lease += 1
        self._leases[self._last_lease] = (seconds, self.runtime.monotonic() + seconds)
        return self._last_lease

    def keep(self, lease: int) -> bool:
        """Begin a lease anew."""
        self.files()
        if lease not in self._leases:
            return False
        seconds, _ = self._leases[lease]
        self._leases[lease] = (seconds, self.runtime.monotonic() + seconds)
        return True

    def end(self, lease: int) -> None:
        """End a lease and remove its files."""
        self._leases.pop(lease, None)
        for path in [path for path, file in self._files.items() if lease and file.lease == lease]:
            self.remove(path)


@dataclass(slots=True)
class Link:
    """The network between one client and a lockserver."""

    cut: bool = False


class MemoryStore:
    """One root of a lockserver in memory."""

    def __init__(self, server: MemoryLockserver, root: str, link: Link) -> None:
        self._server = server
        self._root = root.strip("/")
        self._link = link

    async def read(self, path: str) -> Versioned[bytes]:
        """Return a file; raises NoNode."""
        file = self._files().get(self._key(path))
        if file is None:
            raise NoNode(f"{path} is not in topology")
        return Versioned(file.data, Version(file.revision))

    async def create(self, path: str, data: bytes) -> Version:
        """Write a file that is not there; raises NodeExists."""
        if self._key(path) in self._files():
            raise NodeExists(f"{path} is in topology already")
        return Version(self._server.write(self._key(path), data))

    async def update(self, path: str, data: bytes, version: Version | None) -> Version:
        """Overwrite a file of this version; raises BadVersion otherwise."""
        file = self._files().get(self._key(path))
        if version is not None and (file is None or file.revision != version):
            raise BadVersion(f"{path} was changed by another meanwhile")
        return Version(self._server.write(self._key(path), data))

    async def delete(self, path: str, version: Version | None) -> None:
        """Remove a file; raises NoNode or BadVersion."""
        file = self._files().get(self._key(path))
        if file is None:
            raise NoNode(f"{path} is not in topology")
        if version is not None and file.revision != version:
            raise BadVersion(f"{path} was changed by another meanwhile")
        self._server.remove(self._key(path))

    async def names(self, directory: str) -> tuple[str, ...]:
        """Return what is directly in a directory."""
        start = self._key(directory) + "/"
        found = {path.removeprefix(start).split("/")[0] for path in self._files() if path.startswith(start)}
        return tuple(sorted(found - {LOCKS}))

    async def read_all(self, directory: str) -> dict[str, Versioned[bytes]]:
        """Return every file below a directory by its path."""
        start = self._key(directory) + "/" if directory else f"{self._root}/"
        return {
            path.removeprefix(f"{self._root}/"): Versioned(file.data, Version(file.revision))
            for path, file in sorted(self._files().items())
            if path.startswith(start) and f"/{LOCKS}/" not in path
        }

    def lock(
        self, directory: str, action: str, *, patience: float = LOCK_PATIENCE_SECONDS
    ) -> AbstractAsyncContextManager[Lock]:
        """Hold the lock of a directory."""
        return hold(self, self._server.runtime, directory, action, patience)

    async def close(self) -> None:
        """Nothing is open."""

    async def grant(self, seconds: int) -> int:
        """Return a new lease."""
        self._files()
        return self._server.grant(seconds)

    async def keep(self, lease: int) -> bool:
        """Begin a lease anew; False when it has run out."""
        self._files()
        return self._server.keep(lease)

    async def revoke(self, lease: int) -> None:
        """End a lease and its files."""
        self._files()
        self._server.end(lease)

    async def place(self, path: str, data: bytes, lease: int) -> int:
        """Write a new file that lives with a lease."""
        self._files()
        return self._server.write(self._key(path), data, lease)

    async def holds_older(self, directory: str, revision: int) -> bool:
        """Say whether a file in a directory was written before a revision."""
        start = self._key(directory) + "/"
        return any(path.startswith(start) and file.revision < revision for path, file in self._files().items())

    async def exists(self, directory: str) -> bool:
        """Say whether any file is below a directory."""
        start = self._key(directory) + "/"
        return any(path.startswith(start) for path in self._files())

    def _key(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _files(self) -> dict[str, _File]:
        if not self._server.up or self._link.cut:
            raise Unreachable(f"the lockserver of /{self._root} does not answer")
        return self._server.files()


class MemoryStores:
    """The lockservers of a simulation by address, as one client sees them."""

    def __init__(self, servers: dict[str, MemoryLockserver]) -> None:
        self._servers = servers
        self._links: dict[str, Link] = {}

    def link(self, address: str) -> Link:
        """Return the network to an address, to cut and mend it."""
        return self._links.setdefault(address, Link())

    def open(self, address: str, root: str) -> TopologyStore:
        """Return the store of a root; an address that nobody serves does not answer."""
        server = self._servers.get(address)
        if server is None:
            raise Unreachable(f"no lockserver answers at {address}")
        return server.store(root, self.link(address))

    async def close(self) -> None:
        """Nothing is open."""
