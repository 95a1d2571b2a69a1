"""What users and administrators of one cluster try against the others by way of pods that run elsewhere.

Whoever administers a source can write anything into it, past admission and policies; so what Hanse reads there is
judged again where it counts. The page on admission lists these attempts beside those that an API server refuses.
"""

import re

import orjson
import pytest

from hanse.api.admiralty.keys import (
    EXPIRES_AFTER,
    GANG,
    JOB_MANAGER,
    LOST_AFTER,
    MANIFEST,
    NO_PREFIX,
    ORIGINAL_SELECTOR,
    PARENT_CLUSTER,
    PARENT_UID,
    PROXY_CONSTRAINTS,
    PROXY_SCHEDULER,
)
from hanse.api.admiralty.names import TargetName
from hanse.api.namespaces import SYSTEM_NAMESPACES, SYSTEM_PREFIXES, is_system
from hanse.kube.quantities import parse_quantity
from hanse.pods.admission.manifests import admission_manifests
from hanse.pods.baggage.door import BaggageDoor
from hanse.pods.baggage.services import GlobalDoor
from hanse.pods.door import PodDoor
from hanse.pods.jobs.door import JobDoor
from hanse.pods.placeholder.reading import attempt_of, expires_after, lost_after, submitted
from hanse.pods.summaries.summing import total
from hanse.pods.wishes.company import company_terms
from hanse.propagation.intent import Problem
from tests.unit.defined_tests import CHECKOUT, names_in
from tests.unit.pods.wishes.scenes import beside, cluster, pod, wishing
from tests.unit.pods.wishes.scenes import placeholder as neighbour


class Targets:
    """One target in another cluster."""

    def targets(self):
        return (TargetName("", "eu"),)

    def is_self(self, _name):
        return False

    def is_leaving(self, _name):
        return False

    def clusters(self):
        return (cluster("eu"),)


SPEC = {"containers": [{"name": "c", "image": "busybox"}]}
SYSTEM = ("kube-system", "kube-public", "kube-node-lease", "hanse-system", "hanse-cluster-eu")


def placeholder(manifest=None, namespace="shop", **annotations):
    """What an administrator of a source can write: a placeholder by hand."""
    text = manifest if isinstance(manifest, str) else orjson.dumps({"metadata": {}, "spec": manifest or SPEC}).decode()
    metadata = {"name": "p", "namespace": namespace, "uid": "u-1", "annotations": {MANIFEST: text, **annotations}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**SPEC, "schedulerName": PROXY_SCHEDULER},
    }


def in_namespace(kind, namespace, **fields):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "namespace": namespace, "uid": "u"}, **fields}


# A source against its targets


@pytest.mark.parametrize("namespace", SYSTEM)
def test_a_pod_by_hand_in_a_system_namespace_runs_nowhere(namespace):
    found = PodDoor("home", Targets()).translate(placeholder(namespace=namespace))

    assert isinstance(found, Problem)
    assert found.reason == "SystemNamespace"
    assert namespace in found.message


@pytest.mark.parametrize("namespace", SYSTEM)
def test_a_whole_job_by_hand_in_a_system_namespace_runs_nowhere(namespace):
    job = in_namespace("Job", namespace, spec={"managedBy": JOB_MANAGER, "template": {"spec": SPEC}})
    found = JobDoor("home", Targets()).translate(job)

    assert isinstance(found, Problem)
    assert (found.reason, namespace in found.message) == ("SystemNamespace", True)


@pytest.mark.parametrize("namespace", SYSTEM)
def test_nothing_of_a_system_namespace_goes_with_pods(namespace):
    door = GlobalDoor("home", Targets())

    assert not door.admits(in_namespace("Service", namespace, spec={"selector": {"k8s-app": "kube-dns"}}))
    assert not door.admits(in_namespace("Ingress", namespace, spec={}))
    assert not BaggageDoor("home", Targets()).admits(in_namespace("Secret", namespace, type="Opaque"))
    assert not BaggageDoor("home", Targets()).admits({"kind": "Namespace", "metadata": {"name": namespace}})


def test_namespaces_that_only_look_like_a_system_s_are_anybody_s():
    assert not any(map(is_system, ("shop", "kubernetes", "my-kube-system", "hanse", "hanse-systems")))


