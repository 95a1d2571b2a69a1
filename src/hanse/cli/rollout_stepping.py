"""Which step a person means, and whether a release may be told to go there. Pure."""

from __future__ import annotations

from hanse.cli.failures import Failure, Misuse
from hanse.rollouts.reading import ReleaseReading, failure_of, is_settled, step_title


def step_named(release: ReleaseReading, word: str, option: str) -> int:
    """Find a step by its name or by its number from 0; raises Misuse that lists them."""
    names = [str(step.get("name", "")) for step in release.steps]
    if word in names:
        return names.index(word)
    if word.isdecimal() and int(word) < len(names):
        return int(word)
    known = ", ".join(f"{number} ({name})" for number, name in enumerate(names)) or "none"
    raise Misuse(f"{option}: release {release.name} has no step {word!r}; its steps are {known}")


def next_step(release: ReleaseReading, to: str, *, full: bool) -> int:
    """Return the step that a release is promoted to; raises Failure where a person should look first."""
    last = len(release.steps) - 1
    if release.paused and not failure_of(release.obj):
        raise Failure(f"release {release.name} is paused; `hanse rollout resume` it first")
    if to:
        return step_named(release, to, "--to")
    if full:
        return last
    title = step_title(release.obj, release.target_step)
    if release.target_step >= last:
        raise Failure(f"release {release.name} is at its last step, {title}; there is nothing to promote it to")
    if not is_settled(release.obj):
        raise Failure(
            f"release {release.name} has yet to achieve step {title}: wait with `hanse rollout status`, "
            "or say with --to where it shall go all the same"
        )
    return release.target_step + 1
