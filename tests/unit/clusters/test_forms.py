"""What other systems' cluster objects ask for, and who counts when they and the Cluster disagree."""

import pytest

from hanse.api.cluster_forms import CLUSTER_TARGETS, FEDERATION_CLUSTERS, KUBEFED_CLUSTERS, SHIPPER_CLUSTERS, TARGETS
from hanse.api.clusters import CAPABILITIES_ANNOTATION, parse_cluster
from hanse.clusters.forms import FORMS, FormError, read_form
from hanse.clusters.mirroring import Step, differing_fields, mirrored_cluster, next_step
from hanse.clusters.profiles import profile_of
from hanse.kube.manifest import Key

BY_RESOURCE = {form.resource: form for form in FORMS}


def form(resource, spec, *, name="east", namespace="ns", labels=None):
    metadata = {"name": name, "uid": "u1", "labels": labels or {}}
    if resource.namespaced:
        metadata["namespace"] = namespace
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


def kubefed(**changes):
    spec = {"apiEndpoint": "east.example:6443", "secretRef": {"name": "creds"}, "caBundle": "Y2E="}
    return form(KUBEFED_CLUSTERS, spec | changes, labels={"tier": "gold"})


def read(obj, resource):
    return read_form(BY_RESOURCE[resource], obj)


def test_a_kubefed_cluster_points_to_its_secret():
    wanted = read(kubefed(), KUBEFED_CLUSTERS)

    assert (wanted.name, wanted.secret, wanted.labels) == ("east", Key("ns", "creds"), {"tier": "gold"})
    assert wanted.spec()["kubernetesApiEndpoints"] == {
        "serverEndpoints": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "https://east.example:6443"}],
        "caBundle": "Y2E=",
    }


def test_kubefed_without_checks_and_with_a_proxy_is_carried_over():
    wanted = read(kubefed(disabledTLSValidations=["*"], proxyURL="http://proxy:3128"), KUBEFED_CLUSTERS)

    assert wanted.annotations == {
        "hanse.dev/insecure-skip-tls-verify": "true",
        "hanse.dev/proxy-url": "http://proxy:3128",
    }
    assert wanted.ca_bundle == ""


def test_a_shipper_cluster_brings_its_region_and_its_cordon():
    spec = {"apiMaster": "https://east", "region": "eu", "scheduler": {"unschedulable": True}}
    wanted = read(form(SHIPPER_CLUSTERS, spec), SHIPPER_CLUSTERS)

    assert (wanted.secret, wanted.unschedulable) == (Key("shipper-system", "east"), True)
    assert wanted.labels == {"topology.kubernetes.io/region": "eu"}


def shipper(**spec):
    return form(SHIPPER_CLUSTERS, {"apiMaster": "https://east", "region": "eu", **spec})


def test_a_shipper_cluster_brings_what_applications_choose_it_by():
    spec = {"capabilities": ["gpu", "ssd"], "scheduler": {"weight": 0, "identity": "old-east"}}
    obj = shipper(**spec)
    wanted = read(obj, SHIPPER_CLUSTERS)
    cluster = parse_cluster(mirrored_cluster(wanted, obj))

    assert (cluster.capabilities, cluster.rollout_weight) == (frozenset({"gpu", "ssd"}), 0)
    assert cluster.rollout_identity == "old-east"
    assert read(shipper(), SHIPPER_CLUSTERS).annotations == {}


def test_what_applications_choose_a_shipper_cluster_by_is_followed_unless_somebody_changed_it():
    obj = shipper(capabilities=["gpu"])
    cluster = mirrored_cluster(read(obj, SHIPPER_CLUSTERS), obj)
    by_hand = mirrored_cluster(read(obj, SHIPPER_CLUSTERS), obj)
    by_hand["metadata"]["annotations"][CAPABILITIES_ANNOTATION] = "gpu,arm"
    more, less = (read(shipper(capabilities=each), SHIPPER_CLUSTERS) for each in (["gpu", "ssd"], []))

    assert (next_step(more, cluster), next_step(less, cluster)) == (Step.FOLLOW, Step.FOLLOW)
    assert next_step(read(obj, SHIPPER_CLUSTERS), cluster) is Step.NOTHING
    assert (next_step(more, by_hand), differing_fields(more, by_hand)) == (Step.DIFFER, ["metadata.annotations"])


