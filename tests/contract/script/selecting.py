"""Selectors, pages and resource versions of lists."""

from __future__ import annotations

from tests.contract.step import TABLE, Step, config, get, manifest, namespace, post

CONFIGS = "/api/v1/namespaces/lists/configmaps"
_OBJECTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("a", {"app": "web", "tier": "front"}),
    ("b", {"app": "web", "tier": "back"}),
    ("c", {"app": "db"}),
    ("d", {}),
)
_LABELS = (
    "app=web",
    "app==web",
    "app!=web",
    "app in (web,db)",
    "app notin (web)",
    "app",
    "!app",
    "app=web,tier=back",
    "app in (),tier",
    "app=",
    "x>1",
    "tier exists",
    "app=web tier=back",
    "app in web",
    ",",
    "=web",
    "app=bad value",
    "bad/key/twice=1",
)
_FIELDS = (
    "metadata.name=a",
    "metadata.name==a",
    "metadata.name!=a",
    "metadata.namespace=lists",
    "metadata.name=a,metadata.namespace=lists",
    "metadata.name in (a)",
    "data.a=1",
    "metadata.uid=x",
    "metadata.name",
    "spec.nodeName=x",
)


def _query(text: str) -> str:
    return "".join(
        character if character.isalnum() or character in ".-" else f"%{ord(character):02X}" for character in text
    )


STEPS: list[Step] = [
    *namespace("lists"),
    *(post(f"lists/create {name}", CONFIGS, config(name, labels=labels)) for name, labels in _OBJECTS),
    get("lists/all", CONFIGS, save={"version": "metadata.resourceVersion"}),
    *(get(f"lists/labels {text}", f"{CONFIGS}?labelSelector={_query(text)}") for text in _LABELS),
    *(get(f"lists/fields {text}", f"{CONFIGS}?fieldSelector={_query(text)}") for text in _FIELDS),
    get("lists/both selectors", f"{CONFIGS}?labelSelector=app%3Dweb&fieldSelector=metadata.name%3Db"),
    get("lists/across namespaces", "/api/v1/configmaps?labelSelector=app"),
    get("lists/first page", f"{CONFIGS}?limit=2", save={"next": "metadata.continue"}),
    get("lists/second page", f"{CONFIGS}?limit=2&continue=<<next>>", save={"rest": "metadata.continue"}),
    get("lists/first page as table", f"{CONFIGS}?limit=1", accept=TABLE),
    get("lists/page with a selector", f"{CONFIGS}?limit=1&labelSelector=app%3Dweb"),
    get("lists/page as large as the list", f"{CONFIGS}?limit=100"),
    get("lists/bad continue", f"{CONFIGS}?limit=2&continue=nonsense"),
    get("lists/bad limit", f"{CONFIGS}?limit=many"),
    get("lists/negative limit", f"{CONFIGS}?limit=-1"),
    get("lists/version zero", f"{CONFIGS}?resourceVersion=0"),
    get("lists/version zero with a limit", f"{CONFIGS}?resourceVersion=0&limit=1"),
    get("lists/not older than", f"{CONFIGS}?resourceVersion=<<version>>&resourceVersionMatch=NotOlderThan"),
    get("lists/exactly", f"{CONFIGS}?resourceVersion=<<version>>&resourceVersionMatch=Exact"),
    get("lists/version without a match", f"{CONFIGS}?resourceVersion=<<version>>"),
    get("lists/match without a version", f"{CONFIGS}?resourceVersionMatch=Exact"),
    get("lists/exactly zero", f"{CONFIGS}?resourceVersion=0&resourceVersionMatch=Exact"),
    get("lists/unknown match", f"{CONFIGS}?resourceVersion=1&resourceVersionMatch=Roughly"),
    get("lists/bad version", f"{CONFIGS}?resourceVersion=abc"),
    get("lists/version with continue", f"{CONFIGS}?resourceVersion=1&continue=<<next>>"),
    get("lists/match with continue", f"{CONFIGS}?resourceVersionMatch=Exact&limit=1&continue=<<next>>"),
    get("lists/initial events of a list", f"{CONFIGS}?sendInitialEvents=true"),
    get("lists/get version zero", f"{CONFIGS}/a?resourceVersion=0"),
    get("lists/get bad version", f"{CONFIGS}/a?resourceVersion=abc"),
    get("lists/namespaces by name", "/api/v1/namespaces?fieldSelector=metadata.name%3Dlists"),
    get("lists/namespaces by phase", "/api/v1/namespaces?fieldSelector=status.phase%3DTerminating"),
    get("lists/pods by phase", "/api/v1/pods?fieldSelector=status.phase%3DFailed"),
    get("lists/pods by an unknown field", "/api/v1/pods?fieldSelector=spec.color%3Dred"),
    get("lists/secrets by type", "/api/v1/namespaces/lists/secrets?fieldSelector=type%3DOpaque"),
    get("lists/events by object", "/api/v1/namespaces/lists/events?fieldSelector=involvedObject.name%3Da"),
    get("lists/nodes by schedulability", "/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue"),
    get("lists/jobs by success", "/apis/batch/v1/jobs?fieldSelector=status.successful%3D1"),
    get("lists/empty as table", "/apis/apps/v1/namespaces/lists/deployments", accept=TABLE),
    post("lists/a secret", "/api/v1/namespaces/lists/secrets", manifest("v1", "Secret", "s", stringData={"a": "1"})),
    get("lists/secrets of its type", "/api/v1/namespaces/lists/secrets?fieldSelector=type%3DOpaque"),
]
