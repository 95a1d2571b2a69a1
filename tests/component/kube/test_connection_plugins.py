"""Credentials from exec plugins: real commands, run as seldom as possible, told what they may know, ended in time."""

import asyncio
import contextlib
import os
import select
import signal
import stat
import sys

import orjson
import pytest
import yaml
from aiohttp import web

from hanse.kube.auth.credentials import CredentialsError
from hanse.kube.auth.endpoint import Endpoint, ExecPlugin
from hanse.kube.auth.plugins import PluginCredentials
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Request, Unreachable
from tests.component.kube.servers import ORIGIN, Authority, MovableRuntime, knows, ok, serving

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
GET = Request("GET", "/api")

# Prints the answer that lies beside it, keeps what it was told, and counts its runs.
PLUGIN = f"""#!{sys.executable}
import os, pathlib, sys
here = pathlib.Path(sys.argv[0]).parent
with (here / "runs").open("a") as runs:
    runs.write(" ".join(sys.argv[1:]) + os.environ.get("COLOUR", "") + "\\n")
(here / "told").write_text(os.environ["KUBERNETES_EXEC_INFO"])
print("stderr-s3cret", file=sys.stderr)
print((here / "answer").read_text())
"""


class Plugin:
    """A plugin in a folder of its own."""

    def __init__(self, folder, version=V1):
        self.folder = folder
        self.version = version
        self.path = folder / "plugin"
        self.write(PLUGIN)

    def write(self, script):
        self.path.write_text(script)
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    def answers(self, **status):
        document = {"kind": "ExecCredential", "apiVersion": self.version, "status": status}
        (self.folder / "answer").write_bytes(orjson.dumps(document))

    @property
    def runs(self):
        path = self.folder / "runs"
        return path.read_text().splitlines() if path.exists() else []

    def value(self, **changes):
        return ExecPlugin(**{"command": str(self.path), "api_version": self.version, **changes})


@pytest.fixture
def plugin(tmp_path):
    return Plugin(tmp_path)


@contextlib.asynccontextmanager
async def connection(endpoint, runtime=None):
    transport = HttpTransport(endpoint, runtime=runtime)
    try:
        yield transport
    finally:
        await transport.close()


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_a_kubeconfigs_plugin_runs_as_the_file_says(tmp_path, version):
    plugin = Plugin(tmp_path, version)
    plugin.answers(token="printed")
    async with serving() as server:
        (tmp_path / "ca.crt").write_bytes(server.authority.certificate)
        cluster = {
            "server": server.url,
            "certificate-authority": "ca.crt",
            "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}],
        }
        command = {
            "apiVersion": version,
            "command": "./plugin",
            "args": ["get-token", "--region=east"],
            "env": [{"name": "COLOUR", "value": "-blue"}],
            "provideClusterInfo": True,
            "interactiveMode": "IfAvailable",
        }
        document = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"exec": command}}],
        }
        (tmp_path / "config").write_text(yaml.safe_dump(document))
        async with connection(Kubeconfig.load(tmp_path / "config").endpoint()) as transport:
            await asyncio.gather(*(transport.send(GET, 30) for _ in range(5)))

    told = orjson.loads((tmp_path / "told").read_bytes())
    authority = told["spec"]["cluster"].pop("certificate-authority-data")
    assert server.shown == ["Bearer printed"] * 5
    assert plugin.runs == ["get-token --region=east-blue"]
    assert authority.startswith("LS0tLS1CRUdJTi")
    assert told == {
        "kind": "ExecCredential",
        "apiVersion": version,
        "spec": {"interactive": False, "cluster": {"server": server.url, "config": {"audience": "x"}}},
    }


async def test_a_credential_is_kept_until_it_expires(plugin):
    runtime = MovableRuntime()
    plugin.answers(token="first", expirationTimestamp=timestamp(runtime.now() + 3600))
    async with serving() as server, connection(server.endpoint(exec_plugin=plugin.value()), runtime) as transport:
        await transport.send(GET, 30)
        plugin.answers(token="second")
        runtime.moved += 3000
        await transport.send(GET, 30)
        runtime.moved += 1000
        await transport.send(GET, 30)
        runtime.moved += 10**6
        await transport.send(GET, 30)

    assert server.shown == ["Bearer first", "Bearer first", "Bearer second", "Bearer second"]
    assert len(plugin.runs) == 2


async def test_a_refused_credential_is_renewed_once(plugin):
    plugin.answers(token="old")
    valid = ["old"]
    async with (
        serving(knows(valid)) as server,
        connection(server.endpoint(exec_plugin=plugin.value())) as transport,
    ):
        await transport.send(GET, 30)
        valid[:] = ["new"]
        plugin.answers(token="new")
        answers = await asyncio.gather(*(transport.send(GET, 30) for _ in range(4)))

    assert [answer.status for answer in answers] == [200] * 4
    assert len(plugin.runs) == 2


