"""`hanse cluster` and `hanse simulate`: what they refuse, what they say, and what a running federation is told."""

import asyncio
import json

import pytest
import yaml
from click.testing import CliRunner

from hanse.api.clusters import CLUSTERS
from hanse.api.names import FAULT_ANNOTATION
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli import simulate
from hanse.cli.control_plane import prepare_host
from hanse.cli.embedded.breaking import Keeper, change_faults, faults_of, play
from hanse.cli.embedded.folder import Folder, Record
from hanse.cli.main import main
from hanse.kube import Client, SeededRuntime
from hanse.simulator.faults.schedule import parse_schedule
from hanse.simulator.faults.values import KINDS, Fault, lasting, with_fault


@pytest.fixture
def hanse(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "HANSE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)

    def hanse(*arguments):
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return hanse


@pytest.fixture
def running(tmp_path):
    """A data folder that looks as if its federation were running."""
    folder = Folder(tmp_path / "data")
    with folder.held():
        clusters = [{"name": "eu-west", "zones": ["eu-a", "eu-b"], "nodes": 2}, {"name": "us-east"}]
        folder.write(Record(clusters=clusters, ready=True))
        yield folder.path


def refused(result, sentence, code=2):
    assert (result.stderr.strip().splitlines()[-1], result.exit_code) == (f"error: {sentence}", code)


@pytest.mark.parametrize("command", ["fail", "slow", "partition", "break", "heal", "faults", "kinds"])
def test_every_form_has_help(hanse, command):
    shown = hanse("cluster", command, "--help")

    assert shown.exit_code == 0
    assert len(shown.stdout.splitlines()[2].strip()) > 20


def test_the_kinds_of_faults_are_listed_for_people_and_for_programs(hanse):
    table = hanse("cluster", "kinds").stdout.splitlines()
    document = json.loads(hanse("cluster", "kinds", "-o", "json").stdout)

    assert [line.split()[0] for line in table] == ["FAULT", *KINDS]
    assert [one["fault"] for one in document["kinds"]] == list(KINDS)
    assert hanse("cluster", "kinds", "-o", "name").stdout.split() == list(KINDS)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fail", "mars"], "NAME: there is no simulated cluster 'mars' here; there are eu-west, us-east"),
        (
            ["fail", "eu-west", "--node", "n9"],
            "node: cluster eu-west has no node 'n9'; it has eu-west-node-1, eu-west-node-2",
        ),
        (["fail", "eu-west", "--zone", "z"], "zone: cluster eu-west has no zone 'z'; it has eu-a, eu-b"),
        (["fail", "us-east", "--zone", "z"], "zone: cluster us-east has no zone 'z'; it has none"),
        (
            ["fail", "eu-west", "--node", "a", "--zone", "b"],
            "--zone: cannot be given beside --node; break one thing after the other",
        ),
        (["fail", "eu-west", "--for", "soon"], "--for: must be a time such as 500ms, 10s, 5m or 1h30m, not 'soon'"),
        (["slow", "eu-west", "--by", "0s"], "latency.delay: must be above 0, not '0s'"),
        (
            ["slow", "eu-west", "--node", "a", "--from", "users"],
            "--from: cannot be given beside --node; a slow node is slow for everybody",
        ),
        (["break", "eu-west", "errors", "rate"], "PARAMETER: 'rate' must be NAME=VALUE, such as rate=0.3"),
        (["break", "eu-west", "errors", "rate=7"], "errors.rate: must be a share above 0 and at most 1, not 7.0"),
        (["break", "eu-west", "errors", "rate=x"], "errors.rate: must be a share above 0 and at most 1, not 'x'"),
        (["break", "eu-west", "down", "rate=1"], "down.rate: is not a parameter of down; it has fault, until"),
        (["heal"], "NAME: give the name of one cluster, or --all"),
        (["heal", "eu-west", "--all"], "NAME: give the name of one cluster, or --all"),
    ],
)
def test_a_wrong_fault_is_refused_in_one_sentence(hanse, running, arguments, sentence):
    options = ["--data-dir", running]

    refused(hanse("cluster", *arguments, *options), sentence)


