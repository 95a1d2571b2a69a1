"""Applications as users write them, with every field that there is."""

from __future__ import annotations

import yaml

from hanse.kube.client import WriteOptions
from hanse.kube.manifest import Obj
from tests.behaviour.rollouts import SEED
from tests.unit.rollouts.applications.cases import seed_environment

# Only tried out, and without patience for fields that nobody knows.
TRIED = WriteOptions(dry_run=True, field_validation="Strict")
_STEP = {"capacity": {"incumbent": 0, "contender": 100}, "traffic": {"incumbent": 0, "contender": 100}}
EVERYTHING: Obj = {
    **seed_environment(),
    "values": {"deep": [{"er": None, "x": 1}], "a.b/c": 1.5},
    "clusterRequirements": {"regions": [{"name": "eu", "replicas": 2}], "capabilities": ["gpu"]},
    "strategy": {
        "steps": [
            {
                "name": "one",
                **_STEP,
                "pause": {"duration": "1h30m"},
                "checks": [
                    {"name": "up", "http": {"url": "http://x"}, "success": "status == 200", "interval": "10s"},
                    {"name": "p", "prometheus": {"address": "http://p", "query": "up"}, "failure": "result < 1.0"},
                ],
            }
        ],
        "waves": [
            {"name": "canary", "clusters": ["a"], "pause": "5m"},
            {"name": "rest", "selector": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}},
        ],
        "deadline": {"duration": "10m", "then": "Rollback"},
        "onFailure": "Abort",
        "trafficBy": "Weights",
    },
}


def application(environment: Obj, name: str = "super-server") -> Obj:
    """Return the seed's Application with another template."""
    made: Obj = yaml.safe_load(SEED)
    made["metadata"] = {"name": name, "namespace": "default"}
    made["spec"]["template"] = environment
    return made
