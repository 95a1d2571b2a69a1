"""What simulated containers have printed: when and where they started, and how the one before them ended."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.kube.errors import ApiError, error_from_status
from hanse.kube.manifest import Obj, dig, name_of


def pod_log(pod: Obj, asked: Mapping[str, str], *, cluster: str) -> bytes:
    """Return a container's log as the parameters of `kubectl logs` ask for it; raises BadRequest as a kubelet would."""
    entry = _container(pod, asked.get("container", ""))
    lines = _previous(pod, entry) if asked.get("previous") == "true" else _present(pod, entry, cluster)
    if asked.get("tailLines", "").isdigit():
        count = int(asked["tailLines"])
        lines = lines[-count:] if count else []
    timestamps = asked.get("timestamps") == "true"
    text = "".join(f"{stamp} {line}\n" if timestamps else f"{line}\n" for stamp, line in lines).encode()
    limit = asked.get("limitBytes", "")
    return text[: int(limit)] if limit.isdigit() else text


def _container(pod: Obj, name: str) -> Obj:
    names = [container["name"] for container in pod["spec"]["containers"]]
    if not name and len(names) > 1:
        shown = " ".join(names)
        raise _bad(f"a container name must be specified for pod {name_of(pod)}, choose one of: [{shown}]")
    wanted = name or names[0]
    if wanted not in names:
        raise _bad(f"container {wanted} is not valid for pod {name_of(pod)}")
    entries: list[Obj] = dig(pod, "status", "containerStatuses", default=[])
    return next((entry for entry in entries if entry.get("name") == wanted), {"name": wanted})


def _present(pod: Obj, entry: Obj, cluster: str) -> list[tuple[str, str]]:
    state: Obj = entry.get("state") or {}
    running = state.get("running") or state.get("terminated") or dig(entry, "lastState", "terminated")
    if running is None:
        reason = dig(state, "waiting", "reason", default="ContainerCreating")
        raise _bad(f'container "{entry["name"]}" in pod "{name_of(pod)}" is waiting to start: {reason}')
    since = running.get("startedAt", "")
    where = f"node {pod['spec'].get('nodeName', '')} of cluster {cluster}"
    lines = [(since, f"started {entry.get('image', '')} on {where}"), (since, f"listening on {_address(pod)}")]
    if "running" not in state:
        lines.append((running.get("finishedAt", since), f"exited with code {running.get('exitCode', 0)}"))
    return lines


def _previous(pod: Obj, entry: Obj) -> list[tuple[str, str]]:
    ended: Obj | None = dig(entry, "lastState", "terminated")
    if ended is None:
        raise _bad(f'previous terminated container "{entry["name"]}" in pod "{name_of(pod)}" not found')
    return [(ended.get("finishedAt", ""), f"exited with code {ended.get('exitCode', 0)}")]


def _address(pod: Obj) -> str:
    return str(dig(pod, "status", "podIP", default="no address"))


def _bad(message: str) -> ApiError:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return error_from_status(400, {**status, "message": message, "reason": "BadRequest", "code": 400})
