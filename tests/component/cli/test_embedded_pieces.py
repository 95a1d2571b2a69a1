"""Pieces of `hanse up`: the kubeconfig that merges, the view that fits, what it says, and what it refuses."""

import errno
from io import StringIO

import pytest
import yaml
from click.testing import CliRunner
from rich.console import Console

from hanse.apiserver.storage import OutOfSpace
from hanse.cli.embedded.defaults import LARGEST_MESH, doors_at_first
from hanse.cli.embedded.folder import Folder, Record
from hanse.cli.embedded.kubeconfig import kubeconfig_for, merge_into, users_kubeconfig
from hanse.cli.embedded.overview import ClusterRow, NodeRow, overview
from hanse.cli.embedded.view import next_steps, node_rows
from hanse.cli.failures import Failure
from hanse.cli.main import main
from hanse.cli.up import _told
from hanse.kube.kubeconfig import Endpoint


def own(ca=b"ours", *names):
    endpoints = {name: Endpoint(f"https://127.0.0.1:{place + 1}", ca=ca) for place, name in enumerate(names)}
    return kubeconfig_for(endpoints, names[0])


class TestMergingTheKubeconfig:
    def test_contexts_are_added_and_what_was_there_stays(self, tmp_path):
        path = tmp_path / "kube" / "config"
        path.parent.mkdir()
        mine = {
            "current-context": "work",
            "contexts": [{"name": "work", "context": {"cluster": "work", "user": "me"}}],
            "clusters": [{"name": "work", "cluster": {"server": "https://work"}}],
            "users": [{"name": "me", "user": {"token": "t"}}],
            "preferences": {"colors": True},
        }
        path.write_text(yaml.safe_dump(mine))

        names = merge_into(path, own(b"ours", "federation", "a"))
        merged = yaml.safe_load(path.read_text())

        assert names == ["federation", "a"]
        assert merged["current-context"] == "work"
        assert [one["name"] for one in merged["contexts"]] == ["work", "federation", "a"]
        assert merged["users"][0] == mine["users"][0]
        assert merged["preferences"] == {"colors": True}
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_new_file_gets_a_current_context_and_a_second_merge_replaces_the_first(self, tmp_path):
        path = tmp_path / "new" / "config"

        merge_into(path, own(b"ours", "federation", "a"))
        merge_into(path, own(b"ours", "federation", "b"))
        merged = yaml.safe_load(path.read_text())

        assert merged["current-context"] == "federation"
        assert [one["name"] for one in merged["clusters"]] == ["a", "federation", "b"]

    def test_somebody_elses_entry_of_the_same_name_is_left_alone_and_named(self, tmp_path):
        path = tmp_path / "config"
        merge_into(path, own(b"another federation", "federation"))
        before = path.read_text()

        with pytest.raises(Failure, match="has an entry 'federation' in its clusters already"):
            merge_into(path, own(b"ours", "federation"))

        assert path.read_text() == before

    def test_what_is_no_kubeconfig_is_not_overwritten(self, tmp_path):
        path = tmp_path / "config"
        path.write_text("just text")

        with pytest.raises(Failure, match="is not a kubeconfig, so nothing was merged into it"):
            merge_into(path, own(b"ours", "federation"))

        assert path.read_text() == "just text"

    def test_the_file_is_the_one_that_kubectl_writes_to(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))

        assert users_kubeconfig({"KUBECONFIG": "/a:/b"}).as_posix() == "/a"
        assert users_kubeconfig({}) == tmp_path / ".kube" / "config"


