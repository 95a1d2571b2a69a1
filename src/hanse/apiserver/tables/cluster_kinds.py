"""Tables of everything around the workloads: nodes, services, configuration, storage, access, events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hanse.apiserver.tables.columns import NONE, UNKNOWN, Printer, age, columns, created, selector_text, text
from hanse.kube.manifest import Obj, dig, name_of

_ROLE_LABEL = "node-role.kubernetes.io/"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _named(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), created(obj, now)]


def _namespace(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), dig(obj, "status", "phase", default=""), created(obj, now)]


def _configmap(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), len(obj.get("data") or {}) + len(obj.get("binaryData") or {}), created(obj, now)]


def _secret(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or {}), created(obj, now)]


def _node(obj: Obj, now: float) -> list[Any]:
    addresses = {one["type"]: one["address"] for one in reversed(dig(obj, "status", "addresses", default=[]))}
    info = dig(obj, "status", "nodeInfo", default={})
    return [
        name_of(obj),
        _node_state(obj),
        _node_roles(obj),
        created(obj, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", NONE),
        addresses.get("ExternalIP", NONE),
        text(info.get("osImage"), UNKNOWN),
        text(info.get("kernelVersion"), UNKNOWN),
        text(info.get("containerRuntimeVersion"), UNKNOWN),
    ]


def _node_state(obj: Obj) -> str:
    ready = [one for one in dig(obj, "status", "conditions", default=[]) if one.get("type") == "Ready"]
    state = ("Ready" if ready[0].get("status") == "True" else "NotReady") if ready else "Unknown"
    return f"{state},SchedulingDisabled" if dig(obj, "spec", "unschedulable") else state


def _node_roles(obj: Obj) -> str:
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE_LABEL) for key in labels if key.startswith(_ROLE_LABEL)}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(role for role in roles if role)) or NONE


def _service(obj: Obj, now: float) -> list[Any]:
    spec = obj["spec"]
    return [
        name_of(obj),
        spec.get("type"),
        text(spec.get("clusterIP")),
        _external_address(obj),
        _service_ports(spec),
        created(obj, now),
        selector_text(spec.get("selector")),
    ]


def _service_ports(spec: Obj) -> str:
    shown = []
    for port in spec.get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port.get('port')}{node}/{port.get('protocol')}")
    return ",".join(shown) or NONE


def _external_address(obj: Obj) -> str:
    spec = obj["spec"]
    fixed = list(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "LoadBalancer":
            given = [
                one.get("ip") or one.get("hostname")
                for one in dig(obj, "status", "loadBalancer", "ingress", default=[])
            ]
            return ",".join(str(one) for one in [*given, *fixed]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName"))
    return ",".join(fixed) or NONE


def _endpoints(obj: Obj, now: float) -> list[Any]:
    shown: list[str] = []
    for subset in obj.get("subsets") or ():
        ports = subset.get("ports") or []
        for address in subset.get("addresses") or ():
            shown += [f"{address['ip']}:{port['port']}" for port in ports] or [address["ip"]]
    more = f" + {len(shown) - 3} more..." if len(shown) > 3 else ""
    return [name_of(obj), (",".join(shown[:3]) + more) or NONE, created(obj, now)]


def _slice(obj: Obj, now: float) -> list[Any]:
    ports = [str(one.get("port") or "*") for one in obj.get("ports") or ()]
    addresses = [address for one in obj.get("endpoints") or () for address in one.get("addresses") or ()]
    return [
        name_of(obj),
        obj.get("addressType", ""),
        _shortened(ports, "<unset>"),
        _shortened(addresses, "<unset>"),
        created(obj, now),
    ]


def _shortened(values: list[str], empty: str) -> str:
    if not values:
        return empty
    more = f" + {len(values) - 3} more..." if len(values) > 3 else ""
    return ",".join(values[:3]) + more


def _event(obj: Obj, now: float) -> list[Any]:
    # Either group's names: the same event is served under both.
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp")
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    seen = obj.get("eventTime")
    series = obj.get("series") or {}
    count = series.get("count") or obj.get("count") or obj.get("deprecatedCount") or 1
    newest = series.get("lastObservedTime") or last or seen or first
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return [
        age(newest, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{str(about.get('kind') or '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        str(obj.get("message") or obj.get("note") or "").strip(),
        age(first or seen, now),
        count,
        name_of(obj),
    ]


def _claim(obj: Obj, now: float) -> list[Any]:
    spec, told = obj["spec"], obj.get("status") or {}
    state = "Terminating" if obj["metadata"].get("deletionTimestamp") else told.get("phase", "")
    bound = bool(spec.get("volumeName"))
    return [
        name_of(obj),
        state,
        spec.get("volumeName", ""),
        dig(told, "capacity", "storage", default="") if bound else "",
        _modes(told.get("accessModes")) if bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or "<unset>",
        created(obj, now),
        spec.get("volumeMode") or "<unset>",
    ]


def _volume(obj: Obj, now: float) -> list[Any]:
    spec, told = obj["spec"], obj.get("status") or {}
    claim = spec.get("claimRef") or {}
    return [
        name_of(obj),
        dig(spec, "capacity", "storage", default=""),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if obj["metadata"].get("deletionTimestamp") else told.get("phase", ""),
        f"{claim['namespace']}/{claim['name']}" if claim.get("name") else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or "<unset>",
        told.get("reason", ""),
        created(obj, now),
        spec.get("volumeMode") or "<unset>",
    ]


def _modes(modes: list[str] | None) -> str:
    return ",".join(_MODES[one] for one in _MODES if one in (modes or ()))


def _storage_class(obj: Obj, now: float) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    return [
        f"{name_of(obj)} (default)" if default else name_of(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "<unset>"),
        bool(obj.get("allowVolumeExpansion")),
        created(obj, now),
    ]


def _lease(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), dig(obj, "spec", "holderIdentity", default=""), created(obj, now)]


def _binding(obj: Obj, now: float) -> list[Any]:
    role = obj.get("roleRef") or {}
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        subjects.setdefault(subject.get("kind", ""), []).append(name)
    shown = [", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [name_of(obj), f"{role.get('kind')}/{role.get('name')}", created(obj, now), *shown]


def _ingress(obj: Obj, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    more = f" + {len(hosts) - 3} more..." if len(hosts) > 3 else ""
    given = dig(obj, "status", "loadBalancer", "ingress", default=[])
    return [
        name_of(obj),
        spec.get("ingressClassName") or NONE,
        (",".join(hosts[:3]) + more) or "*",
        ",".join(str(one.get("ip") or one.get("hostname")) for one in given),
        "80, 443" if spec.get("tls") else "80",
        created(obj, now),
    ]


def _ingress_class(obj: Obj, now: float) -> list[Any]:
    target = dig(obj, "spec", "parameters", default={})
    shown = f"{target.get('kind')}.{target.get('apiGroup')}/{target.get('name')}" if target else NONE
    return [name_of(obj), dig(obj, "spec", "controller", default=""), shown, created(obj, now)]


def _network_policy(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), selector_text(dig(obj, "spec", "podSelector")), created(obj, now)]


def _budget(obj: Obj, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        text(spec.get("minAvailable"), "N/A"),
        text(spec.get("maxUnavailable"), "N/A"),
        dig(obj, "status", "disruptionsAllowed", default=0),
        created(obj, now),
    ]


def _autoscaler(obj: Obj, now: float) -> list[Any]:
    spec = obj["spec"]
    target = spec.get("scaleTargetRef") or {}
    return [
        name_of(obj),
        f"{target.get('kind')}/{target.get('name')}",
        ", ".join(_targets(obj)) or NONE,
        str(spec.get("minReplicas", "<unset>")),
        spec.get("maxReplicas"),
        dig(obj, "status", "currentReplicas", default=0),
        created(obj, now),
    ]


def _targets(obj: Obj) -> list[str]:
    shown = []
    current = dig(obj, "status", "currentMetrics", default=[]) or []
    for place, metric in enumerate(_metrics_of(obj["spec"])):
        wanted = dig(metric, "resource", "target", default={})
        used = dig(current[place], "resource", "current", default={}) if place < len(current) else {}
        name = dig(metric, "resource", "name", default="")
        if wanted.get("averageUtilization") is not None:
            has = f"{used['averageUtilization']}%" if used.get("averageUtilization") is not None else UNKNOWN
            shown.append(f"{name}: {has}/{wanted['averageUtilization']}%")
        else:
            goal = wanted.get("averageValue") or wanted.get("value") or "<auto>"
            shown.append(f"{used.get('averageValue') or UNKNOWN}/{goal}")
    return shown


def _metrics_of(spec: Obj) -> list[Obj]:
    share = spec.get("targetCPUUtilizationPercentage")
    if share is None:
        return list(spec.get("metrics") or ())
    return [{"resource": {"name": "cpu", "target": {"averageUtilization": share}}}]


def _priority_class(obj: Obj, now: float) -> list[Any]:
    flags = [bool(obj.get("globalDefault")), created(obj, now), obj.get("preemptionPolicy", "")]
    return [name_of(obj), obj.get("value", 0), *flags]


def _webhooks(obj: Obj, now: float) -> list[Any]:
    return [name_of(obj), len(obj.get("webhooks") or ()), created(obj, now)]


def _revision(obj: Obj, now: float) -> list[Any]:
    owner = next((one for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")), None)
    shown = f"{owner['kind'].lower()}.{owner['apiVersion'].split('/')[0]}/{owner['name']}" if owner else NONE
    return [name_of(obj), shown, obj.get("revision", 0), created(obj, now)]


def _quota(obj: Obj, now: float) -> list[Any]:
    hard, used = dig(obj, "status", "hard", default={}), dig(obj, "status", "used", default={})
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(hard):
        (limits if name.startswith("limits") else requests).append(f"{name}: {used.get(name, 0)}/{hard[name]}")
    return [name_of(obj), ", ".join(requests), ", ".join(limits), created(obj, now)]


_BINDING = Printer(columns("Name|Role|Age", "Users|Groups|ServiceAccounts"), _binding)
_WEBHOOKS = Printer(columns("Name|Webhooks|Age", webhooks="integer"), _webhooks)
_WIDE_EVENT_COLUMNS = ("Subobject", "Source", "First Seen", "Count")
_EVENT = Printer(
    tuple(
        replace(column, priority=1) if column.name in (*_WIDE_EVENT_COLUMNS, "Name") else column
        for column in columns("Last Seen|Type|Reason|Object|Subobject|Source|Message|First Seen|Count|Name")
    ),
    _event,
)

PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "ConfigMap"): Printer(columns("Name|Data|Age"), _configmap),
    ("", "Endpoints"): Printer(columns("Name|Endpoints|Age"), _endpoints),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Namespace"): Printer(columns("Name|Status|Age"), _namespace),
    ("", "Node"): Printer(
        columns("Name|Status|Roles|Age|Version", "Internal-IP|External-IP|OS-Image|Kernel-Version|Container-Runtime"),
        _node,
    ),
    ("", "PersistentVolumeClaim"): Printer(
        columns("Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age", "VolumeMode"),
        _claim,
    ),
    ("", "PersistentVolume"): Printer(
        columns(
            "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age",
            "VolumeMode",
        ),
        _volume,
    ),
    ("", "ResourceQuota"): Printer(columns("Name|Request|Limit|Age"), _quota),
    ("", "Secret"): Printer(columns("Name|Type|Data|Age"), _secret),
    ("", "Service"): Printer(columns("Name|Type|Cluster-IP|External-IP|Port(s)|Age", "Selector"), _service),
    ("", "ServiceAccount"): Printer(columns("Name|Age"), _named),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("apps", "ControllerRevision"): Printer(columns("Name|Controller|Revision|Age"), _revision),
    ("autoscaling", "HorizontalPodAutoscaler"): Printer(
        columns("Name|Reference|Targets|MinPods|MaxPods|Replicas|Age"), _autoscaler
    ),
    ("coordination.k8s.io", "Lease"): Printer(columns("Name|Holder|Age"), _lease),
    ("discovery.k8s.io", "EndpointSlice"): Printer(columns("Name|AddressType|Ports|Endpoints|Age"), _slice),
    ("networking.k8s.io", "Ingress"): Printer(columns("Name|Class|Hosts|Address|Ports|Age"), _ingress),
    ("networking.k8s.io", "IngressClass"): Printer(columns("Name|Controller|Parameters|Age"), _ingress_class),
    ("networking.k8s.io", "NetworkPolicy"): Printer(columns("Name|Pod-Selector|Age"), _network_policy),
    ("policy", "PodDisruptionBudget"): Printer(
        columns("Name|Min Available|Max Unavailable|Allowed Disruptions|Age", allowed_disruptions="integer"), _budget
    ),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDING,
    ("scheduling.k8s.io", "PriorityClass"): Printer(
        columns("Name|Value|Global-Default|Age|PreemptionPolicy", value="integer", global_default="boolean"),
        _priority_class,
    ),
    ("storage.k8s.io", "StorageClass"): Printer(
        columns("Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age"), _storage_class
    ),
}
