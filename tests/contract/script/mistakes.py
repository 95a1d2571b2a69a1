"""The ordinary mistakes of people who write manifests, one thing wrong at a time; they stand in `mistaken/*.yaml`."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.contract.step import Obj, Step, deployment, manifest, namespace, post

_FOLDER = Path(__file__).with_name("mistaken")
_DEPLOYMENTS = "/apis/apps/v1/namespaces/pod-mistakes/deployments"
_PODS = "/api/v1/namespaces/pod-mistakes/pods"
_VOLUME = {"name": "v", "emptyDir": {}}


def _read(name: str) -> dict[str, dict[str, Obj]]:
    found: dict[str, dict[str, Obj]] = yaml.safe_load((_FOLDER / name).read_text())
    return found


def _tried(section: str, name: str, path: str, obj: Obj) -> Step:
    # Tried out only: what is wrongly accepted must not stand in the way of the next.
    return post(f"{section}/{name}", f"{path}?dryRun=All", obj)


def _in_deployment(container: Obj, volume: Obj) -> Obj:
    spec = {"containers": [{"name": "app", "image": "x", **container}], "volumes": [volume]}
    return deployment("bad", template={"metadata": {"labels": {"app": "bad"}}, "spec": spec})


def _in_pod(fragment: Obj) -> Obj:
    return manifest("v1", "Pod", "bad", spec={"containers": [{"name": "app", "image": "x"}], **fragment})


def _pod_steps() -> list[Step]:
    mistaken = _read("pods.yaml")
    made = [(name, _DEPLOYMENTS, _in_deployment(one, _VOLUME)) for name, one in mistaken["containers"].items()]
    made += [(name, _DEPLOYMENTS, _in_deployment({}, one)) for name, one in mistaken["volumes"].items()]
    made += [(name, _PODS, _in_pod(one)) for name, one in mistaken["pods"].items()]
    return [_tried("pod-mistakes", *one) for one in made]


def _steps(file: str) -> list[Step]:
    return [_tried("mistakes", name, path, obj) for path, objs in _read(file).items() for name, obj in objs.items()]


STEPS: list[Step] = [
    *namespace("mistakes"),
    *_steps("services.yaml"),
    *_steps("workloads.yaml"),
    *_steps("others.yaml"),
    *namespace("pod-mistakes"),
    *_pod_steps(),
]
