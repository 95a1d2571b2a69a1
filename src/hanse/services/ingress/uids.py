"""One uid for the ingress controllers of many clusters: whose it is, and what each cluster is told of it. Pure.

Google's ingress controller names all that it makes by the uid in the ConfigMap `kube-system/ingress-uid` of its
cluster. Clusters with one uid share a load balancer. Each keeps a second one, `provider-uid`, for what is its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import md5

from hanse.api.clusters import Cluster
from hanse.kube.manifest import Key, Obj

UID_CONFIG = Key("kube-system", "ingress-uid")
_UID, _PROVIDER_UID = "uid", "provider-uid"


@dataclass(frozen=True, slots=True)
class Share:
    """The cluster's controller has the uid of the others; `data` is what its ConfigMap lacks of it."""

    uid: str
    data: tuple[tuple[str, str], ...] = ()
    # Whether what the controller made under its former uid would be left behind.
    renames: bool = False


@dataclass(frozen=True, slots=True)
class KeepOwn:
    """The cluster's controller keeps to itself, beside others that share a uid."""


KEEP_OWN = KeepOwn()


def provider_uid(cluster: str) -> str:
    """Return the uid for what a cluster's provider makes for it alone; no two clusters have the same."""
    return md5(cluster.encode(), usedforsecurity=False).digest()[:8].hex()


def decide_uid(cluster: Cluster, clusters: Iterable[Cluster], config: Obj | None) -> Share | KeepOwn | None:
    """Say what a cluster's controller is told; None where there is nobody to share with, or nothing to share yet.

    Who has told its uid first is the one that the others follow; `config` is the cluster's ConfigMap, which is changed
    but never made: a cluster without one has another kind of ingress controller.
    """
    leading = sorted((each for each in clusters if each.ingress_uid and not each.refusal), key=lambda each: each.name)
    if config is None or cluster.pull:
        return KEEP_OWN if leading else None
    data = config.get("data") or {}
    own = data.get(_UID) or ""
    uid = cluster.ingress_uid or (leading[0].ingress_uid if leading else own)
    if not uid:
        return None
    # A provider-uid that is there names what the provider has made already; changing it would cut that off.
    wanted = {_UID: uid, _PROVIDER_UID: data.get(_PROVIDER_UID) or provider_uid(cluster.name)}
    changed = tuple(sorted((name, text) for name, text in wanted.items() if data.get(name) != text))
    return Share(uid, changed, renames=bool(own) and own != uid)
