"""What a workload's pods need beside them: the ConfigMaps, Secrets, ServiceAccounts and claims that its template names.

Every cluster makes some of these itself, which are nobody's to bring: the ServiceAccount `default`, `kube-root-ca.crt`,
and the claims that a StatefulSet makes from its own templates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hanse.api.plain_kinds import CLAIMS
from hanse.kube.manifest import Key, Obj, dig, namespace_of
from hanse.kube.resources import CONFIGMAPS, SECRETS, SERVICE_ACCOUNTS, Resource
from hanse.propagation.intent import Ref

# The kinds that a pod can name and that have to be in its own cluster.
NAMEABLE = frozenset({CONFIGMAPS, SECRETS, SERVICE_ACCOUNTS, CLAIMS})

_TEMPLATES = (("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"))
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_EVERYWHERE = frozenset({(SERVICE_ACCOUNTS, "default"), (CONFIGMAPS, "kube-root-ca.crt")})
# Where each kind of volume names what it needs; those of vendors name the Secret with their credentials.
_VOLUMES: tuple[tuple[tuple[str, ...], Resource], ...] = (
    (("configMap", "name"), CONFIGMAPS),
    (("secret", "secretName"), SECRETS),
    (("persistentVolumeClaim", "claimName"), CLAIMS),
    (("csi", "nodePublishSecretRef", "name"), SECRETS),
    (("azureFile", "secretName"), SECRETS),
    (("cephfs", "secretRef", "name"), SECRETS),
    (("cinder", "secretRef", "name"), SECRETS),
    (("flexVolume", "secretRef", "name"), SECRETS),
    (("iscsi", "secretRef", "name"), SECRETS),
    (("rbd", "secretRef", "name"), SECRETS),
    (("scaleIO", "secretRef", "name"), SECRETS),
    (("storageos", "secretRef", "name"), SECRETS),
)


@dataclass(frozen=True, slots=True)
class Need:
    """An object that a workload names; without an `optional` one its pods start all the same."""

    ref: Ref
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Needs:
    """What a source object says of others: what it names, and whether that follows it into the clusters."""

    named: tuple[Need, ...] = ()
    follow: bool = False


NO_NEEDS = Needs()


def named_by(workload: Obj) -> tuple[Need, ...]:
    """Return everything that the pods of a workload name, each once and in order; nothing for what runs no pods.

    A Pod counts as its own template. A kind that is not Kubernetes' own is read where its template is at
    `spec.template`.
    """
    pod = _pod_spec(workload)
    if pod is None:
        return ()
    namespace, found = namespace_of(workload), dict[Ref, bool]()
    for resource, name, optional in _names(pod):
        if not isinstance(name, str) or not name or (resource, name) in _EVERYWHERE:
            continue
        ref = Ref(resource, Key(namespace, name))
        # Whoever needs it once needs it, however often it is optional.
        found[ref] = optional and found.get(ref, True)
    return tuple(Need(ref, found[ref]) for ref in sorted(found, key=str))


def _pod_spec(workload: Obj) -> Obj | None:
    paths = (("spec",),) if workload.get("kind") == "Pod" else _TEMPLATES
    for path in paths:
        spec = dig(workload, *path)
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            return spec
    return None


def _names(pod: Obj) -> Iterator[tuple[Resource, Any, bool]]:
    for secret in _entries(pod, "imagePullSecrets"):
        yield SECRETS, secret.get("name"), False
    # The second is what the first was called before, which API servers still fill in.
    yield SERVICE_ACCOUNTS, pod.get("serviceAccountName") or pod.get("serviceAccount"), False
    for volume in _entries(pod, "volumes"):
        yield from _in_volume(volume)
    for kind in _CONTAINERS:
        for container in _entries(pod, kind):
            yield from _in_container(container)


def _in_volume(volume: Obj) -> Iterator[tuple[Resource, Any, bool]]:
    for path, resource in _VOLUMES:
        if path[0] in volume:
            yield resource, dig(volume, *path), dig(volume, path[0], "optional") is True
    projected = volume.get("projected")
    for source in _entries(projected, "sources") if isinstance(projected, dict) else ():
        for field, resource in (("configMap", CONFIGMAPS), ("secret", SECRETS)):
            if isinstance(source.get(field), dict):
                yield resource, source[field].get("name"), source[field].get("optional") is True


def _in_container(container: Obj) -> Iterator[tuple[Resource, Any, bool]]:
    for source in _entries(container, "envFrom"):
        yield from _referred(source, "configMapRef", "secretRef")
    for variable in _entries(container, "env"):
        value = variable.get("valueFrom")
        if isinstance(value, dict):
            yield from _referred(value, "configMapKeyRef", "secretKeyRef")


def _referred(source: Obj, config: str, secret: str) -> Iterator[tuple[Resource, Any, bool]]:
    for field, resource in ((config, CONFIGMAPS), (secret, SECRETS)):
        if isinstance(source.get(field), dict):
            yield resource, source[field].get("name"), source[field].get("optional") is True


def _entries(obj: Obj, field: str) -> Iterable[Obj]:
    found = obj.get(field)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else ()
