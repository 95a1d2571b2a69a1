"""What a cluster's own admission adds to new pods: account, token volume, priority, tolerations, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hanse.apiserver import objects, status
from hanse.apiserver.builtin.limit_ranges import keep_limits
from hanse.apiserver.builtin.runtime_classes import follow_class
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import PODS

if TYPE_CHECKING:
    from hanse.apiserver.core import Core

_EVICTION_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300
_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_PREFIX = "kube-api-access-"
# An hour and what kubelets take for turning it over, as upstream asks for.
_TOKEN_SECONDS = 3607


def admit(core: Core, obj: Obj) -> None:
    """Add service account, its token, priority, the tolerations that every pod has, and what LimitRanges say."""
    follow_class(core, obj)
    keep_limits(core, obj)
    _set_priority(core, obj)
    _set_account(core, obj)
    tolerate_failing_nodes(obj)


def tolerate_failing_nodes(obj: Obj) -> None:
    """Have a pod stay for some minutes on a node that fails, new or changed, unless it says otherwise itself."""
    tolerations = obj["spec"].setdefault("tolerations", [])
    for taint in _EVICTION_TAINTS:
        if not any(_tolerates(one, taint) for one in tolerations):
            tolerations.append(
                {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATION_SECONDS}
            )


def _set_account(core: Core, obj: Obj) -> None:
    spec, namespace = obj["spec"], obj["metadata"]["namespace"]
    name = spec.get("serviceAccountName") or "default"
    record = core.storage.get("core/serviceaccounts", f"{namespace}/{name}")
    # The account `default` is made right after its namespace; only others can be missing.
    if record is None and name != "default":
        told = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise status.forbidden(PODS, obj["metadata"].get("name") or "", told)
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = objects.decode(record.value, "v1", "ServiceAccount") if record else {}
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]
    if _mounts_token(spec, account):
        _mount_token(core, spec)


def _mounts_token(spec: Obj, account: Obj) -> bool:
    wanted: Any = spec.get("automountServiceAccountToken")
    return account.get("automountServiceAccountToken", True) is not False if wanted is None else bool(wanted)


def _mount_token(core: Core, spec: Obj) -> None:
    """Mount the account's token into every container that has nothing else at its path."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    lacking = [
        one
        for one in containers
        if all(mount.get("mountPath") != _TOKEN_PATH for mount in one.get("volumeMounts") or ())
    ]
    if not lacking:
        return
    name = _token_volume(core, spec)
    for container in lacking:
        mounts = container.setdefault("volumeMounts", [])
        mounts.append({"name": name, "readOnly": True, "mountPath": _TOKEN_PATH})


def _token_volume(core: Core, spec: Obj) -> str:
    volumes = spec.setdefault("volumes", [])
    for volume in volumes:
        if str(volume.get("name") or "").startswith(_TOKEN_PREFIX):
            return str(volume["name"])
    name = f"{_TOKEN_PREFIX}{core.runtime.name_suffix()}"
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources: list[Obj] = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    volumes.append({"name": name, "projected": {"sources": sources, "defaultMode": 420}})
    return name


def _tolerates(toleration: Obj, taint: str) -> bool:
    return toleration.get("key") in (taint, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def _set_priority(core: Core, obj: Obj) -> None:
    spec = obj["spec"]
    value, policy = _priority(core, obj)
    spec["priority"] = value
    given = spec.setdefault("preemptionPolicy", policy)
    if given != policy:
        told = (
            f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
        raise status.forbidden(PODS, obj["metadata"].get("name") or "", told)


def _priority(core: Core, obj: Obj) -> tuple[int, str]:
    named = obj["spec"].get("priorityClassName")
    if not named:
        return 0, "PreemptLowerPriority"
    record = core.storage.get("scheduling.k8s.io/priorityclasses", named)
    if record is None:
        told = f"no PriorityClass with name {named} was found"
        raise status.forbidden(PODS, obj["metadata"].get("name") or "", told)
    chosen = objects.decode(record.value, "scheduling.k8s.io/v1", "PriorityClass")
    return int(chosen.get("value") or 0), str(dig(chosen, "preemptionPolicy", default="PreemptLowerPriority"))
