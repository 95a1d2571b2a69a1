"""The reader of Kubernetes' protobuf, fed with what kubectl 1.36 really sends."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.apiserver.protobuf import MAGIC, decode

# Bodies of `kubectl create …`, captured from its typed commands.
SENT = {
    "deployment": (
        "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50Er0BCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEosBCAMSDAoKCgNh"
        "cHASA3dlYhpxChwKABIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViElESMwoFbmdpbngSCm5naW54OjEuMjcqADIKCgAQABhQIgAq"
        "AEIAagByAIABAIgBAJABAKIBABoAMgBCAEoAUgBYAGAAaACCAQCKAQCaAQDCAQAiAgoAKAA4ABoMCAAQABgAIAAoADgAGgAiAA=="
    ),
    "namespace": ("azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhwKFAoEc2hvcBIAGgAiACoAMgA4AEIAEgAaAgoAGgAiAA=="),
    "configmap": ("azhzAAoPCgJ2MRIJQ29uZmlnTWFwEioKGAoIc2V0dGluZ3MSABoAIgAqADIAOABCABIOCgZjb2xvdXISBGJsdWUaACIA"),
    "secret": ("azhzAAoMCgJ2MRIGU2VjcmV0Eh0KEQoBcxIAGgAiACoAMgA4AEIAEgYKAWsSAXYaABoAIgA="),
    "token": (
        "azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIdChAKABIAGgAiACoAMgA4AEIAEgMg2AQaBAoAEgAaACIA"
    ),
    "clusterrole": (
        "azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtDbHVzdGVyUm9sZRItChYKBnJlYWRlchIAGgAiACoAMgA4AEIA"
        "EhMKA2dldAoEbGlzdBIAGgRwb2RzGgAiAA=="
    ),
    "quota": (
        "azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRI0ChEKAXESABoAIgAqADIAOABCABIdCgoKA2NwdRIDCgExCg8KBm1lbW9yeRIFCgMx"
        "R2kaABoAIgA="
    ),
    "pdb": (
        "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSOgoRCgFwEgAaACIAKgAyADgAQgASGQoJCAEQABoDNTAlEgwK"
        "CgoDYXBwEgN3ZWIaCggAGAAgACgAMAAaACIA"
    ),
    "ingress": (
        "azhzAAofChRuZXR3b3JraW5nLms4cy5pby92MRIHSW5ncmVzcxJCChEKAWkSABoAIgAqADIAOABCABIpGicKBWEuY29tEh4KHAoa"
        "CgEvEg0iCwoDc3ZjEgQKABBQGgZQcmVmaXgaAgoAGgAiAA=="
    ),
    "cronjob": (
        "azhzAAoTCghiYXRjaC92MRIHQ3JvbkpvYhKUAQoRCgFjEgAaACIAKgAyADgAQgASfQoLKi81ICogKiAqICoaACpsChEKAWMSABoA"
        "IgAqADIAOABCABJXMlUKEAoAEgAaACIAKgAyADgAQgASQRIaCgFjEgFiKgBCAGoAcgCAAQCIAQCQAQCiAQAaCU9uRmFpbHVyZTIA"
        "QgBKAFIAWABgAGgAggEAigEAmgEAwgEAGgAaACIA"
    ),
}


def pods(name, image, *, restart, **more):
    spec = {"containers": [{"name": name, "image": image, "resources": {}, **more}], "restartPolicy": restart}
    return {"metadata": {}, "spec": spec}


@pytest.mark.parametrize(
    ("name", "manifest"),
    [
        (
            "deployment",
            {
                "kind": "Deployment",
                "apiVersion": "apps/v1",
                "metadata": {"name": "web", "labels": {"app": "web"}},
                "spec": {
                    "replicas": 3,
                    "selector": {"matchLabels": {"app": "web"}},
                    "template": {
                        "metadata": {"labels": {"app": "web"}},
                        "spec": {
                            "containers": [
                                {
                                    "name": "nginx",
                                    "image": "nginx:1.27",
                                    "ports": [{"containerPort": 80}],
                                    "resources": {},
                                }
                            ]
                        },
                    },
                    "strategy": {},
                },
                "status": {},
            },
        ),
        (
            "namespace",
            {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}, "spec": {}, "status": {}},
        ),
        (
            "configmap",
            {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "settings"}, "data": {"colour": "blue"}},
        ),
        ("secret", {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "data": {"k": "dg=="}}),
        (
            "token",
            {
                "kind": "TokenRequest",
                "apiVersion": "authentication.k8s.io/v1",
                "metadata": {},
                "spec": {"audiences": None, "expirationSeconds": 600, "boundObjectRef": None},
                "status": {"token": "", "expirationTimestamp": None},
            },
        ),
        (
            "clusterrole",
            {
                "kind": "ClusterRole",
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "metadata": {"name": "reader"},
                "rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}],
            },
        ),
        (
            "quota",
            {
                "kind": "ResourceQuota",
                "apiVersion": "v1",
                "metadata": {"name": "q"},
                "spec": {"hard": {"cpu": "1", "memory": "1Gi"}},
                "status": {},
            },
        ),
        (
            "pdb",
            {
                "kind": "PodDisruptionBudget",
                "apiVersion": "policy/v1",
                "metadata": {"name": "p"},
                "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}},
                "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
            },
        ),
        (
            "cronjob",
            {
                "kind": "CronJob",
                "apiVersion": "batch/v1",
                "metadata": {"name": "c"},
                "spec": {
                    "schedule": "*/5 * * * *",
                    "jobTemplate": {
                        "metadata": {"name": "c"},
                        "spec": {"template": pods("c", "b", restart="OnFailure")},
                    },
                },
                "status": {},
            },
        ),
    ],
)
def test_what_kubectl_sends_is_read_as_the_json_that_go_would_print(name, manifest):
    assert manifest == decode(base64.b64decode(SENT[name]))


def test_a_field_inside_an_inlined_struct_stands_where_json_has_it():
    ingress = decode(base64.b64decode(SENT["ingress"]))
    assert ingress["spec"]["rules"][0]["http"]["paths"] == [
        {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "svc", "port": {"number": 80}}}}
    ]


def field(number, payload):
    return bytes([number << 3 | 2, len(payload)]) + payload


def number(field_number, value):
    return bytes([field_number << 3, value])


def body(api_version, kind, payload):
    type_meta = field(1, api_version.encode()) + field(2, kind.encode())
    return MAGIC + field(1, type_meta) + field(2, payload)


def test_an_explicit_zero_behind_a_pointer_is_kept_and_an_empty_value_is_omitted():
    options = decode(body("v1", "DeleteOptions", number(1, 0) + field(4, b"Background")))
    assert options == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Background",
    }


def test_times_are_written_as_kubernetes_writes_them():
    seconds = bytes([1 << 3, 0x80, 0xE2, 0xCF, 0xAA, 0x06])  # 1700000000
    spec = field(1, b"me") + field(4, seconds + bytes([2 << 3, 0xC0, 0x84, 0x3D]))  # and 1000000 ns
    lease = decode(body("coordination.k8s.io/v1", "Lease", field(2, spec)))
    assert lease["spec"]["renewTime"].endswith(".001000Z")
    assert lease["spec"]["holderIdentity"] == "me"


@pytest.mark.parametrize(
    ("sent", "refusal"),
    [
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (body("example.com/v1", "Widget", b""), 'no kind "Widget" is registered for version "example.com/v1"'),
        (body("v1", "Namespace", b"\x0a\x7f"), "unexpected EOF"),
        (body("v1", "Namespace", b"\x0b"), "proto: illegal wireType 3"),
    ],
)
def test_bytes_that_are_no_object_are_refused(sent, refusal):
    with pytest.raises(ValueError, match=r".") as refused:
        decode(sent)
    assert refusal == str(refused.value)


@given(st.data())
def test_damaged_bytes_are_refused_or_read_but_never_break_the_reader(data):
    sent = bytearray(base64.b64decode(data.draw(st.sampled_from(sorted(SENT.values())))))
    for _ in range(data.draw(st.integers(1, 4))):
        sent[data.draw(st.integers(4, len(sent) - 1))] = data.draw(st.integers(0, 255))
    assert read_or_refused(bytes(sent))


@given(st.sampled_from(["v1/Pod", "v1/Event", "apps/v1/Deployment", "v1/ConfigMap"]), st.binary(max_size=60))
def test_random_bytes_are_refused_or_read(kind, payload):
    api_version, _, name = kind.rpartition("/")
    assert read_or_refused(body(api_version, name, payload))


def read_or_refused(sent):
    try:
        return decode(sent)["kind"]
    except ValueError as refusal:
        return str(refusal)
