"""What the real KubeFed v0.10.0 left in real clusters, recorded, against what Hanse renders of the same YAML.

The recordings are written by tests/kubernetes/kubefed with HANSE_RECORD=1. Clusters add defaults to what they are
given: everything that is rendered has to be in the recorded objects, and no object, label or annotation more or less.
"""

import json
from pathlib import Path

import pytest

from hanse.api.clusters import Cluster
from hanse.federated.door import FederatedDoor
from hanse.federated.versions import overrides_version, template_version
from hanse.kube.manifest import key_of
from hanse.kube.resources import Resource
from hanse.kube.schemas import schema_for
from hanse.propagation.comparison import Present
from hanse.propagation.drift import drifted_fields
from hanse.propagation.intent import Intent
from hanse.propagation.planning import Observation, plan
from tests.kubernetes.kubefed.examples import CLUSTERS, LABELS, manifests, named, read_examples

RECORDED = Path(__file__).parent / "recorded"
EXAMPLES = {example.name: example for example in read_examples()}
FLEET = [Cluster(name, labels=LABELS.get(name, {}), ready=True) for name in CLUSTERS]
CONFIG = {
    "apiVersion": "core.kubefed.io/v1beta1",
    "kind": "KubeFedConfig",
    "metadata": {"name": "kubefed", "namespace": "kube-federation-system"},
    "spec": {"scope": "Cluster"},
}
# These are not what was written for reasons that lie in the clusters: somebody changed them there, or could not.
OF_THE_CLUSTER = {
    "kept-out": ["data.a", "metadata.labels.kubefed.io/managed"],
    "immutable": ["spec.template.spec.containers[main].image"],
    "retained": ["spec.replicas"],
    "retained-and-overridden": ["spec.replicas"],
}
# Clusters label namespaces themselves; in these examples people of theirs have annotated objects.
ADDED_LABELS = {"kubernetes.io/metadata.name"}
ADDED_ANNOTATIONS = {"inside", "mine"}


def recorded(name):
    return json.loads((RECORDED / f"{name}.json").read_text())


def resource_of(obj):
    group, _, version = obj["apiVersion"].rpartition("/")
    return Resource(group, version, f"{obj['kind'].lower()}s", obj["kind"], namespaced="namespace" in obj["metadata"])


def with_uids(objects):
    """The last of every object, as a server has it."""
    last = {(obj["kind"], named(obj)): obj for obj in objects}
    return [{**obj, "metadata": {**obj["metadata"], "uid": f"uid-{place}"}} for place, obj in enumerate(last.values())]


def is_federated(obj):
    return obj["apiVersion"].startswith("types.kubefed.io/")


def rendered(objects, running):
    """What each cluster gets of the objects, while it runs what it had before."""
    known = {}
    for obj in objects:
        known.setdefault(resource_of(obj), {})[key_of(obj)] = obj
    door = FederatedDoor().informed(known)
    members = {name: {} for name in CLUSTERS}
    for source in filter(is_federated, objects):
        intent = door.translate(source)
        if not isinstance(intent, Intent):
            continue
        title = f"{intent.resource.kind} {intent.key.namespace + '/' if intent.key.namespace else ''}{intent.key.name}"
        observed = {name: Observation(True, running[name].get(title)) for name in CLUSTERS}
        for name, wish in plan(intent, FLEET, observed).wanted.items():
            if isinstance(wish, Present):
                members[name][title] = wish.manifest
    return members


def ready(copy):
    replicas = (copy.get("spec") or {}).get("replicas", 0)
    return {**copy, "status": {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}}


@pytest.fixture(params=EXAMPLES)
def example(request):
    return EXAMPLES[request.param]


def test_hanse_renders_what_kubefed_left_in_every_cluster(example):
    first = [*manifests(example.written), CONFIG]
    nothing = {name: {} for name in CLUSTERS}
    copies = rendered(with_uids(first), nothing)
    if example.then:
        running = {name: {title: ready(copy) for title, copy in held.items()} for name, held in copies.items()}
        copies = rendered(with_uids([*first, *manifests(example.then)]), running)

    left = recorded(example.name)["members"]
    for cluster in CLUSTERS:
        assert sorted(copies[cluster]) == sorted(left[cluster])
        for title, found in left[cluster].items():
            assert differences(found, copies[cluster][title]) == [], f"{title} in {cluster}"


def differences(found, copy):
    """The fields that are rendered otherwise than they were found, and the marks that one has and the other has not."""
    kind = resource_of(copy)
    wanted = unmarked(copy)
    fields = list(drifted_fields(found, wanted, schema_for(kind.group, kind.version, kind.kind)))
    for part, others in (("labels", ADDED_LABELS), ("annotations", ADDED_ANNOTATIONS)):
        extra = found["metadata"].get(part, {}).keys() - wanted["metadata"][part].keys() - others
        fields += [f"metadata.{part}.{name}" for name in extra]
    return [field for field in fields if field not in OF_THE_CLUSTER.get(copy["metadata"]["name"], ())]


def unmarked(copy):
    metadata = dict(copy["metadata"])
    for part in ("labels", "annotations"):
        metadata[part] = {name: text for name, text in metadata.get(part, {}).items() if "hanse.dev/" not in name}
    return {**copy, "metadata": metadata}


def test_hanse_writes_down_the_hashes_that_kubefed_wrote_down(example):
    versions = recorded(example.name)["versions"]
    for source in with_uids([*manifests(example.written), *manifests(example.then)]):
        found = versions.get(f"{source['kind']} {named(source)}")
        if not is_federated(source) or found is None:
            continue
        assert template_version(source) == found["templateVersion"]
        assert overrides_version(source) == found.get("overridesVersion", overrides_version(source))
