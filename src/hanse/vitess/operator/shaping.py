"""What the pods of all components have in common: who may run them, how they are asked, what people add to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hanse.api.planetscale.reading import read_images, read_lockserver_params, texts
from hanse.api.planetscale.values import Extras, Images, LockserverParams, SecretSource, ServiceOverrides
from hanse.kube.manifest import Obj
from hanse.kube.patches.differences import digest

WEB_PORT = 15000
ADMIN_API_PORT = 15001
GRPC_PORT = 15999
MYSQL_PORT = 3306
EXPORTER_PORT = 9104
ZONE_LABEL = "failure-domain.beta.kubernetes.io/zone"
HOSTNAME_LABEL = "kubernetes.io/hostname"
PRIORITY_CLASS = "vitess"
SECRETS_FOLDER = "/vt/secrets"
_USER = 999

WEB = {"name": "web", "containerPort": WEB_PORT, "protocol": "TCP"}
GRPC = {"name": "grpc", "containerPort": GRPC_PORT, "protocol": "TCP"}
MYSQL = {"name": "mysql", "containerPort": MYSQL_PORT, "protocol": "TCP"}


@dataclass(frozen=True, slots=True)
class Settings:
    """How the operator itself was set up, the same for all objects."""

    priority_class: str = PRIORITY_CLASS
    # None leaves it to the namespace, as OpenShift wants it.
    run_as_user: int | None = _USER
    fs_group: int | None = _USER
    # An image with Hanse, which reads the manifests of backups on volumes; "" is none, and vtctld lists them.
    backup_image: str = ""

    @property
    def security_context(self) -> Obj:
        """As whom pods run."""
        said = {"fsGroup": self.fs_group, "runAsUser": self.run_as_user}
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an object below a VitessCluster knows of it: its name, images, flags and where topology is."""

    cluster: str
    namespace: str
    images: Images
    lockserver: LockserverParams
    settings: Settings = field(default_factory=Settings)
    pull_policies: Mapping[str, str] = field(default_factory=dict)
    pull_secrets: tuple[Obj, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    zones: Mapping[str, str] = field(default_factory=dict)

    def pull_policy(self, component: str) -> Obj:
        """Return what is said of pulling a component's image."""
        policy = self.pull_policies.get(component)
        return {"imagePullPolicy": policy} if policy else {}


def surroundings_of(cluster: str, namespace: str, spec: Obj, settings: Settings) -> Surroundings:
    """Read what a VitessCell, VitessKeyspace or VitessShard was told of its cluster."""
    return Surroundings(
        cluster=cluster,
        namespace=namespace,
        images=read_images(spec),
        lockserver=read_lockserver_params(spec.get("globalLockserver") or {}),
        settings=settings,
        pull_policies=texts(spec.get("imagePullPolicies")),
        pull_secrets=tuple(spec.get("imagePullSecrets") or ()),
        flags=texts(spec.get("extraVitessFlags")),
        zones=texts(spec.get("zoneMap")),
    )


def http_probe(path: str, port: str | int = "web", **timing: int) -> Obj:
    """Return a probe that asks a page."""
    return {"httpGet": {"path": path, "port": port}, **timing}


LIVENESS = http_probe("/debug/status", initialDelaySeconds=300, failureThreshold=30)
READINESS = http_probe("/debug/health")


def object_of(api_version: str, kind: str, name: str, labels: Mapping[str, str], **fields: object) -> Obj:
    """Return a manifest."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": dict(labels)}, **fields}


def with_annotations(obj: Obj, annotations: Mapping[str, str]) -> Obj:
    """Return a manifest with annotations beside those that it has."""
    if not annotations:
        return obj
    merged = {**(obj["metadata"].get("annotations") or {}), **annotations}
    return {**obj, "metadata": {**obj["metadata"], "annotations": merged}}


def service(
    name: str,
    labels: Mapping[str, str],
    ports: Mapping[str, int],
    overrides: ServiceOverrides,
    *,
    headless: bool = False,
    not_ready_too: bool = False,
) -> Obj:
    """Return a Service over the pods that have all these labels, whose ports go by name."""
    spec: Obj = {
        "selector": dict(labels),
        "ports": [
            {"name": port, "port": number, "protocol": "TCP", "targetPort": port} for port, number in ports.items()
        ],
    }
    if headless:
        spec["clusterIP"] = "None"
    elif overrides.cluster_ip:
        spec["clusterIP"] = overrides.cluster_ip
    if not_ready_too:
        spec["publishNotReadyAddresses"] = True
    return with_annotations(object_of("v1", "Service", name, labels, spec=spec), overrides.annotations)


def pod_labels(labels: Mapping[str, str], extras: Extras) -> dict[str, str]:
    """Return the labels of a pod: what people add never takes the place of what it is found by."""
    return {**extras.labels, **labels}


def added(container: Obj, extras: Extras) -> Obj:
    """Return a container with what people add to it."""
    shaped = dict(container)
    for name, more in (("env", extras.env), ("volumeMounts", extras.volume_mounts)):
        if more:
            shaped[name] = by_name([*container.get(name, ()), *more], "name" if name == "env" else "mountPath")
    if extras.lifecycle:
        shaped["lifecycle"] = extras.lifecycle
    return shaped


def by_name(items: Iterable[Obj], key: str = "name") -> list[Obj]:
    """Return a list in which of several of one name the last one counts, in the place of the first."""
    found: dict[str, Obj] = {}
    for item in items:
        found[item[key]] = item
    return list(found.values())


def pod_spec(
    around: Surroundings,
    containers: Sequence[Obj],
    volumes: Sequence[Obj],
    extras: Extras,
    *,
    init: Sequence[Obj] = (),
    affinity: Obj | None = None,
) -> Obj:
    """Return the spec of a pod with what people add to it."""
    spec: Obj = {
        "containers": [*containers, *extras.sidecars],
    }
    everything: dict[str, object] = {
        "initContainers": [*init, *extras.init_containers],
        "volumes": by_name([*volumes, *extras.volumes]),
        "affinity": extras.affinity or affinity,
        "tolerations": list(extras.tolerations),
        "topologySpreadConstraints": list(extras.spread),
        "imagePullSecrets": list(around.pull_secrets),
        "priorityClassName": around.settings.priority_class,
        "securityContext": around.settings.security_context,
    }
    spec |= {name: value for name, value in everything.items() if value}
    if extras.grace_seconds is not None:
        spec["terminationGracePeriodSeconds"] = extras.grace_seconds
    return spec


def deployment(
    name: str, labels: Mapping[str, str], replicas: int | None, extras: Extras, spec: Obj, strategy: Obj | None = None
) -> Obj:
    """Return a Deployment; `replicas` is None where an autoscaler says how many."""
    metadata: Obj = {"labels": pod_labels(labels, extras)}
    if extras.annotations:
        metadata["annotations"] = dict(extras.annotations)
    body: Obj = {
        "selector": {"matchLabels": dict(labels)},
        "strategy": strategy or {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}},
        "template": {"metadata": metadata, "spec": spec},
    }
    if replicas is not None:
        body["replicas"] = replicas
    return object_of("apps/v1", "Deployment", name, labels, spec=body)


def zone_affinity(zone: str) -> Obj | None:
    """Return the affinity that keeps pods in a zone, None where none is named."""
    if not zone:
        return None
    term = {"matchExpressions": [{"key": ZONE_LABEL, "operator": "In", "values": [zone]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def apart(weight: int, labels: Mapping[str, str], key: str = HOSTNAME_LABEL) -> Obj:
    """Return the wish not to stand where pods with these labels are."""
    term = {"labelSelector": {"matchLabels": dict(labels)}, "topologyKey": key}
    return {"weight": weight, "podAffinityTerm": term}


def spread_affinity(zone: str, *wishes: Obj) -> Obj:
    """Return an affinity of wishes to stand apart, within a zone where one is named."""
    return {
        **(zone_affinity(zone) or {}),
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": list(wishes)},
    }


@dataclass(frozen=True, slots=True)
class SecretMount:
    """A Secret made available to a container: the volume, where it is mounted, and the path of its key."""

    volumes: tuple[Obj, ...]
    mount: Obj
    path: str


def secret_mount(name: str, source: SecretSource) -> SecretMount:
    """Mount a Secret, or the volume that holds it already."""
    folder = f"{SECRETS_FOLDER}/{name}"
    volume = source.volume or f"{name}-secret"
    volumes = () if source.volume else ({"name": volume, "secret": {"secretName": source.name}},)
    return SecretMount(volumes, {"name": volume, "mountPath": folder, "readOnly": True}, f"{folder}/{source.key}")


def secret_names(sources: Iterable[SecretSource], volumes: Iterable[Obj]) -> list[str]:
    """Return the Secrets whose content restarts a pod when it changes: those given, and those of added volumes."""
    named = [source.name for source in sources if source and source.name]
    named += [volume["secret"]["secretName"] for volume in volumes if (volume.get("secret") or {}).get("secretName")]
    return sorted(set(named))


def secrets_digest(names: Sequence[str], secrets: Mapping[str, Obj]) -> str:
    """Return a digest of what Secrets hold; "" where none counts."""
    if not names:
        return ""
    return digest({name: (secrets.get(name) or {}).get("data") or {} for name in names})
