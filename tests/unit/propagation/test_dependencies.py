"""What pods name: everything that has to be in their cluster, and nothing that every cluster has itself."""

import pytest

from hanse.api.plain_kinds import CLAIMS
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, SECRETS, SERVICE_ACCOUNTS
from hanse.propagation.dependencies import Need, named_by
from hanse.propagation.intent import Ref


def workload(pod, kind="Deployment"):
    spec = {"containers": [{"name": "main"}], **pod}
    template = {"template": {"spec": spec}}
    body = {"Pod": spec, "CronJob": {"jobTemplate": {"spec": template}}}.get(kind, template)
    return {"kind": kind, "metadata": {"name": "web", "namespace": "shop"}, "spec": body}


def container(**fields):
    return {"containers": [{"name": "main", **fields}]}


def volume(**source):
    return {"volumes": [{"name": "v", **source}]}


def need(resource, name, *, optional=False):
    return Need(Ref(resource, Key("shop", name)), optional)


@pytest.mark.parametrize(
    ("pod", "named"),
    [
        ({}, []),
        ({"serviceAccountName": "robot"}, [need(SERVICE_ACCOUNTS, "robot")]),
        ({"serviceAccount": "robot"}, [need(SERVICE_ACCOUNTS, "robot")]),
        ({"serviceAccountName": "default"}, []),
        ({"imagePullSecrets": [{"name": "pull"}, {}]}, [need(SECRETS, "pull")]),
        (container(envFrom=[{"configMapRef": {"name": "x"}}]), [need(CONFIGMAPS, "x")]),
        (container(envFrom=[{"secretRef": {"name": "x", "optional": True}}]), [need(SECRETS, "x", optional=True)]),
        (
            container(env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "a"}}}]),
            [need(CONFIGMAPS, "x")],
        ),
        (
            container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "x", "key": "a"}}}, {"name": "B"}]),
            [need(SECRETS, "x")],
        ),
        (container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]), []),
        (
            {"initContainers": [{"name": "i", "envFrom": [{"configMapRef": {"name": "x"}}]}]},
            [need(CONFIGMAPS, "x")],
        ),
        (
            {"ephemeralContainers": [{"name": "e", "envFrom": [{"secretRef": {"name": "x"}}]}]},
            [need(SECRETS, "x")],
        ),
        (volume(configMap={"name": "x"}), [need(CONFIGMAPS, "x")]),
        (volume(configMap={"name": "kube-root-ca.crt"}), []),
        (volume(configMap={"name": "x", "optional": True}), [need(CONFIGMAPS, "x", optional=True)]),
        (volume(secret={"secretName": "x"}), [need(SECRETS, "x")]),
        (volume(persistentVolumeClaim={"claimName": "x"}), [need(CLAIMS, "x")]),
        (volume(csi={"driver": "d", "nodePublishSecretRef": {"name": "x"}}), [need(SECRETS, "x")]),
        (volume(csi={"driver": "d"}), []),
        (volume(azureFile={"secretName": "x", "shareName": "s"}), [need(SECRETS, "x")]),
        *[
            (volume(**{kind: {"secretRef": {"name": "x"}}}), [need(SECRETS, "x")])
            for kind in ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos")
        ],
        (
            volume(
                projected={
                    "sources": [
                        {"configMap": {"name": "kube-root-ca.crt"}},
                        {"configMap": {"name": "x"}},
                        {"secret": {"name": "y", "optional": True}},
                        {"serviceAccountToken": {"path": "token"}},
                    ]
                }
            ),
            [need(CONFIGMAPS, "x"), need(SECRETS, "y", optional=True)],
        ),
        (volume(emptyDir={}), []),
        (volume(ephemeral={"volumeClaimTemplate": {"metadata": {"name": "x"}}}), []),
        # Named twice it is named once, and needed if it is needed anywhere.
        (
            {
                **container(envFrom=[{"configMapRef": {"name": "x", "optional": True}}]),
                **volume(configMap={"name": "x"}),
            },
            [need(CONFIGMAPS, "x")],
        ),
        # What an API server would refuse names nothing.
        ({"volumes": "none", "imagePullSecrets": {"name": "x"}}, []),
        (volume(configMap={"name": 7}), []),
        (volume(configMap=None), []),
    ],
)
def test_everything_that_a_pod_template_names_is_found(pod, named):
    assert list(named_by(workload(pod))) == named


@pytest.mark.parametrize(
    "kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod", "Rollout"]
)
def test_every_kind_that_runs_pods_is_read_wherever_it_has_its_template(kind):
    assert named_by(workload({"serviceAccountName": "robot"}, kind)) == (need(SERVICE_ACCOUNTS, "robot"),)


def test_the_claims_that_a_stateful_set_makes_itself_are_not_named():
    made = workload({}, "StatefulSet")
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}}]

    assert named_by(made) == ()


@pytest.mark.parametrize(
    "obj",
    [
        {"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}},
        {"kind": "Certificate", "metadata": {"name": "x"}, "spec": {"template": "text"}},
        {"kind": "Deployment", "metadata": {"name": "x"}},
    ],
)
def test_what_runs_no_pods_names_nothing(obj):
    assert named_by(obj) == ()
