"""A kubeconfig is read completely, or refused in one sentence that names file and field."""

import base64
from pathlib import Path

import pytest
import yaml

from hanse.kube.auth.endpoint import ExecPlugin, Impersonation
from hanse.kube.kubeconfig import Kubeconfig, KubeconfigError
from tests.component.kube.servers import Authority

AUTHORITY = Authority()
CA = AUTHORITY.certificate
MINE, OTHER = AUTHORITY.issue("anna"), AUTHORITY.issue("bob")
V1 = "client.authentication.k8s.io/v1"


def encoded(data):
    return base64.b64encode(data).decode()


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
    (tmp_path / "me.crt").write_bytes(MINE.certificate)
    (tmp_path / "me.key").write_bytes(MINE.key)
    made = document(users=[{"name": "u1", "user": {"client-certificate": "me.crt", "client-key": "me.key"}}])
    made["clusters"][0]["cluster"] = {"server": "https://x", "certificate-authority": "ca.crt"}
    (tmp_path / "config").write_text(yaml.safe_dump(made))

    endpoint = Kubeconfig.load(tmp_path / "config").endpoint("east")

    assert (endpoint.ca, endpoint.client_certificate, endpoint.client_key) == (CA, MINE.certificate, MINE.key)


def test_no_secret_is_in_any_repr():
    plugin = {"exec": exec_entry(args=["--password=s3cret"], env=[{"name": "P", "value": "s3cret"}])}
    for user in ({"token": "s3cret"}, {"username": "anna", "password": "s3cret"}, plugin):
        endpoint = Kubeconfig(with_user(**user), "x", Path("/k")).endpoint()
        assert "s3cret" not in repr(endpoint) + repr(endpoint.exec_plugin)


def test_bundles_may_carry_comments_and_line_breaks():
    bundle = "# Größe\n".encode() + CA + b"\n# noch eine\n" + Authority("second").certificate
    broken = "\n".join(encoded(bundle)[start : start + 76] for start in range(0, len(encoded(bundle)), 76))
    made = with_cluster(**{"server": "https://x", "certificate-authority-data": broken})

    assert Kubeconfig(made, "x", None).endpoint().ca == bundle


def test_everything_that_a_cluster_may_say_is_read():
    made = with_cluster(
        **{
            "server": "https://x:6443/prefix/?a=b",
            "insecure-skip-tls-verify": True,
            "tls-server-name": "y",
            "proxy-url": "http://proxy:3128",
        }
    )

    endpoint = Kubeconfig(made, "x", None).endpoint()

    assert (endpoint.server, endpoint.insecure, endpoint.tls_server_name, endpoint.proxy_url) == (
        "https://x:6443/prefix", True, "y", "http://proxy:3128",
    )  # fmt: skip


def test_another_user_may_be_acted_for():
    made = with_user(
        **{"token": "t", "as": "bob", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": {"team": ["a", "b"]}}
    )

    endpoint = Kubeconfig(made, "x", None).endpoint()

    assert endpoint.impersonation == Impersonation("bob", "7", ("dev",), (("team", ("a", "b")),))


def exec_entry(**changes):
    return {"apiVersion": V1, "command": "aws", "interactiveMode": "Never", **changes}


@pytest.mark.parametrize(
    ("command", "found"),
    [("aws", "aws"), ("./aws", "/k/aws"), ("bin/aws", "/k/bin/aws"), ("/usr/bin/aws", "/usr/bin/aws")],
)
def test_a_plugin_with_a_folder_in_its_name_lies_beside_the_kubeconfig(command, found):
    entry = exec_entry(command=command, args=["a"], env=[{"name": "N", "value": "v"}], installHint="get\n\x1b[1mit")

    endpoint = Kubeconfig(with_user(exec=entry), "x", Path("/k")).endpoint()

    assert endpoint.exec_plugin == ExecPlugin(found, V1, ("a",), (("N", "v"),), "get [1mit")


@pytest.fixture
def written(tmp_path):
    def write(name, text):
        path = tmp_path / name / "config"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text if isinstance(text, str) else yaml.safe_dump(text))
        return path

    return write


