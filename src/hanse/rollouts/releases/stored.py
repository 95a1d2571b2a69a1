"""A release and its targets as the host has them: what is decided on, and what a patch has to find unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanse.api.clusters import words_of
from hanse.api.shipper.kinds import CLUSTERS_ANNOTATION
from hanse.kube.manifest import Key, Obj, annotations_of, is_deleting, key_of
from hanse.rollouts.applications.releases import belongs as is_of
from hanse.rollouts.execution import ReleaseView, view_of
from hanse.rollouts.releases.manifests import belongs
from hanse.rollouts.shelf import Shelf, generation_of


@dataclass(frozen=True, slots=True)
class Stored:
    """One release with those of its targets that exist and are its own."""

    release: Obj
    installation: Obj | None = None
    capacity: Obj | None = None
    traffic: Obj | None = None

    @property
    def key(self) -> Key:
        """The release's key, which is also that of its targets."""
        return key_of(self.release)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters that were chosen for it."""
        return words_of(annotations_of(self.release).get(CLUSTERS_ANNOTATION, ""))

    @property
    def is_committed(self) -> bool:
        """Whether anything of it may be in clusters."""
        return self.installation is not None

    def view(self) -> ReleaseView:
        """Return it as the executor sees it; raises EnvironmentProblem."""
        return view_of(self.release, self.installation, self.capacity, self.traffic)


def find(shelf: Shelf, release: Obj) -> Stored:
    """Gather what the host has of a release now."""
    key = key_of(release)
    current = shelf.releases.get(key) or release
    targets = (cache.get(key) for cache in (shelf.installations, shelf.capacities, shelf.traffics))
    own = (target if target is not None and belongs(target, current) else None for target in targets)
    return Stored(current, *own)


@dataclass(frozen=True, slots=True)
class Company:
    """An application's releases, the oldest first: those that stay, and those that somebody has deleted."""

    living: tuple[Obj, ...] = ()
    leaving: tuple[Obj, ...] = ()

    @property
    def head(self) -> Obj | None:
        """The newest release that nobody has deleted."""
        return self.living[-1] if self.living else None

    def misplaced(self) -> Obj | None:
        """Return a release that has no place among the others, since its generation cannot be read."""
        return next((release for release in self.living if generation_of(release) is None), None)


def company(releases: Sequence[Obj], application: Obj | None) -> Company:
    """Divide the releases of an application's name, the oldest first.

    Those of an earlier application of that name are about to go, and stay out of it: they are nobody's predecessors.
    """
    return Company(
        tuple(
            release
            for release in releases
            if not is_deleting(release) and (application is None or is_of(release, application))
        ),
        tuple(release for release in releases if is_deleting(release)),
    )
