"""The first Vitess operator in two languages: the same requests get the same answers."""

from __future__ import annotations

import copy
from typing import Any

from hanse.composite.hooks.calling import HookParts
from hanse.composite.hooks.jsonnet import jsonnet_hook
from hanse.composite.hooks.python import python_hook
from hanse.composite.spec import JsonnetSpec, PythonSpec, SourceSpec
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SystemRuntime
from hanse.vitess.first.levels import post_update_child
from hanse.vitess.first.reparent import pre_update_child
from tests.unit.composite.hooks.stored import Stored, key
from tests.unit.vitess.first.requests import (
    FOLDER,
    SYNC,
    a_cell,
    a_keyspace,
    a_shard,
    an_etcd,
    asked,
    below,
    complete,
    named,
    now,
    vitess,
)

TWO_CELLS: dict[str, Any] = {
    "cells": [
        {"name": "global", "etcd": {"version": "3.2.11", "size": 3}, "vtctld": {"image": "a", "flags": {"x": True}}},
        {"name": "zone1", "etcd": {"version": "3.3.0", "size": 1}, "vtgate": {"image": "a", "flags": {"cell": "é"}}},
        {"name": "zone2"},
    ],
    "keyspaces": [{"name": "main", "cells": ["zone2", "zone1"], "tablets": {"batch": {"image": "c"}}}],
    "backupFlags": {"backup_storage_implementation": "s3", "n": 7},
    "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]},
    "template": {"metadata": {"labels": {"a": "b", "c": "d"}}},
}


def touched(shard: Obj, **changes: Any) -> Obj:
    """Return a shard whose tablets have something else in common."""
    found = copy.deepcopy(shard)
    found["spec"]["tablets"]["defaults"] = {**found["spec"]["tablets"].get("defaults", {}), **changes}
    return found


def pods(shard: Obj) -> list[Obj]:
    return [each for each in below("shard", shard) if each["kind"] == "Pod"]


def half_rolled() -> tuple[Obj, list[Obj], Obj]:
    """Return a shard of which the rdonly tablet has moved, its pods, and the Job that moves the primary away."""
    after = touched(a_shard(), image="new")
    existing = complete([pods(after)[0], *pods(a_shard())[1:]])
    job = SYNC["shard"](asked("shard", after, *existing))["children"][-1]
    return after, existing, job


def cluster_requests() -> list[Obj]:
    cells = below("cluster", vitess())
    return [
        asked("cluster", vitess()),
        asked("cluster", vitess(**TWO_CELLS)),
        asked("cluster", vitess(keyspaces=None), *complete(cells)),
        asked("cluster", vitess(), now(cells[0], "Ready"), now(cells[1], "!Ready")),
        asked("cluster", vitess(cells=[{"name": "global"}]), *complete(cells)),
    ]


def cell_requests() -> list[Obj]:
    layers = [a_cell("global"), a_cell(), *(a_cell(name, **TWO_CELLS) for name in ("global", "zone1", "zone2"))]
    empty = [asked("cell", each) for each in layers]
    full = [asked("cell", each, *complete(below("cell", each))) for each in layers]
    waiting = [asked("cell", each, *(now(child, "!Available") for child in below("cell", each))) for each in layers]
    failed = [asked("cell", each, *(now(child, "Failed") for child in below("cell", each))) for each in layers]
    return empty + full + waiting + failed


def keyspace_requests() -> list[Obj]:
    odd = a_keyspace()
    odd["spec"]["shards"] = [{"name": "custom"}, {"keyRange": {}}, {"keyRange": {"start": "40", "end": "80"}}]
    layers = [a_keyspace(), a_keyspace("lookup"), a_keyspace(**TWO_CELLS), odd]
    return [asked("keyspace", each) for each in layers] + [
        asked("keyspace", a_keyspace(), *complete(below("keyspace", odd))),
        asked("keyspace", odd, *complete(below("keyspace", odd))),
    ]