def test_of_several_files_the_first_that_names_a_thing_wins(written):
    first = document(**{"current-context": "", "users": [{"name": "u1", "user": {"tokenFile": "token"}}]})
    second = document(**{"current-context": "west"})
    second["users"][0]["user"] = {"token": "ignored", "as": "ignored"}
    second["contexts"].append({"name": "west", "context": {"cluster": "c2", "user": "u1"}})
    second["clusters"].append({"name": "c2", "cluster": {"server": "https://west"}})
    paths = [written("a", first), "", "/absent/config", written("b", second), written("c", ""), written("a", first)]

    merged = Kubeconfig.load_all(paths)
    endpoint = merged.endpoint()

    assert merged.context_names() == ["east", "west"]
    assert merged.current_context == "west"
    assert (endpoint.server, endpoint.token, endpoint.impersonation) == ("https://west", "", None)
    assert endpoint.token_file == str(paths[0].parent / "token")


def test_a_fault_in_one_of_several_files_names_that_file(written):
    good, bad = written("a", document()), written("b", document(users=[{"name": "u2", "user": {"token": 7}}]))
    merged = Kubeconfig.load_all([good, bad])

    with pytest.raises(KubeconfigError) as refusal:
        merged.endpoint("west")
    assert str(refusal.value) == f"kubeconfig {good}, {bad}: contexts has no entry named 'west' (it has: east)"

    broken = written("c", "a: [")
    with pytest.raises(KubeconfigError, match=f"kubeconfig {broken} is not valid YAML"):
        Kubeconfig.load_all([good, broken])


