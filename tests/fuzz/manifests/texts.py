"""Readers of texts and answers: each returns a value or refuses in its own words."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from hanse.api.admiralty.names import TargetName
from hanse.api.federation import HealthSettings
from hanse.clusters.tainting import TaintError, parse_taint
from hanse.composite import bodies
from hanse.composite.hooks.answers import UnreadableAnswer, read_answer
from hanse.composite.related import read_rules
from hanse.composite.spec import Version
from hanse.kube.cron import Schedule, ScheduleError
from hanse.kube.transport import Response
from hanse.native.preferences import parse_preferences, parse_selector
from hanse.native.scheduling_policy import BadReview as BadPolicyReview
from hanse.native.scheduling_policy import judged, read_settings
from hanse.native.scheduling_policy import read_review as read_policy_review
from hanse.pods.admission.reviews import BadReview, Knowledge, answer_job, answer_pod, read_review
from hanse.pods.admission.seals import Sealer
from hanse.pods.strict_yaml import BadYaml, read_yaml
from hanse.rollouts.assembly.assembled import assemble
from hanse.rollouts.environment import EnvironmentProblem, parse_environment, parse_strategy
from hanse.rollouts.sources.documents import read_documents, read_mapping
from hanse.rollouts.sources.indexes import IndexProblem, parse_index
from hanse.rollouts.sources.problem import SourceProblem
from hanse.rollouts.sources.versions import RangeProblem, parse_range, parse_version
from hanse.services.balancing.wishes import WishError, parse_wish
from hanse.services.geography.vantage import parse_vantage
from hanse.services.health.check_fields import BadCheck
from hanse.services.health.checks import check_for
from hanse.services.ingress.manifest import IngressError, modern_ingress, rules_of
from hanse.vitess.identity import parse_alias
from hanse.vitess.key_ranges import parse_shard_name
from tests.fuzz.manifests.corpus import manifest_of, meant, odd_text
from tests.fuzz.odd import mutated, odd_value
from tests.fuzz.requests.wording import as_json, as_yaml, bomb, garbled, strange

_KNOWN = Knowledge("here", (TargetName("default", "a"), TargetName("", "b")), Sealer(b"k" * 32, 0.0))
_RELEASE = {
    "apiVersion": "shipper.booking.com/v1alpha1",
    "kind": "Release",
    "metadata": {"name": "web-0", "namespace": "shop", "uid": "u", "labels": {"shipper-app": "web"}},
    "spec": {"environment": {"chart": {"name": "x"}}},
}


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads a text or a value, what is put before it, and the words in which it may refuse."""

    name: str
    made: Callable[[random.Random], Any]
    read: Callable[[Any], Any]
    refusals: tuple[type[Exception], ...] = ()


def _document(chance: random.Random) -> str:
    luck = chance.random()
    if luck < 0.5:
        data = as_yaml(manifest_of(chance)) if chance.random() < 0.5 else as_json(manifest_of(chance))
        return data.decode(errors="replace")
    if luck < 0.7:
        return garbled(chance, as_yaml(chance.choice(meant()))).decode(errors="replace")
    if luck < 0.75:
        return bomb(chance.choice((5, 9, 30)), chance.choice((2, 9))).decode()
    return strange(chance)[:200_000].decode(errors="replace")


_POD = {"metadata": {"name": "a", "annotations": {}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
_REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "u",
        "operation": "CREATE",
        "namespace": "default",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "userInfo": {"username": "bob", "groups": ["a"]},
        "object": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "annotations": {"multicluster.admiralty.io/elect": ""}, "labels": {"a": "b"}},
            "spec": {
                "containers": [{"name": "a", "image": "b", "volumeMounts": []}],
                "volumes": [{"name": "v", "secret": {}}],
            },
        },
    },
}
_JOB_REVIEW = orjson.loads(
    orjson.dumps(_REVIEW)
    .replace(b'"Pod"', b'"Job"')
    .replace(b'"spec":{"containers"', b'"spec":{"parallelism":1,"template":{"spec":{}},"containers"')
)
_ANSWER = {
    "status": {"ready": 1},
    "children": [_POD, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}],
    "attachments": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}],
    "relatedResources": [{"apiVersion": "v1", "resource": "pods", "labelSelector": {"matchLabels": {"a": "b"}}}],
    "labels": {"a": "b"},
    "annotations": {"a": None},
    "finalized": True,
    "resyncAfterSeconds": 5,
}
_STRATEGY = {
    "steps": [
        {"name": "a", "capacity": {"incumbent": 100, "contender": 1}, "traffic": {"incumbent": 100, "contender": 0}},
        {"name": "b", "capacity": {"incumbent": 0, "contender": 100}, "traffic": {"incumbent": 0, "contender": 100}},
    ],
    "rollingUpdate": {"maxSurge": "10%"},
}
_ENVIRONMENT = {
    "chart": {"name": "nginx", "version": "1.2.3", "repoUrl": "https://charts.example.com"},
    "values": {"replicaCount": 3},
    "clusterRequirements": {"regions": [{"name": "eu", "replicas": 1}], "capabilities": ["gpu"]},
    "strategy": _STRATEGY,
}
_INDEX = b"apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz], digest: ab}\n"