class TestTellingAFederation:
    @pytest.mark.looptime
    async def test_faults_are_kept_on_the_cluster_object_and_end_in_time(self):
        runtime = SeededRuntime()
        server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
        host = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
        await prepare_host(host)
        api_version = CLUSTERS.api_version
        await host.create(CLUSTERS, {"apiVersion": api_version, "kind": "Cluster", "metadata": {"name": "a"}})
        heard = []
        keeper = Keeper("a", runtime, lambda faults: heard.append([str(fault) for fault in faults]))
        keeping = asyncio.create_task(keeper.run())

        written, _ = await change_faults(
            host, "a", lambda present, now: with_fault(present, lasting(Fault("down"), 30.0, now))
        )
        keeper.read(written)
        await runtime.sleep(10)
        written, both = await change_faults(host, "a", lambda present, _now: with_fault(present, Fault("crash")))
        keeper.read(written)
        await runtime.sleep(30)
        keeper.read({"metadata": {"annotations": {FAULT_ANNOTATION: "[nonsense"}}})
        await runtime.sleep(1)
        keeping.cancel()

        assert [fault.kind for fault in both] == ["down", "crash"]
        assert heard == [[], ["down"], ["down", "crash"], ["crash"]]
        assert [fault.kind for fault in faults_of(written, runtime.now())] == ["crash"]
        schedule = parse_schedule({"faults": [{"at": "5s", "cluster": "a", "fault": "hang", "for": "5s"}]}, ["a"])
        await play(host, schedule)
        told = faults_of(await host.get(CLUSTERS, "a"), runtime.now())
        assert [fault.kind for fault in told] == ["crash", "hang"]
        await change_faults(host, "a", lambda _present, _now: ())
        assert FAULT_ANNOTATION not in (await host.get(CLUSTERS, "a"))["metadata"].get("annotations", {})
        await server.close()


class TestSimulate:
    def test_a_schedule_is_played_on_virtual_time_and_the_log_kept(self, hanse, tmp_path):
        faults, clusters, log = tmp_path / "faults.yaml", tmp_path / "clusters.yaml", tmp_path / "log"
        clusters.write_text("clusters: [{name: a, nodes: 1}]")
        faults.write_text("faults: [{at: 1s, cluster: a, fault: latency, delay: 100ms, for: 1s}]")

        done = hanse("simulate", "--for", "5s", "--clusters", clusters, "--faults", faults, "--log", log)

        assert done.exit_code == 0, done.output
        assert "a            faults: latency delay=100ms\n" in done.stdout
        assert done.stdout.splitlines()[-1].startswith("seed 0: whole; ")
        assert " created apps/deployments default/web " in log.read_text()

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--for", "ever"], "--for: must be a time such as 500ms, 10s, 5m or 1h30m, not 'ever'"),
            (["--faults", "{file}", "--no-faults"], "--no-faults: cannot be given beside --faults"),
            (["--faults", "{file}"], "--faults: faults: must be a list of {{at, cluster, fault, for}}"),
            (["--clusters", "{file}"], "--clusters: clusters: must be a list of clusters"),
            (["-f", "{file}"], "--filename: {file}: every manifest needs apiVersion and kind"),
            (["-f", "{file}.no"], "--filename: {file}.no cannot be read: No such file or directory"),
            (["--seeds", "2", "--log", "x"], "--log: is for one seed; run the one in question with --seed"),
        ],
    )
    def test_a_wrong_rehearsal_is_refused(self, hanse, tmp_path, arguments, sentence):
        path = tmp_path / "wrong.yaml"
        path.write_text(yaml.safe_dump({"x": 1}))

        result = hanse("simulate", *(word.format(file=path) for word in arguments))

        refused(result, sentence.format(file=path))

    def test_a_seed_that_fails_names_the_command_that_plays_it_again(self, monkeypatch):
        monkeypatch.setattr("sys.argv", ["hanse", "simulate", "--seeds", "9", "--for", "1h", "--twice", "--jobs=2"])
        result = simulate.Result(7, ("pod a is left over", "and b"), "0", 1.0, 1.0)

        assert simulate._complaint(result) == (
            "seed 7 did not become whole: pod a is left over (and 1 more); again: hanse simulate --seed 7 --for 1h"
        )