async def test_a_user_whom_the_server_never_accepts_does_not_run_the_plugin_for_every_request(plugin):
    plugin.answers(token="stranger")
    async with serving(knows([])) as server, connection(server.endpoint(exec_plugin=plugin.value())) as transport:
        answers = [await transport.send(GET, 30) for _ in range(4)]

    assert [answer.status for answer in answers] == [401] * 4
    assert len(plugin.runs) == 2
    assert orjson.loads(answers[0].body)["message"] == (
        f"{server.url} does not accept what the plugin {plugin.path} of kubeconfig x: users[u].exec printed; "
        "sign in again with the tool that it belongs to (Unauthorized)"
    )


async def test_a_plugins_certificate_that_is_refused_is_replaced(plugin):
    authority, revoked, names = Authority(), set(), []

    async def whoami(request):
        names.append(request.get_extra_info("peercert")["subject"][0][0][1])
        return web.json_response({}, status=401 if names[-1] in revoked else 200)

    def answer(name):
        pair = authority.issue(name)
        plugin.answers(clientCertificateData=pair.certificate.decode(), clientKeyData=pair.key.decode())

    async with (
        serving(whoami, authority=authority, demands_certificate=True) as server,
        connection(server.endpoint(exec_plugin=plugin.value())) as transport,
    ):
        answer("anna")
        await transport.send(GET, 30)
        answer("bob")
        revoked.add("anna")
        answered = await transport.send(GET, 30)

    assert (answered.status, names) == (200, ["anna", "anna", "bob"])


async def test_a_plugins_new_certificate_is_shown_on_a_new_connection(plugin):
    authority, runtime, names = Authority(), MovableRuntime(), []

    async def whoami(request):
        names.append(request.get_extra_info("peercert")["subject"][0][0][1])
        return await ok(request)

    def answer(name):
        pair = authority.issue(name)
        ends = timestamp(runtime.now() + 60)
        certificate, key = pair.certificate.decode(), pair.key.decode()
        plugin.answers(clientCertificateData=certificate, clientKeyData=key, expirationTimestamp=ends)

    async with (
        serving(whoami, authority=authority, demands_certificate=True) as server,
        connection(server.endpoint(exec_plugin=plugin.value()), runtime) as transport,
    ):
        for name in ("anna", "bob"):
            answer(name)
            await transport.send(GET, 30)
            await transport.send(GET, 30)
            runtime.moved += 61

    assert names == ["anna", "anna", "bob", "bob"]


async def test_a_token_beside_a_plugin_wins(plugin):
    async with (
        serving() as server,
        connection(server.endpoint(exec_plugin=plugin.value(), token="given")) as transport,
    ):
        await transport.send(GET, 30)

    assert (server.shown, plugin.runs) == (["Bearer given"], [])


def printing(text):
    return f"#!/bin/sh\nprintf '%s' '{text}'\necho stderr-s3cret >&2\n"


def credential(**changes):
    return orjson.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": {"token": "s3cret"}, **changes}).decode()


FAULTS = {
    "fails": ("#!/bin/sh\necho s3cret; echo s3cret >&2; exit 7\n", "ended with code 7; run it by hand to see why"),
    "prints rubbish": (
        printing("token: s3cret"),
        f"printed something that is not JSON; it must print an ExecCredential of {V1}",
    ),
    "prints a list": (printing('["s3cret"]'), f"printed something else than an ExecCredential of {V1}"),
    "prints another version": (
        printing(credential(apiVersion=V1BETA1)),
        f"printed apiVersion '{V1BETA1}' where {V1} was asked for",
    ),
    "prints no status": (printing(credential(status=None)), "printed an ExecCredential without status"),
    "prints no token": (printing(credential(status={})), "printed neither a token nor a client certificate"),
    "prints half a pair": (
        printing(credential(status={"clientKeyData": "s3cret"})),
        "printed a certificate or a key, but not both",
    ),
    "prints a bad pair": (
        printing(credential(status={"clientCertificateData": "a", "clientKeyData": "s3cret"})),
        "printed a client certificate that cannot be used: it and its key are not a PEM certificate and key",
    ),
    "prints a number": (printing(credential(status={"token": 7})), "printed a status.token that is not a string"),
    "prints two lines": (
        printing(credential(status={"token": "s3cret\ns3cret"})),
        "printed a token with a line break in it",
    ),
    "prints no time": (
        printing(credential(status={"token": "s3cret", "expirationTimestamp": "soon"})),
        "printed a status.expirationTimestamp that is not a time",
    ),
    "prints for ever": ("#!/bin/sh\nyes s3cret\n", "printed more than 1048576 bytes, which is no ExecCredential"),
    "is no program": ("\x00\x01", "cannot be run: Exec format error"),
}