POLICED = {
    "pod-security.kubernetes.io/enforce": "privileged",
    "pod-security.kubernetes.io/enforce-version": "latest",
    "scheduler.alpha.kubernetes.io/node-selector": "role=control-plane",
    "policy.networking.k8s.io/tier": "trusted",
    "admission.gatekeeper.sh/ignore": "true",
    "openshift.io/sa.scc.uid-range": "0/1",
    "multicluster.admiralty.io/parent-uid": "u-2",
    "hanse.dev/managed": "true",
}


def test_a_namespace_that_follows_says_nothing_of_what_may_happen_in_the_target():
    said = {**POLICED, "team": "shop", "app.kubernetes.io/part-of": "shop"}
    source = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "u"}}
    source["metadata"] |= {"labels": said, "annotations": said}

    made = BaggageDoor("home", Targets()).translate(source).template["metadata"]

    assert made["labels"] == {"team": "shop", "app.kubernetes.io/part-of": "shop"}
    assert made["annotations"] == made["labels"]


def test_what_goes_with_pods_cannot_pass_for_hanse_s_own():
    forged = {PARENT_UID: "another", PARENT_CLUSTER: "other", "hanse.dev/door": "pods", "pods.hanse.dev/x": "y"}
    source = in_namespace("ConfigMap", "shop", data={})
    source["metadata"]["labels"] = {"team": "shop", **forged}

    made = BaggageDoor("home", Targets()).translate(source).template["metadata"]

    assert made["labels"] == {"team": "shop", PARENT_UID: "u", PARENT_CLUSTER: "home"}


# A source against the control plane


def bomb(levels=9):
    lines = ["metadata: {}", "x0: &x0 {key: k, operator: Exists}"]
    lines += [f"x{i}: &x{i} [{','.join([f'*x{i - 1}'] * 10)}]" for i in range(1, levels + 1)]
    return "\n".join([*lines, f"spec: {{containers: [], tolerations: *x{levels}}}"])


NO_PODS = {
    "a bomb of anchors": bomb(),
    "an anchor that holds itself": "metadata: {}\nspec: {containers: [], affinity: &a {b: *a}}",
    "a tower in YAML": "metadata: {}\nspec: {containers: [], affinity: " + "{a: " * 1500,
    "a tower in JSON": '{"metadata": {}, "spec": {"containers": [], "affinity": ' + '{"a":' * 500 + "1" + "}" * 502,
    "a library": "metadata: {}\nspec: {containers: [], x: '" + "y" * 300_000 + "'}",
    "a crowd": "metadata: {}\nspec: {containers: [" + "{}," * 30_000 + "]}",
    "an object of Python": "!!python/object/apply:os.system [id]",
    "finalizers that are none": '{"metadata": {"finalizers": 7}, "spec": {"containers": []}}',
    "metadata that is none": '{"metadata": [], "spec": {"containers": []}}',
    "no spec": '{"metadata": {}, "spec": []}',
    "no YAML": "{",
    "nothing": "",
}


@pytest.mark.parametrize("text", NO_PODS.values(), ids=list(NO_PODS))
def test_a_manifest_by_hand_that_is_no_pod_is_told_and_not_built(text):
    assert submitted(placeholder(text)) is None
    found = PodDoor("home", Targets()).translate(placeholder(text))

    assert isinstance(found, Problem)
    assert MANIFEST in found.message


def test_a_manifest_in_yaml_as_admiralty_writes_it_is_read():
    text = "metadata:\n  name: p\n  creationTimestamp: null\nspec:\n  containers:\n  - {name: c, image: busybox}\n"

    assert submitted(placeholder(text)) == {"metadata": {"name": "p", "creationTimestamp": None}, "spec": SPEC}


