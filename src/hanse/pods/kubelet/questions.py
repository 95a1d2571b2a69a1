"""What an API server asks a kubelet, and how the same is asked of the API server of another cluster: pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from hanse.kube.resources import PODS
from hanse.kube.transport import Query

_LOG = "log"
# As a kubelet reads them, and as an API server does.
_STREAMS = {"input": "stdin", "output": "stdout", "error": "stderr", "tty": "tty"}
_LOG_OPTIONS = ("follow", "previous", "timestamps", "tailLines", "limitBytes", "sinceSeconds", "sinceTime", "stream")
_TRUE = ("1", "true")
# What is asked of another server may not lead to anything but a pod there.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Question:
    """One request about a container of a pod here, in the words of an API server's subresource."""

    subresource: str
    namespace: str
    pod: str
    query: Query = ()

    @property
    def streams(self) -> bool:
        """Whether its answer is a conversation."""
        return self.subresource != _LOG

    def path(self, namespace: str, pod: str) -> str:
        """Return where the same is asked of a pod elsewhere."""
        return PODS.path(namespace, pod, self.subresource)


def read_question(target: str) -> Question | None:
    """Read the path and query of a request to a kubelet; None where it is nothing that is answered here."""
    path, _, query = target.partition("?")
    given = parse_qsl(query, keep_blank_values=True)
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if not all(_NAME.fullmatch(part) for part in parts[1:]):
        return None
    match parts:
        case ["containerLogs", namespace, pod, container]:
            return Question(_LOG, namespace, pod, (*_log_options(given), ("container", container)))
        case ["exec", namespace, pod, container]:
            commands = [(name, value) for name, value in given if name == "command"]
            return Question("exec", namespace, pod, (*_streams(given), ("container", container), *commands))
        case ["attach", namespace, pod, container]:
            return Question("attach", namespace, pod, (*_streams(given), ("container", container)))
        case ["portForward", namespace, pod]:
            ports = [("ports", port) for name, value in given if name == "port" for port in value.split(",")]
            return Question("portforward", namespace, pod, tuple(ports))
    return None


def _log_options(given: list[tuple[str, str]]) -> Query:
    # Nothing is read as a number on the way, so that a tail of 0 lines stays one.
    return tuple((name, value) for name, value in given if name in _LOG_OPTIONS and value)


def _streams(given: list[tuple[str, str]]) -> Query:
    asked = dict(given)
    return tuple((ours, "true") for theirs, ours in _STREAMS.items() if asked.get(theirs, "") in _TRUE)
