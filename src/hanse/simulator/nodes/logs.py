"""What simulated containers print: where they started, a line now and then, and how they ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

from hanse.kube.errors import ApiError, error_from_status
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.runtime import Runtime, parse_timestamp, timestamp
from hanse.simulator.nodes.containers import known

# A stamp and what was printed then.
Line = tuple[str, str]

_LINE_SECONDS = 30
_MOST_LINES = 1000
_FOLLOW_SECONDS = 1.0
_FIELDS = ("initContainers", "containers")


def pod_log(pod: Obj, asked: Mapping[str, str], *, cluster: str, now: float) -> bytes:
    """Return a container's log as the parameters of `kubectl logs` ask for it; raises BadRequest as a kubelet would."""
    entry = _container(pod, asked.get("container", ""))
    lines = _previous(pod, entry) if asked.get("previous") == "true" else _present(pod, entry, cluster, now)
    lines = _since(lines, asked, now)
    if asked.get("tailLines", "").isdigit():
        count = int(asked["tailLines"])
        lines = lines[-count:] if count else []
    text = _text(lines, asked)
    limit = asked.get("limitBytes", "")
    return text[: int(limit)] if limit.isdigit() else text


async def follow_log(
    read: Callable[[], Obj | None], asked: Mapping[str, str], *, cluster: str, runtime: Runtime
) -> AsyncIterator[bytes]:
    """Yield a container's log and what it prints from now on, until it ends or its pod is gone.

    `read` tells the pod as it is at the moment; what has happened since the last look is told at the next.
    """
    pod = read()
    if pod is None:
        return
    yield pod_log(pod, asked, cluster=cluster, now=runtime.now())
    entry = _container(pod, asked.get("container", ""))
    told = len(_present(pod, entry, cluster, runtime.now()))
    while "running" in (entry.get("state") or {}):
        await runtime.sleep(_FOLLOW_SECONDS)
        pod = read()
        if pod is None:
            return
        entry, before = _container(pod, entry["name"]), entry
        if entry.get("restartCount") != before.get("restartCount") or "waiting" in (entry.get("state") or {}):
            return
        lines = _present(pod, entry, cluster, runtime.now())
        if len(lines) > told:
            yield _text(lines[told:], asked)
        told = len(lines)


def _text(lines: list[Line], asked: Mapping[str, str]) -> bytes:
    stamped = asked.get("timestamps") == "true"
    return "".join(f"{stamp} {line}\n" if stamped else f"{line}\n" for stamp, line in lines).encode()


def _since(lines: list[Line], asked: Mapping[str, str], now: float) -> list[Line]:
    if asked.get("sinceTime"):
        earliest = parse_timestamp(asked["sinceTime"])
    elif asked.get("sinceSeconds", "").isdigit():
        earliest = now - int(asked["sinceSeconds"])
    else:
        return lines
    return [(stamp, line) for stamp, line in lines if not stamp or parse_timestamp(stamp) >= earliest]


def _container(pod: Obj, name: str) -> Obj:
    names = [container["name"] for field in _FIELDS for container in pod["spec"].get(field) or ()]
    mains = [container["name"] for container in pod["spec"]["containers"]]
    if not name and len(mains) > 1:
        shown = " ".join(mains)
        raise _bad(f"a container name must be specified for pod {name_of(pod)}, choose one of: [{shown}]")
    wanted = name or mains[0]
    if wanted not in names:
        raise _bad(f"container {wanted} is not valid for pod {name_of(pod)}")
    return known(pod, wanted) or {"name": wanted}


def _present(pod: Obj, entry: Obj, cluster: str, now: float) -> list[Line]:
    state: Obj = entry.get("state") or {}
    running = state.get("running") or state.get("terminated") or dig(entry, "lastState", "terminated")
    if running is None:
        reason = dig(state, "waiting", "reason", default="ContainerCreating")
        raise _bad(f'container "{entry["name"]}" in pod "{name_of(pod)}" is waiting to start: {reason}')
    since = running.get("startedAt", "")
    where = f"node {pod['spec'].get('nodeName', '')} of cluster {cluster}"
    lines = [(since, f"started {entry.get('image', '')} on {where}"), (since, f"listening on {_address(pod)}")]
    until = parse_timestamp(running["finishedAt"]) if "finishedAt" in running else now
    lines += _served(since, until)
    if "running" not in state:
        lines.append((running.get("finishedAt", since), f"exited with code {running.get('exitCode', 0)}"))
    return lines


def _served(since: str, until: float) -> list[Line]:
    """Return the lines of a container that says every half minute that it still serves; the oldest are gone."""
    if not since:
        return []
    begun = parse_timestamp(since)
    count = int(max(0.0, until - begun) // _LINE_SECONDS)
    first = max(1, count - _MOST_LINES + 1)
    return [(timestamp(begun + turn * _LINE_SECONDS), f"GET /healthz 200 ({turn})") for turn in range(first, count + 1)]


def _previous(pod: Obj, entry: Obj) -> list[Line]:
    ended: Obj | None = dig(entry, "lastState", "terminated")
    if ended is None:
        raise _bad(f'previous terminated container "{entry["name"]}" in pod "{name_of(pod)}" not found')
    return [(ended.get("finishedAt", ""), f"exited with code {ended.get('exitCode', 0)}")]


def _address(pod: Obj) -> str:
    return str(dig(pod, "status", "podIP", default="no address"))


def _bad(message: str) -> ApiError:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return error_from_status(400, {**status, "message": message, "reason": "BadRequest", "code": 400})
