"""The seed's Application as its author applies it and leads it on, step by step: names and numbers are Shipper's.

Numbers in comments are lines of Shipper's checklist.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import yaml

from hanse.api.shipper.kinds import (
    APP_LABEL,
    APPLICATIONS,
    CAPACITY_TARGETS,
    CHART_NAME_ANNOTATION,
    CHART_RAW_ANNOTATION,
    CHART_RESOLVED_ANNOTATION,
    CLUSTERS_ANNOTATION,
    GENERATION_ANNOTATION,
    HIGHEST_GENERATION_ANNOTATION,
    INSTALLATION_TARGETS,
    ITERATION_ANNOTATION,
    RELEASE_LABEL,
    RELEASES,
    TRAFFIC_ENABLED,
    TRAFFIC_LABEL,
    TRAFFIC_TARGETS,
)
from hanse.kube import Obj, Resource
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import annotations_of, dig, labels_of, name_of
from hanse.kube.resources import DEPLOYMENTS
from tests.behaviour.stage import Stage

APPLICATION = "super-server"
CLUSTER, REGION = "kind-app", "local"
REPOSITORY = "https://storage.googleapis.com/shipper-demo"
FIRST, SECOND = "super-server-71fd5980-0", "super-server-3acd4093-0"
BACK = "super-server-71fd5980-1"
STARTING = f'Rolling out initial release "{FIRST}"'
# As seed 004 shows it.
SEED = """
apiVersion: shipper.booking.com/v1alpha1
kind: Application
metadata:
  name: super-server
spec:
  revisionHistoryLimit: 3
  template:
    chart:
      name: nginx
      repoUrl: https://storage.googleapis.com/shipper-demo
      version: 0.0.1
    clusterRequirements:
      regions:
        - name: local
    strategy:
      steps:
        - capacity:
            contender: 1
            incumbent: 100
          name: staging
          traffic:
            contender: 0
            incumbent: 100
        - capacity:
            contender: 100
            incumbent: 0
          name: full on
          traffic:
            contender: 100
            incumbent: 0
    values:
      replicaCount: 3
"""


class People(Protocol):
    """What the application's team does on the federation: it writes and looks."""

    async def apply(self, manifest: Obj) -> None:
        """Apply a manifest, as `kubectl apply` does."""

    async def change(self, resource: Resource, name: str, patch: Obj) -> Any:
        """Merge a patch into an object, as `kubectl patch --type=merge` does."""

    async def until(self, resource: Resource, name: str, holds: Callable[[Obj], Any]) -> Obj:
        """Wait until an object is there and something holds of it; return it."""

    async def get(self, resource: Resource, name: str) -> Obj:
        """Read an object."""

    async def all(self, resource: Resource) -> list[Obj]:
        """Return the objects of a kind, in the order of their names."""


class ByClient(Stage):
    """People who do it by Hanse's own client."""

    async def apply(self, manifest: Obj) -> None:
        """Apply a manifest in this namespace."""
        resource = await self.client.resource_of(manifest)
        placed = {**manifest, "metadata": {**manifest["metadata"], "namespace": self.namespace}}
        await self.client.apply(resource, placed)


async def the_seeds_application_goes_through_its_steps(people: People, join: Callable[[], Awaitable[Stage]]) -> None:
    """Lines 1 to 11 and 13: from an Application without a cluster to the second version, and back to the first.

    `join` has a cluster `kind-app` join in region `local` and returns a way into it.
    """
    await people.apply(yaml.safe_load(SEED))
    await _it_waits_for_a_cluster(people)
    cluster = await join()
    await _the_first_release_is_staged(people, cluster)
    await _the_first_release_is_full_on(people, cluster)
    await _the_second_version_takes_over(people, cluster)
    await _the_first_version_comes_back(people, cluster)


async def _it_waits_for_a_cluster(people: People) -> None:
    release = await people.until(RELEASES, FIRST, lambda found: condition(found, "Scheduled", "False"))
    # 11; that it goes on when a cluster comes is what 47 asks a successor for.
    scheduled = find_condition(release["status"]["conditions"], "Scheduled") or {}
    assert scheduled["reason"] == "NotEnoughClustersInRegion"
    assert "Required: 1 / Available: 0" in scheduled["message"]
    # 1
    assert annotations_of(release)[GENERATION_ANNOTATION] == "0"
    assert annotations_of(release)[ITERATION_ANNOTATION] == "0"
    assert release["spec"]["targetStep"] == 0
    # 2, 3
    application = await people.until(APPLICATIONS, APPLICATION, lambda found: rolling_out(found) == ("True", STARTING))
    memo = {HIGHEST_GENERATION_ANNOTATION: "0", CHART_NAME_ANNOTATION: "nginx"}
    memo |= {CHART_RAW_ANNOTATION: "0.0.1", CHART_RESOLVED_ANNOTATION: "0.0.1"}
    assert memo.items() <= annotations_of(application).items()
    assert application["spec"]["revisionHistoryLimit"] == 3
    assert application["status"]["history"] == [FIRST]


