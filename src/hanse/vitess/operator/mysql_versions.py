"""Whether MySQL may go from one image to another, and what it has to do before it stops."""

from __future__ import annotations

from enum import Enum

from hanse.vitess.operator.flags import image_version


class VersionStep(Enum):
    """What a change of image means for the data of a MySQL."""

    NONE = "the same version, or one that nobody can tell"
    UPGRADE = "a newer version, for which everything must be on disk when the old one stops"
    DOWNGRADE = "an older version, which cannot read what the newer one wrote"


def version_step(before: str, after: str) -> VersionStep:
    """Tell what going from one image of MySQL to another means."""
    old, new = _numbers(before), _numbers(after)
    if not old or not new or old == new:
        return VersionStep.NONE
    return VersionStep.UPGRADE if new > old else VersionStep.DOWNGRADE


def _numbers(image: str) -> tuple[int, ...]:
    version = image_version(image)
    return tuple(int(part) for part in version.split(".")) if version else ()
