"""Other systems' cluster objects mirrored into Clusters, and the Clusters' health back into them.

The Cluster is the one that counts. A form that changes is followed as long as nobody has changed the Cluster by hand;
from then on the Cluster wins, and the form's events say where the two differ.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

import orjson

from hanse.api.clusters import CLUSTERS, ROLLOUT_ANNOTATIONS
from hanse.api.names import STATUS_ANNOTATION
from hanse.clusters.forms import FORMS, Form, FormError, Wanted, read_form
from hanse.clusters.serving import served_by
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, annotations_of, dig, labels_of, name_of, namespace_of, uid_of
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.resources import Resource, gvk

# On a Cluster: which object it was made from, and a digest of what that object said, as JSON.
MIRROR_ANNOTATION = "hanse.dev/mirrored-from"


_FIELDS = {
    "endpoints": "spec.kubernetesApiEndpoints",
    "controller": "spec.authInfo.controller",
    "unschedulable": "spec.unschedulable",
    "labels": "metadata.labels",
    "rollouts": "metadata.annotations",
}


class Step(Enum):
    """What is to be done about a form and its Cluster."""

    NOTHING = auto()
    CREATE = auto()
    FOLLOW = auto()
    DIFFER = auto()


@dataclass(frozen=True, slots=True)
class Source:
    """Where a Cluster comes from, as its annotation says."""

    kind: str = ""
    namespace: str = ""
    uid: str = ""
    digest: str = ""
    labels: tuple[str, ...] = ()
    rollouts: tuple[str, ...] = ()

    @classmethod
    def of(cls, cluster: Obj) -> Source:
        """Read a Cluster's annotation; an empty one where it has none that can be read."""
        try:
            told = orjson.loads(annotations_of(cluster).get(MIRROR_ANNOTATION, "{}"))
            kind, namespace, uid, digest = (str(told[name]) for name in ("kind", "namespace", "uid", "digest"))
            labels, rollouts = (tuple(map(str, each)) for each in (told["labels"], told.get("rollouts") or ()))
            return cls(kind, namespace, uid, digest, labels, rollouts)
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return cls()


def next_step(wanted: Wanted, cluster: Obj | None) -> Step:
    """Decide: a Cluster that says what the form last said follows it, one that somebody has changed does not."""
    if cluster is None:
        return Step.CREATE
    source = Source.of(cluster)
    present = _digest(_mirrored(cluster, source.labels, source.rollouts))
    known = (*source.labels, *source.rollouts)
    if not differing_fields(wanted, cluster) and set(known) <= {*wanted.labels, *wanted.annotations}:
        return Step.NOTHING
    return Step.FOLLOW if source.uid and present == source.digest else Step.DIFFER


def differing_fields(wanted: Wanted, cluster: Obj) -> list[str]:
    """Name the fields in which a Cluster says something else than a form."""
    present, asked = _mirrored(cluster, tuple(wanted.labels), _for_rollouts(wanted)), _content(wanted)
    return [_FIELDS[name] for name in _FIELDS if asked.get(name) != present.get(name)]


def mirrored_cluster(wanted: Wanted, form: Obj) -> Obj:
    """Return the Cluster that a form asks for, with the word of where it comes from."""
    content = _content(wanted)
    source = {
        "kind": f"{form['kind']}.{gvk(form)[0]}",
        "namespace": namespace_of(form),
        "uid": uid_of(form),
        "digest": _digest(content),
        "labels": sorted(wanted.labels),
        "rollouts": _for_rollouts(wanted),
    }
    annotations = {**wanted.annotations, MIRROR_ANNOTATION: orjson.dumps(source).decode()}
    return {
        "apiVersion": CLUSTERS.api_version,
        "kind": CLUSTERS.kind,
        "metadata": {"name": wanted.name, "labels": dict(wanted.labels), "annotations": annotations},
        "spec": wanted.spec(),
    }


def _content(wanted: Wanted) -> Obj:
    spec = wanted.spec()
    content = {
        "endpoints": spec["kubernetesApiEndpoints"],
        "controller": spec["authInfo"]["controller"],
        "unschedulable": wanted.unschedulable,
        "labels": dict(sorted(wanted.labels.items())),
    }
    return content | _said(wanted.annotations, _for_rollouts(wanted))


def _mirrored(cluster: Obj, labels: Sequence[str], rollouts: Sequence[str]) -> Obj:
    present = labels_of(cluster)
    content = {
        "endpoints": dig(cluster, "spec", "kubernetesApiEndpoints", default={}),
        "controller": dig(cluster, "spec", "authInfo", "controller", default={}),
        "unschedulable": bool(dig(cluster, "spec", "unschedulable", default=False)),
        "labels": {name: present[name] for name in sorted(labels) if name in present},
    }
    return content | _said(annotations_of(cluster), rollouts)


def _said(annotations: dict[str, str], names: Sequence[str]) -> Obj:
    # Left out where nothing is said, so that the digest is what it was before there were rollouts.
    said = {name: annotations[name] for name in sorted(names) if name in annotations}
    return {"rollouts": said} if said else {}


def _for_rollouts(wanted: Wanted) -> list[str]:
    return sorted(name for name in wanted.annotations if name in ROLLOUT_ANNOTATIONS)


