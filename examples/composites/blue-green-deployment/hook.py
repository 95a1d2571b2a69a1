"""BlueGreenDeployment: a new version starts beside the old one, and takes over all traffic at once when it is complete.

There are two ReplicaSets, blue and green, and a Service that selects one of them. The old one goes after the Service
has turned away from it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

Obj = dict[str, Any]

COLOUR = "examples.hanse.dev/colour"
TEMPLATE = "examples.hanse.dev/template"
OTHER = {"blue": "green", "green": "blue"}


def sync(request: Obj) -> Obj:
    """Return the Service and the ReplicaSets that shall be there now, and which colour is active."""
    parent, children = request["parent"], request["children"]
    name, replicas = parent["metadata"]["name"], parent["spec"]["replicas"]
    live = {colour: children["ReplicaSet.apps/v1"].get(f"{name}-{colour}") for colour in OTHER}
    active = active_colour(children["Service.v1"].get(name))
    idle = OTHER[active]
    if live[active] is None or has_template(live[active], parent):
        sets = [new_set(parent, active, replicas), *kept(live[idle], 0)]
    elif has_template(live[idle], parent) and is_available(live[idle], replicas):
        active, idle = idle, active
        # The old pods serve until the next call, which sees that the Service has turned.
        sets = [new_set(parent, active, replicas), *kept(live[idle], replicas)]
    else:
        # Pods outlive a change of their ReplicaSet's template: those of a version that was given up go first.
        stale = has_pods(live[idle]) and not has_template(live[idle], parent)
        rising = kept(live[idle], 0) if stale else [new_set(parent, idle, replicas)]
        sets = [*kept(live[active], replicas), *rising]
    return {"status": status(active, live[active]), "children": [service(parent, active), *sets]}


def active_colour(live: Obj | None) -> str:
    """Return the colour that the Service selects."""
    return "blue" if live is None else live["spec"]["selector"].get(COLOUR, "blue")


def digest(template: Obj) -> str:
    """Name a template by its content: what a server stores has defaults filled in, and is not equal to it."""
    return hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]


def has_template(live: Obj | None, parent: Obj) -> bool:
    """Tell whether a ReplicaSet is of the parent's present template."""
    said = {} if live is None else live["metadata"].get("annotations", {})
    return bool(said.get(TEMPLATE) == digest(parent["spec"]["template"]))


def has_pods(live: Obj | None) -> bool:
    """Tell whether a ReplicaSet has any pods."""
    return live is not None and live.get("status", {}).get("replicas", 0) > 0


def is_available(live: Obj | None, replicas: int) -> bool:
    """Tell whether a ReplicaSet has all its pods available, and says so of what was asked for last."""
    if live is None:
        return False
    status = live.get("status", {})
    seen = status.get("observedGeneration", 0) >= live["metadata"]["generation"]
    return bool(seen and status.get("availableReplicas", 0) >= replicas)


def status(active: str, live: Obj | None) -> Obj:
    """Tell what serves."""
    shown = {} if live is None else live.get("status", {})
    return {
        "active": active,
        "replicas": shown.get("replicas", 0),
        "availableReplicas": shown.get("availableReplicas", 0),
    }


def service(parent: Obj, colour: str) -> Obj:
    """Make the Service that leads to one colour."""
    labels = parent["spec"]["template"]["metadata"]["labels"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": parent["metadata"]["name"], "labels": labels},
        "spec": {"ports": parent["spec"]["ports"], "selector": {**labels, COLOUR: colour}},
    }


def new_set(parent: Obj, colour: str, replicas: int) -> Obj:
    """Make the ReplicaSet of a colour from the present template."""
    template = parent["spec"]["template"]
    labels = {**template["metadata"]["labels"], COLOUR: colour}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{parent['metadata']['name']}-{colour}",
            "labels": labels,
            "annotations": {TEMPLATE: digest(template)},
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
        },
    }


def kept(live: Obj | None, replicas: int) -> list[Obj]:
    """Keep a ReplicaSet of an older template as it is, with so many replicas; there may be none."""
    if live is None:
        return []
    metadata = live["metadata"]
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": metadata["name"],
                "labels": metadata["labels"],
                "annotations": {TEMPLATE: metadata.get("annotations", {}).get(TEMPLATE, "")},
            },
            "spec": {**live["spec"], "replicas": replicas},
        }
    ]
