"""Reviews that an API server asks for, whole Jobs, and what is told to whom."""

import base64
from dataclasses import replace

import orjson
import pytest

from hanse.api.admiralty.keys import ANSWERS, ELECT, GANG, JOB_MANAGER
from hanse.api.admiralty.names import TargetName
from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION
from hanse.kube.manifest import annotations_of
from hanse.kube.patches.json_patch import apply_json_patch
from hanse.pods.admission.reviews import BadReview, Knowledge, answer_job, answer_pod, read_review
from hanse.pods.admission.seals import Sealer
from tests.unit.pods.admission.test_mutation import pod

KNOWN = Knowledge("home", (TargetName("", "eu"),), Sealer(b"key", 1_700_000_000.0))
NOWHERE = Knowledge("home", (TargetName("other", "eu"),), KNOWN.sealer)


def asked(obj, *, user="anna", namespace="default", **more):
    return {
        "uid": "u-1",
        "operation": "CREATE",
        "namespace": namespace,
        "userInfo": {"username": user, "groups": ["devs"]},
        "object": obj,
        **more,
    }


def job(annotations=None, *, manager=JOB_MANAGER, template=None):
    metadata = {"name": "sums", "namespace": "default", **({"annotations": annotations} if annotations else {})}
    pods = {"metadata": {"annotations": template or {}}, "spec": {"serviceAccountName": "robot", "containers": []}}
    spec = {"template": pods, **({"managedBy": manager} if manager else {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def patched(question, answer):
    patch = orjson.loads(base64.b64decode(answer["response"]["patch"]))
    return apply_json_patch(question["object"], patch)


def test_the_answer_carries_the_uid_and_a_patch():
    question = asked(pod())

    answer = answer_pod(question, KNOWN)

    assert answer["apiVersion"] == "admission.k8s.io/v1"
    assert {name: answer["response"][name] for name in ("uid", "allowed", "patchType")} == {
        "uid": "u-1",
        "allowed": True,
        "patchType": "JSONPatch",
    }
    assert patched(question, answer)["spec"]["schedulerName"] == "admiralty-proxy"


def test_what_is_left_as_it_is_gets_no_patch_and_no_warning():
    assert answer_pod(asked(pod(elected=False)), KNOWN)["response"] == {"uid": "u-1", "allowed": True}


def test_a_refusal_is_one_sentence_with_the_field():
    response = answer_pod(asked(pod({ANSWERS: "{}"})), KNOWN)["response"]

    assert response["allowed"] is False
    status = response["status"]
    assert (status["code"], status["reason"]) == (403, "Forbidden")
    beginning = f"metadata.annotations[{ANSWERS}]: nobody but Hanse writes this; take it out, or write one of "
    assert status["message"].startswith(beginning)
    assert "multicluster.admiralty.io/elect" in status["message"]


WARNED = {
    "a pod that stays": (pod(nodeName="n1"), KNOWN, "it stays in this cluster: spec.nodeName"),
    "a pod that has nowhere to go": (pod(), NOWHERE, "no Target in namespace default"),
}


@pytest.mark.parametrize("case", WARNED.values(), ids=list(WARNED))
def test_who_creates_a_pod_is_told_what_it_waits_for(case):
    given, known, says = case

    (warning,) = answer_pod(asked(given), known)["response"]["warnings"]

    assert says in warning


def test_a_whole_job_is_stamped_with_its_author_once():
    question = asked(job({AUTHOR_ANNOTATION: "root", AUTHOR_GROUPS_ANNOTATION: "system:masters"}))

    stamped = patched(question, answer_job(question, KNOWN))

    assert annotations_of(stamped) == {
        AUTHOR_ANNOTATION: "pods.hanse.dev:home:anna",
        AUTHOR_GROUPS_ANNOTATION: "pods.hanse.dev:home\npods.hanse.dev:home:devs",
    }
    assert answer_job(asked(stamped), KNOWN)["response"] == {"uid": "u-1", "allowed": True}


@pytest.mark.parametrize("user", ["system:serviceaccount:kube-system:cronjob-controller", "robots-of-this-cluster"])
def test_a_whole_job_of_a_cron_job_is_its_account_s(user):
    question = asked(job(), user=user)
    known = replace(KNOWN, controllers=frozenset({"robots-of-this-cluster"}))

    stamped = patched(question, answer_job(question, known))

    assert annotations_of(stamped)[AUTHOR_ANNOTATION].endswith(":system:serviceaccount:default:robot")


JOBS = {
    "a forged key": (job({ANSWERS: "{}"}), "default", f"metadata.annotations[{ANSWERS}]: nobody but Hanse"),
    "a bad value": (job({GANG: "x"}), "default", f"metadata.annotations[{GANG}]: it must be all"),
    "a bad value on its pods": (job(template={GANG: "x"}), "default", f"spec.template.metadata.annotations[{GANG}]"),
    "the cluster's own": (job(), "kube-system", "spec.managedBy: Jobs of namespace kube-system never"),
}


@pytest.mark.parametrize("case", JOBS.values(), ids=list(JOBS))
def test_a_whole_job_is_refused_with_a_sentence(case):
    given, namespace, says = case

    assert says in answer_job(asked(given, namespace=namespace), KNOWN)["response"]["status"]["message"]


@pytest.mark.parametrize("manager", ["", "kubernetes.io/job-controller"])
def test_a_job_of_another_manager_is_left_as_it_is(manager):
    assert "patch" not in answer_job(asked(job({ELECT: ""}, manager=manager)), KNOWN)["response"]


BAD = {
    "no JSON": (b"{", "must be JSON"),
    "no review": (b"[]", "must be an AdmissionReview"),
    "another version": (b'{"apiVersion":"admission.k8s.io/v1beta1"}', "must be an AdmissionReview of"),
    "no request": (b'{"apiVersion":"admission.k8s.io/v1"}', "request: it must be there"),
    "no object": (b'{"apiVersion":"admission.k8s.io/v1","request":{"uid":"u"}}', "request.object"),
    "an object without a spec": (
        b'{"apiVersion":"admission.k8s.io/v1","request":{"uid":"u","object":{"metadata":{}}}}',
        "request.object",
    ),
}


@pytest.mark.parametrize("case", BAD.values(), ids=list(BAD))
def test_what_is_no_review_is_refused_with_a_sentence(case):
    body, says = case

    with pytest.raises(BadReview, match=says):
        read_review(body)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"metadata": {"name": "a", "annotations": {"a": {}}}}, "metadata.annotations"),
        ({"spec": {"containers": {"name": "a"}}}, "spec.containers"),
        ({"spec": {"volumes": [7]}}, "spec.volumes"),
        ({"kind": "Node"}, "it must be a Pod or a Job"),
    ],
)
def test_a_review_of_what_no_api_server_would_send_is_refused(change, field):
    review = {"apiVersion": "admission.k8s.io/v1", "request": asked({**pod(), **change})}
    with pytest.raises(BadReview) as refused:
        read_review(orjson.dumps(review))
    assert field in str(refused.value)
