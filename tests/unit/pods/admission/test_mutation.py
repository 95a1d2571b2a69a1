"""What becomes of a pod that is created; numbers are lines of the fact sheet on Admiralty."""

import orjson
import pytest
import yaml

from hanse.api.admiralty.keys import (
    ANSWERS,
    ELECT,
    GATE,
    HAS_FINALIZER,
    MANIFEST,
    PARENT_UID,
    POD_FINALIZER,
    PROVIDER,
    PROXY_CONSTRAINTS,
    PROXY_SCHEDULER,
    SEAL,
    SPEC_CONSTRAINTS,
)
from hanse.api.admiralty.names import TargetName
from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION
from hanse.kube.manifest import annotations_of, finalizers_of, labels_of
from hanse.kube.patches.json_patch import apply_json_patch, json_patch_between
from hanse.pods.admission.mutation import AdmissionRequest, Refusal, admit, stays_home
from hanse.pods.admission.seals import LIFE_SECONDS, Sealer
from hanse.pods.placeholder.reading import submitted

ANNA = AdmissionRequest("anna", ("devs",), namespace="default")
TARGETS = (TargetName("default", "c2"), TargetName("", "eu-west"), TargetName("other", "c3"))
SEALER = Sealer(b"key", 1_700_000_000.0)
ROBOTS = "robots-of-this-cluster"
ONLY_PROVIDER = {PROVIDER: "admiralty"}


def pod(annotations=None, *, labels=None, finalizers=None, elected=True, metadata=None, **spec):
    said = {**({ELECT: ""} if elected else {}), **(annotations or {})}
    about = {"name": "web", "namespace": "default", "annotations": said, **(metadata or {})}
    if labels:
        about["labels"] = labels
    if finalizers:
        about["finalizers"] = finalizers
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": {"containers": [container], **spec}}


def admitted(given, request=ANNA, *, targets=TARGETS, source="home", sealer=SEALER):
    return admit(given, request, targets, source, sealer, controllers=(ROBOTS,))


def test_01_a_pod_that_is_not_elected_is_left_as_it_is():
    assert admitted(pod(elected=False, nodeSelector={"a": "b"})) is None


def test_03_a_placeholder_is_gated_and_keeps_the_pod_as_it_was_submitted():
    given = pod({"note": "ü"}, labels={"app": "web"}, restartPolicy="Never")

    placeholder = admitted(given)

    assert placeholder["spec"]["schedulerName"] == PROXY_SCHEDULER
    assert placeholder["spec"]["schedulingGates"] == [{"name": GATE}]
    assert labels_of(placeholder) == {"app": "web", HAS_FINALIZER: "true"}
    assert placeholder["spec"]["containers"] == given["spec"]["containers"]
    assert yaml.safe_load(annotations_of(placeholder)[MANIFEST]) == given
    assert submitted(placeholder) == given


def test_03_who_set_which_field_is_not_kept():
    placeholder = admitted(pod(metadata={"managedFields": [{"manager": "kubectl"}]}))

    assert "managedFields" not in submitted(placeholder)["metadata"]
    assert placeholder["metadata"]["managedFields"] == [{"manager": "kubectl"}]


def test_04_what_the_annotation_says_does_not_matter():
    assert admitted(pod({ELECT: "false"}))["spec"]["schedulerName"] == PROXY_SCHEDULER