def _check(chance: random.Random) -> str:
    check = {"type": "http", "port": 80, "path": "/", "timeoutSeconds": 1, "expect": {"status": "200-299"}}
    return as_json(mutated(chance, check)).decode()


def _hostile(tree: Any) -> Callable[[random.Random], Any]:
    return lambda chance: mutated(chance, tree, meant()) if chance.random() < 0.95 else odd_value(chance)


def _as_bytes(tree: Any) -> Callable[[random.Random], bytes]:
    def made(chance: random.Random) -> bytes:
        body = as_json(mutated(chance, tree, meant()))
        return body if chance.random() < 0.8 else garbled(chance, body)

    return made


def _customize(answer: Any) -> Any:
    rules = bodies.read_customize(answer, strict=False)
    return rules if isinstance(rules, str) else read_rules(rules, "default", Version.V1, lambda kind: True)


def _pod_review(body: bytes) -> Any:
    return orjson.dumps(answer_pod(read_review(body), _KNOWN))


def _job_review(body: bytes) -> Any:
    return orjson.dumps(answer_job(read_review(body), _KNOWN))


def _ingress(document: Any) -> Any:
    return rules_of(modern_ingress(document))


def _assembled(text: str) -> Any:
    return assemble(read_documents(text, "chart"), release=_RELEASE, renames=True)


def _manifests(chance: random.Random) -> str:
    web = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web-0", "labels": {"app": "web"}},
            "spec": {
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "a", "image": "b"}]},
                },
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "labels": {"shipper-lb": "production"}},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        },
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}},
    ]
    changed = mutated(chance, web, meant())
    documents = changed if isinstance(changed, list) else [changed]
    return "\n---\n".join(as_json(each).decode() for each in documents if isinstance(each, dict))


READERS: tuple[Reader, ...] = (
    Reader("hook answer", lambda chance: garbled(chance, as_json(_ANSWER)), read_answer, (UnreadableAnswer,)),
    Reader("strict hook answer", _as_bytes(_ANSWER), lambda body: read_answer(body, strict=True), (UnreadableAnswer,)),
    Reader("sync answer", _hostile(_ANSWER), lambda body: bodies.read_sync(body, strict=False)),
    Reader("strict sync answer", _hostile(_ANSWER), lambda body: bodies.read_sync(body, strict=True)),
    Reader("decorator answer", _hostile(_ANSWER), lambda body: bodies.read_decorator(body, strict=False)),
    Reader("customize answer", _hostile(_ANSWER), _customize),
    Reader("map answer", _hostile(_ANSWER), lambda body: bodies.read_map(body, strict=False)),
    Reader("tombstone answer", _hostile(_ANSWER), lambda body: bodies.read_tombstone(body, strict=False)),
    Reader("update answer", _hostile(_ANSWER), lambda body: bodies.read_update_child(body, strict=False)),
    Reader("pod review", _as_bytes(_REVIEW), _pod_review, (BadReview,)),
    Reader("job review", _as_bytes(_JOB_REVIEW), _job_review, (BadReview,)),
    Reader("policy review", _as_bytes(_REVIEW), read_policy_review, (BadPolicyReview,)),
    Reader(
        "policy engine",
        _as_bytes({"errors": [], "annotations": {"a": "b"}}),
        lambda body: judged(Response(200, body=body)),
    ),
    Reader("policy hook settings", _document, read_settings, (ValueError,)),
    Reader("environment", _hostile(_ENVIRONMENT), parse_environment, (EnvironmentProblem,)),
    Reader("strategy", _hostile(_STRATEGY), parse_strategy, (EnvironmentProblem,)),
    Reader("chart documents", _document, lambda text: read_documents(text, "x.yaml"), (SourceProblem,)),
    Reader("chart mapping", _document, lambda text: read_mapping(text, "Chart.yaml"), (SourceProblem,)),
    Reader("rendered chart", _manifests, _assembled, (SourceProblem,)),
    Reader("chart index", lambda chance: garbled(chance, _INDEX), parse_index, (IndexProblem,)),
    Reader("chart index document", lambda chance: _document(chance).encode(), parse_index, (IndexProblem,)),
    Reader("version range", odd_text, parse_range, (RangeProblem,)),
    Reader("version", odd_text, parse_version),
    Reader("cluster selector", odd_text, parse_selector, (ValueError,)),
    Reader("replica preferences", odd_text, parse_preferences, (ValueError,)),
    Reader("pod constraints", odd_text, lambda text: read_yaml(text, 65536), (BadYaml,)),
    Reader("balancer wish", odd_text, parse_wish, (WishError,)),
    Reader("health check", _check, lambda text: check_for(text, (), HealthSettings()), (BadCheck,)),
    Reader("vantage", odd_text, parse_vantage, (ValueError,)),
    Reader("taint", odd_text, parse_taint, (TaintError,)),
    Reader("ingress file", manifest_of, _ingress, (IngressError,)),
    Reader("schedule", odd_text, lambda text: Schedule.parse(text).next(0.0), (ScheduleError,)),
    Reader("tablet alias", odd_text, parse_alias),
    Reader("shard name", odd_text, parse_shard_name),
)
