"""watch: the changes of a kind from a revision on."""

from __future__ import annotations

from hanse.apiserver import representation, status
from hanse.apiserver.answers import WatchAnswer, form_of
from hanse.apiserver.core import Call
from hanse.apiserver.hub import Frame, Sink, Watcher
from hanse.apiserver.selection import matcher_of
from hanse.apiserver.storage import Compacted
from hanse.apiserver.verbs.read import parse_version

_SHORTEST_SECONDS = 1800.0


async def watch(call: Call) -> WatchAnswer:
    """Answer with a stream of events."""
    form = form_of(call)
    matches = matcher_of(call)
    initial = _initial_events(call)
    since = parse_version(call.options.text("resourceVersion"))
    prefix = f"{call.namespace}/" if call.namespace else ""

    # From here to the end of `begin` nothing is awaited: no change can slip in between the replay and the live stream.
    def begin(sink: Sink) -> Watcher:
        bookmarks = call.options.flag("allowWatchBookmarks")
        watcher = Watcher(call.served, form, prefix=prefix, matches=matches, bookmarks=bookmarks, sink=sink)
        if initial or (initial is None and since == 0):
            _send_present(call, watcher, end_mark=bool(initial))
        elif since and not _replay(call, watcher, since):
            return watcher
        call.core.hub.add(watcher)
        return watcher

    seconds = call.options.number("timeoutSeconds")
    runtime = call.core.runtime
    wait = float(seconds) if seconds > 0 else runtime.uniform(_SHORTEST_SECONDS, 2 * _SHORTEST_SECONDS)
    return WatchAnswer(begin, wait, form.content)


def _initial_events(call: Call) -> bool | None:
    options = call.options
    match, given = options.text("resourceVersionMatch"), options.given("sendInitialEvents")
    problem = None
    if match and not given:
        problem = status.forbidden_value(
            "resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        )
    elif given and match != "NotOlderThan":
        problem = status.forbidden_value(
            "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        )
    if problem is not None:
        raise status.invalid("meta.k8s.io", "ListOptions", "", [problem])
    return options.flag("sendInitialEvents") if given else None


def _send_present(call: Call, watcher: Watcher, *, end_mark: bool) -> None:
    core = call.core
    for record in core.storage.scan(call.served.bucket, watcher.prefix):
        if watcher.matches is None or watcher.matches(record.value):
            core.hub.send_object(watcher, "ADDED", record.value)
    if end_mark and watcher.bookmarks:
        core.hub.send_bookmark(watcher, core.storage.revision, initial_end=True)


def _replay(call: Call, watcher: Watcher, since: int) -> bool:
    storage = call.core.storage
    try:
        missed = storage.changes(call.served.bucket, min(since, storage.revision))
    except Compacted as error:
        refusal = status.expired(f"too old resource version: {error.asked} ({error.oldest})")
        watcher.sink.send(Frame(representation.error_event(refusal.status)))
        watcher.sink.end(broken=False)
        return False
    call.core.hub.replay(watcher, missed)
    return True