def _digest(content: Obj) -> str:
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


class Mirror:
    """Keeps Clusters and the objects of other systems in step."""

    def __init__(self, host: Client, clusters: Cache) -> None:
        self._host = host
        self._clusters = clusters
        self._forms = {form.resource: form for form in FORMS}
        self._caches: dict[Resource, Cache] = {}
        self._events = EventRecorder(host, "hanse")
        self._controller: Controller[tuple[Resource, Key]] = Controller(
            "cluster forms", self._reconcile, host.runtime, workers=2
        )

    async def run(self) -> None:
        """Mirror until cancelled, those forms that the host serves when this begins."""
        served = await served_by(self._host)
        self._caches = {resource: Cache(self._host, resource) for resource in self._forms if resource in served}
        async with asyncio.TaskGroup() as tasks:
            for resource, cache in self._caches.items():
                cache.subscribe(lambda change, resource=resource: self._form_changed(resource, change))  # type: ignore[misc]
                tasks.create_task(cache.run())
            await self._clusters.wait_synced()
            for cache in self._caches.values():
                await cache.wait_synced()
            self._clusters.subscribe(self._cluster_changed)
            tasks.create_task(self._controller.run())

    def _form_changed(self, resource: Resource, change: Change) -> None:
        self._controller.queue.add((resource, change.key))

    def _cluster_changed(self, change: Change) -> None:
        if change.new is not None and (source := Source.of(change.new)).uid:
            origin = next((each for each in self._caches if each.group_kind == source.kind), None)
            if origin is not None:
                self._controller.queue.add((origin, Key(source.namespace, change.key.name)))
        for resource, cache in self._caches.items():
            for key in cache:
                if key.name == change.key.name:
                    self._controller.queue.add((resource, key))

    async def _reconcile(self, item: tuple[Resource, Key]) -> None:
        resource, key = item
        obj, cluster = self._caches[resource].get(key), self._clusters.get(Key("", key.name))
        if obj is None:
            await self._let_go(resource, key, cluster)
            return
        form = self._forms[resource]
        try:
            wanted = read_form(form, obj)
        except FormError as error:
            await self._say(resource, obj, "InvalidCluster", str(error))
            return
        if wanted is None:
            return
        match next_step(wanted, cluster):
            case Step.CREATE:
                cluster = await self._host.create(CLUSTERS, mirrored_cluster(wanted, obj))
                self._clusters.remember(cluster)
            case Step.FOLLOW if cluster is not None:
                cluster = await self._follow(cluster, mirrored_cluster(wanted, obj))
        differences = differing_fields(wanted, cluster) if cluster is not None else []
        told = f"Cluster {key.name} says otherwise, and counts: {', '.join(differences)}" if differences else ""
        await self._say(resource, obj, "ClusterDiffers", told)
        if cluster is not None:
            await self._report(form, obj, cluster)

    async def _follow(self, cluster: Obj, wanted: Obj) -> Obj:
        """Bring a Cluster to what its form says now; labels that the form no longer has go."""
        source = Source.of(cluster)
        kept = {name: value for name, value in labels_of(cluster).items() if name not in source.labels}
        said = {name: value for name, value in annotations_of(cluster).items() if name not in source.rollouts}
        metadata = {
            **cluster["metadata"],
            "labels": {**kept, **labels_of(wanted)},
            "annotations": {**said, **annotations_of(wanted)},
        }
        spec = {name: value for name, value in cluster["spec"].items() if name not in ("unschedulable",)}
        changed = {**cluster, "metadata": metadata, "spec": {**spec, **wanted["spec"]}}
        written = await self._host.update(CLUSTERS, changed)
        self._clusters.remember(written)
        return written

    async def _let_go(self, resource: Resource, key: Key, cluster: Obj | None) -> None:
        """Let a Cluster leave whose form was deleted; what is in the member stays, as with the other systems."""
        source = Source.of(cluster) if cluster is not None else Source()
        if cluster is None or source.kind != resource.group_kind or source.namespace != key.namespace:
            return
        # An object that is missing because its whole kind is no longer served was deleted by nobody.
        listed = await self._host.list(resource, key.namespace)
        if any(name_of(obj) == key.name for obj in listed.items):
            return
        try:
            await self._host.delete(CLUSTERS, key.name, uid=uid_of(cluster))
        except NotFound:
            return

    async def _say(self, resource: Resource, obj: Obj, reason: str, sentence: str) -> None:
        """Write a sentence on a form, and an event with it; nothing where it is there already."""
        if annotations_of(obj).get(STATUS_ANNOTATION, "") == sentence:
            return
        patch = {"metadata": {"annotations": {STATUS_ANNOTATION: sentence or None}}}
        await self._host.patch(resource, name_of(obj), patch, namespace_of(obj))
        if sentence:
            await self._events.record(obj, reason, sentence, warning=True)

    async def _report(self, form: Form, obj: Obj, cluster: Obj) -> None:
        old, status = obj.get("status") or {}, form.status(obj, cluster)
        if status is None or status == old or not cluster.get("status"):
            return
        patch = {"status": merge_patch_between(old, status)}
        await self._host.patch(form.resource, name_of(obj), patch, namespace_of(obj), subresource="status")