@pytest.mark.parametrize(
    ("paths", "sentence"),
    [
        ([], "there is no kubeconfig: none was named"),
        (["/absent/a", "/absent/b"], "there is no kubeconfig: /absent/a, /absent/b"),
    ],
)
def test_a_list_without_any_file_is_refused(paths, sentence):
    with pytest.raises(KubeconfigError) as refusal:
        Kubeconfig.load_all(paths)

    assert str(refusal.value) == sentence


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
        (with_cluster(server="ftp://x"), "", "x: clusters[c1].server must be an http(s) URL, not 'ftp://x'"),
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
            with_user(**{"client-certificate-data": encoded(MINE.certificate), "client-key-data": encoded(OTHER.key)}),
            "",
            "x: users[u1].client-certificate-data does not fit its key",
        ),
        (
            with_user(**{"auth-provider": {"name": "gcp"}}),
            "",
            (
                "x: users[u1].auth-provider (gcp) was removed from Kubernetes in 1.26; "
                "use users[].user.exec with your provider's credential plugin"
            ),
        ),
        ({"kind": "Pod"}, "", "x is not a kubeconfig: its kind is Pod, not Config"),
        (
            document(users=[{"name": "u1", "user": {}}] * 2),
            "",
            "x: users has 2 entries named 'u1'; keep one of them",
        ),
        (with_cluster(server="https://"), "", "x: clusters[c1].server names no host: 'https://'"),
        (with_cluster(server="https://x:port"), "", "x: clusters[c1].server is not a URL: 'https://x:port'"),
        (
            with_cluster(server="https://anna:s3cret@x"),
            "",
            "x: clusters[c1].server must not hold a user name or password; put them into the user's entry",
        ),
        (
            with_cluster(**{"server": "https://x", "certificate-authority-data": encoded(b"nonsense")}),
            "",
            "x: clusters[c1].certificate-authority-data is not a PEM certificate",
        ),
        (
            with_cluster(**{"server": "https://x", "certificate-authority": "/absent/ca.crt"}),
            "",
            "x: clusters[c1].certificate-authority: /absent/ca.crt: No such file or directory",
        ),
        (
            with_cluster(**{"server": "https://x", "insecure-skip-tls-verify": "false"}),
            "",
            "x: clusters[c1].insecure-skip-tls-verify must be true or false",
        ),
        (
            with_cluster(
                **{"server": "https://x", "insecure-skip-tls-verify": True, "certificate-authority-data": encoded(CA)}
            ),
            "",
            "x: clusters[c1].insecure-skip-tls-verify and a certificate-authority exclude each other; keep one",
        ),
        (
            with_cluster(**{"server": "https://x", "proxy-url": "socks5://anna:s3cret@proxy"}),
            "",
            "x: clusters[c1].proxy-url has the scheme socks5, which is not supported; use an http:// proxy",
        ),
        (
            with_cluster(**{"server": "https://x", "proxy-url": "proxy:3128"}),
            "",
            "x: clusters[c1].proxy-url is not a URL; write http://HOST:PORT",
        ),
        (
            with_user(token="t0ken\n"),
            "",
            "x: users[u1].token contains a line break or another control character; remove it",
        ),
        (
            with_user(token="t", username="anna"),
            "",
            "x: users[u1] has both token and username; keep one of them",
        ),
        (
            with_user(**{"as-groups": ["dev"]}),
            "",
            "x: users[u1].as is missing; as-uid, as-groups and as-user-extra need a user to go with",
        ),
        (with_user(**{"as": "bob", "as-groups": "dev"}), "", "x: users[u1].as-groups must be a list of strings"),
        (
            with_user(**{"as": "bob", "as-user-extra": ["dev"]}),
            "",
            "x: users[u1].as-user-extra must be a mapping",
        ),
    ],
)
def test_a_fault_is_one_sentence(made, context, sentence):
    with pytest.raises(KubeconfigError) as refusal:
        Kubeconfig(made, "x", Path("/")).endpoint(context)

    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (exec_entry(command=""), "command is missing"),
        (exec_entry(apiVersion=""), "apiVersion is missing"),
        (
            exec_entry(apiVersion="client.authentication.k8s.io/v1alpha1"),
            f"apiVersion 'client.authentication.k8s.io/v1alpha1' is not supported; use {V1}",
        ),
        (exec_entry(interactiveMode=""), "interactiveMode is missing"),
        (
            exec_entry(interactiveMode="Sometimes"),
            "interactiveMode must be one of Never, IfAvailable, Always, not 'Sometimes'",
        ),
        (
            exec_entry(interactiveMode="Always"),
            "interactiveMode is Always, but plugins run without a terminal here; use IfAvailable",
        ),
        (exec_entry(args="get-token"), "args must be a list of strings"),
        (exec_entry(env=[{"value": "v"}]), "env[0].name is missing"),
        (exec_entry(env={"A": "B"}), "env must be a list of mappings"),
        (exec_entry(provideClusterInfo="yes"), "provideClusterInfo must be true or false"),
    ],
)
def test_a_fault_in_a_plugins_entry_is_one_sentence(entry, sentence):
    with pytest.raises(KubeconfigError) as refusal:
        Kubeconfig(with_user(exec=entry), "x", Path("/k")).endpoint()

    assert str(refusal.value) == f"x: users[u1].exec.{sentence}"


def test_a_document_that_is_no_file_of_this_machine_cannot_run_commands():
    with pytest.raises(KubeconfigError) as refusal:
        Kubeconfig.parse(yaml.safe_dump(with_user(exec=exec_entry())), source="secret s").endpoint()

    assert str(refusal.value) == (
        "secret s: users[u1].exec runs a command, which only a kubeconfig file may ask for; give a token or certificate"
    )


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(KubeconfigError, match=r"kubeconfig .*absent cannot be read: No such file or directory"):
        Kubeconfig.load(tmp_path / "absent")


def test_a_broken_file_is_named_with_the_line(tmp_path):
    (tmp_path / "config").write_text("a: b\nc: [")

    with pytest.raises(KubeconfigError, match=r"kubeconfig .*config is not valid YAML \(line 2\)"):
        Kubeconfig.load(tmp_path / "config")


@pytest.mark.parametrize("user", [{"tokenFile": "/secret"}, {"client-certificate": "/a", "client-key": "/b"}])
def test_a_document_that_is_no_file_may_not_name_files_of_this_machine(user):
    with pytest.raises(KubeconfigError, match="names a file, which only a kubeconfig that is one itself may do"):
        Kubeconfig(with_user(**user), "x", None).endpoint()