HIDDEN = {
    "tolerations of another type": {"tolerations": "all"},
    "an affinity of another type": {"affinity": [1]},
    "a selector of another type": {"nodeSelector": 7},
    "terms of another type": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": 7}}},
    "company of another type": {"affinity": {"podAffinity": "everybody"}},
    "spreads of another type": {"topologySpreadConstraints": {"a": "b"}},
}


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=list(HIDDEN))
def test_constraints_by_hand_that_are_none_are_told(hidden):
    by_spec = {"multicluster.admiralty.io/use-constraints-from-spec-for-proxy-pod-scheduling": ""}
    found = PodDoor("home", Targets()).translate(placeholder({**SPEC, **hidden}, **by_spec))

    assert isinstance(found, Problem)
    assert found.reason == "InvalidConstraints"
    assert found.message.startswith("spec.")


def test_constraints_that_became_a_bomb_after_admission_are_told():
    found = PodDoor("home", Targets()).translate(placeholder(**{PROXY_CONSTRAINTS: bomb()}))

    assert isinstance(found, Problem)
    assert "it must not use anchors" in found.message


def test_numbers_without_end_are_none():
    endless = {"pods.hanse.dev/attempt": "9" * 5000, LOST_AFTER: "9" * 400, EXPIRES_AFTER: "9" * 5000}
    found = placeholder(**endless)

    assert (attempt_of(found), lost_after(found), expires_after(found)) == (1, 30.0, None)
    assert not isinstance(PodDoor("home", Targets()).translate(found), Problem)


def test_a_gang_without_end_is_told():
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "o", "controller": True}
    found = placeholder(**{GANG: "9" * 5000})
    found["metadata"]["ownerReferences"] = [owner]
    door = PodDoor("home", Targets())

    told = door.translate(found)

    assert isinstance(told, Problem)
    assert "from 1 to 999999" in told.message
    assert len(told.message) < 200


def test_a_pattern_without_end_on_a_service_is_told():
    service = in_namespace("Service", "shop", spec={"selector": {"app": "web"}})
    service["metadata"]["annotations"] = {NO_PREFIX: "a" * 2000, ORIGINAL_SELECTOR: "app=web"}

    found = GlobalDoor("home", Targets()).translate(service)

    assert isinstance(found, Problem)
    assert "must not be longer than 1024 characters" in found.message


# Users of a source against each other


def test_nobody_learns_the_names_of_pods_in_namespaces_of_others():
    shy = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {}, "topologyKey": "region", "namespaceSelector": {}}]}}}  # fmt: skip
    fleet = (cluster("eu", region="europe"),)
    secret = beside("eu", "merger-with-acme", namespace="board", **shy)

    kept_away = company_terms(pod(), neighbour(), [secret], fleet)
    keeping_away = company_terms(wishing(shy), neighbour(), [secret], fleet)

    told = [why for terms in (kept_away, keeping_away) for demand in terms.demands for _, why in demand.against]
    assert len(told) == 3
    assert all(why.startswith("a pod of another namespace ") for why in told)


def test_an_api_server_and_hanse_mean_the_same_system_namespaces():
    manifests = admission_manifests("https://admission", b"")
    (webhook, *_others) = manifests[0]["webhooks"]
    policy = next(each for each in manifests if each["metadata"]["name"] == "new-placeholders.pods.hanse.dev")
    asked = webhook["matchConditions"][0]["expression"], policy["spec"]["validations"][0]["expression"]

    for prefix in SYSTEM_PREFIXES:
        assert all(f"request.namespace.startsWith('{prefix}')" in expression for expression in asked)
    for name in SYSTEM_NAMESPACES:
        assert f"'{name}'" in asked[1]
        assert webhook["namespaceSelector"]["matchExpressions"][0]["values"] == [name]


# A target against its sources


@pytest.mark.parametrize("text", ["9" * 300, "9" * 1_000_000, "1e999999999", "-" + "9" * 300])
def test_amounts_beyond_measure_are_counted_like_others(text):
    assert abs(parse_quantity(text)) >= 10**80
    assert set(total([{"cpu": text}, {"cpu": "1"}])) == {"cpu"}


# The page

PAGE = (CHECKOUT / "docs/reference/pods-admission.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)(?:\[([^`]+)\])?`")


def test_every_attempt_on_the_page_has_a_test_that_exists():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "`tests/" in line]
    missing = [f"{path}::{name}" for path, name, _ in NAMED.findall(PAGE) if name not in names_in(path)[0]]

    assert len(rows) > 20
    assert missing == []
