"""Values for the tests of what goes with pods."""

from hanse.api.admiralty.keys import HAS_FINALIZER, MANIFEST, PROXY_SCHEDULER
from hanse.api.admiralty.names import target_named
from hanse.kube.cache import Change
from hanse.kube.manifest import key_of
from hanse.kube.packing import pack


class Targets:
    def __init__(self, names, own):
        self._names = [target_named(name) for name in names]
        self._own = frozenset(own)

    def targets(self):
        return self._names

    def is_self(self, name):
        return name in self._own


def targets(*names, own=()):
    return Targets(names, own)


NO_TARGETS = targets()


def placeholder(name, namespace="shop", annotations=None, **labels):
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {HAS_FINALIZER: "true", **labels},
        "annotations": {MANIFEST: "{}", **(annotations or {})},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"schedulerName": PROXY_SCHEDULER}}


def change(old, new):
    """What a cache tells when one object becomes another, or comes, or goes."""
    return Change(key_of(old or new), old and pack(old), new and pack(new))
