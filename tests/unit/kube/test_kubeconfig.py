"""A kubeconfig is read completely, or refused in one sentence that names file and field."""

import base64

import pytest
import yaml

from hanse.kube.kubeconfig import Kubeconfig, KubeconfigError

CA = b"-----BEGIN CERTIFICATE-----\n..."


def document(**changes):
    made = {
        "current-context": "east",
        "contexts": [{"name": "east", "context": {"cluster": "c1", "user": "u1", "namespace": "shop"}}],
        "clusters": [
            {
                "name": "c1",
                "cluster": {
                    "server": "https://127.0.0.1:6443/",
                    "certificate-authority-data": base64.b64encode(CA).decode(),
                },
            }
        ],
        "users": [{"name": "u1", "user": {"token": "t0ken"}}],
    }
    made.update(changes)
    return made


def test_the_current_context_counts():
    endpoint = Kubeconfig(document(), "kubeconfig x", None).endpoint()

    assert (endpoint.server, endpoint.ca, endpoint.token, endpoint.namespace) == (
        "https://127.0.0.1:6443", CA, "t0ken", "shop",
    )  # fmt: skip


def test_files_are_found_beside_the_kubeconfig(tmp_path):
    (tmp_path / "ca.crt").write_bytes(CA)
    (tmp_path / "me.crt").write_bytes(b"certificate")
    (tmp_path / "me.key").write_bytes(b"key")
    made = document(users=[{"name": "u1", "user": {"client-certificate": "me.crt", "client-key": "me.key"}}])
    made["clusters"][0]["cluster"] = {"server": "https://x", "certificate-authority": "ca.crt"}
    (tmp_path / "config").write_text(yaml.safe_dump(made))

    endpoint = Kubeconfig.load(tmp_path / "config").endpoint("east")

    assert (endpoint.ca, endpoint.client_certificate, endpoint.client_key) == (CA, b"certificate", b"key")


def test_no_secret_is_in_its_repr():
    assert "t0ken" not in repr(Kubeconfig(document(), "kubeconfig x", None).endpoint())


def with_user(**user):
    return document(users=[{"name": "u1", "user": user}])


def with_cluster(**cluster):
    return document(clusters=[{"name": "c1", "cluster": cluster}])


@pytest.mark.parametrize(
    ("made", "context", "sentence"),
    [
        ([], "", "x is not a kubeconfig: its top level must be a mapping"),
        (document(**{"current-context": ""}), "", "x: current-context is not set; name a context"),
        (document(), "west", "x: contexts has no entry named 'west' (it has: east)"),
        (document(contexts="east"), "", "x: contexts must be a list of mappings"),
        (document(clusters=[]), "", "x: clusters has no entry named 'c1' (it has: none)"),
        (document(users=[]), "", "x: users has no entry named 'u1' (it has: none)"),
        (with_cluster(), "", "x: clusters[c1].server is missing"),
        (with_cluster(server=7), "", "x: clusters[c1].server must be a string"),
        (with_cluster(server="127.0.0.1"), "", "x: clusters[c1].server must be an http(s) URL, not '127.0.0.1'"),
        (
            with_cluster(**{"server": "https://x", "certificate-authority-data": "%"}),
            "",
            "x: clusters[c1].certificate-authority-data is not base64",
        ),
        (
            with_user(**{"client-certificate-data": "YQ=="}),
            "",
            "x: users[u1].client-key is missing; certificate and key go together",
        ),
        (
            with_user(**{"auth-provider": {"name": "gcp"}}),
            "",
            "x: users[u1].auth-provider is not supported; use a client certificate or a token",
        ),
    ],
)
def test_a_fault_is_one_sentence(made, context, sentence):
    with pytest.raises(KubeconfigError) as refusal:
        Kubeconfig(made, "x", None).endpoint(context)

    assert str(refusal.value) == sentence


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(KubeconfigError, match=r"kubeconfig .*absent cannot be read: No such file or directory"):
        Kubeconfig.load(tmp_path / "absent")


def test_a_broken_file_is_named_with_the_line(tmp_path):
    (tmp_path / "config").write_text("a: b\nc: [")

    with pytest.raises(KubeconfigError, match=r"kubeconfig .*config is not valid YAML \(line 2\)"):
        Kubeconfig.load(tmp_path / "config")