class TestTheView:
    def drawn(self, rows, width=80):
        output = StringIO()
        Console(file=output, width=width, force_terminal=False).print(overview(rows))
        return output.getvalue()

    def test_it_fits_80_columns_whatever_the_names(self):
        nodes = tuple(NodeRow(f"{'n' * 60}-{place}", place != 1, 3, 1000) for place in range(3))
        rows = [
            ClusterRow("c" * 63, "not ready", "r" * 63, nodes, ("latency delay=500ms from=control-plane,users",) * 3)
        ]

        drawn = self.drawn(rows)

        assert max(len(line) for line in drawn.splitlines()) <= 80
        assert "not ready" in drawn

    def test_clusters_nodes_and_pods_are_counted(self):
        rows = [
            ClusterRow("a", "ready", "eu", (NodeRow("n1", True, 2, 3), NodeRow("", False, 0, 4))),
            ClusterRow("b", "failed", "us", tuple(NodeRow(f"m{place}", True, 1, 1) for place in range(9))),
        ]

        told = [line.split() for line in self.drawn(rows).splitlines()]

        assert told[1:] == [
            ["a", "ready", "eu", "2/7"],
            ["n1", "ready", "2/3"],
            ["on", "no", "node", "pending", "4"],
            ["b", "failed", "us", "9/9"],
            ["9", "nodes", "9", "ready", "9/9"],
        ]

    def test_pods_are_counted_by_node_and_readiness(self):
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        nodes = [{"metadata": {"name": "n"}, "status": ready}, {"metadata": {"name": "m"}}]
        pods = [{"spec": {"nodeName": "n"}, "status": ready}, {"spec": {"nodeName": "n"}}, {"spec": {}}]

        assert node_rows(nodes, pods) == (
            NodeRow("n", True, 1, 2),
            NodeRow("m", False, 0, 0),
            NodeRow("", False, 0, 1),
        )


def test_what_to_try_next_names_the_contexts_and_where_they_are(tmp_path):
    record = Record(clusters=[{"name": "a"}, {"name": "b"}], dns="127.0.0.1:5300")
    folder = Folder(tmp_path)

    plain = next_steps(folder, record, merged=None, ephemeral=False)
    merged = next_steps(folder, record, merged=tmp_path / "config", ephemeral=True)

    assert f"export KUBECONFIG={tmp_path}/kubeconfig HANSE_DATA_DIR={tmp_path}" in plain
    assert "federation, a, b" in plain
    assert "dig @127.0.0.1 -p 5300 +short web.shop.federation.federation.local" in plain
    assert f"its data stays in {tmp_path}" in plain
    assert "KUBECONFIG=" not in merged
    assert f"its contexts are in {tmp_path / 'config'} now" in merged
    assert "it leaves nothing behind" in merged


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OutOfSpace("database or disk is full"),
        BaseExceptionGroup("", [ExceptionGroup("", [OSError(errno.EDQUOT, "Disk quota exceeded")])]),
    ],
)
def test_a_full_disk_is_one_sentence(tmp_path, error):
    told = _told(Folder(tmp_path), error)

    assert isinstance(told, Failure)
    assert str(told) == f"the disk that holds {tmp_path} is full; make room there, or choose another --data-dir"


def test_a_fault_of_our_own_is_not_explained_away(tmp_path):
    error = ExceptionGroup("", [KeyError("x")])

    assert _told(Folder(tmp_path), error) is error


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--name", "A"], "--name: 'A' must be lower-case letters, digits and '-', at most 63"),
        (
            ["--faults", "{path}"],
            "--faults: {path}: faults[0].cluster: must be one of us-east, eu-west, ap-south, not 'z'",
        ),
        (
            ["--ephemeral"],
            "--ephemeral: {data} holds a federation that would be lost; choose another --data-dir, or none",
        ),
    ],
)
def test_a_wrong_start_is_refused_and_changes_nothing(tmp_path, arguments, sentence):
    path, data = tmp_path / "faults.yaml", tmp_path / "data"
    path.write_text("faults: [{cluster: z, fault: down}]")
    data.mkdir()
    (data / "federation.json").write_text("{}")

    words = [word.format(path=path) for word in arguments]
    result = CliRunner().invoke(main, ["up", "--data-dir", str(data), *words])

    assert result.stderr.strip() == f"error: {sentence.format(path=path, data=data)}"
    assert result.exit_code == 2
    assert sorted(one.name for one in data.iterdir()) == ["federation.json"]


@pytest.mark.parametrize(
    ("clusters", "doors"),
    [
        (3, ("composites", "pods", "vitess")),
        (LARGEST_MESH, ("composites", "pods", "vitess")),
        (LARGEST_MESH + 1, ("composites", "vitess")),
    ],
)
def test_a_large_federation_starts_without_sources_that_follow_all_of_it(clusters, doors):
    assert doors_at_first(clusters) == doors
