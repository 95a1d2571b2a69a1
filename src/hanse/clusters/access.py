"""Who may place work where: the verb `use` on a Cluster, asked of the host for the author of an object.

The author is what admission stamped on the object (`access_admission`), which nobody can write themselves. Where that
admission is not installed nothing is known of authors, and nothing is refused. Hanse itself, who makes objects of
others' objects, is refused nothing. Answers are remembered until roles or bindings change; an answer that cannot be had
is an error, and nothing is placed on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hanse.api.clusters import CLUSTERS
from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION
from hanse.clusters.access_admission import installed_as, wait_installed
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, annotations_of, dig, key_of
from hanse.kube.resources import Resource

log = Log("hanse")

VERB = "use"
SUBJECT_ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
_MASTERS = "system:masters"
_EVERY_CLUSTER = ""


@dataclass(frozen=True, slots=True)
class Author:
    """Whoever wrote an object last, as the API server knew them."""

    user: str
    groups: tuple[str, ...] = ()


def author_of(source: Obj) -> Author | None:
    """Return who wrote an object; None for one from before authors were stamped."""
    annotations = annotations_of(source)
    user = annotations.get(AUTHOR_ANNOTATION)
    if not user:
        return None
    groups = annotations.get(AUTHOR_GROUPS_ANNOTATION) or ""
    return Author(user, tuple(group for group in groups.split("\n") if group))


def review_of(author: Author, cluster: str) -> Obj:
    """Write the question whether an author may use a cluster; without a name, whether every one of them."""
    attributes = {"group": CLUSTERS.group, "resource": CLUSTERS.plural, "verb": VERB, "name": cluster}
    return {
        "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
        "kind": SUBJECT_ACCESS_REVIEWS.kind,
        "metadata": {},
        "spec": {
            "user": author.user,
            "groups": list(author.groups),
            "resourceAttributes": {name: value for name, value in attributes.items() if value},
        },
    }


class Rights(Protocol):
    """Says which clusters whoever asks may not use."""

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` when what was answered may no longer be true."""

    async def refusals(self, source: Obj, clusters: Sequence[str], voices: Sequence[Obj] = ()) -> dict[str, str]:
        """Return the clusters that may not be used for an object, each with the sentence that says so."""


class Access:
    """Answers who may use which cluster."""

    def __init__(self, host: Client) -> None:
        self._host = host
        self._caches = [Cache(host, kind, metadata_only=True) for kind in (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)]
        self._answers: dict[tuple[Author, str], bool] = {}
        self._asked = False
        self._listeners: list[Callable[[], None]] = []
        self._enforced: bool | None = None
        self._own = ""

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` when what was answered may no longer be true."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Follow roles and bindings until cancelled."""
        if not self._learn(await wait_installed(self._host)):
            log.warning("Authors are not stamped on this host, so nobody's use of clusters is limited")
            return
        async with asyncio.TaskGroup() as tasks:
            for cache in self._caches:
                tasks.create_task(cache.run())
            for cache in self._caches:
                await cache.wait_synced()
                cache.subscribe(lambda _change: self._forget())
            # What was answered before may have changed unheard.
            self._forget()

    async def enforced(self) -> bool:
        """Tell whether authors are stamped here, without which nothing is refused."""
        if self._enforced is None:
            return self._learn(await installed_as(self._host))
        return self._enforced

    def _learn(self, own: str | None) -> bool:
        self._enforced, self._own = own is not None, own or ""
        return self._enforced

    async def refusals(self, source: Obj, clusters: Sequence[str], voices: Sequence[Obj] = ()) -> dict[str, str]:
        """Return the clusters that the author of an object may not use, each with the sentence that says so.

        Whoever wrote one of the `voices`, which say where the object goes, must be allowed to use them as well.
        """
        found = await self._refused(author_of(source), clusters)
        for voice in voices:
            author = author_of(voice)
            for cluster, why in (await self._refused(author, clusters, f", who wrote {_title(voice)},")).items():
                found.setdefault(cluster, why)
        return found

    async def _refused(self, author: Author | None, clusters: Sequence[str], who: str = "") -> dict[str, str]:
        if author is None or _MASTERS in author.groups or not await self.enforced():
            return {}
        # What Hanse makes of somebody's object is no wish of its own: whoever wrote that one is asked about.
        if author.user == self._own:
            return {}
        if await self._may_use(author, _EVERY_CLUSTER):
            return {}
        answers = {cluster: self._answers.get((author, cluster)) for cluster in clusters}
        unknown = [cluster for cluster, answer in answers.items() if answer is None]
        asked = await asyncio.gather(*(self._may_use(author, cluster) for cluster in unknown))
        answers |= dict(zip(unknown, asked, strict=True))
        return {
            cluster: f"{author.user}{who} may not use cluster {cluster}"
            for cluster, allowed in answers.items()
            if not allowed
        }

    async def _may_use(self, author: Author, cluster: str) -> bool:
        known = self._answers.get((author, cluster))
        if known is not None:
            return known
        answers, self._asked = self._answers, True
        review = await self._host.create(SUBJECT_ACCESS_REVIEWS, review_of(author, cluster))
        allowed = bool(dig(review, "status", "allowed", default=False))
        # Rights that changed meanwhile began a new page; an answer from before belongs on the old one.
        answers[author, cluster] = allowed
        return allowed

    def _forget(self) -> None:
        if not self._asked:
            return
        self._answers, self._asked = {}, False
        for listener in self._listeners:
            listener()


def _title(obj: Obj) -> str:
    return f"{obj['kind']} {key_of(obj)}"
