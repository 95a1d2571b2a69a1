"""What an Application's template asks for, and what a Release keeps of it for good: read into values.

The fields of Shipper come first. Those that Hanse adds are optional and change nothing where they are absent: what an
application is made of beside Helm charts, pauses that end by themselves, waves, checks, deadlines, traffic by weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlsplit

from hanse.api.shipper.environment_schema import environment
from hanse.kube.manifest import Obj, dig
from hanse.kube.schemas import Schema, schema_from_crd
from hanse.kube.schemas.validation import validate
from hanse.kube.selectors import LabelSelector

T = TypeVar("T")

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


class EnvironmentProblem(ValueError):
    """What of an environment cannot be read: one sentence that names the field and the fix."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A Helm chart: its name, a version or a range of them, and where it is.

    The address is that of an HTTP repository (`https://`), of an OCI registry (`oci://`), of a folder that the control
    plane was started with (`file:///`), or names a ConfigMap of the namespace with the packed chart (`configmap://`).
    """

    name: str
    version: str
    repo_url: str


@dataclass(frozen=True, slots=True)
class Files:
    """Manifests that no chart makes: a kustomization or plain ones, packed in a ConfigMap or in a folder.

    `kind` is `kustomization` or `manifests`; `location` is `configmap://NAME` or `file:///FOLDER`; `path` is the folder
    within it.
    """

    kind: str
    location: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Region:
    """So many clusters of a region; None means one."""

    name: str
    replicas: int | None = None

    @property
    def count(self) -> int:
        """How many clusters are asked for."""
        return 1 if self.replicas is None else self.replicas


@dataclass(frozen=True, slots=True)
class Pair:
    """What the incumbent and the contender get: percents of capacity, or weights of traffic."""

    incumbent: int
    contender: int


@dataclass(frozen=True, slots=True)
class Check:
    """A question that is asked while a step lasts; its answer is success, failure, or neither.

    `http` is a URL; `prometheus` the address of a Prometheus with a `query`. `success` and `failure` are CEL
    expressions over `result` (the first value of the query) or over `status`, `body` and `json` of an HTTP answer.
    It is asked `count` times, `interval_seconds` apart; more than `failure_limit` failures fail the step, and more than
    `inconclusive_limit` answers that are neither leave it to a person.
    """

    name: str
    http: str = ""
    prometheus: str = ""
    query: str = ""
    success: str = ""
    failure: str = ""
    interval_seconds: float = 30.0
    count: int = 1
    failure_limit: int = 0
    inconclusive_limit: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a strategy. Without `pause_seconds` a person ends it; otherwise it ends so long after its success."""

    name: str
    capacity: Pair
    traffic: Pair
    pause_seconds: float | None = None
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Wave:
    """Some of a release's clusters: by name, by region, by labels, or the rest where nothing is said."""

    name: str
    clusters: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    # For so long a wave must have been well before the next one begins.
    pause_seconds: float = 0.0


class Remedy(StrEnum):
    """What is done when a deadline passes or a check fails."""

    PAUSE = "Pause"
    ABORT = "Abort"
    ROLLBACK = "Rollback"


class TrafficBy(StrEnum):
    """How clients are led to a release: by a label on its pods, or by the weights of DNS and of the global balancer."""

    PODS = "Pods"
    WEIGHTS = "Weights"


@dataclass(frozen=True, slots=True)
class Deadline:
    """How long a step may take until it is achieved, and what happens then."""

    seconds: float
    then: Remedy = Remedy.PAUSE


@dataclass(frozen=True, slots=True)
class Strategy:
    """The steps of a rollout, and what surrounds them."""

    steps: tuple[Step, ...] = ()
    waves: tuple[Wave, ...] = ()
    deadline: Deadline | None = None
    on_failure: Remedy = Remedy.PAUSE
    traffic_by: TrafficBy = TrafficBy.PODS


