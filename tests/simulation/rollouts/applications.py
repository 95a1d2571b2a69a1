"""Applications as the tests of this folder write them: plain manifests in a ConfigMap, and a strategy in steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from hanse.api.shipper.kinds import APPLICATIONS
from hanse.kube.manifest import Obj
from hanse.rollouts.environment import Environment

# A step's name, and what incumbent and contender get of capacity, then of traffic.
Step = tuple[str, int, int, int, int]
STAGING: Step = ("staging", 100, 1, 100, 0)
HALF: Step = ("50/50", 50, 50, 50, 50)
FULL_ON: Step = ("full on", 0, 100, 0, 100)
SEED_STEPS = (STAGING, FULL_ON)
VANGUARD = (STAGING, HALF, FULL_ON)


def strategy(steps: Sequence[Step]) -> Obj:
    """Return a strategy of these steps."""
    return {
        "steps": [
            {
                "name": name,
                "capacity": {"incumbent": kept, "contender": given},
                "traffic": {"incumbent": led, "contender": tried},
            }
            for name, kept, given, led, tried in steps
        ]
    }


def application(
    version: str, *, name: str = "web", steps: Sequence[Step] = SEED_STEPS, clusters: int = 1, **spec: Any
) -> Obj:
    """Return an application of what a ConfigMap holds, in so many clusters of the region."""
    return {
        "apiVersion": APPLICATIONS.api_version,
        "kind": APPLICATIONS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "revisionHistoryLimit": 3,
            **spec,
            "template": {
                "source": {"manifests": {"location": f"configmap://{name}-{version}"}},
                "clusterRequirements": {"regions": [{"name": "local", "replicas": clusters}]},
                "strategy": strategy(steps),
                "values": {},
            },
        },
    }


def template_of(version: str, name: str = "web") -> Obj:
    """Return the change by which an application becomes another version."""
    return {"spec": {"template": {"source": {"manifests": {"location": f"configmap://{name}-{version}"}}}}}


def packed(version: str, *, name: str = "web", replicas: int = 3) -> Obj:
    """Return the ConfigMap with the manifests of one version of an application."""
    text = yaml.safe_dump_all(manifests(name, f"{name}:{version}", replicas))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-{version}", "namespace": "default"},
        "data": {"all.yaml": text},
    }


def never_ready(version: str, name: str) -> Obj:
    """Return the ConfigMap of a version whose pods never pass their probes."""
    service, workload = manifests(name, f"{name}:{version}", 3)
    template = workload["spec"]["template"]
    template["metadata"]["annotations"] = {"simulator.hanse.dev/failing-probes": "readiness"}
    template["spec"]["containers"][0]["readinessProbe"] = {"httpGet": {"port": "http"}, "periodSeconds": 1}
    return {**packed(version, name=name), "data": {"all.yaml": yaml.safe_dump_all([service, workload])}}


def manifests(name: str, image: str, replicas: int) -> list[Obj]:
    """Return a Deployment and the Service before it."""
    pod = {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": image, "ports": [{"name": "http", "containerPort": 80}]}],
    }
    workload = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
    }
    service = {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": service},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": workload},
    ]


class MadeCharts:
    """Sources that know one chart, nginx, and render it without any Helm: there is none on virtual time."""

    async def resolve(self, environment: Environment, namespace: str) -> str:
        """Return the version as it is written."""
        assert environment.chart is not None
        return environment.chart.version

    async def render(self, environment: Environment, *, release: str, namespace: str) -> list[Obj]:
        """Return what the chart's templates would give."""
        assert environment.chart is not None
        image, replicas = f"nginx:{environment.chart.version}", int(environment.values.get("replicaCount", 1))
        service, workload = manifests("nginx", image, replicas)
        return [service, {**workload, "metadata": {"name": f"{release}-nginx"}}]
