"""The Ingress itself in each cluster behind a load balancer: made, kept and removed there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeAlias

import orjson

from hanse.api.plain_kinds import INGRESSES
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of, name_of, namespace_of
from hanse.kube.transport import Unreachable
from hanse.services.ingress.balancer import Refused, Tell

Reader: TypeAlias = Callable[[Obj], list[str]]

INSTANCE_GROUPS_ANNOTATION = "ingress.gcp.kubernetes.io/instance-groups"
_LOOK_SECONDS = 1.0
# A cluster's ingress controller takes a minute or two at most; waiting for one that is not there must end.
PATIENCE_SECONDS = 600.0


def is_equivalent(wanted: Obj, found: Obj) -> bool:
    """Tell whether a cluster has the Ingress that is wanted; what its own controllers noted on it does not count."""
    noted = {name: text for name, text in annotations_of(found).items() if name in annotations_of(wanted)}
    labels = {name: text for name, text in labels_of(found).items() if name in labels_of(wanted)}
    same = noted == annotations_of(wanted) and labels == labels_of(wanted)
    return same and _spec(wanted) == _spec(found)


def _spec(ingress: Obj) -> Obj:
    return {name: value for name, value in (ingress.get("spec") or {}).items() if value}


async def ensure_copies(ingress: Obj, clusters: Mapping[str, Client], *, force: bool, tell: Tell) -> None:
    """Have the Ingress in every cluster; raises Refused with what could not be done, after all were tried.

    Without `force` nothing is written anywhere while a cluster has an Ingress of that name that differs.
    """
    problems: list[str] = []
    present: dict[str, Obj | None] = {}
    for name, client in clusters.items():
        try:
            present[name] = await client.find(INGRESSES, name_of(ingress), namespace_of(ingress))
        except (ApiError, Unreachable) as error:
            problems.append(f"Error in checking for existing ingress in cluster {name}: {error}")
    differing = [name for name, found in present.items() if found is not None and not is_equivalent(ingress, found)]
    if differing and not force:
        tell("Will not overwrite the differing Ingress resource without the --force flag.")
        problems += [f"will not overwrite Ingress resource in cluster '{name}' without --force" for name in differing]
    if problems:
        raise Refused(*problems)
    for name, found in present.items():
        try:
            await _write(clusters[name], ingress, found, name, tell)
        except (ApiError, Unreachable) as error:
            problems.append(f"Error in creating ingress in cluster {name}: {error}")
    if problems:
        raise Refused(*problems)


async def _write(client: Client, ingress: Obj, found: Obj | None, cluster: str, tell: Tell) -> None:
    if found is None:
        await client.create(INGRESSES, ingress)
        tell(f"Created Ingress in cluster: {cluster}")
    elif is_equivalent(ingress, found):
        tell("Ingress already exists and matches; moving on.")
    else:
        metadata = {
            **found["metadata"],
            "annotations": {**annotations_of(found), **annotations_of(ingress)},
            "labels": {**labels_of(found), **labels_of(ingress)},
        }
        await client.update(INGRESSES, {**found, "metadata": metadata, "spec": ingress["spec"]})
        tell(f"Updated ingress for cluster: {cluster}")


async def delete_copies(ingress: Obj, clusters: Mapping[str, Client], *, tell: Tell) -> None:
    """Remove the Ingress from every cluster; raises Refused with what could not be removed, after all were tried."""
    problems = []
    for name, client in clusters.items():
        tell(f"Deleting Ingress from cluster: {name}...")
        try:
            await client.delete(INGRESSES, name_of(ingress), namespace_of(ingress))
        except NotFound:
            tell("Ingress doesn't exist; moving on.")
        except (ApiError, Unreachable) as error:
            problems.append(f"Error in deleting ingress from cluster {name}: {error}")
    if problems:
        raise Refused(*problems)


async def wait_instance_groups(ingress: Obj, client: Client, cluster: str, *, tell: Tell) -> list[str]:
    """Wait until a cluster's ingress controller has told its instance groups; returns a link to each."""
    tell(f"Determining instance groups for cluster {cluster}")
    where = f"( {namespace_of(ingress)} : {name_of(ingress)} )"
    waiting = f"Waiting for ingress {where} to get {INSTANCE_GROUPS_ANNOTATION} annotation....."
    return await _wait(ingress, client, cluster, instance_groups, waiting, tell=tell)


async def wait_addresses(ingress: Obj, client: Client, cluster: str, *, tell: Tell) -> list[str]:
    """Wait until a cluster's ingress controller has given the Ingress an address; returns all of them."""
    where = f"( {namespace_of(ingress)} : {name_of(ingress)} )"
    waiting = f"Waiting for ingress {where} to get an address in {cluster}....."
    return await _wait(ingress, client, cluster, addresses, waiting, tell=tell)


def instance_groups(ingress: Obj) -> list[str]:
    """Return links to the instance groups that a cluster's Ingress tells of; raises Refused where it tells nonsense."""
    text = annotations_of(ingress).get(INSTANCE_GROUPS_ANNOTATION, "")
    try:
        groups = [{name.lower(): value for name, value in group.items()} for group in orjson.loads(text or "[]")]
        return [f"{group['zone']}/instanceGroups/{group['name']}" for group in groups]
    except (orjson.JSONDecodeError, AttributeError, TypeError, KeyError) as error:
        raise Refused(f"error in parsing annotation key {INSTANCE_GROUPS_ANNOTATION}, value {text}") from error


def addresses(ingress: Obj) -> list[str]:
    """Return the addresses and host names of a cluster's Ingress."""
    entries = dig(ingress, "status", "loadBalancer", "ingress", default=[])
    told = (entry.get("ip") or entry.get("hostname") for entry in entries)
    return [str(address) for address in told if address]


async def _wait(ingress: Obj, client: Client, cluster: str, read: Reader, waiting: str, *, tell: Tell) -> list[str]:
    told = False
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                found = read(await client.get(INGRESSES, name_of(ingress), namespace_of(ingress)))
                if found:
                    return found
                if not told:
                    tell(waiting)
                    told = True
                await client.runtime.sleep(_LOOK_SECONDS)
    except TimeoutError as error:
        raise Refused(
            f"the ingress controller of cluster {cluster} has not answered within {PATIENCE_SECONDS:g} s; see whether "
            "one runs there and serves the class of this Ingress"
        ) from error
    except (ApiError, Unreachable) as error:
        raise Refused(f"error {error} in fetching ingress from cluster {cluster}") from error