@dataclass(frozen=True, slots=True)
class Environment:
    """What a release is: what it is made of, where it goes and how. `raw` is what was written, and what is hashed."""

    raw: Obj
    chart: Chart | None = None
    files: Files | None = None
    values: Obj = field(default_factory=dict)
    regions: tuple[Region, ...] = ()
    capabilities: tuple[str, ...] = ()
    strategy: Strategy = field(default_factory=Strategy)


def parse_environment(raw: Obj, where: str = "spec.template") -> Environment:
    """Read an environment; raises EnvironmentProblem. `where` is its path in the object, for the sentence."""
    return _read(_environment, raw, where)


def parse_strategy(raw: Obj, where: str = "strategy") -> Strategy:
    """Read a strategy; raises EnvironmentProblem."""
    return _read(_strategy, raw, where, "strategy")


def _read(reader: Callable[[Obj, str], T], raw: Obj, where: str, *path: str) -> T:
    """Read what a host stored that may have checked nothing: one with Shipper's own definitions."""
    try:
        return reader(raw, where)
    except EnvironmentProblem:
        raise
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise EnvironmentProblem(_misshapen(raw, where, *path)) from error


def _misshapen(raw: Any, where: str, *path: str) -> str:
    """Say which field is of a type that it cannot be of."""
    schema: Schema | None = schema_from_crd(environment("")["properties"][path[0]] if path else environment(""))
    errors = validate(schema, raw) if schema is not None else []
    wrong = next((each for each in errors if each.reason == "FieldValueTypeInvalid"), None) or next(iter(errors), None)
    if wrong is None:
        return f"{where}: it holds a number or a text that cannot be read"
    return f"{where}{'.' if wrong.path else ''}{wrong.path}: {wrong.message}"


def _environment(raw: Obj, where: str) -> Environment:
    chart, files = raw.get("chart"), raw.get("source")
    if chart and files:
        raise EnvironmentProblem(f"{where}: give either chart or source, not both")
    if not chart and not files:
        raise EnvironmentProblem(f"{where}: give a chart, or a source with a kustomization or manifests")
    requirements = raw.get("clusterRequirements") or {}
    return Environment(
        raw=raw,
        chart=_chart(chart, f"{where}.chart") if chart else None,
        files=_files(files, f"{where}.source") if files else None,
        values=raw.get("values") or {},
        regions=tuple(
            Region(str(each.get("name", "")), each.get("replicas")) for each in requirements.get("regions") or ()
        ),
        capabilities=tuple(requirements.get("capabilities") or ()),
        strategy=parse_strategy(raw.get("strategy") or {}, f"{where}.strategy"),
    )


def _strategy(raw: Obj, where: str) -> Strategy:
    deadline = raw.get("deadline")
    return Strategy(
        steps=tuple(_step(each, f"{where}.steps[{index}]") for index, each in enumerate(raw.get("steps") or ())),
        waves=tuple(_wave(each, f"{where}.waves[{index}]") for index, each in enumerate(raw.get("waves") or ())),
        deadline=None
        if deadline is None
        else Deadline(
            seconds_of(deadline.get("duration"), f"{where}.deadline.duration"),
            Remedy(deadline.get("then") or Remedy.PAUSE),
        ),
        on_failure=Remedy(raw.get("onFailure") or Remedy.PAUSE),
        traffic_by=TrafficBy(raw.get("trafficBy") or TrafficBy.PODS),
    )


