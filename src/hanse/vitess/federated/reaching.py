"""Why the control plane does not read a lockserver, and what to write so that it does: pure sentences."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.planetscale.values import LockserverParams
from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.glance import lockserver_of
from hanse.vitess.federated.quorum import read_quorum

INNER_ENDINGS = (".svc", ".svc.cluster.local")
GLOBAL_FIELD, QUORUM_FIELD = "spec.globalLockserver.external.address", "spec.federation.lockserver.clientAddress"
_REMEDY = "the name of a federated Service (SERVICE.NAMESPACE.FEDERATION.svc.DOMAIN:2379) or an external address"


def host_of(address: str) -> str:
    """Return the host of an address, which may be a URL."""
    bare = address.partition("://")[2] or address
    return bare.rpartition(":")[0] if ":" in bare else bare


def is_inner(address: str) -> bool:
    """Tell whether all of an address means something only in its own cluster."""
    return all(host_of(each).endswith(INNER_ENDINGS) for each in address.split(","))


def unread_problem(source: Obj) -> str:
    """Say before anybody has asked what keeps the control plane from a lockserver, "" where nothing is known to."""
    quorum = read_quorum(source.get("spec") or {})
    address = lockserver_of(source, quorum)
    if address is None:
        return (
            "the global lockserver is one cluster's own, which only that cluster reaches, so that where primaries are "
            f"is Unknown; give {GLOBAL_FIELD} {_REMEDY}"
        )
    if not is_inner(address.address):
        return ""
    return (
        f"the control plane does not reach the lockserver {_named(address)}, a name that means something only inside "
        f"its own cluster, so that where primaries are is Unknown; give {field_of(source)} {_REMEDY}"
    )


def unread_sentence(source: Obj, address: LockserverParams, why: str) -> str:
    """Say that a lockserver was asked in vain, and what may be done."""
    return unread_problem(source) or (
        f"the control plane does not reach the lockserver {_named(address)} ({why}), so that where primaries are is "
        f"Unknown; give {field_of(source)} an address that is reached from here as well: {_REMEDY}"
    )


def silent_notes(source: Obj, silent: Mapping[str, str]) -> list[str]:
    """Say of which cells the lockserver was asked in vain."""
    cells = {str(cell.get("name", "")): place for place, cell in enumerate(dig(source, "spec", "cells", default=()))}
    return [
        f"the control plane does not reach the lockserver of cell {cell} ({why}), and prunes nothing meanwhile"
        + (f"; give spec.cells[{cells[cell]}].lockserver.cellInfoAddress {_REMEDY}" if cell in cells else "")
        for cell, why in sorted(silent.items())
    ]


def field_of(source: Obj) -> str:
    """Return the field that says where the global lockserver is."""
    return GLOBAL_FIELD if read_quorum(source.get("spec") or {}) is None else QUORUM_FIELD


def _named(address: LockserverParams) -> str:
    return f"{address.address}{address.root}"
