"""Owners and dependents under each propagation, and namespaces that end."""

from __future__ import annotations

from typing import Any

from tests.contract.step import Step, config, delete, get, merge, namespace, post

CONFIGS = "/api/v1/namespaces/deleting/configmaps"


def _family(case: str) -> list[Step]:
    owner: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "name": f"{case}-owner", "uid": f"<<{case}>>"}
    dependent = config(f"{case}-child", ownerReferences=[{**owner, "blockOwnerDeletion": True}])
    return [
        post(f"deleting/{case} owner", CONFIGS, config(f"{case}-owner"), save={case: "metadata.uid"}),
        post(f"deleting/{case} child", CONFIGS, dependent),
    ]


STEPS: list[Step] = [
    *namespace("deleting"),
    *_family("background"),
    delete("deleting/in the background", f"{CONFIGS}/background-owner", {"propagationPolicy": "Background"}),
    get("deleting/the child follows", f"{CONFIGS}/background-child", until=404),
    *_family("foreground"),
    merge("deleting/hold the child", f"{CONFIGS}/foreground-child", {"metadata": {"finalizers": ["example.com/hold"]}}),
    delete("deleting/in the foreground", f"{CONFIGS}/foreground-owner", {"propagationPolicy": "Foreground"}),
    get("deleting/the child is told to go", f"{CONFIGS}/foreground-child", until=200, until_shows="deletionTimestamp"),
    get("deleting/the owner waits", f"{CONFIGS}/foreground-owner"),
    merge("deleting/let the child go", f"{CONFIGS}/foreground-child", {"metadata": {"finalizers": []}}),
    get("deleting/the owner follows", f"{CONFIGS}/foreground-owner", until=404),
    *_family("orphan"),
    delete("deleting/leave orphans", f"{CONFIGS}/orphan-owner?propagationPolicy=Orphan"),
    get("deleting/the owner goes", f"{CONFIGS}/orphan-owner", until=404),
    get("deleting/the child stays", f"{CONFIGS}/orphan-child"),
    post(
        "deleting/child of nobody",
        CONFIGS,
        config(
            "lost",
            ownerReferences=[
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "absent",
                    "uid": "66666666-6666-6666-6666-666666666666",
                }
            ],
        ),
    ),
    get("deleting/it goes too", f"{CONFIGS}/lost", until=404),
    *namespace("ending"),
    post("deleting/content", "/api/v1/namespaces/ending/configmaps", config("held", finalizers=["example.com/hold"])),
    delete("deleting/a namespace", "/api/v1/namespaces/ending"),
    post("deleting/nothing new in it", "/api/v1/namespaces/ending/configmaps", config("late")),
    get(
        "deleting/its content is told to go",
        "/api/v1/namespaces/ending/configmaps/held",
        until=200,
        until_shows="deletionTimestamp",
    ),
    get(
        "deleting/it says what remains",
        "/api/v1/namespaces/ending",
        until=200,
        until_shows="NamespaceFinalizersRemaining",
    ),
    delete("deleting/it again", "/api/v1/namespaces/ending"),
    merge(
        "deleting/let its content go", "/api/v1/namespaces/ending/configmaps/held", {"metadata": {"finalizers": None}}
    ),
    get("deleting/the namespace is gone", "/api/v1/namespaces/ending", until=404),
    post("deleting/in a namespace that was", "/api/v1/namespaces/ending/configmaps", config("late")),
]