def seconds_of(text: Any, where: str) -> float:
    """Read a duration such as 90s, 10m or 1h30m; raises EnvironmentProblem."""
    parts = _DURATION.findall(text) if isinstance(text, str) else []
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise EnvironmentProblem(f"{where}: {text!r} is not a duration; write for example 90s, 10m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _chart(raw: Mapping[str, Any], _where: str) -> Chart:
    return Chart(str(raw.get("name") or ""), str(raw.get("version") or ""), str(raw.get("repoUrl") or ""))


def _files(raw: Mapping[str, Any], where: str) -> Files:
    kinds: Sequence[str] = [each for each in ("kustomization", "manifests") if raw.get(each)]
    if len(kinds) != 1:
        raise EnvironmentProblem(f"{where}: give exactly one of kustomization and manifests")
    given = raw[kinds[0]]
    return Files(kinds[0], str(given.get("location") or ""), str(given.get("path") or ""))


def _step(raw: Mapping[str, Any], where: str) -> Step:
    pause = dig(raw, "pause", "duration")
    return Step(
        name=str(raw.get("name") or ""),
        capacity=_pair(raw.get("capacity") or {}),
        traffic=_pair(raw.get("traffic") or {}),
        pause_seconds=None if pause is None else seconds_of(pause, f"{where}.pause.duration"),
        checks=_checks(raw.get("checks") or (), f"{where}.checks"),
    )


def _pair(raw: Mapping[str, Any]) -> Pair:
    return Pair(int(raw.get("incumbent") or 0), int(raw.get("contender") or 0))


def _check(raw: Mapping[str, Any], where: str) -> Check:
    prometheus = raw.get("prometheus") or {}
    check = Check(
        name=str(raw.get("name") or ""),
        http=str(dig(raw, "http", "url", default="")),
        prometheus=str(prometheus.get("address") or ""),
        query=str(prometheus.get("query") or ""),
        success=str(raw.get("success") or ""),
        failure=str(raw.get("failure") or ""),
        interval_seconds=seconds_of(raw.get("interval") or "30s", f"{where}.interval"),
        count=int(raw.get("count") or 1),
        failure_limit=int(raw.get("failureLimit") or 0),
        inconclusive_limit=int(raw.get("inconclusiveLimit") or 0),
    )
    if bool(check.http) == bool(check.prometheus):
        raise EnvironmentProblem(f"{where}: give either http.url or prometheus.address with prometheus.query")
    _refuse_address(check.http or check.prometheus, f"{where}.{'http.url' if check.http else 'prometheus.address'}")
    if check.prometheus and not check.query:
        raise EnvironmentProblem(f"{where}.prometheus.query: say what is asked")
    if check.prometheus and not check.success and not check.failure:
        raise EnvironmentProblem(f"{where}: a check of Prometheus needs success or failure, for example result < 0.01")
    return check


def _refuse_address(address: str, where: str) -> None:
    # The address itself is left out of the sentence: it may hold a password.
    try:
        parts = urlsplit(address)
        named = bool(parts.hostname)
    except ValueError:
        raise EnvironmentProblem(f"{where}: this is not a URL") from None
    if parts.scheme not in ("http", "https") or not named:
        raise EnvironmentProblem(f"{where}: give a URL that begins with http:// or https://")
    if "@" in parts.netloc:
        raise EnvironmentProblem(
            f"{where}: take the user and the password out; everybody who sees the release sees them"
        )


def _checks(raw: Sequence[Mapping[str, Any]], where: str) -> tuple[Check, ...]:
    found = tuple(_check(each, f"{where}[{index}]") for index, each in enumerate(raw))
    names = [check.name for check in found]
    for index, name in enumerate(names):
        if not name or name in names[:index]:
            raise EnvironmentProblem(f"{where}[{index}].name: give each check of a step a name of its own")
    return found


def _wave(raw: Mapping[str, Any], where: str) -> Wave:
    return Wave(
        name=str(raw.get("name") or ""),
        clusters=tuple(raw.get("clusters") or ()),
        regions=tuple(raw.get("regions") or ()),
        selector=_selector(raw.get("selector"), f"{where}.selector"),
        pause_seconds=seconds_of(raw["pause"], f"{where}.pause") if raw.get("pause") else 0.0,
    )


def _selector(raw: Obj | None, where: str) -> LabelSelector | None:
    try:
        return None if raw is None else LabelSelector.from_object(raw)
    except ValueError as error:
        raise EnvironmentProblem(f"{where}: {error}") from None
