"""The weights of an application's releases in each cluster, as their TrafficTargets say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hanse.api.shipper.kinds import APP_LABEL, RELEASE_LABEL
from hanse.kube.cache import Cache, Change
from hanse.kube.manifest import Key, Obj, dig, key_of, labels_of, name_of, namespace_of


class WeightProblem(ValueError):
    """Why nobody can say how the traffic of an application is divided: one sentence."""


def weights_of(targets: Iterable[Obj]) -> dict[str, dict[str, int]]:
    """Return by cluster the weight of each release; raises WeightProblem."""
    found: dict[str, dict[str, int]] = {}
    by_release: dict[str, str] = {}
    for target in targets:
        labels = labels_of(target)
        for label in (APP_LABEL, RELEASE_LABEL):
            if not labels.get(label):
                raise WeightProblem(
                    f'TrafficTarget "{key_of(target)}" needs a "{label}" label in order to select resources in the '
                    "target clusters"
                )
        release, name = labels[RELEASE_LABEL], name_of(target)
        if release in by_release:
            raise WeightProblem(
                f'multiple TrafficTargets for the same release "{namespace_of(target)}/{release}": '
                f"[{by_release[release]} {name}]"
            )
        by_release[release] = name
        for entry in dig(target, "spec", "clusters", default=[]):
            found.setdefault(entry["name"], {})[release] = entry.get("weight") or 0
    return found


class Weights:
    """Finds the TrafficTargets of applications."""

    def __init__(self, targets: Cache) -> None:
        self._targets = targets
        self._keys: dict[Key, set[Key]] = {}
        self._listeners: list[Callable[[Key, bool], None]] = []

    def follow(self, listener: Callable[[Key, bool], None]) -> None:
        """Call `listener` with every application one of whose targets changed, and whether in more than its status."""
        self._listeners.append(listener)
        self._targets.subscribe(self._note)

    def applications(self) -> list[Key]:
        """Return every application with a target; what has no label is under the name ""."""
        return sorted(self._keys)

    def targets(self, application: Key) -> list[Obj]:
        """Return an application's targets, in order of name."""
        found = (self._targets.get(key) for key in sorted(self._keys.get(application, ())))
        return [target for target in found if target is not None]

    def within(self, application: Key, cluster: str) -> Mapping[str, int] | None:
        """Return the weights of an application's releases in a cluster, None where nobody can say."""
        try:
            return weights_of(self.targets(application)).get(cluster, {})
        except WeightProblem:
            return None

    def _note(self, change: Change) -> None:
        old, new = change.old, change.new
        for target, act in ((old, set.discard), (new, set.add)):
            if target is not None:
                application = _application(target)
                act(self._keys.setdefault(application, set()), change.key)
                if not self._keys[application]:
                    del self._keys[application]
        moved = _asked(old) != _asked(new)
        for application in {_application(target) for target in (old, new) if target is not None}:
            for listener in self._listeners:
                listener(application, moved)


def _application(target: Obj) -> Key:
    return Key(namespace_of(target), labels_of(target).get(APP_LABEL, ""))


def _asked(target: Obj | None) -> object:
    return None if target is None else (target.get("spec"), labels_of(target))
