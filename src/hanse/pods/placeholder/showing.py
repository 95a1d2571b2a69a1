"""Has a placeholder show what its pod shows: its status first, then as many annotations as it has room for.

What the source's API server does not take is told once on the placeholder and not tried again until the pod shows
something else: a target may write what it likes, and nobody is to be kept busy by it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hanse.kube.errors import ApiError, BadRequest, Invalid
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, key_of, uid_of
from hanse.pods.placeholder.annotations import annotations_shown
from hanse.pods.placeholder.status import mirrored, status_patch
from hanse.propagation.intent import Ref

_TOO_LARGE = 413
_NAMED = 5

# Writes a patch of a placeholder, or of a subresource of it, and returns what is stored then.
Write = Callable[[Ref, Obj, Obj, str], Awaitable[Obj]]


def is_final(error: ApiError) -> bool:
    """Tell whether an API server will never take what it was asked for, however often."""
    return isinstance(error, Invalid | BadRequest) or error.code == _TOO_LARGE


@dataclass(slots=True)
class _Refused:
    """What was not taken of a placeholder, by the part of it, and the annotations that it has no room for."""

    uid: str
    patches: dict[str, Obj] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether everything is shown."""
        return not self.patches and not self.left_out


class Showing:
    """Shows on placeholders what their pods show, and remembers what cannot be shown."""

    def __init__(self, write: Write, events: EventRecorder) -> None:
        self._write = write
        self._events = events
        # By chaperon, of which there is one for each placeholder.
        self._refused: dict[Key, _Refused] = {}

    async def follow(self, ref: Ref, placeholder: Obj, chaperon: Obj) -> None:
        """Have a placeholder show what a chaperon shows of its pod."""
        refused = self._refused.setdefault(key_of(chaperon), _Refused(uid_of(placeholder)))
        if refused.uid != uid_of(placeholder):
            refused = self._refused[key_of(chaperon)] = _Refused(uid_of(placeholder))
        if patch := status_patch(placeholder, mirrored(placeholder, chaperon)):
            placeholder = await self._show(ref, placeholder, patch, "status", refused)
        shown = annotations_shown(placeholder, chaperon)
        if shown.patch:
            placeholder = await self._show(ref, placeholder, {"metadata": {"annotations": shown.patch}}, "", refused)
        if shown.left_out != refused.left_out:
            refused.left_out = shown.left_out
            await self._tell_left_out(placeholder, shown.left_out)
        if refused.is_nothing:
            self.forget(key_of(chaperon))

    def forget(self, chaperon: Key) -> None:
        """Forget a placeholder that is gone, by its chaperon."""
        self._refused.pop(chaperon, None)

    async def _show(self, ref: Ref, placeholder: Obj, patch: Obj, part: str, refused: _Refused) -> Obj:
        if refused.patches.get(part) == patch:
            return placeholder
        refused.patches.pop(part, None)
        try:
            return await self._write(ref, placeholder, patch, part)
        except ApiError as error:
            if not is_final(error):
                raise
            refused.patches[part] = patch
            told = f"the {part or 'annotations'} of its pod cannot be shown here until it changes: {error.message}"
            await self._events.record(placeholder, "NotShown", told, warning=True)
            return placeholder

    async def _tell_left_out(self, placeholder: Obj, names: tuple[str, ...]) -> None:
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            told = f"{', '.join(names[:_NAMED])}{more}: annotations of its pod for which there is no room here"
            await self._events.record(placeholder, "NotShown", told, warning=True)
