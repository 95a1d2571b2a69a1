"""What a controller object asks for, as typed values: the parents, the children, the hooks and how children change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hanse.kube.selectors import LabelSelector

EVERYTHING = LabelSelector()


class Sort(StrEnum):
    """The three sorts of lambda controllers, by the names of their kinds."""

    COMPOSITE = "CompositeController"
    DECORATOR = "DecoratorController"
    MAP = "MapController"


class Method(StrEnum):
    """What becomes of a child that exists and differs from what is wanted."""

    ON_DELETE = "OnDelete"
    RECREATE = "Recreate"
    IN_PLACE = "InPlace"
    ROLLING_RECREATE = "RollingRecreate"
    ROLLING_IN_PLACE = "RollingInPlace"

    @property
    def rolling(self) -> bool:
        """Whether children change one after the other."""
        return self in (Method.ROLLING_RECREATE, Method.ROLLING_IN_PLACE)

    @property
    def recreates(self) -> bool:
        """Whether a child that differs is deleted and made again."""
        return self in (Method.RECREATE, Method.ROLLING_RECREATE)


@dataclass(frozen=True, slots=True)
class KindRef:
    """A kind as controller objects name it: `apps/v1` and `deployments`; the server says the rest."""

    api_version: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.api_version}"


@dataclass(frozen=True, slots=True)
class StatusCheck:
    """A condition that a moved child must have before the next one moves; what is None may be anything."""

    type: str
    status: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Rollout:
    """How children move to a new revision, beyond one at a time in the hook's order.

    `max_unavailable` children may be in flight at once. With `by_cluster` all children of one cluster move before the
    first of the next. A rollout that is `paused` moves nothing; one with a `partition` leaves so many of the last
    children where they are. After `fail_after` seconds of failing checks it stops by itself, until the parent changes.
    """

    max_unavailable: int = 1
    partition: int = 0
    paused: bool = False
    by_cluster: bool = False
    fail_after: float | None = None


@dataclass(frozen=True, slots=True)
class ChildRule:
    """One kind of children, and how those change."""

    kind: KindRef
    method: Method = Method.ON_DELETE
    checks: tuple[StatusCheck, ...] = ()
    rollout: Rollout = field(default_factory=Rollout)


@dataclass(frozen=True, slots=True)
class ParentRule:
    """One kind of parents (or decorated objects, or inputs), and which of them are meant."""

    kind: KindRef
    labels: LabelSelector = EVERYTHING
    annotations: LabelSelector = EVERYTHING
    ignore_status_changes: bool = False


class Version(StrEnum):
    """The two forms in which hooks are told of objects."""

    V1 = "v1"
    V2 = "v2"


@dataclass(frozen=True, slots=True)
class SecretKey:
    """A key of a Secret or ConfigMap."""

    name: str
    namespace: str
    key: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How a host of webhooks is trusted, and how it knows us; Secrets are named here and read when hooks start."""

    ca_inline: str = ""
    ca_secret: SecretKey | None = None
    ca_config_map: SecretKey | None = None
    certificate: SecretKey | None = None
    private_key: SecretKey | None = None
    authorization_type: str = "Bearer"
    authorization: SecretKey | None = None
    username: SecretKey | None = None
    password: SecretKey | None = None


@dataclass(frozen=True, slots=True)
class ETags:
    """How long answers are kept for which a webhook gave a tag; None says for ever."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class WebhookSpec:
    """A hook behind an URL."""

    url: str
    timeout: float = 10.0
    strict: bool = False
    etags: ETags | None = None
    endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where the code of a hook is: a file, a key of a ConfigMap, or the text itself; exactly one of them is given.

    A ConfigMap's other keys stand beside it as files, so that it can import them.
    """

    path: str = ""
    config_map: SecretKey | None = None
    inline: str = ""


@dataclass(frozen=True, slots=True)
class PythonSpec:
    """A hook that is a Python function, in a process of its own with limits."""

    source: SourceSpec | None
    function: str
    module: str = ""
    timeout: float = 10.0
    memory: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class JsonnetSpec:
    """A hook that is a Jsonnet function of one argument, evaluated in a process of its own with limits."""

    source: SourceSpec
    libraries: tuple[SourceSpec, ...] = ()
    timeout: float = 10.0
    memory: int = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class HookSpec:
    """One hook: its version and the one way in which it is called."""

    call: WebhookSpec | PythonSpec | JsonnetSpec
    version: Version = Version.V1


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of a controller by what they are for."""

    sync: HookSpec | None = None
    finalize: HookSpec | None = None
    customize: HookSpec | None = None
    pre_update_child: HookSpec | None = None
    post_update_child: HookSpec | None = None
    map: HookSpec | None = None
    tombstone: HookSpec | None = None


@dataclass(frozen=True, slots=True)
class ControllerSpec:
    """A CompositeController, DecoratorController or MapController as it is read.

    `parents` has one entry, except of a decorator. `inputs` are a MapController's. `server_side` says that children are
    written by server-side apply in place of the merge with what was last applied.
    """

    sort: Sort
    name: str
    parents: tuple[ParentRule, ...]
    children: tuple[ChildRule, ...]
    hooks: Hooks
    inputs: tuple[ParentRule, ...] = ()
    revision_paths: tuple[tuple[str, ...], ...] = (("spec",),)
    generate_selector: bool = False
    resync_seconds: float | None = None
    server_side: bool = False

    @property
    def rolls(self) -> bool:
        """Whether any kind of children changes one after the other."""
        return self.sort is Sort.COMPOSITE and any(rule.method.rolling for rule in self.children)

    @property
    def finalizer(self) -> str:
        """What holds a parent until the finalize hook has said that all is done."""
        kind = "compositecontroller" if self.sort is not Sort.DECORATOR else "decoratorcontroller"
        return f"metacontroller.io/{kind}-{self.name}"


@dataclass(frozen=True, slots=True)
class SpecProblems:
    """Why a controller object cannot be served: each problem with its field, a sentence."""

    sentences: Sequence[str]
