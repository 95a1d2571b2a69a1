"""Upgrades that reach one member after the other: images and flags are withheld, everything else is not.

What each member was given is remembered in the plan. The lockserver's members always change one at a time, since two at
once would end its quorum; images and flags do so where `spec.federation.upgrade` asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.reading import keyspaces_of

MEMBER_BY_MEMBER = "MemberByMember"
_FIELDS = ("images", "imagePullPolicies", "extraVitessFlags")


@dataclass(frozen=True, slots=True)
class Standing:
    """How a member stands: whether it answers, has taken in all that it was given, and all of it is well.

    `primaries` is how many shards have theirs there. `etcd` says whether its lockserver member serves, None where
    nothing is known of that.
    """

    reachable: bool = True
    settled: bool = True
    primaries: int = 0
    etcd: bool | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """What every member is given now, and the sentence that says what is waited for; "" where all have it."""

    versions: Mapping[str, Obj]
    sentence: str = ""


def version_of(spec: Obj) -> Obj:
    """Return what an upgrade changes: images and flags, those of keyspaces included, and the lockserver's member."""
    version = {field: spec[field] for field in _FIELDS if spec.get(field)}
    images = {str(each.get("name")): each["images"] for each in keyspaces_of(spec) if each.get("images")}
    if images:
        version["keyspaceImages"] = images
    if etcd := dig(spec, "globalLockserver", "etcd"):
        version["etcd"] = etcd
    return version


def with_version(spec: Obj, version: Obj | None) -> Obj:
    """Return a specification with another version than its own; without one, as it is."""
    if version is None or version == version_of(spec):
        return spec
    made = {field: value for field, value in spec.items() if field not in _FIELDS}
    made |= {field: version[field] for field in _FIELDS if field in version}
    images = version.get("keyspaceImages") or {}
    if keyspaces := keyspaces_of(spec):
        made["keyspaces"] = [_with_images(each, images.get(str(each.get("name")))) for each in keyspaces]
    if dig(spec, "globalLockserver", "etcd") is not None and "etcd" in version:
        made["globalLockserver"] = {**spec["globalLockserver"], "etcd": version["etcd"]}
    return made


def _with_images(keyspace: Obj, images: Obj | None) -> Obj:
    made = {field: value for field, value in keyspace.items() if field != "images"}
    return made | ({"images": images} if images else {})


def stage(
    spec: Obj,
    members: Sequence[str],
    given: Mapping[str, Obj],
    standings: Mapping[str, Standing],
    *,
    etcd_members: Sequence[str] = (),
) -> Stage:
    """Say which version each member is given now.

    One at a time, and only while those that have the new one are well. A member that cannot be reached waits for
    itself and keeps nobody else waiting, but for the lockserver's members: one of those that is down is one too many.
    """
    wanted, upgrade = version_of(spec), dig(spec, "federation", "upgrade", default={})
    by_member = upgrade.get("type") == MEMBER_BY_MEMBER
    versions, sentence, begun = dict[str, Obj](), "", ""
    for member in _in_order(members, upgrade, standings):
        had = given.get(member)
        if had is None or had == wanted:
            versions[member] = wanted
            continue
        restarts = member in etcd_members and had.get("etcd") != wanted.get("etcd")
        obstacle = ""
        if by_member or restarts:
            obstacle = f"{begun} gets the new one first" if begun else _obstacle(member, versions, wanted, standings)
        if restarts and not obstacle:
            obstacle = _etcd_obstacle(member, etcd_members, standings)
        if not obstacle:
            versions[member], begun = wanted, member
            continue
        # What may not restart the lockserver's member need not wait for the images, and the other way round.
        partial = had if by_member else {**wanted, **({"etcd": had["etcd"]} if "etcd" in had else {})}
        versions[member] = partial
        sentence = sentence or f"{member} keeps its version for now: {obstacle}"
    return Stage(versions, sentence)


def _in_order(members: Sequence[str], upgrade: Obj, standings: Mapping[str, Standing]) -> list[str]:
    order = [name for name in upgrade.get("order") or () if name in members]
    last = upgrade.get("primariesLast") is True
    rest = sorted(
        (name for name in members if name not in order),
        key=lambda name: (standings.get(name, Standing()).primaries if last else 0, name),
    )
    return [*order, *rest]


def _obstacle(member: str, versions: Mapping[str, Obj], wanted: Obj, standings: Mapping[str, Standing]) -> str:
    if not standings.get(member, Standing()).reachable:
        return "it cannot be reached"
    for other, version in versions.items():
        standing = standings.get(other, Standing())
        if version == wanted and standing.reachable and not standing.settled:
            return f"{other} has the new one and is not ready yet"
    return ""


def _etcd_obstacle(member: str, etcd_members: Sequence[str], standings: Mapping[str, Standing]) -> str:
    for other in etcd_members:
        if other != member and not standings.get(other, Standing()).etcd:
            return f"the etcd member of {other} does not serve"
    return ""
