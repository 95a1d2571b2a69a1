"""Which of the upstream tests are played, and why the others are not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SIGS = ("api-machinery", "auth", "instrumentation", "cli", "apps", "scheduling", "network")

# Patterns of test names, by the reason why neither cluster can pass them, or not in a time that anybody would wait.
SKIPS: Mapping[str, tuple[str, ...]] = {
    "A webhook server runs in a pod": (
        r"AdmissionWebhook .* should (be able to deny|not be able|deny|honor|mutate|unconditionally)",
        r"AdmissionWebhook .* webhooks? should work",
        r"CustomResourceConversionWebhook |CustomResourceFieldSelectors ",
    ),
    "An API server runs in a pod": (r"\] Aggregator ",),
    "Packets go between pods, or to and from them": (
        r"Networking Granular Checks",
        r"\] DNS should",
        r"\] HostPort ",
        r"\] Proxy version v1",
        r"\] EndpointSlice should support a Service with multiple",
        r"Services should be able to (change the type from ExternalName|create a functioning|switch session)",
        r"Services should (have session affinity|serve) ",
        r"should serve a basic image on each replica",
        r"Guestbook application",
        r"Update Demo",
    ),
    "A script in a container decides how the test goes, and simulated containers run no scripts": (
        r"Job .*(backoffLimitPerIndex|FailIndex action|pod failure policy|some indexes remain pending)",
        r"ServiceAccounts should mount ",
        r"StatefulSet .* rolling updates and roll backs",
        r"Kubectl expose should create services for rc|Kubectl logs logs",
    ),
    "A kubelet refuses a pod whose port is taken, and simulated nodes have no ports": (
        r"recreate evicted statefulset",
    ),
    "An image that no registry has must not start, and simulated nodes ask no registry": (r"proportional scaling",),
    "It waits for many minutes by design": (r"\[Slow\]|same hostPort and protocol but one using",),
}

# Tests that take longer than others even where all is well.
_PATIENCE: Mapping[str, float] = {
    # They wait a minute for kube-proxy's pods, and then go on without.
    r"SchedulerPreemption": 60.0,
    # A CronJob runs every minute, and they wait for two or three of its runs.
    r"CronJob should (replace jobs|schedule multiple)": 180.0,
    # Upstream's quota controller puts a forged status right every five minutes.
    r"apply changes to a resourcequota status": 300.0,
}

_NAME = re.compile(r":\d+: (\[sig-.*)$")
_SIG = re.compile(rf"\[sig-({'|'.join(SIGS)})\]")


@dataclass(frozen=True, slots=True)
class Choice:
    """The tests to play, in order, and those left out by their reasons."""

    chosen: tuple[str, ...]
    left_out: Mapping[str, tuple[str, ...]]


def names_of(listing: str) -> list[str]:
    """Return the test names of what `e2e.test --list-tests` prints."""
    found = (_NAME.search(line) for line in listing.splitlines())
    return sorted({match[1].strip() for match in found if match})


def choose(names: Iterable[str]) -> Choice:
    """Choose the conformance tests of our groups that are not skipped."""
    chosen: list[str] = []
    left_out: dict[str, list[str]] = {reason: [] for reason in SKIPS}
    for name in names:
        if not _SIG.match(name) or "[Conformance]" not in name:
            continue
        reason = reason_to_skip(name)
        (left_out[reason] if reason else chosen).append(name)
    return Choice(tuple(chosen), {reason: tuple(tests) for reason, tests in left_out.items()})


def reason_to_skip(name: str) -> str:
    """Return why a test is not played, "" if it is."""
    for reason, patterns in SKIPS.items():
        if any(re.search(pattern, name) for pattern in patterns):
            return reason
    return ""


def extra_seconds(name: str) -> float:
    """Return how much longer than others a test may take."""
    return max((seconds for pattern, seconds in _PATIENCE.items() if re.search(pattern, name)), default=0.0)


def is_serial(name: str) -> bool:
    """Tell whether a test must have the cluster to itself."""
    return "[Serial]" in name
