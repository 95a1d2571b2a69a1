"""What a kubelet would answer: log, exec, attach and portforward of pods."""

from __future__ import annotations

from hanse.apiserver import admission, status
from hanse.apiserver.answers import Answer, SessionAnswer, StreamAnswer
from hanse.apiserver.authorization import Attributes, authorize, forbidden
from hanse.apiserver.core import Call
from hanse.apiserver.kubelets import leads_elsewhere, log_from, session_with
from hanse.apiserver.pod_doors import PodRun
from hanse.apiserver.streaming.channels import PROTOCOLS, ChannelSession, Wish, run_session
from hanse.apiserver.streaming.forwarding import CHANNELS, Connection, forward_channels
from hanse.apiserver.streaming.messages import Messages
from hanse.apiserver.streaming.tunnel import TUNNEL, forward_tunnel
from hanse.kube.manifest import Obj, dig

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


async def log(call: Call) -> Answer | StreamAnswer:
    """Answer with what a pod's container printed."""
    _check_log_options(call)
    pod = _pod(call)
    container = _container(call, pod)
    if not dig(pod, "spec", "nodeName"):
        # Nothing has run yet, so nothing was printed.
        return Answer(200, b"", "text/plain")
    if leads_elsewhere(call, pod):
        return await log_from(call, pod, container)
    if call.core.pods.logs is None:
        raise status.internal("there is no kubelet that could be asked for logs")
    asked = {**call.options.as_mapping(), "container": container}
    text = await call.core.pods.logs(call.namespace, call.path.name, asked)
    return Answer(200, text, "text/plain") if isinstance(text, bytes) else StreamAnswer(text, "text/plain")


async def execute(call: Call) -> SessionAnswer:
    """Run a command in a container."""
    return await _run(call, call.core.pods.exec, tuple(call.options.all("command")))


async def attach(call: Call) -> SessionAnswer:
    """Attach to what a container runs."""
    return await _run(call, call.core.pods.attach, ())


async def forward(call: Call) -> SessionAnswer:
    """Forward connections to ports of a pod."""
    _check_may_create(call)
    await admission.admit_connection(call)
    pod = _pod(call)
    _check_placed(call, pod)
    if leads_elsewhere(call, pod):
        return await session_with(call, pod, "", (TUNNEL, CHANNELS))
    dial = call.core.pods.dial
    if dial is None:
        raise _no_kubelet(call)
    ports = [_port(one) for given in call.options.all("ports") for one in given.split(",")]

    async def open_port(port: int) -> Connection:
        return await dial(call.namespace, call.path.name, port)

    async def converse(protocol: str, messages: Messages) -> None:
        if protocol == TUNNEL:
            await forward_tunnel(messages, open_port)
        else:
            await forward_channels(messages, ports, open_port)

    return SessionAnswer((TUNNEL, CHANNELS), converse)


async def _run(call: Call, run: PodRun | None, command: tuple[str, ...]) -> SessionAnswer:
    _check_may_create(call)
    await admission.admit_connection(call)
    pod = _pod(call)
    container = _container(call, pod)
    _check_placed(call, pod)
    options = call.options
    wish = Wish(
        call.namespace,
        call.path.name,
        container,
        command,
        options.flag("stdin"),
        options.flag("stdout"),
        options.flag("stderr"),
        options.flag("tty"),
    )
    if not (wish.stdin or wish.stdout or wish.stderr):
        raise status.bad_request("you must specify at least 1 of stdin, stdout, stderr")
    if call.path.subresource == "exec" and not command:
        raise status.bad_request("you must specify at least one command for the container")
    if leads_elsewhere(call, pod):
        return await session_with(call, pod, container, PROTOCOLS)
    if run is None:
        raise _no_kubelet(call)

    async def converse(protocol: str, messages: Messages) -> None:  # noqa: ARG001 - both are spoken alike
        await run_session(ChannelSession(wish, messages), run)

    return SessionAnswer(PROTOCOLS, converse)


def _check_may_create(call: Call) -> None:
    """Ask for the verb `create` also where a WebSocket's GET made the request a `get`."""
    path = call.path
    asked = Attributes("create", path.group, path.plural, path.subresource, path.namespace, path.name)
    if not authorize(call.core, call.identity, asked).allowed:
        raise forbidden(call.identity, asked)


def _pod(call: Call) -> Obj:
    pod = call.core.read(call.served, call.namespace, call.path.name)
    if pod is None:
        raise status.not_found(call.served.resource, call.path.name)
    return pod


def _container(call: Call, pod: Obj) -> str:
    name = call.options.text("container")
    present = [one["name"] for kind in _CONTAINERS for one in dig(pod, "spec", kind, default=[]) or []]
    if name:
        if name not in present:
            raise status.bad_request(f"container {name} is not valid for pod {call.path.name}")
        return name
    first = [str(one["name"]) for one in dig(pod, "spec", "containers", default=[])]
    if len(first) == 1:
        return first[0]
    shown = " ".join(present)
    raise status.bad_request(f"a container name must be specified for pod {call.path.name}, choose one of: [{shown}]")


def _check_placed(call: Call, pod: Obj) -> None:
    if not dig(pod, "spec", "nodeName"):
        raise status.bad_request(f"pod {call.path.name} does not have a host assigned")


def _check_log_options(call: Call) -> None:
    options = call.options
    problems = []
    if options.given("tailLines") and options.number("tailLines") < 0:
        told = "must be greater than or equal to 0"
        problems.append(status.invalid_value("tailLines", options.number("tailLines"), told))
    if options.given("limitBytes") and options.number("limitBytes") < 1:
        problems.append(status.invalid_value("limitBytes", options.number("limitBytes"), "must be greater than 0"))
    if options.given("sinceSeconds") and options.given("sinceTime"):
        told = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        problems.append(status.forbidden_value("", told))
    elif options.given("sinceSeconds") and options.number("sinceSeconds") < 1:
        problems.append(status.invalid_value("sinceSeconds", options.number("sinceSeconds"), "must be greater than 0"))
    if problems:
        raise status.invalid("", "PodLogOptions", call.path.name, problems)


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise status.bad_request(f'unable to parse "{text}" as a port')
    return int(text)


def _no_kubelet(call: Call) -> Exception:
    return status.internal(f"there is no kubelet that could be asked for {call.path.subresource}")
