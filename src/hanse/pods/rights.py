"""Who may have pods run where: the federation's own rights, asked for whoever made a pod in a source.

A target that is a registered cluster may be used by those to whom the federation gives `use` on that Cluster. One that
is reached by credentials of its own, or is the source itself, needs nobody's leave: whoever has the credentials has the
right.

Whoever administers a source can write anything into it. So an author is believed only to be somebody *of that source*:
what admission writes names the source, and whatever else a placeholder claims to be is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from hanse.api.names import AUTHOR_ANNOTATION
from hanse.api.plain_kinds import JOBS
from hanse.clusters.access import Access, Author, author_of
from hanse.kube.manifest import Obj
from hanse.kube.resources import PODS
from hanse.pods.admission.authors import AUTHOR_PREFIX
from hanse.pods.listening import weakly

# The kinds on which admission stamps who made them.
_STAMPED = frozenset({PODS.kind, JOBS.kind})
_WEBHOOK = "delete it, and see that Hanse's admission webhook admits the next one"


class Places(Protocol):
    """What is to be known of a source's targets: the source's name, and the registered clusters behind them."""

    @property
    def source(self) -> str:
        """The source, "" for the federation itself."""

    def registered(self, name: str) -> str:
        """Return the registered cluster behind a target, "" where there is none."""


class PodAccess:
    """Answers in which targets a placeholder's author may have it run, as an engine asks."""

    def __init__(self, access: Access, roster: Places) -> None:
        self._access = access
        self._roster = roster

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener`, a method, when what was answered may no longer be true and its object is still in use."""
        self._access.subscribe(weakly(listener))

    async def refusals(self, source: Obj, clusters: Sequence[str], voices: Sequence[Obj] = ()) -> dict[str, str]:
        """Return the targets in which an object of the source must not be, each with the sentence that says why.

        What goes with pods has no author: it goes where those are that name it, or its `voices` speak for it.
        """
        behind = {name: cluster for name in clusters if (cluster := self._roster.registered(name))}
        asking = [*([source] if source.get("kind") in _STAMPED else []), *voices]
        if not behind or not asking or not await self._access.enforced():
            return {}
        if doubt := next((why for obj in asking if (why := self._doubt(obj))), ""):
            return dict.fromkeys(behind, doubt)
        refused = await self._access.refusals(asking[0], sorted(set(behind.values())), asking[1:])
        return {name: refused[cluster] for name, cluster in behind.items() if cluster in refused}

    def _doubt(self, obj: Obj) -> str:
        """Return why it is not known who made an object, "" where it is."""
        author = author_of(obj)
        if author is None:
            return f"it does not say who made it (annotation {AUTHOR_ANNOTATION}); {_WEBHOOK}"
        source = self._roster.source
        if source and not is_of(author, source):
            return f"its author {author.user!r} is nobody of {source} (annotation {AUTHOR_ANNOTATION}); {_WEBHOOK}"
        return ""


def is_of(author: Author, source: str) -> bool:
    """Tell whether an author, and every group of theirs, is one of a source as its admission names them."""
    everyone = f"{AUTHOR_PREFIX}{source}"
    own = f"{everyone}:"
    named = author.user.startswith(own) and author.user != own
    return named and all(group == everyone or group.startswith(own) for group in author.groups)
