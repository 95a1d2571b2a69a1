"""The releases of an application: which of them counts as what, the next one's name, and which are kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hanse.api.shipper.kinds import (
    APP_LABEL,
    APPLICATIONS,
    GENERATION_ANNOTATION,
    HASH_LABEL,
    ITERATION_ANNOTATION,
    OVERRIDE_ANNOTATION,
    RELEASE_LABEL,
    RELEASES,
    ROLLOUT_FINALIZER,
)
from hanse.kube.conditions import is_true
from hanse.kube.manifest import (
    Obj,
    annotations_of,
    dig,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from hanse.rollouts.applications.hashing import environment_hash
from hanse.rollouts.shelf import generation_of, whole_number


def belongs(release: Obj, application: Obj) -> bool:
    """Tell whether a release is this application's, and not of one of the same name that was deleted."""
    owners = [owner for owner in release["metadata"].get("ownerReferences") or () if owner["kind"] == APPLICATIONS.kind]
    return not owners or any(owner.get("uid") == uid_of(application) for owner in owners)


def oldest_first(releases: Iterable[Obj]) -> list[Obj]:
    """Return releases in order of generation; one whose generation is no number is last."""

    def order(release: Obj) -> tuple[float, str]:
        generation = generation_of(release)
        return float("inf") if generation is None else generation, name_of(release)

    return sorted(releases, key=order)


def current(releases: Sequence[Obj]) -> list[Obj]:
    """Return the releases that nobody has deleted."""
    return [release for release in releases if not is_deleting(release)]


def was_completed(release: Obj) -> bool:
    """Tell whether a release was at its last step once; it is said to be Complete ever after."""
    return is_true(dig(release, "status", "conditions"), "Complete")


def is_complete(release: Obj) -> bool:
    """Tell whether a release was completed and nobody has stepped back from it since."""
    return was_completed(release) and not (turns_back(release) and _achieved_less(release))


def turns_back(release: Obj) -> bool:
    """Tell whether somebody asks for another step of a release than its last."""
    return int(dig(release, "spec", "targetStep", default=0)) < _last_step(release)


def incumbent_of(releases: Sequence[Obj]) -> Obj | None:
    """Return the newest complete release before the latest one; `releases` are the oldest first."""
    return next((release for release in reversed(releases[:-1]) if is_complete(release)), None)


def history_problem(releases: Sequence[Obj]) -> str:
    """Say which release has lost its place in the history, "" where all have theirs."""
    for release in releases:
        if generation_of(release) is None:
            return _no_number(release, GENERATION_ANNOTATION)
        if _iteration(release) is None:
            return _no_number(release, ITERATION_ANNOTATION)
    return ""


def next_release(application: Obj, releases: Sequence[Obj], highest: int, taken: Collection[str] = ()) -> Obj:
    """Write the release that an application's template asks for now.

    `highest` is the highest generation that the application remembers, `taken` are names that it must not have.
    """
    template = application["spec"]["template"]
    digest = environment_hash(template)
    same = [_iteration(release) or 0 for release in current(releases) if labels_of(release).get(HASH_LABEL) == digest]
    iteration = max(same) + 1 if same else 0
    while (name := f"{name_of(application)}-{digest}-{iteration}") in taken:
        iteration += 1
    generations = [generation for release in releases if (generation := generation_of(release)) is not None]
    generation = max([highest, *generations]) + 1 if releases else 0
    annotations = {GENERATION_ANNOTATION: str(generation), ITERATION_ANNOTATION: str(iteration)}
    if override := annotations_of(application).get(OVERRIDE_ANNOTATION):
        annotations[OVERRIDE_ANNOTATION] = override
    found_by = {APP_LABEL: name_of(application), RELEASE_LABEL: name, HASH_LABEL: digest}
    return {
        "apiVersion": RELEASES.api_version,
        "kind": RELEASES.kind,
        "metadata": {
            "name": name,
            "namespace": namespace_of(application),
            "labels": {**labels_of(application), **found_by},
            "annotations": annotations,
            "finalizers": [ROLLOUT_FINALIZER],
            "ownerReferences": [_owner(application)],
        },
        "spec": {"targetStep": 0, "environment": template},
    }


def superfluous(releases: Sequence[Obj], limit: int) -> list[Obj]:
    """Return the releases to be deleted, in that order; `releases` are the oldest first.

    The latest one stays whatever it is like. Of the others go those that were never completed or that somebody stepped
    back from, and of the rest the oldest beyond the limit.
    """
    earlier = releases[:-1]
    complete = [release for release in earlier if is_complete(release)]
    abandoned = [release for release in earlier if not is_complete(release)]
    return abandoned + complete[: max(0, len(complete) - limit)]


def _achieved_less(release: Obj) -> bool:
    """Tell whether it has gone back: a step that is asked of a release after it was replaced moves nothing."""
    return int(dig(release, "status", "achievedStep", "step", default=_last_step(release))) < _last_step(release)


def _last_step(release: Obj) -> int:
    return len(dig(release, "spec", "environment", "strategy", "steps", default=())) - 1


def _iteration(release: Obj) -> int | None:
    text = annotations_of(release).get(ITERATION_ANNOTATION, "")
    return whole_number(text)


def _no_number(release: Obj, annotation: str) -> str:
    said = annotations_of(release).get(annotation)
    found = "is missing" if said is None else f'is "{said}", which is no number'
    return f'Release "{key_of(release)}": the annotation {annotation} {found}; write the number it had'


def _owner(application: Obj) -> Obj:
    return {
        "apiVersion": APPLICATIONS.api_version,
        "kind": APPLICATIONS.kind,
        "name": name_of(application),
        "uid": uid_of(application),
    }
