"""How much a pod uses: what its annotations say, what its requests suggest, and its share of the load on Services.

The load on a Service is an annotation, `simulator.hanse.dev/load: "2500m"`: so much cpu is needed to serve it, and the
pods that are ready behind it share that evenly. More replicas thus make each one use less, as in life.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.kube.quantities import millicores, whole_units
from hanse.simulator.nodes.conduct import PREFIX

CPU = f"{PREFIX}cpu"
MEMORY = f"{PREFIX}memory"
LOAD = f"{PREFIX}load"
_IDLE_CPU_SHARE = 0.05
_IDLE_MEMORY_SHARE = 0.5
_LEAST_MILLICORES = 1
_LEAST_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Use:
    """An amount of cpu and memory."""

    millicores: int = 0
    memory_bytes: int = 0

    def __add__(self, other: Use) -> Use:
        return Use(self.millicores + other.millicores, self.memory_bytes + other.memory_bytes)


def load_of(service: Obj) -> int:
    """Return the load on a Service in millicores; 0 where none is said, or what is said is no amount."""
    return _amount(annotations_of(service).get(LOAD, "0"), "cpu")


def container_uses(pod: Obj, load_millicores: int) -> dict[str, Use]:
    """Return what each running container of a pod uses; the first one carries the pod's share of the load."""
    entries: list[Obj] = dig(pod, "status", "containerStatuses", default=[])
    running = {entry["name"] for entry in entries if "running" in (entry.get("state") or {})}
    containers = [container for container in pod["spec"]["containers"] if container["name"] in running]
    said = annotations_of(pod)
    found = {}
    for position, container in enumerate(containers):
        own = Use(_cpu(container, said.get(CPU)), _memory(container, said.get(MEMORY)))
        found[container["name"]] = own + Use(0 if position else load_millicores)
    return found


def total_use(uses: Iterable[Use]) -> Use:
    """Return the sum of several uses."""
    return sum(uses, Use())


def _cpu(container: Obj, said: str | None) -> int:
    if said is not None:
        return _amount(said, "cpu")
    requested = _amount(dig(container, "resources", "requests", "cpu", default="0"), "cpu")
    return max(_LEAST_MILLICORES, round(requested * _IDLE_CPU_SHARE))


def _memory(container: Obj, said: str | None) -> int:
    if said is not None:
        return _amount(said, "memory")
    requested = _amount(dig(container, "resources", "requests", "memory", default="0"), "memory")
    return max(_LEAST_BYTES, round(requested * _IDLE_MEMORY_SHARE))


def _amount(text: str, resource: str) -> int:
    try:
        return max(0, millicores(text) if resource == "cpu" else whole_units(text))
    except ValueError:
        return 0
