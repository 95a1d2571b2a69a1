"""How a strategy's state is told: one condition a stage, and a summary that printed columns and people read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hanse.kube.conditions import merge_conditions
from hanse.kube.manifest import Obj
from hanse.kube.runtime import timestamp

INSTALLATION = "ContenderAchievedInstallation"
CAPACITY = "ContenderAchievedCapacity"
TRAFFIC = "ContenderAchievedTraffic"
INCUMBENT_CAPACITY = "IncumbentAchievedCapacity"
INCUMBENT_TRAFFIC = "IncumbentAchievedTraffic"

NOT_READY = "ClustersNotReady"


def conditions_of(
    stored: Sequence[Obj], found: Mapping[str, str], *, step: int, has_incumbent: bool, now: float
) -> list[Obj]:
    """Bring the conditions up to date with what was found: a message for each type, "" where it holds.

    Types that were not looked at stay as they were told last, with the step that they were told of.
    """
    told = [
        {
            "type": kind,
            "status": str(not message),
            "reason": NOT_READY if message else "",
            "message": message,
            "step": step,
        }
        for kind, message in found.items()
    ]
    merged = merge_conditions([dict(each) for each in stored], told, timestamp(now))
    kept = (each for each in merged if has_incumbent or not str(each["type"]).startswith("Incumbent"))
    return sorted(kept, key=lambda each: str(each["type"]))


def state_of(conditions: Iterable[Obj], *, step: int, has_incumbent: bool, awaits_command: bool) -> Obj:
    """Sum up the conditions that tell of this step: what the release waits for."""
    holds = {each["type"] for each in conditions if each.get("step") == step and each.get("status") == "True"}
    installed = INSTALLATION in holds
    given = installed and CAPACITY in holds
    served = given and TRAFFIC in holds
    lacks_capacity, lacks_traffic = INCUMBENT_CAPACITY not in holds, INCUMBENT_TRAFFIC not in holds
    capacity = (installed and not given) or (has_incumbent and served and not lacks_traffic and lacks_capacity)
    # Shipper asks for the incumbent's capacity to be missing as well, and where it is there waits for a person instead.
    traffic = (given and not served) or (has_incumbent and served and lacks_traffic)
    return {
        "waitingForInstallation": str(not installed),
        "waitingForCapacity": str(capacity),
        "waitingForTraffic": str(traffic),
        "waitingForCommand": str(awaits_command and installed and not capacity and not traffic),
    }