@pytest.mark.parametrize(("script", "why"), FAULTS.values(), ids=FAULTS)
async def test_a_plugin_that_gives_no_credential_is_named_and_nothing_of_its_output_is_told(plugin, script, why):
    plugin.write(script)
    async with serving() as server, connection(server.endpoint(exec_plugin=plugin.value())) as transport:
        with pytest.raises(Unreachable) as fault:
            await transport.send(GET, 30)

    chain = [fault.value, fault.value.__cause__, fault.value.__cause__.__cause__]
    assert str(fault.value) == (
        f"{server.url} cannot be reached: kubeconfig x: users[u].exec: the plugin {plugin.path} {why}"
    )
    assert not any("s3cret" in repr(link) for link in chain)
    assert server.asked == []


@pytest.mark.parametrize(
    ("hint", "why"),
    [("", "was not found; install it"), ("brew install acme", "was not found; brew install acme")],
)
async def test_a_plugin_that_is_not_installed_comes_with_its_hint(hint, why):
    missing = ExecPlugin("hanse-no-such-plugin", V1, install_hint=hint)
    async with serving() as server, connection(server.endpoint(exec_plugin=missing)) as transport:
        with pytest.raises(Unreachable) as fault:
            await transport.send(GET, 30)

    assert fault.value.why == f"kubeconfig x: users[u].exec: the plugin hanse-no-such-plugin {why}"


async def test_a_failed_plugin_is_not_run_again_at_once_but_after_a_while(plugin):
    runtime = MovableRuntime()
    async with serving() as server, connection(server.endpoint(exec_plugin=plugin.value()), runtime) as transport:
        for _ in range(3):
            with pytest.raises(Unreachable, match="ended with code 1"):
                await transport.send(GET, 30)
        failed = len(plugin.runs)
        plugin.answers(token="healed")
        runtime.moved += 6
        await transport.send(GET, 30)

    assert failed == 1
    assert server.shown == ["Bearer healed"]


# The pipe is held by the plugin and by what it started: it hangs up when both are gone.
HANGING = '#!/bin/sh\nexec 3> "$0.pipe"\necho started >&3\nsleep 1000 &\nwait\n'


@contextlib.contextmanager
def hanging(plugin):
    """Let the plugin hang for the length of a block, and see it end with all that it started."""
    plugin.write(HANGING)
    path = plugin.folder / "plugin.pipe"
    os.mkfifo(path)
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield
        assert os.read(pipe, 100) == b"started\n"
        hung_up = select.poll()
        hung_up.register(pipe, 0)
        assert hung_up.poll(10_000) == [(pipe, select.POLLHUP)]
    finally:
        os.close(pipe)


async def test_a_request_does_not_wait_for_a_hanging_plugin_beyond_its_deadline(plugin):
    with hanging(plugin):
        async with serving() as server, connection(server.endpoint(exec_plugin=plugin.value())) as transport:
            with pytest.raises(Unreachable) as fault:
                await transport.send(GET, 2.0)

    assert fault.value.why == (
        f"kubeconfig x: users[u].exec: the plugin {plugin.path} has not answered yet; "
        "run it by hand to see what it waits for"
    )


async def test_a_hanging_plugin_is_ended_after_a_while(plugin):
    endpoint = Endpoint("https://x", origin=ORIGIN)
    with hanging(plugin):
        credentials = PluginCredentials(endpoint, plugin.value(), MovableRuntime(), seconds=2.0)
        with pytest.raises(CredentialsError) as fault:
            await credentials.current()

    assert str(fault.value) == (
        f"kubeconfig x: users[u].exec: the plugin {plugin.path} did not answer within 2 s; "
        "run it by hand to see what it waits for"
    )


async def test_what_a_plugin_left_holding_its_output_does_not_keep_its_end_from_being_told(plugin, tmp_path):
    plugin.write(f"#!/bin/sh\nsetsid sh -c 'echo $$ > {tmp_path}/agent; exec sleep 60' &\n")
    credentials = PluginCredentials(Endpoint("https://x", origin=ORIGIN), plugin.value(), MovableRuntime(), seconds=2.0)

    try:
        with pytest.raises(CredentialsError, match="did not answer within 2 s"):
            async with asyncio.timeout(60):
                await credentials.current()
    finally:
        os.kill(int((tmp_path / "agent").read_text()), signal.SIGKILL)
