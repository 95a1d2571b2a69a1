"""Where the lockservers of a VitessCluster are, and what is registered of those of its cells."""

from __future__ import annotations

from hanse.api.planetscale.values import Lockserver, LockserverParams
from hanse.api.vitess_records.topology import CellInfo
from hanse.vitess.naming import cell_lockserver_name, global_lockserver_name, lockserver_client_service

ETCD = "etcd2"
_PORT = 2379


class TopologyInvalid(ValueError):
    """A spec asks for lockservers that cannot work together, in one sentence."""


def global_params(cluster: str, namespace: str, lockserver: Lockserver) -> LockserverParams:
    """Return where the global records of a VitessCluster are; an external lockserver wins over one to be deployed."""
    if lockserver.external is not None:
        return lockserver.external
    return LockserverParams(ETCD, _client(global_lockserver_name(cluster), namespace), f"/vitess/{cluster}/global")


def cell_params(
    cluster: str, namespace: str, everywhere: LockserverParams, cell: str, own: Lockserver
) -> LockserverParams:
    """Return where the records of a cell are: in its own lockserver, or under a root of its own in the global one."""
    if own.external is not None:
        return own.external
    root = f"/vitess/{cluster}/local/{cell}"
    if own.etcd is not None:
        return LockserverParams(ETCD, _client(cell_lockserver_name(cluster, cell), namespace), root)
    return LockserverParams(everywhere.implementation, everywhere.address, root)


def cell_info(cluster: str, namespace: str, shared: Lockserver, cell: str, own: Lockserver) -> CellInfo:
    """Return what is registered of a cell; raises TopologyInvalid where Vitess could not read both lockservers.

    `cellInfoAddress` is what others reach the lockserver by; that of the global one counts for cells that share it.
    """
    everywhere = global_params(cluster, namespace, shared)
    params = cell_params(cluster, namespace, everywhere, cell, own)
    if params.implementation != everywhere.implementation:
        raise TopologyInvalid(
            f"the lockserver of cell {cell} is {params.implementation} and the global one {everywhere.implementation}: "
            "Vitess reads both with one implementation, so choose the same for lockserver.external.implementation"
        )
    shares = own.external is None and own.etcd is None
    advertised = own.cell_info_address or (shared.cell_info_address if shares else "")
    return CellInfo(advertised or params.address, params.root)


def _client(lockserver: str, namespace: str) -> str:
    return f"{lockserver_client_service(lockserver)}.{namespace}.svc:{_PORT}"
