"""The statuses and templates that Hanse makes, judged by a real API server, and shown by a real kubectl."""

import asyncio
import subprocess

import pytest

from hanse.api.federated_kinds import FEDERATED_KINDS, federated_kind_manifest
from hanse.api.plain_kinds import (
    AUTOSCALERS,
    CLAIMS,
    CRON_JOBS,
    DAEMON_SETS,
    DISRUPTION_BUDGETS,
    INGRESSES,
    JOBS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from hanse.cli.control_plane import prepare_host
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.errors import Invalid
from hanse.kube.http import HttpTransport
from hanse.kube.manifest import dig
from hanse.kube.resources import CRDS, DEPLOYMENTS, REPLICASETS, SERVICES
from hanse.native import NativeDoor
from hanse.native.keeper import understood
from hanse.placement.decision import Decision, Verdict
from hanse.propagation.report import Report, Row
from tests.kubernetes.follower import closing
from tests.kubernetes.real.components import components_folder

pytestmark = pytest.mark.kubernetes

EARLY, LATE, NOW = (f"2026-01-01T{hour:02}:00:00Z" for hour in (1, 20, 23))
POD = {"containers": [{"name": "main", "image": "web:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": POD}
ONCE = {"spec": {**POD, "restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"app": "web"}}
STORAGE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
WORKLOAD = {"replicas": 4, "selector": SELECTOR, "template": TEMPLATE}
READY = {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
DONE = [{"type": kind, "status": "True", "reason": "Done"} for kind in ("SuccessCriteriaMet", "Complete")]
ADDRESS = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}

# A kind: what somebody wrote, and what each of two members reports of its part.
CASES = {
    DEPLOYMENTS: (WORKLOAD, {**READY, "updatedReplicas": 2}),
    REPLICASETS: (WORKLOAD, {**READY, "fullyLabeledReplicas": 2}),
    REPLICATION_CONTROLLERS: (
        {"replicas": 4, "selector": {"app": "web"}, "template": TEMPLATE},
        {**READY, "fullyLabeledReplicas": 2},
    ),
    STATEFUL_SETS: (
        {
            **WORKLOAD,
            "serviceName": "web",
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": STORAGE}],
        },
        {**READY, "currentReplicas": 2, "updatedReplicas": 2, "currentRevision": "web-1", "updateRevision": "web-1"},
    ),
    DAEMON_SETS: (
        {"selector": SELECTOR, "template": TEMPLATE},
        {
            "observedGeneration": 1,
            "currentNumberScheduled": 1,
            "desiredNumberScheduled": 1,
            "updatedNumberScheduled": 1,
            "numberReady": 1,
            "numberAvailable": 1,
        },
    ),
    JOBS: (
        {"completions": 4, "parallelism": 2, "ttlSecondsAfterFinished": 60, "template": ONCE},
        {"succeeded": 2, "startTime": EARLY, "completionTime": LATE, "conditions": DONE},
    ),
    CRON_JOBS: (
        {"schedule": "0 4 * * *", "jobTemplate": {"spec": {"template": ONCE}}},
        {"lastScheduleTime": EARLY, "lastSuccessfulTime": LATE},
    ),
    AUTOSCALERS: (
        {"scaleTargetRef": TARGET, "minReplicas": 2, "maxReplicas": 10},
        {
            "currentReplicas": 2,
            "desiredReplicas": 2,
            "lastScaleTime": EARLY,
            "conditions": [{"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"}],
        },
    ),
    DISRUPTION_BUDGETS: (
        {"minAvailable": 1, "selector": SELECTOR},
        {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2},
    ),
    SERVICES: ({"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]}, ADDRESS),
    INGRESSES: ({"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}, ADDRESS),
    CLAIMS: (STORAGE, {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}),
}


def report(status):
    verdicts = tuple(Verdict(name, True, None, ("it is ready",)) for name in "ab")
    rows = tuple(Row(name, {"metadata": {}}, {"metadata": {}, "status": status}, live=True) for name in "ab")
    return Report(Decision(verdicts), rows)


def kubectl(host, *words):
    command = [components_folder() / "kubectl", "--kubeconfig", host.kubeconfig, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


async def test_a_real_api_server_takes_what_is_made_and_kubectl_understands_it(host):
    door, endpoint = NativeDoor(), Kubeconfig.load(host.kubeconfig).endpoint()
    async with closing(Client(HttpTransport(endpoint), SystemRuntime())) as client:
        for resource, (spec, status) in CASES.items():
            metadata = {"name": "web", "namespace": "default"}
            body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
            source = await client.create(resource, body)

            # What goes to members is taken by a server that has never seen the source.
            template = door.translate(source).template
            copy = {**template, "metadata": {**template["metadata"], "name": "copy"}}
            assert dig(await client.create(resource, copy), "metadata", "name") == "copy"

            reported = door.reported(source, report(status), NOW)
            written = await client.update(resource, reported, subresource="status")
            again = door.reported(written, report(status), "2030-01-01T00:00:00Z")
            assert again["status"] == written["status"], f"a second report of {resource.kind} would write again"

        for words in (
            ("rollout", "status", "deployment/web", "--timeout=5s"),
            ("rollout", "status", "statefulset/web", "--timeout=5s"),
            ("rollout", "status", "daemonset/web", "--timeout=5s"),
            ("wait", "--for=condition=complete", "job/web", "--timeout=5s"),
            ("wait", "--for=condition=available", "deployment/web", "--timeout=5s"),
            ("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/web", "--timeout=5s"),
        ):
            answer = await asyncio.to_thread(kubectl, host, *words)
            assert answer.returncode == 0, (words, answer.stdout, answer.stderr)


async def test_a_real_api_server_judges_federated_kinds(host):
    async with closing(Client(HttpTransport(Kubeconfig.load(host.kubeconfig).endpoint()), SystemRuntime())) as client:
        await prepare_host(client)
        made = await client.create(FEDERATED_KINDS, federated_kind_manifest(CRDS))
        assert made["spec"]["enabled"] is True
        wrong = federated_kind_manifest(SERVICES)
        wrong["metadata"]["name"] = "something"
        with pytest.raises(Invalid, match=r"metadata\.name must be spec\.plural and spec\.group"):
            await client.create(FEDERATED_KINDS, wrong)
        wrong = federated_kind_manifest(SERVICES)
        wrong["spec"]["replicas"] = {"path": "spec..size"}
        with pytest.raises(Invalid, match=r"spec\.replicas\.path"):
            await client.create(FEDERATED_KINDS, wrong)
        wrong = federated_kind_manifest(SERVICES)
        wrong["spec"]["status"] = [{"path": "status.up", "combine": "Sum", "expression": "size(clusters)"}]
        with pytest.raises(Invalid, match="combine and expression exclude each other"):
            await client.create(FEDERATED_KINDS, wrong)
        taught = federated_kind_manifest(SERVICES)
        taught["spec"]["health"] = "has(self.status)"
        told = understood(await client.create(FEDERATED_KINDS, taught), "2026-01-01T00:00:00Z")
        kept = await client.update(FEDERATED_KINDS, told, subresource="status")
        assert kept["status"] == told["status"]