def test_capabilities_beside_a_form_that_has_none_are_no_disagreement():
    _, wanted, cluster = wanted_and_cluster()
    cluster["metadata"]["annotations"][CAPABILITIES_ANNOTATION] = "gpu"

    assert (next_step(wanted, cluster), differing_fields(wanted, cluster)) == (Step.NOTHING, [])


@pytest.mark.parametrize(
    ("resource", "secret", "where"),
    [
        (TARGETS, {"name": "s"}, Key("ns", "s")),
        (CLUSTER_TARGETS, {"name": "s", "namespace": "far"}, Key("far", "s")),
    ],
)
def test_a_target_points_to_a_kubeconfig(resource, secret, where):
    spec = {"kubeconfigSecret": {**secret, "context": "c"}}
    wanted = read(form(resource, spec), resource)

    assert (wanted.secret, wanted.addresses) == (where, ())
    assert wanted.annotations == {"hanse.dev/credentials-key": "config", "hanse.dev/credentials-context": "c"}


def test_a_target_of_oneself_asks_for_no_cluster():
    assert read(form(TARGETS, {"self": True}), TARGETS) is None


def test_a_federation_v1_cluster_brings_all_of_its_addresses():
    spec = {
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "10.0.0.0/8", "serverAddress": "inner"},
            {"clientCIDR": "", "serverAddress": "https://outer"},
        ],
        "secretRef": {"name": "creds"},
    }
    wanted = read(form(FEDERATION_CLUSTERS, spec), FEDERATION_CLUSTERS)

    assert wanted.addresses == (("10.0.0.0/8", "https://inner"), ("0.0.0.0/0", "https://outer"))
    assert wanted.secret == Key("hanse-system", "creds")


@pytest.mark.parametrize(
    ("resource", "obj", "sentence"),
    [
        (KUBEFED_CLUSTERS, kubefed(secretRef={}), "spec.secretRef.name: must be given"),
        (KUBEFED_CLUSTERS, kubefed(disabledTLSValidations=["SubjectName"]), "spec.disabledTLSValidations: SubjectName"),
        (SHIPPER_CLUSTERS, form(SHIPPER_CLUSTERS, {"apiMaster": "x"}), "spec.region: must be given"),
        (TARGETS, form(TARGETS, {}), "spec.kubeconfigSecret.name: must be given"),
        (TARGETS, form(TARGETS, {"kubeconfigSecret": {"name": "s"}}, name="a.b"), "metadata.name: 'a.b' is not"),
        (FEDERATION_CLUSTERS, form(FEDERATION_CLUSTERS, {}), "spec.serverAddressByClientCIDRs: must have"),
    ],
)
def test_what_no_cluster_can_be_made_of_names_the_field(resource, obj, sentence):
    with pytest.raises(FormError) as fault:
        read(obj, resource)

    assert str(fault.value).startswith(sentence)


def wanted_and_cluster():
    obj = kubefed()
    wanted = read(obj, KUBEFED_CLUSTERS)
    return obj, wanted, mirrored_cluster(wanted, obj)


def test_a_new_form_makes_a_cluster_that_then_agrees_with_it():
    _, wanted, cluster = wanted_and_cluster()

    assert next_step(wanted, None) is Step.CREATE
    assert (next_step(wanted, cluster), differing_fields(wanted, cluster)) == (Step.NOTHING, [])


def test_a_changed_form_is_followed():
    _, _, cluster = wanted_and_cluster()
    moved = read(kubefed(apiEndpoint="other:6443"), KUBEFED_CLUSTERS)
    unlabelled = kubefed()
    unlabelled["metadata"]["labels"] = {}

    assert next_step(moved, cluster) is Step.FOLLOW
    assert next_step(read(unlabelled, KUBEFED_CLUSTERS), cluster) is Step.FOLLOW