def shard_requests() -> list[Obj]:
    shard = a_shard()
    after, existing, job = half_rolled()
    spread = touched(a_shard(masterEligible={"replicas": 1}, batch={"replicas": 0}), image="new")
    spread["spec"]["cells"] = ["zone2", "zone1"]
    alone = copy.deepcopy(spread)
    alone["spec"]["cells"] = ["zone1"]
    one = complete(pods(a_shard(masterEligible={"replicas": 1}, batch={"replicas": 0})))
    fewer = a_shard(masterEligible={"replicas": 1})
    backed_up = touched(shard, vttablet={"flags": {"y": "z", "port": 1}}, mysql={"flags": {"q": False}})
    backed_up["spec"]["backupFlags"] = {"backup_storage_implementation": "s3"}
    without_volumes = a_shard(defaults={"image": "a"})
    came_up = copy.deepcopy(existing)
    came_up[1]["status"]["conditions"][0]["lastTransitionTime"] = "2026-01-01T00:00:05Z"
    before, since = now(job, "Complete"), now(job, "Complete")
    before["status"]["completionTime"], since["status"]["completionTime"] = (
        "2026-01-01T00:00:04Z",
        "2026-01-01T00:00:06Z",
    )
    more = a_shard(masterEligible={"replicas": 3})
    gone = SYNC["shard"](asked("shard", fewer, *complete(pods(shard))))["children"][-1]
    return [
        asked("shard", shard),
        asked("shard", backed_up),
        asked("shard", without_volumes),
        asked("shard", {**shard, "spec": {**shard["spec"], "tablets": {}}}),
        asked("shard", shard, *complete(pods(shard))),
        asked("shard", shard, *complete(pods(shard)[:2]), now(pods(shard)[2], "Ready", leaving=True)),
        asked("shard", after, *complete(pods(shard))),
        asked("shard", after, *existing),
        asked("shard", after, *existing, job),
        asked("shard", after, *existing, now(job, "Complete")),
        asked("shard", after, *existing, now(job, "Complete", leaving=True)),
        asked("shard", after, *came_up, before),
        asked("shard", after, *came_up, since),
        asked("shard", after, *existing, now(job, "Failed")),
        asked("shard", after, now(existing[0], "!Ready"), *existing[1:]),
        asked("shard", spread, *one),
        asked("shard", alone, *one),
        asked("shard", fewer, *complete(pods(shard))),
        asked("shard", fewer, *complete(pods(shard)), now(gone, "Complete")),
        asked("shard", a_shard(masterEligible={"replicas": 0}), *complete(pods(shard))),
        asked("shard", fewer, *complete(pods(more)[:3]), now(pods(more)[3], "Ready", leaving=True)),
    ]


def etcd_requests() -> list[Obj]:
    members = [each for each in below("etcd", an_etcd()) if each["kind"] == "Pod"]
    pod = {"labels": {"x": "y"}, "resources": {"limits": {"cpu": "1"}}, "persistentVolumeClaimSpec": {"a": "b"}}
    return [
        asked("etcd", an_etcd()),
        asked("etcd", an_etcd(size=1, repository="mirror/etcd", pod=pod)),
        asked("etcd", an_etcd(), *complete(members)),
        asked("etcd", an_etcd(), *complete(members[:1]), now(members[1], "!Ready")),
        asked("etcd", an_etcd(size=1), *complete(members)),
    ]


def pre_update_requests() -> list[Obj]:
    after, existing, job = half_rolled()
    reparented = {**after, "status": {"reparented": job["metadata"]["name"]}}

    def question(shard: Obj, pod: Obj | None, name: str) -> Obj:
        return {"parent": shard, "child": pod, "desired": named(below("shard", after), name, "Pod"), "revision": "r"}

    names = [each["metadata"]["name"] for each in existing]
    alone = touched(a_shard(masterEligible={"replicas": 1}), image="new")
    return [
        *(question(after, pod, name) for pod, name in zip(existing, names, strict=True)),
        *(question(reparented, pod, name) for pod, name in zip(existing, names, strict=True)),
        question(after, None, names[1]),
        question(after, now(existing[1], "!Ready"), names[1]),
        question(alone, existing[1], names[1]),
        question(alone, existing[2], names[2]),
        question(a_shard(masterEligible={"replicas": 0}), existing[2], names[2]),
    ]


REQUESTS = {
    "sync-cluster.jsonnet": (SYNC["cluster"], cluster_requests()),
    "sync-cell.jsonnet": (SYNC["cell"], cell_requests()),
    "sync-keyspace.jsonnet": (SYNC["keyspace"], keyspace_requests()),
    "sync-shard.jsonnet": (SYNC["shard"], shard_requests()),
    "sync-etcd.jsonnet": (SYNC["etcd"], etcd_requests()),
    "pre-update-tablet.jsonnet": (pre_update_child, pre_update_requests()),
    "post-update-child.jsonnet": (post_update_child, [{}]),
}
# All in one evaluation, since it is the process that costs.
EVERYTHING = (
    "function(asked) {" + "".join(f"'{name}': std.map(import '{name}', asked['{name}']),\n" for name in REQUESTS) + "}"
)


async def test_the_functions_run_as_hooks_of_modules_within_their_limits():
    request = shard_requests()[4]
    spec = PythonSpec(None, "sync", module="hanse.vitess.first.shard")
    hook = python_hook(spec, HookParts(SystemRuntime(), Stored(), trusted=True, workers=1))
    answer = await hook.call(request, {})
    await hook.close()

    assert answer == SYNC["shard"](request)


async def test_jsonnet_gives_the_answers_that_python_gives():
    stored = Stored()
    files = {file.name: file.read_text() for file in (FOLDER / "hooks").iterdir()}
    stored.put("ConfigMap", "hooks", {**files, "all.jsonnet": EVERYTHING})
    spec = JsonnetSpec(SourceSpec(config_map=key("hooks", "all.jsonnet")), timeout=60)
    hook = jsonnet_hook(spec, HookParts(SystemRuntime(), stored, workers=1))
    answers = await hook.call({name: requests for name, (_, requests) in REQUESTS.items()}, {})
    await hook.close()

    for name, (function, requests) in REQUESTS.items():
        for place, request in enumerate(requests):
            assert answers[name][place] == function(request), f"{name}, request {place}"
