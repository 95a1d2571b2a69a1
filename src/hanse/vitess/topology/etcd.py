"""The lockserver that Vitess uses: etcd, spoken to over its JSON gateway.

Files are keys below the root and versions their revisions, exactly as Vitess' own etcd2 implementation has them, so
that both may work on one lockserver at the same time.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from hanse.kube.runtime import Runtime
from hanse.services.providers.etcd_gateway import EtcdAccess, EtcdGateway
from hanse.services.providers.interface import ProviderError
from hanse.vitess.topology.locking import hold
from hanse.vitess.topology.name_claims import Names, Objection, no_claims
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

_PAGE = 1000
_PATIENCE_SECONDS = 5.0


class EtcdStores:
    """Opens roots on etcd clusters; the connections to one address are shared by all its roots."""

    def __init__(
        self,
        runtime: Runtime,
        access: EtcdAccess | None = None,
        timeout: float = _PATIENCE_SECONDS,
        names: Names = no_claims,
    ) -> None:
        """`names` tells of an address what speaks against asking there, if anything does."""
        self._names = names
        self._runtime = runtime
        self._access = access or EtcdAccess()
        self._timeout = timeout
        self._gateways: dict[str, EtcdGateway] = {}

    def open(self, address: str, root: str) -> TopologyStore:
        """Return the store of a root; an address is host:port or a URL, several separated by commas."""
        gateway = self._gateways.get(address)
        if gateway is None:
            scheme = "http" if self._access.tls is None else "https"
            endpoints = [each if "://" in each else f"{scheme}://{each}" for each in address.split(",")]
            gateway = self._gateways[address] = EtcdGateway(endpoints, self._access, self._timeout)
        return EtcdStore(gateway, root, self._runtime, self._names(address))

    async def close(self) -> None:
        """Close all connections."""
        for gateway in self._gateways.values():
            await gateway.close()
        self._gateways.clear()


class EtcdStore:
    """One root of one etcd cluster."""

    def __init__(self, gateway: EtcdGateway, root: str, runtime: Runtime, objection: Objection = lambda: "") -> None:
        self._objection = objection
        self._gateway = gateway
        self._root = root.rstrip("/")
        self._runtime = runtime

    async def read(self, path: str) -> Versioned[bytes]:
        """Return a file; raises NoNode."""
        found = (await self._ask("kv/range", {"key": self._key(path)})).get("kvs") or []
        if not found:
            raise NoNode(f"{self._root}/{path} is not in topology")
        return _versioned(found[0])

    async def create(self, path: str, data: bytes) -> Version:
        """Write a file that is not there; raises NodeExists."""
        version = await self._transact(_absent(self._key(path)), _put(self._key(path), data))
        if version is None:
            raise NodeExists(f"{self._root}/{path} is in topology already")
        return version

    async def update(self, path: str, data: bytes, version: Version | None) -> Version:
        """Overwrite a file of this version; raises BadVersion otherwise."""
        demand = None if version is None else _of_version(self._key(path), version)
        written = await self._transact(demand, _put(self._key(path), data))
        if written is None:
            raise BadVersion(f"{self._root}/{path} was changed by another meanwhile")
        return written

    async def delete(self, path: str, version: Version | None) -> None:
        """Remove a file; raises NoNode or BadVersion."""
        key = self._key(path)
        demand = _present(key) if version is None else _of_version(key, version)
        if await self._transact(demand, {"request_delete_range": {"key": key}}) is not None:
            return
        await self.read(path)
        raise BadVersion(f"{self._root}/{path} was changed by another meanwhile")

    async def names(self, directory: str) -> tuple[str, ...]:
        """Return what is directly in a directory."""
        found = await self._range(directory, keys_only=True)
        start = f"{self._root}/{directory}/"
        return tuple(sorted({key.removeprefix(start).split("/")[0] for key in found} - {LOCKS}))

    async def read_all(self, directory: str) -> dict[str, Versioned[bytes]]:
        """Return every file below a directory by its path."""
        found = await self._range(directory)
        start = f"{self._root}/"
        return {key.removeprefix(start): file for key, file in found.items() if f"/{LOCKS}/" not in key}

    def lock(
        self, directory: str, action: str, *, patience: float = LOCK_PATIENCE_SECONDS
    ) -> AbstractAsyncContextManager[Lock]:
        """Hold the lock of a directory, against Vitess too."""
        return hold(self, self._runtime, directory, action, patience)

    async def close(self) -> None:
        """Close the connections of this root's etcd."""
        await self._gateway.close()

    async def grant(self, seconds: int) -> int:
        """Return a new lease."""
        return int((await self._ask("lease/grant", {"TTL": str(seconds)}))["ID"])

    async def keep(self, lease: int) -> bool:
        """Begin a lease anew; False when it has run out."""
        answer = await self._ask("lease/keepalive", {"ID": str(lease)})
        return int((answer.get("result") or {}).get("TTL") or 0) > 0

    async def revoke(self, lease: int) -> None:
        """End a lease and its files."""
        await self._ask("lease/revoke", {"ID": str(lease)})

    async def place(self, path: str, data: bytes, lease: int) -> int:
        """Write a new file that lives with a lease."""
        put = {"request_put": {**_put(self._key(path), data)["request_put"], "lease": str(lease)}}
        version = await self._transact(_absent(self._key(path)), put)
        if version is None:
            raise NodeExists(f"{self._root}/{path} is in topology already")
        return version

    async def holds_older(self, directory: str, revision: int) -> bool:
        """Say whether a file in a directory was written before a revision."""
        start, end = _bounds(f"{self._root}/{directory}/")
        body = {"key": start, "range_end": end, "max_mod_revision": str(revision - 1), "keys_only": True, "limit": "1"}
        return bool((await self._ask("kv/range", body)).get("kvs"))

    async def exists(self, directory: str) -> bool:
        """Say whether any file is below a directory."""
        start, end = _bounds(f"{self._root}/{directory}/")
        body = {"key": start, "range_end": end, "keys_only": True, "limit": "1"}
        return bool((await self._ask("kv/range", body)).get("kvs"))

    async def _range(self, directory: str, *, keys_only: bool = False) -> dict[str, Versioned[bytes]]:
        """Return what is below a directory as of one revision, however many pages it takes."""
        start, end = _bounds(f"{self._root}/{directory}/" if directory else f"{self._root}/")
        found: dict[str, Versioned[bytes]] = {}
        revision = "0"
        while True:
            body = {"key": start, "range_end": end, "limit": str(_PAGE), "revision": revision, "keys_only": keys_only}
            answer = await self._ask("kv/range", body)
            entries = answer.get("kvs") or []
            found.update((base64.b64decode(each["key"]).decode(), _versioned(each)) for each in entries)
            if not answer.get("more"):
                return found
            revision = answer["header"]["revision"]
            start = _b64(base64.b64decode(entries[-1]["key"]) + b"\0")

    async def _transact(self, demand: Mapping[str, Any] | None, operation: Mapping[str, Any]) -> Version | None:
        """Make one write; returns its revision, or None where the demand does not hold."""
        body = {"compare": [demand] if demand else [], "success": [operation]}
        answer = await self._ask("kv/txn", body)
        return Version(int(answer["header"]["revision"])) if answer.get("succeeded") else None

    async def _ask(self, what: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if why := self._objection():
            raise Unreachable(f"the lockserver of {self._root}: {why}")
        try:
            return await self._gateway.post(f"/v3/{what}", body)
        except ProviderError as error:
            raise Unreachable(f"the lockserver of {self._root}: {error}") from error

    def _key(self, path: str) -> str:
        return _b64(f"{self._root}/{path}".encode())


def _versioned(entry: Mapping[str, Any]) -> Versioned[bytes]:
    return Versioned(base64.b64decode(entry.get("value", "")), Version(int(entry["mod_revision"])))


def _absent(key: str) -> dict[str, Any]:
    return {"key": key, "target": "CREATE", "result": "EQUAL", "create_revision": "0"}


def _present(key: str) -> dict[str, Any]:
    return {"key": key, "target": "CREATE", "result": "GREATER", "create_revision": "0"}


def _of_version(key: str, version: Version) -> dict[str, Any]:
    return {"key": key, "target": "MOD", "result": "EQUAL", "mod_revision": str(version)}


def _put(key: str, data: bytes) -> dict[str, Any]:
    return {"request_put": {"key": key, "value": _b64(data)}}


def _bounds(prefix: str) -> tuple[str, str]:
    """Return the first key with a prefix, and the first after all of them."""
    start = prefix.encode()
    return _b64(start), _b64(start[:-1] + bytes([start[-1] + 1]))


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
