"""How a source's API server comes to call the admission server: its names, certificate, webhooks and policies."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from cryptography import x509

from hanse.kube.client import Client
from hanse.kube.manifest import Key, name_of
from hanse.kube.resources import SECRETS, Resource
from hanse.pods.admission.certificate_secret import (
    CONFIGURATION_NAME,
    MUTATING_WEBHOOKS,
    SECRET,
    certificate_data,
    read_certificate,
)
from hanse.pods.admission.certificates import serves
from hanse.pods.admission.manifests import webhook_configuration
from hanse.pods.admission.policies import pod_policies
from hanse.pods.installing.admission_pod import ADMISSION
from hanse.pods.installing.closing import delete_named
from hanse.pods.installing.opening import Admission
from hanse.pods.installing.rights import labelled

_GROUP = "admissionregistration.k8s.io"
_POLICIES = Resource(_GROUP, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False)
_BINDINGS = Resource(
    _GROUP, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False
)
# What the server is called within its cluster.
SERVICE_NAMES = (
    f"{ADMISSION.name}.{ADMISSION.namespace}.svc",
    f"{ADMISSION.name}.{ADMISSION.namespace}.svc.cluster.local",
)


async def calls_admission(source: Client) -> bool:
    """Tell whether a cluster's API server is told already whom to ask about elected pods."""
    return await source.find(MUTATING_WEBHOOKS, CONFIGURATION_NAME) is not None


async def admission_of(
    source: Client, cluster: str, *, image: str = "", url: str = "", own: Sequence[str] = ()
) -> Admission:
    """Return how the pods of a cluster are admitted from now on: by a server in it, or by the one at a URL.

    A certificate that is there and fits stays: the server that shows it would not hear of another one for a while.
    `own` are the users as whom Hanse signs in there, where it has no account of its own.
    """
    names = (host_of(url),) if url else SERVICE_NAMES
    found = await source.find(SECRETS, SECRET.name, SECRET.namespace)
    shown = read_certificate(found) if found is not None else None
    if found is None or shown is None or not serves(shown.certificate_pem, names):
        data = certificate_data(names, source.runtime)
        shown = read_certificate({"data": data})
    else:
        data = dict(found["data"])
    if shown is None:
        raise ValueError("a certificate that was just made cannot be read")
    where: str | Key = url or ADMISSION
    calling = [webhook_configuration(where, shown.authority_pem), *pod_policies(own)]
    return Admission(tuple(labelled(each, cluster) for each in calling), data, image)


def names_in(certificate_pem: bytes) -> tuple[str, ...]:
    """Return the names and addresses for which a certificate is good."""
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return tuple(str(name.value) for name in listed)


def host_of(url: str) -> str:
    """Return the host in a URL; raises ValueError for what an API server would not call."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise ValueError(f"{url!r} must be https://HOST or https://HOST:PORT, as the cluster's API server reaches it")
    return parts.hostname


async def remove_calls(source: Client) -> None:
    """Have a cluster's API server ask nobody any more, and refuse nothing for our sake; chaperons stay protected."""
    await delete_named(source, MUTATING_WEBHOOKS, CONFIGURATION_NAME)
    for policy in pod_policies():
        kind = _BINDINGS if policy["kind"] == _BINDINGS.kind else _POLICIES
        await delete_named(source, kind, name_of(policy))