def test_a_cluster_that_somebody_has_changed_wins_and_the_fields_are_named():
    _, wanted, cluster = wanted_and_cluster()
    cluster["spec"]["kubernetesApiEndpoints"]["serverEndpoints"][0]["serverAddress"] = "https://by-hand"
    cluster["metadata"]["labels"]["tier"] = "silver"

    assert next_step(wanted, cluster) is Step.DIFFER
    assert differing_fields(wanted, cluster) == ["spec.kubernetesApiEndpoints", "metadata.labels"]


def test_what_a_cluster_has_besides_is_no_disagreement():
    _, wanted, cluster = wanted_and_cluster()
    cluster["metadata"]["labels"]["mine"] = "too"
    cluster["spec"]["taints"] = [{"key": "a", "effect": "NoSchedule"}]

    assert next_step(wanted, cluster) is Step.NOTHING


def test_a_cluster_that_joined_by_itself_is_not_taken_over():
    _, wanted, cluster = wanted_and_cluster()
    del cluster["metadata"]["annotations"]
    moved = read(kubefed(apiEndpoint="other:6443"), KUBEFED_CLUSTERS)

    assert (next_step(wanted, cluster), next_step(moved, cluster)) == (Step.NOTHING, Step.DIFFER)


READY = {
    "metadata": {"name": "east", "uid": "u2", "labels": {"tier": "gold"}},
    "status": {
        "conditions": [
            {"type": "Joined", "status": "True", "reason": "x", "lastTransitionTime": "2030-01-01T00:00:00Z"},
            {"type": "Ready", "status": "True", "reason": "ClusterReady", "lastTransitionTime": "2030-01-02T00:00:00Z"},
        ],
        "version": "v1.36.0",
        "zones": ["a"],
        "region": "r",
    },
}


def test_health_is_told_back_in_the_words_of_each_system():
    told = {form.resource: form.status({}, READY) for form in FORMS}

    assert told[KUBEFED_CLUSTERS]["kubernetesVersion"] == "v1.36.0"
    assert [each["type"] for each in told[KUBEFED_CLUSTERS]["conditions"]] == ["Ready"]
    assert told[KUBEFED_CLUSTERS]["conditions"][0]["lastProbeTime"] == "2030-01-02T00:00:00Z"
    assert told[SHIPPER_CLUSTERS] == {"inService": True}
    assert (told[TARGETS], told[FEDERATION_CLUSTERS]["zones"]) == (None, ["a"])


def test_123_credentials_that_cannot_be_used_are_a_malformed_configuration_to_kubefed():
    since = {"lastTransitionTime": "2030-01-03T00:00:00Z"}
    reason = {"reason": "CredentialsUnusable", "message": "secret x has no token"}
    conditions = [
        {"type": "Joined", "status": "False", **reason, **since},
        {"type": "Ready", "status": "False", **reason, **since},
        {"type": "Offline", "status": "True", **reason, **since},
    ]
    refused = [{**conditions[0], "reason": "NotAuthenticated"}, *conditions[1:]]
    told, others = (
        kubefed_form().status({}, {"status": {"conditions": each}})["conditions"] for each in (conditions, refused)
    )

    assert [(each["type"], each["status"]) for each in told] == [("Ready", "False"), ("ConfigMalformed", "True")]
    assert (told[1]["message"], told[1]["lastProbeTime"]) == ("secret x has no token", since["lastTransitionTime"])
    assert [each["type"] for each in others] == ["Ready", "Offline"]


def kubefed_form():
    return next(form for form in FORMS if form.resource == KUBEFED_CLUSTERS)


def test_a_profile_says_who_publishes_it_and_whether_the_control_plane_is_healthy():
    profile, status = profile_of(READY)

    assert profile["spec"] == {"displayName": "east", "clusterManager": {"name": "hanse"}}
    assert profile["metadata"]["labels"] == {"tier": "gold", "x-k8s.io/cluster-manager": "hanse"}
    assert (status["conditions"][0]["type"], status["version"]) == ("ControlPlaneHealthy", {"kubernetes": "v1.36.0"})
    assert {"name": "topology.kubernetes.io/region", "value": "r"} in status["properties"]