async def _the_first_release_is_staged(people: People, cluster: Stage) -> None:
    release = await achieved(people, FIRST, 0, "staging")
    # 4
    assert annotations_of(release)[CLUSTERS_ANNOTATION] == CLUSTER
    installation = await people.get(INSTALLATION_TARGETS, FIRST)
    assert installation["spec"]["clusters"] == [CLUSTER]
    capacity, traffic = await people.get(CAPACITY_TARGETS, FIRST), await people.get(TRAFFIC_TARGETS, FIRST)
    # 5
    assert capacity["spec"]["clusters"] == [{"name": CLUSTER, "percent": 1, "totalReplicaCount": 3}]
    assert capacity["status"]["clusters"][0]["achievedPercent"] == 34
    assert traffic["spec"]["clusters"] == [{"name": CLUSTER, "weight": 0}]
    assert await pods_of(cluster, FIRST) == (1, 0)
    assert await replicas_of(cluster, FIRST) == 1
    # 6
    assert dig(release, "status", "strategy", "state", "waitingForCommand") == "True"
    assert find_condition(release["status"]["conditions"], "Complete") is None


async def _the_first_release_is_full_on(people: People, cluster: Stage) -> None:
    await people.change(RELEASES, FIRST, {"spec": {"targetStep": 1}})
    # 7
    release = await achieved(people, FIRST, 1, "full on")
    assert condition(release, "Complete", "True")
    assert dig(release, "status", "strategy", "state", "waitingForCommand") == "False"
    assert await pods_of(cluster, FIRST) == (3, 3)
    # 8
    active = ("False", f'Release "{FIRST}" is active')
    await people.until(APPLICATIONS, APPLICATION, lambda found: rolling_out(found) == active)


async def _the_second_version_takes_over(people: People, cluster: Stage) -> None:
    await people.change(APPLICATIONS, APPLICATION, {"spec": {"template": {"chart": {"version": "0.0.2"}}}})
    # 9
    moving = ("True", f'Transitioning from "{FIRST}" to "{SECOND}"')
    await people.until(APPLICATIONS, APPLICATION, lambda found: rolling_out(found) == moving)
    release = await achieved(people, SECOND, 0, "staging")
    assert annotations_of(release)[GENERATION_ANNOTATION] == "1"
    # 10
    assert await pods_of(cluster, FIRST) == (3, 3)
    assert await pods_of(cluster, SECOND) == (1, 0)
    await people.change(RELEASES, SECOND, {"spec": {"targetStep": 1}})
    await achieved(people, SECOND, 1, "full on")
    assert await pods_of(cluster, SECOND) == (3, 3)
    assert await replicas_of(cluster, FIRST) == 0
    active = ("False", f'Release "{SECOND}" is active')
    await people.until(APPLICATIONS, APPLICATION, lambda found: rolling_out(found) == active)


async def _the_first_version_comes_back(people: People, cluster: Stage) -> None:
    """Line 13: the same environment is the same hash, in another iteration."""
    earlier = await people.get(RELEASES, FIRST)
    await people.change(APPLICATIONS, APPLICATION, {"spec": {"template": earlier["spec"]["environment"]}})
    release = await achieved(people, BACK, 0, "staging")
    assert annotations_of(release)[GENERATION_ANNOTATION] == "2"
    assert annotations_of(release)[ITERATION_ANNOTATION] == "1"
    await people.change(RELEASES, BACK, {"spec": {"targetStep": 1}})
    await achieved(people, BACK, 1, "full on")
    assert await pods_of(cluster, BACK) == (3, 3)
    assert await replicas_of(cluster, SECOND) == 0
    application = await people.until(
        APPLICATIONS, APPLICATION, lambda found: rolling_out(found) == ("False", f'Release "{BACK}" is active')
    )
    assert application["status"]["history"] == [FIRST, SECOND, BACK]


# What is asked of releases and clusters


async def achieved(people: People, release: str, step: int, name: str) -> Obj:
    """Wait until a release has achieved a step, and nothing of it is under way any more."""

    def done(found: Obj) -> bool:
        state = dig(found, "status", "strategy", "state", default={})
        waits = [state.get(f"waitingFor{what}") for what in ("Installation", "Capacity", "Traffic")]
        reached: Obj | None = dig(found, "status", "achievedStep")
        return reached == {"step": step, "name": name} and waits == ["False"] * 3

    return await people.until(RELEASES, release, done)


def condition(obj: Obj, kind: str, status: str) -> bool:
    """Tell whether a condition has a status."""
    found = find_condition(dig(obj, "status", "conditions", default=[]), kind)
    return found is not None and found["status"] == status


def rolling_out(application: Obj) -> tuple[str, str]:
    """Return what an application says of its rollout."""
    found = find_condition(dig(application, "status", "conditions", default=[]), "RollingOut") or {}
    return found.get("status", ""), found.get("message", "")


async def pods_of(cluster: Stage, release: str) -> tuple[int, int]:
    """Return how many pods of a release there are in a cluster, and how many of them clients are led to."""
    pods = await cluster.pods(**{RELEASE_LABEL: release})
    return len(pods), sum(labels_of(pod).get(TRAFFIC_LABEL) == TRAFFIC_ENABLED for pod in pods)


async def replicas_of(cluster: Stage, release: str) -> int:
    """Return the replicas that a release's only Deployment asks for in a cluster."""
    (found,) = [each for each in await cluster.all(DEPLOYMENTS) if labels_of(each).get(RELEASE_LABEL) == release]
    assert labels_of(found)[APP_LABEL] in name_of(found)
    return int(found["spec"]["replicas"])
