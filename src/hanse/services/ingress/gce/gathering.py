"""What has to be known of clusters and project before a load balancer is made in Google's cloud."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, annotations_of, dig, namespace_of
from hanse.kube.resources import SECRETS
from hanse.kube.transport import Unreachable
from hanse.services.ingress.balancer import Refused, Tell, Wish
from hanse.services.ingress.copies import wait_instance_groups
from hanse.services.ingress.gce.compute import Compute
from hanse.services.ingress.gce.pieces import Certificate, Design, Ground, Served
from hanse.services.ingress.gce.steps import plain_link
from hanse.services.ingress.manifest import (
    PRE_SHARED_CERT_ANNOTATION,
    STATIC_IP_ANNOTATION,
    backends_of,
    default_backend,
)
from hanse.services.ingress.surveying import NO_DEFAULT, NodePort, Survey, health_path, survey


async def design_of(wish: Wish, project: str) -> Design:
    """Look at the clusters for what the load balancer is made for; raises Refused where they do not agree."""
    backends = backends_of(wish.ingress)
    if default_backend(wish.ingress) is None:
        raise Refused(NO_DEFAULT)
    surveys: dict[str, Survey] = {}
    for name, client in wish.clusters.items():
        surveys[name] = await survey_cluster(name, client, wish.ingress)
    served = []
    for backend in backends:
        found = [port for each in surveys.values() if isinstance(port := each.ports[backend], NodePort)]
        path, problem = health_path(surveys, backend)
        if problem or not found:
            raise Refused(problem or f"no cluster has a node port for {backend}")
        served.append(Served(backend, found[0], path))
    return Design(wish.name, project, wish.ingress, tuple(served))


async def address_of(compute: Compute, ingress: Obj) -> str:
    """Return the reserved address that an Ingress names."""
    name = annotations_of(ingress).get(STATIC_IP_ANNOTATION, "")
    found = await compute.find("addresses", name) if name else None
    if found is None:
        raise Refused(f"there is no global address {name} in the project; reserve it before, or name another")
    return str(found["address"])


async def ground_of(
    compute: Compute, design: Design, address: str, groups: Mapping[str, Sequence[str]], tell: Tell
) -> Ground:
    """Read port names of one instance group, and network and tags of one instance of each cluster."""
    links = [link for each in groups.values() for link in each]
    if not links:
        raise Refused("No instance group found. Can not continue")
    tell(f"Fetching instance group: {_zonal(links[0])}")
    group = await compute.find_at(_zonal(links[0])) or {}
    names = {int(each["port"]): str(each["name"]) for each in group.get("namedPorts") or ()}
    missing = sorted({str(each.port.number) for each in design.ports if each.port.number not in names})
    if missing:
        raise Refused(f"No named ports found for {', '.join(missing)} in {_zonal(links[0])}. Can not continue")
    network, tags = "", []
    for cluster in sorted(groups):
        instance = await instance_of(compute, groups[cluster][0])
        network = network or dig(instance, "networkInterfaces", default=[{}])[0].get("network", "")
        tags.append(first_tag(instance))
    return Ground(address, groups, names, network, tuple(tags))


async def instance_of(compute: Compute, group: str) -> Obj:
    """Return one instance of a group; all of a cluster are in one network and have one tag."""
    listed = await compute.ask(f"{_zonal(group)}/listInstances")
    items = listed.get("items") or []
    instance = await compute.find_at(_zonal(items[0]["instance"])) if items else None
    if instance is None:
        raise Refused(f"instance group {_zonal(group)} has no instance, so that its network is not known")
    return instance


async def certificate_of(compute: Compute, wish: Wish) -> Certificate:
    """Return the certificate of an Ingress: by its name in the project, else out of the Secret in a cluster."""
    if name := annotations_of(wish.ingress).get(PRE_SHARED_CERT_ANNOTATION):
        found = await compute.find("sslCertificates", name)
        if found is None:
            raise Refused(f"there is no certificate {name} in the project")
        return Certificate(link=str(found["selfLink"]))
    secret_name = next((each.get("secretName") for each in wish.ingress["spec"]["tls"] if each.get("secretName")), "")
    if not secret_name:
        raise Refused("spec.tls names no Secret with a certificate")
    client = next(iter(wish.clusters.values()))
    try:
        secret = await client.get(SECRETS, secret_name, namespace_of(wish.ingress))
        parts = [base64.b64decode(secret["data"][name]).decode() for name in ("tls.crt", "tls.key")]
    except (ApiError, Unreachable) as error:
        raise Refused(f"could not fetch certs for the Ingress: {error}") from error
    except KeyError as error:
        raise Refused(f"Secret {namespace_of(wish.ingress)}/{secret_name} lacks {error}") from error
    return Certificate(certificate=parts[0], key=parts[1])


async def survey_cluster(name: str, client: Client, ingress: Obj) -> Survey:
    """Look at what a cluster has for an Ingress; raises Refused where it does not answer."""
    try:
        return await survey(client, namespace_of(ingress), backends_of(ingress))
    except (ApiError, Unreachable) as error:
        raise Refused(f"cluster {name} cannot be asked for its Services: {error}") from error


async def groups_of(wish: Wish, tell: Tell) -> dict[str, list[str]]:
    """Wait until every cluster has told its instance groups, and return links to them."""
    return {
        name: await wait_instance_groups(wish.ingress, client, name, tell=tell)
        for name, client in sorted(wish.clusters.items())
    }


def _zonal(link: str) -> str:
    """Return a link as a path within the project."""
    return plain_link(link).partition("/")[2].partition("/")[2]


def first_tag(instance: Obj) -> str:
    """Return the network tag by which a firewall rule finds an instance."""
    tags = dig(instance, "tags", "items", default=[])
    if not tags:
        raise Refused(f"no network tag found on instance {instance.get('name')}; the firewall rule needs one")
    return str(tags[0])