AFFINITY: dict[str, object] = {
    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}
}
SPREAD = [{"maxSkew": 1, "topologyKey": "region", "whenUnsatisfiable": "DoNotSchedule"}]
CONSTRAINED = {
    "nodeSelector": {"a": "b"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "affinity": AFFINITY,
    "topologySpreadConstraints": SPREAD,
}
EXPIRING = [
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
    {"operator": "Exists", "tolerationSeconds": 60},
    {"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
]
OTHERS = "nodeSelector: {x: y}\ntolerations: [{key: price, value: high}]\n"
CONSTRAINTS = {
    "05 those of the pod are the target's": ({}, CONSTRAINED, ONLY_PROVIDER, [], None, None),
    "06 those of the pod are for clusters": (
        {SPEC_CONSTRAINTS: ""},
        CONSTRAINED,
        {**ONLY_PROVIDER, "a": "b"},
        CONSTRAINED["tolerations"],
        AFFINITY,
        SPREAD,
    ),
    "07 those of the annotation are for clusters": (
        {PROXY_CONSTRAINTS: OTHERS},
        CONSTRAINED,
        {**ONLY_PROVIDER, "x": "y"},
        [{"key": "price", "value": "high"}],
        None,
        None,
    ),
    "07 the annotation wins": (
        {PROXY_CONSTRAINTS: OTHERS, SPEC_CONSTRAINTS: ""},
        CONSTRAINED,
        {**ONLY_PROVIDER, "x": "y"},
        [{"key": "price", "value": "high"}],
        None,
        None,
    ),
    "07 an annotation that says nothing": ({PROXY_CONSTRAINTS: ""}, CONSTRAINED, ONLY_PROVIDER, [], None, None),
    "no toleration evicts after a while": (
        {SPEC_CONSTRAINTS: ""},
        {"tolerations": EXPIRING},
        ONLY_PROVIDER,
        EXPIRING[2:],
        None,
        None,
    ),
}


@pytest.mark.parametrize("case", CONSTRAINTS.values(), ids=list(CONSTRAINTS))
def test_constraints_on_clusters_and_on_nodes_are_kept_apart(case):
    annotations, spec, selector, tolerations, affinity, spread = case

    placeholder = admitted(pod(annotations, **spec))

    assert placeholder["spec"]["nodeSelector"] == selector
    assert placeholder["spec"]["tolerations"][4:] == tolerations
    assert placeholder["spec"].get("affinity") == affinity
    assert placeholder["spec"].get("topologySpreadConstraints") == spread
    assert submitted(placeholder)["spec"] == {**pod()["spec"], **spec}


def test_a_placeholder_tolerates_virtual_nodes_and_the_loss_of_their_targets():
    assert admitted(pod())["spec"]["tolerations"] == [
        {"key": PROVIDER, "value": "admiralty"},
        {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists"},
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
    ]


def test_08_constraints_that_cannot_be_read_are_refused_by_the_annotation_s_name():
    refusal = admitted(pod({PROXY_CONSTRAINTS: "nodeSelectors: {}"}))

    assert isinstance(refusal, Refusal)
    assert PROXY_CONSTRAINTS in refusal.field
    assert "nodeSelectors" in refusal.why


def test_a_selector_cannot_ask_for_another_provider():
    assert admitted(pod({SPEC_CONSTRAINTS: ""}, nodeSelector={PROVIDER: "azure"})) == Refusal(
        f"spec.nodeSelector[{PROVIDER}]", "it must be admiralty, as on all virtual nodes"
    )


@pytest.mark.parametrize("elapsed", [0, LIFE_SECONDS])
def test_09_asked_again_admission_changes_nothing(elapsed):
    placeholder = admitted(pod({SPEC_CONSTRAINTS: ""}, labels={"app": "web"}, **CONSTRAINED))

    assert admitted(placeholder, sealer=Sealer(SEALER.key, SEALER.now + elapsed)) is None


def test_09_what_others_did_to_the_placeholder_itself_is_undone():
    first = admitted(pod(nodeSelector={"a": "b"}))
    spec = {**first["spec"], "nodeSelector": {}, "tolerations": [], "terminationGracePeriodSeconds": 30}

    again = admitted({**first, "spec": spec})

    assert again == first


def test_09_what_others_added_to_what_runs_is_kept():
    first = admitted(pod(nodeSelector={"a": "b"}, terminationGracePeriodSeconds=30))
    sidecar = {"name": "proxy", "image": "envoy"}
    changed = {**first, "spec": {**first["spec"], "containers": [*first["spec"]["containers"], sidecar]}}

    again = admitted(changed)
    kept = submitted(again)["spec"]

    assert [each["name"] for each in kept["containers"]] == ["c", "proxy"]
    assert (kept["nodeSelector"], kept["terminationGracePeriodSeconds"]) == ({"a": "b"}, 30)
    assert admitted(again) is None


def test_10_foreign_finalizers_stay_and_there_is_one_for_every_target_of_the_namespace():
    placeholder = admitted(pod(finalizers=["foo.io/x", "multicluster.admiralty.io/old"]))

    assert finalizers_of(placeholder) == [
        "foo.io/x",
        "multicluster.admiralty.io/default-c2",
        "multicluster.admiralty.io/eu-west-17481299ed",
        POD_FINALIZER,
    ]


def test_11_the_grace_period_is_the_pod_s_and_not_the_placeholder_s():
    placeholder = admitted(pod(terminationGracePeriodSeconds=30))

    assert placeholder["spec"]["terminationGracePeriodSeconds"] == 0
    assert submitted(placeholder)["spec"]["terminationGracePeriodSeconds"] == 30


def test_gates_of_others_stay():
    placeholder = admitted(pod(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]))

    assert [gate["name"] for gate in placeholder["spec"]["schedulingGates"]] == ["kueue.x-k8s.io/admission", GATE]
    assert admitted(placeholder) is None


def test_the_patch_makes_the_placeholder_of_the_pod():
    given = pod(nodeSelector={"a": "b"}, tolerations=EXPIRING)
    placeholder = admitted(given)

    assert apply_json_patch(given, json_patch_between(given, placeholder)) == placeholder


HOME = {
    "a node": (pod(nodeName="n1"), ANNA, "spec.nodeName"),
    "a static pod": (pod({"kubernetes.io/config.mirror": "x"}), ANNA, "static pod"),
    "a DaemonSet": (pod(metadata={"ownerReferences": [{"kind": "DaemonSet", "name": "d"}]}), ANNA, "DaemonSet"),
    "the cluster's own": (pod(), AdmissionRequest("anna", namespace="kube-system"), "namespace kube-system"),
    "Hanse's own": (pod(), AdmissionRequest("anna", namespace="hanse-system"), "namespace hanse-system"),
}


@pytest.mark.parametrize("case", HOME.values(), ids=list(HOME))
def test_some_pods_stay_whatever_they_ask_for(case):
    given, request, why = case

    assert admitted(given, request) is None
    assert why in stays_home(given, request)


def test_only_creations_are_looked_at():
    assert admitted(pod(), AdmissionRequest("anna", operation="UPDATE", namespace="default")) is None


AUTHORS = {
    "a person": (ANNA, "home", "pods.hanse.dev:home:anna", ["pods.hanse.dev:home", "pods.hanse.dev:home:devs"]),
    "a person on the host": (ANNA, "", "anna", ["devs"]),
    "a group of two lines": (
        AdmissionRequest("anna", ("a\nsystem:masters",), namespace="default"),
        "",
        "anna",
        [""],
    ),
    "Kubernetes for a Job": (
        AdmissionRequest("system:serviceaccount:kube-system:job-controller", ("x",), namespace="default"),
        "home",
        "pods.hanse.dev:home:system:serviceaccount:default:robot",
        [
            "pods.hanse.dev:home",
            "pods.hanse.dev:home:system:serviceaccounts",
            "pods.hanse.dev:home:system:serviceaccounts:default",
            "pods.hanse.dev:home:system:authenticated",
        ],
    ),
    "Kubernetes in one process": (
        AdmissionRequest("system:kube-controller-manager", namespace="default"),
        "",
        "system:serviceaccount:default:robot",
        ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    ),
    "who does the work of Kubernetes here": (
        AdmissionRequest(ROBOTS, ("system:masters",), namespace="default"),
        "",
        "system:serviceaccount:default:robot",
        ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    ),
    "an operator": (
        AdmissionRequest("system:serviceaccount:argo:my-controller", namespace="default"),
        "",
        "system:serviceaccount:argo:my-controller",
        [""],
    ),
}


@pytest.mark.parametrize("case", AUTHORS.values(), ids=list(AUTHORS))
def test_the_author_is_who_asks_or_the_account_that_a_controller_s_pod_runs_as(case):
    request, source, user, groups = case
    forged = {AUTHOR_ANNOTATION: "root", AUTHOR_GROUPS_ANNOTATION: "system:masters"}

    placeholder = admitted(pod(forged, serviceAccountName="robot"), request, source=source)

    assert annotations_of(placeholder)[AUTHOR_ANNOTATION] == user
    assert annotations_of(placeholder)[AUTHOR_GROUPS_ANNOTATION].split("\n") == groups
    assert not set(forged) & set(annotations_of(submitted(placeholder)))


FORGED = {
    "a manifest": (pod({MANIFEST: "{}"}), f"metadata.annotations[{MANIFEST}]"),
    "a manifest with a seal": (pod({MANIFEST: "{}", SEAL: "1.2"}), f"metadata.annotations[{MANIFEST}]"),
    "answers": (pod({ANSWERS: "{}"}), f"metadata.annotations[{ANSWERS}]"),
    "a key that may come": (pod({"pods.hanse.dev/x": ""}), "metadata.annotations[pods.hanse.dev/x]"),
    "a mark of Admiralty's": (
        pod({"multicluster.admiralty.io/is-allowed": ""}),
        "metadata.annotations[multicluster.admiralty.io/is-allowed]",
    ),
    "a label": (pod(labels={HAS_FINALIZER: "true"}), f"metadata.labels[{HAS_FINALIZER}]"),
    "a parent": (pod(labels={PARENT_UID: "u"}), f"metadata.labels[{PARENT_UID}]"),
    "the gate": (pod(schedulingGates=[{"name": GATE}]), "spec.schedulingGates"),
    "the scheduler": (pod(schedulerName=PROXY_SCHEDULER), "spec.schedulerName"),
    "a manifest on a pod that stays": (pod({MANIFEST: "{}"}, nodeName="n1"), f"metadata.annotations[{MANIFEST}]"),
}


@pytest.mark.parametrize("case", FORGED.values(), ids=list(FORGED))
def test_d15_what_only_hanse_writes_is_refused_with_its_path(case):
    given, field = case

    refusal = admitted(given)

    assert isinstance(refusal, Refusal)
    assert refusal.field == field
    assert "Hanse" in refusal.why or "schedules nothing" in refusal.why


def resubmitted(placeholder, **annotations):
    metadata = {**placeholder["metadata"], "annotations": {**annotations_of(placeholder), **annotations}}
    return {**placeholder, "metadata": metadata}


STOLEN = {
    "by somebody else": (AdmissionRequest("otto", namespace="default"), SEALER, {}),
    "into another namespace": (AdmissionRequest("anna", namespace="other"), SEALER, {}),
    "too late": (ANNA, Sealer(SEALER.key, SEALER.now + LIFE_SECONDS + 1), {}),
    "under another key": (ANNA, Sealer(b"other", SEALER.now), {}),
    "with another manifest": (ANNA, SEALER, {MANIFEST: "{}"}),
    "with a later moment": (ANNA, SEALER, {SEAL: "1700000020.00"}),
    "with a moment of another script": (ANNA, SEALER, {SEAL: "١٧٠٠٠٠٠٠٠٠.00"}),
    "with a moment without end": (ANNA, SEALER, {SEAL: "9" * 9999 + ".00"}),
    "where nothing is sealed": (ANNA, None, {}),
    "with answers beside it": (ANNA, SEALER, {ANSWERS: "{}"}),
}


@pytest.mark.parametrize("case", STOLEN.values(), ids=list(STOLEN))
def test_d15_a_placeholder_cannot_be_submitted(case):
    request, sealer, changes = case

    assert isinstance(admitted(resubmitted(admitted(pod()), **changes), request, sealer=sealer), Refusal)


def test_d15_a_sealed_manifest_hides_nothing_that_runs():
    """Who has a manifest sealed and submits it on a harmless pod gets the harmless pod."""
    sealed = admitted(pod(hostPID=True, containers=[{"name": "c", "image": "miner"}]))
    harmless = {"containers": [{"name": "c", "image": "busybox"}]}

    placeholder = admitted({**sealed, "spec": {**sealed["spec"], **harmless, "hostPID": False}})

    assert submitted(placeholder)["spec"]["containers"] == harmless["containers"]
    assert submitted(placeholder)["spec"]["hostPID"] is False


def test_a_sealed_manifest_does_not_bring_a_pod_home():
    placeholder = admitted(pod())

    refusal = admitted({**placeholder, "spec": {**placeholder["spec"], "nodeName": "n1"}})

    assert isinstance(refusal, Refusal)
    assert "spec.nodeName" in refusal.why


@pytest.mark.parametrize("size", [300 * 1024, 1024**2], ids=["300 KiB", "1 MiB"])
def test_a_pod_that_no_annotation_holds_is_refused(size):
    container = {"name": "c", "image": "busybox", "env": [{"name": "BIG", "value": "x" * size}]}

    refusal = admitted(pod(containers=[container]))

    assert isinstance(refusal, Refusal)
    assert refusal.field == f"metadata.annotations[{MANIFEST}]"
    assert "262144" in refusal.why


def test_a_pod_that_annotations_just_hold_is_admitted():
    def sized(length):
        return pod(containers=[{"name": "c", "image": "busybox", "env": [{"name": "BIG", "value": "x" * length}]}])

    spare = 224 * 1024 - sum(len(key) + len(text) for key, text in annotations_of(admitted(sized(0))).items())

    assert not isinstance(admitted(sized(spare)), Refusal)
    assert isinstance(admitted(sized(spare + 1)), Refusal)


def test_a_manifest_is_json():
    assert orjson.loads(annotations_of(admitted(pod()))[MANIFEST]) == pod()
