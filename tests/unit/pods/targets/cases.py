"""Targets and what is known of them, for tests."""

from hanse.api.admiralty.names import TargetName, target_named
from hanse.api.clusters import Address, Cluster
from hanse.clusters.health import Health, State, Symptom
from hanse.kube.manifest import Key
from hanse.pods.targets.reading import Credentials, Target
from hanse.pods.targets.survey import Private, Scene

READY = Health(State.READY, "it answers", symptom=Symptom.READY)


def target(name, created="2026-01-01T00:00:00Z", **fields):
    return Target(name=target_named(name), uid=f"uid-{name}", created=created, **fields)


def registered(name, cluster, **fields):
    return target(name, cluster=cluster, **fields)


def private(name, **fields):
    return target(name, credentials=Credentials(Key("default", "credentials")), **fields)


def own(name, **fields):
    return target(name, itself=True, **fields)


def cluster(name, **fields):
    fields = {"ready": True, "addresses": (Address(f"https://{name}:6443"),), "uid": f"uid-of-{name}", **fields}
    return Cluster(name, **fields)


def scene(*clusters, privates=None, taken=None, source="home"):
    known = privates or {}
    return Scene(
        source,
        {each.name: each for each in clusters},
        lambda target: known.get(str(target.name), Private()),
        taken or {},
    )


def manifest(spec, *, namespace="default", name="c2", **metadata):
    kind = "Target" if namespace else "ClusterTarget"
    named = {"name": name, **({"namespace": namespace} if namespace else {}), "uid": "u1", **metadata}
    return {"apiVersion": "multicluster.admiralty.io/v1alpha1", "kind": kind, "metadata": named, "spec": spec}


__all__ = ["READY", "TargetName", "cluster", "manifest", "own", "private", "registered", "scene", "target"]
