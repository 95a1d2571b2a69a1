"""How hooks fare, in numbers, under the names that Metacontroller gave them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from urllib.parse import urlsplit, urlunsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from hanse.composite.hooks.calling import Hook, HookBusy, HookFailed
from hanse.composite.hosting.opened import OpenedHooks
from hanse.composite.spec import ControllerSpec, HookSpec, WebhookSpec
from hanse.kube.manifest import Obj
from hanse.kube.runtime import Runtime

# The last is Hanse's own, and empty where a process runs the controllers of one cluster alone.
_CONSTANT = ("url", "controller_name", "controller_type", "cluster")
_TOO_MANY_REQUESTS = 429


class HookMetrics:
    """Counts the calls of all hooks of one process, and the objects that wait for them."""

    def __init__(self, runtime: Runtime, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._runtime = runtime
        self._requests: dict[str, Counter] = {}
        self._durations: dict[str, Histogram] = {}
        self._in_flight: dict[str, Gauge] = {}
        self._depth = Gauge(
            "workqueue_depth", "Objects that wait for their controller", ("name", "cluster"), registry=self.registry
        )

    def count_waiting(self, spec: ControllerSpec, cluster: str, waiting: Callable[[], int]) -> Callable[[], None]:
        """Tell how many objects wait for a controller until what is returned is called."""
        labels = (f"{spec.sort}-{spec.name}", cluster)
        self._depth.labels(*labels).set_function(waiting)
        return lambda: self._depth.remove(*labels)

    def measured(self, hooks: OpenedHooks, spec: ControllerSpec, cluster: str = "") -> OpenedHooks:
        """Return a controller's hooks, each of which is counted when it is called."""
        changes = {}
        for each in fields(hooks):
            hook: Hook | None = getattr(hooks, each.name)
            told: HookSpec | None = getattr(spec.hooks, each.name)
            if hook is not None and told is not None:
                labels = (_address(told), spec.name, str(spec.sort), cluster)
                changes[each.name] = self._measured(each.name, hook, labels)
        return replace(hooks, **changes)

    def _measured(self, purpose: str, hook: Hook, labels: tuple[str, ...]) -> Hook:
        if purpose not in self._requests:
            prefix = f"metacontroller_{purpose}"
            self._requests[purpose] = Counter(
                f"{prefix}_requests",
                f"Calls of {purpose} hooks",
                (*_CONSTANT, "code", "method"),
                registry=self.registry,
            )
            self._durations[purpose] = Histogram(
                f"{prefix}_request_duration_histogram_seconds",
                f"How long {purpose} hooks take",
                _CONSTANT,
                registry=self.registry,
            )
            self._in_flight[purpose] = Gauge(
                f"{prefix}_in_flight_requests", f"Calls of {purpose} hooks under way", _CONSTANT, registry=self.registry
            )
        return _Measured(
            hook,
            self._runtime,
            self._requests[purpose],
            self._durations[purpose].labels(*labels),
            self._in_flight[purpose].labels(*labels),
            labels,
        )


class _Measured:
    """A hook that is counted."""

    def __init__(
        self,
        hook: Hook,
        runtime: Runtime,
        requests: Counter,
        duration: Histogram,
        in_flight: Gauge,
        labels: tuple[str, ...],
    ) -> None:
        self._hook = hook
        self._runtime = runtime
        self._requests = requests
        self._duration = duration
        self._in_flight = in_flight
        self._labels = labels

    async def call(self, body: Obj, root: Obj) -> Obj:
        """Call the hook, and count how it went."""
        code, started = "200", self._runtime.monotonic()
        self._in_flight.inc()
        try:
            return await self._hook.call(body, root)
        except HookBusy:
            code = str(_TOO_MANY_REQUESTS)
            raise
        except HookFailed as error:
            # Without an answer there is no code.
            code = str(error.status) if error.status else "none"
            raise
        finally:
            self._in_flight.dec()
            self._duration.observe(self._runtime.monotonic() - started)
            self._requests.labels(*self._labels, code, "post").inc()

    async def close(self) -> None:
        """End what the hook keeps open."""
        await self._hook.close()


def _address(hook: HookSpec) -> str:
    """Return where a hook is called, as the label of its numbers, without what may be secret in an address."""
    if isinstance(hook.call, WebhookSpec):
        parts = urlsplit(hook.call.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    return type(hook.call).__name__.removesuffix("Spec").lower()
