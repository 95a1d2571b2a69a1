"""Who makes the pods of chaperons that this process creates: they bear its own keeper's word from the beginning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hanse.api.admiralty.keys import MAKER
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.kube.client import PLAIN, Client, WriteOptions
from hanse.kube.manifest import Obj, annotations_of
from hanse.kube.resources import Resource


class Makers:
    """The words of the keepers of this process, by cluster."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}

    @contextmanager
    def at_work(self, cluster: str, word: str) -> Iterator[None]:
        """Have chaperons of a cluster created under a keeper's word while it keeps them."""
        self._words[cluster] = word
        try:
            yield
        finally:
            if self._words.get(cluster) == word:
                del self._words[cluster]

    def word(self, cluster: str) -> str:
        """Return the word of the keeper of a cluster, "" where this process keeps nothing there."""
        return self._words.get(cluster, "")


class MakerClient(Client):
    """A cluster's client that writes on every chaperon which it creates who makes the pod."""

    def __init__(self, client: Client, makers: Makers, cluster: str) -> None:
        super().__init__(client.transport, client.runtime)
        self.discovery = client.discovery
        self._makers = makers
        self._cluster = cluster

    async def create(
        self, resource: Resource, obj: Obj, *, subresource: str = "", options: WriteOptions = PLAIN
    ) -> Obj:
        """Create an object; a chaperon bears the word of the keeper of this process, if it has one there."""
        word = self._makers.word(self._cluster) if resource == POD_CHAPERONS else ""
        if word:
            annotations = {**annotations_of(obj), MAKER: word}
            obj = {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}
        return await super().create(resource, obj, subresource=subresource, options=options)
