"""Watches: from now, from a version, with initial events and bookmarks, in every form."""

from __future__ import annotations

from tests.contract.step import PARTIAL, TABLE, YAML, Step, config, delete, get, merge, namespace, post, read, watch

CONFIGS = "/api/v1/namespaces/watches/configmaps"
_OURS = "labelSelector=ours"
_SINCE = "resourceVersion=<<before>>"

STEPS: list[Step] = [
    *namespace("watches"),
    get("watches/before", CONFIGS, save={"before": "metadata.resourceVersion"}),
    watch("watches/open", f"{CONFIGS}?{_SINCE}&{_OURS}", opens="all"),
    watch("watches/open a selected one", f"{CONFIGS}?{_SINCE}&labelSelector=ours%3Dyes", opens="selected"),
    post("watches/create", CONFIGS, config("a", labels={"ours": "yes"})),
    post("watches/create another", CONFIGS, config("b", labels={"ours": "no"})),
    merge("watches/change", f"{CONFIGS}/a", {"data": {"a": "2"}}),
    merge("watches/out of the selection", f"{CONFIGS}/a", {"metadata": {"labels": {"ours": "no"}}}),
    merge("watches/into the selection", f"{CONFIGS}/b", {"metadata": {"labels": {"ours": "yes"}}}),
    delete("watches/delete", f"{CONFIGS}/b"),
    read("watches/all that happened", "all", 6),
    read("watches/all that happened to the selection", "selected", 5),
    watch("watches/resume", f"{CONFIGS}?{_SINCE}&{_OURS}", events=6),
    watch("watches/resume as table", f"{CONFIGS}?{_SINCE}&{_OURS}", events=6, accept=TABLE),
    watch("watches/resume metadata only", f"{CONFIGS}?{_SINCE}&{_OURS}", events=6, accept=PARTIAL),
    watch("watches/from zero", f"{CONFIGS}?resourceVersion=0&{_OURS}", events=1),
    watch("watches/without a version", f"{CONFIGS}?{_OURS}", events=1),
    watch("watches/one object by field", f"{CONFIGS}?fieldSelector=metadata.name%3Da&{_SINCE}", events=3),
    watch("watches/one object by path", f"{CONFIGS}/a?{_SINCE}", events=3),
    watch("watches/by the old path", f"/api/v1/watch/namespaces/watches/configmaps?{_SINCE}&{_OURS}", events=6),
    watch("watches/across namespaces", f"/api/v1/configmaps?{_SINCE}&{_OURS}", events=6),
    watch(
        "watches/initial events and bookmark",
        f"{CONFIGS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&{_OURS}",
        events=2,
    ),
    watch(
        "watches/initial events as table",
        f"{CONFIGS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&{_OURS}",
        events=2,
        accept=TABLE,
    ),
    watch(
        "watches/initial events metadata only",
        f"{CONFIGS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&{_OURS}",
        events=2,
        accept=PARTIAL,
    ),
    watch("watches/initial events without a match", f"{CONFIGS}?sendInitialEvents=true"),
    watch("watches/initial events exactly", f"{CONFIGS}?sendInitialEvents=true&resourceVersionMatch=Exact"),
    watch("watches/match without initial events", f"{CONFIGS}?resourceVersionMatch=NotOlderThan&timeoutSeconds=1"),
    watch("watches/ends after its time", f"{CONFIGS}?{_SINCE}&labelSelector=none&timeoutSeconds=1"),
    watch("watches/bad version", f"{CONFIGS}?resourceVersion=abc"),
    watch("watches/bad selector", f"{CONFIGS}?labelSelector=a%20b"),
    watch("watches/bad field", f"{CONFIGS}?fieldSelector=data.a%3D1"),
    watch("watches/bad form", CONFIGS, accept="text/html"),
    watch("watches/unknown kind", "/api/v1/namespaces/watches/gadgets"),
    watch("watches/with a limit", f"{CONFIGS}?{_SINCE}&{_OURS}&limit=1", events=2),
    watch("watches/with continue", f"{CONFIGS}?continue=x&timeoutSeconds=1"),
    watch("watches/as yaml", f"{CONFIGS}?{_SINCE}&labelSelector=none&timeoutSeconds=1", accept=YAML),
]
