"""The global lockserver as one etcd over three clusters: who has which member, and when one of them may restart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.refusal import Refusal

# Two of them serve, so that any one cluster may be lost.
MEMBERS = 3
_FIELD = "spec.federation.lockserver"


@dataclass(frozen=True, slots=True)
class EtcdMember:
    """One member: the cluster that runs it, and the URL by which the others find it."""

    cluster: str
    peer_url: str


@dataclass(frozen=True, slots=True)
class Quorum:
    """Who the members are, in the order of their indices, and the address at which clients in any cluster find them."""

    members: tuple[EtcdMember, ...]
    client_address: str

    def index_of(self, cluster: str) -> int | None:
        """Return the index of a cluster's member, from 1; None where it has none."""
        places = (place for place, member in enumerate(self.members, start=1) if member.cluster == cluster)
        return next(places, None)


def read_quorum(spec: Obj) -> Quorum | None:
    """Read what a specification says of a lockserver over several clusters; None where it says nothing."""
    return quorum_from(dig(spec, "federation", "lockserver"))


def quorum_from(found: Obj | None) -> Quorum | None:
    """Read a quorum as it is written."""
    if not found:
        return None
    members = tuple(
        EtcdMember(str(each.get("cluster", "")), str(each.get("peerURL", ""))) for each in found.get("members") or ()
    )
    return Quorum(members, str(found.get("clientAddress", "")))


def quorum_to(quorum: Quorum) -> Obj:
    """Write a quorum as it is read."""
    members = [{"cluster": each.cluster, "peerURL": each.peer_url} for each in quorum.members]
    return {"clientAddress": quorum.client_address, "members": members}


def quorum_refusals(
    quorum: Quorum | None, before: Quorum | None, registered: Collection[str], *, replacing: Collection[str] = ()
) -> list[Refusal]:
    """Say what keeps a lockserver from being as it is written.

    `before` is the one that runs. Members of the clusters that somebody is `replacing` may be elsewhere: their lost
    data is out of the cluster by then.
    """
    if quorum is None:
        if before is None:
            return []
        return [Refusal(_FIELD, "a lockserver that runs is not taken away; delete the VitessCluster to be rid of it")]
    found = []
    clusters = [member.cluster for member in quorum.members]
    if len(clusters) != MEMBERS:
        sentence = f"give {MEMBERS} members in {MEMBERS} clusters, and not {len(clusters)}: two of three serve"
        found.append(Refusal(f"{_FIELD}.members", sentence))
    for cluster in sorted({each for each in clusters if clusters.count(each) > 1}):
        sentence = f"cluster {cluster} has two members, and its loss would end the quorum; name {MEMBERS} clusters"
        found.append(Refusal(f"{_FIELD}.members", sentence))
    for place, member in enumerate(quorum.members):
        if not member.peer_url:
            sentence = "give the URL by which members in other clusters reach this one"
            found.append(Refusal(f"{_FIELD}.members[{place}].peerURL", sentence))
        if member.cluster not in registered:
            sentence = f"no cluster {member.cluster!r} is registered; join it, or name another"
            found.append(Refusal(f"{_FIELD}.members[{place}].cluster", sentence))
    if not quorum.client_address:
        sentence = "give the host and port at which pods of every cluster reach the lockserver"
        found.append(Refusal(f"{_FIELD}.clientAddress", sentence))
    return found + (_moves(quorum, before, replacing) if before is not None else [])


def _moves(quorum: Quorum, before: Quorum, replacing: Collection[str]) -> list[Refusal]:
    """Say which members of a running lockserver would be others: re-bootstrapping one splits or loses the data."""
    found = []
    for place, (new, old) in enumerate(zip(quorum.members, before.members, strict=False)):
        if new != old and old.cluster not in replacing:
            sentence = (
                f"member {place + 1} of a lockserver that runs is in cluster {old.cluster} at {old.peer_url}; "
                f"replace it by removing and adding the etcd member, with the annotation hanse.dev/vitess-replace-etcd"
                f"={old.cluster}"
            )
            found.append(Refusal(f"{_FIELD}.members[{place}]", sentence))
    return found


def lockserver_for(spec: Obj, name: str, quorum: Quorum | None, member: str) -> Obj:
    """Return the `globalLockserver` of a member: its own etcd member, or the address of the others'."""
    written: Obj = spec.get("globalLockserver") or {}
    if quorum is None:
        return dict(written)
    index = quorum.index_of(member)
    if index is None:
        external = {
            "implementation": "etcd2",
            "address": quorum.client_address,
            "rootPath": f"/vitess/{name}/global",
        }
        return {"external": external}
    etcd = {
        **(written.get("etcd") or {}),
        "localMemberIndex": index,
        "advertisePeerURLs": [each.peer_url for each in quorum.members],
        # The budget asks for two of the one pod that is here, and would block every node drain.
        "createPDB": False,
    }
    return {"etcd": etcd, "cellInfoAddress": quorum.client_address}


def is_serving(quorum: Quorum, ready: Mapping[str, bool]) -> bool:
    """Tell whether a lockserver takes writes, by which clusters' members are ready."""
    up = sum(ready.get(member.cluster, False) for member in quorum.members)
    return up > len(quorum.members) // 2


def restart_obstacle(quorum: Quorum, cluster: str, ready: Mapping[str, bool | None]) -> str:
    """Say why a cluster's etcd member may not restart now; "" where it may.

    Of a cluster of which nothing is known (None) the member counts as down.
    """
    for other in quorum.members:
        if other.cluster == cluster or ready.get(other.cluster):
            continue
        state = "is down" if ready.get(other.cluster) is False else "has not been heard of"
        return f"the etcd member of {other.cluster} {state}, and a second one would end the quorum"
    return ""
