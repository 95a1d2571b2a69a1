"""Lines 53 to 56 and 58: who serves which controllers, how hooks are signed in to, and what is counted."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from aiohttp import web

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.apiserver import CertificateAuthority, Identity
from hanse.kube.errors import Invalid
from hanse.kube.manifest import Obj
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import SystemRuntime
from tests.behaviour.composite_lines.children import configs
from tests.behaviour.composite_lines.stage import Line
from tests.simulation.composite.stage import child


async def line_53_controllers_that_the_selector_does_not_match_are_left_alone(at: Line) -> None:
    theirs = at.controller({"sync": at.hook(configs, "theirs")}, child(CONFIGMAPS), name=f"{at.name}-theirs")
    theirs["metadata"]["labels"] = {"served-by": "somebody-else"}
    await at.client.create(COMPOSITE_CONTROLLERS, theirs)
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS))
    await at.thing()
    await at.until(lambda: at.has("one-0"))
    await at.quiet()
    assert at.calls("theirs") == []
    assert await at.ready(f"{at.name}-theirs") == {}


async def line_54_a_changed_controller_starts_after_the_old_one_has_stopped(at: Line) -> None:
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS))
    await at.thing()
    await at.until(lambda: at.has("one-0"))
    await at.client.patch(COMPOSITE_CONTROLLERS, at.name, {"spec": {"resyncPeriodSeconds": 1}})
    await at.until(lambda: _reasons(at).count("Started") == 2)
    assert _reasons(at) == ["Starting", "Started", "Stopping", "Stopped", "Starting", "Started"]


def _reasons(at: Line) -> list[str]:
    """Return what was told of the controller, in order; what is told again is counted up in the Event of that name."""
    told: list[str] = []
    names: dict[str, str] = {}
    for request in at.on.requests:
        if "/events" not in request.path:
            continue
        event = orjson.loads(request.body)
        about = event.get("involvedObject") or event.get("regarding") or {}
        if request.method == "POST" and about.get("name") == at.name:
            names[event["metadata"]["name"]] = event["reason"]
            told.append(event["reason"])
        elif request.method == "PATCH" and (name := request.path.rpartition("/")[2]) in names:
            told.append(names[name])
    return told


async def line_55_credentials_that_nobody_could_send_start_nothing(at: Line) -> None:
    await at.secret("colon", username="a:b", password="secret-word")
    basic: Obj = {"basicAuth": {"secretRef": {"name": "colon", "namespace": at.name}}}
    bearer: Obj = {"authorization": {"secretRef": {"name": "colon", "namespace": at.name, "key": "password"}}}
    await at.serve({"sync": at.hook(configs, **basic)}, child(CONFIGMAPS))
    await at.until(lambda: at.is_ready("False"))
    both = at.controller({"sync": at.hook(configs, "both", **basic, **bearer)}, child(CONFIGMAPS), name=f"{at.name}-b")
    with pytest.raises(Invalid, match="give either authorization or basicAuth"):
        await at.client.create(COMPOSITE_CONTROLLERS, both)
    await at.thing()
    await at.quiet()
    assert at.calls() == []
    assert "secret-word" not in (await at.ready())["message"]


@asynccontextmanager
async def _behind_tls(at: Line, authority: CertificateAuthority) -> AsyncIterator[str]:
    """Serve an answer to whoever shows a certificate of the authority."""
    tls = authority.serving(runtime=SystemRuntime()).tls_context()
    tls.load_verify_locations(cadata=authority.certificate_pem.decode())
    tls.verify_mode = ssl.CERT_REQUIRED
    application = web.Application()
    application.router.add_post("/{name}", at.on.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def line_56_a_wrong_authority_is_an_error_and_the_certificate_is_shown(at: Line) -> None:
    runtime = SystemRuntime()
    with TemporaryDirectory() as folder:
        right, wrong = (
            CertificateAuthority.open(Path(folder, name), runtime=runtime, name=name) for name in ("right", "wrong")
        )
        certificate, key = right.client(Identity("hanse"), runtime=runtime)
        await at.secret("pair", **{"tls.crt": certificate.decode(), "tls.key": key.decode()})
        pair: Obj = {"clientTLS": {"secretRef": {"name": "pair", "namespace": at.name}}}
        async with _behind_tls(at, right) as url:
            hook = at.hook(configs, **pair, caBundle={"inline": wrong.certificate_pem.decode()})
            hook["webhook"]["url"] = f"{url}/{at.name}-sync"
            await at.serve({"sync": hook}, child(CONFIGMAPS))
            await at.thing()
            assert "certificate" in (await at.until(lambda: at.events("SyncError")))[0]
            assert at.calls() == []
            trusted = {"webhook": {"caBundle": {"inline": right.certificate_pem.decode()}}}
            await at.client.patch(COMPOSITE_CONTROLLERS, at.name, {"spec": {"hooks": {"sync": trusted}}})
            await at.until(lambda: at.has("one-0"))


async def line_58_calls_are_counted_and_none_stays_in_flight(at: Line) -> None:
    answers: list[Obj | web.Response] = [web.Response(status=500)]
    await at.serve({"sync": at.hook(lambda body: answers.pop() if answers else configs(body))}, child(CONFIGMAPS))
    await at.thing()
    await at.until(lambda: at.has("one-0"))
    calls = await at.rested()
    whose = {"url": f"{at.on.url}/{at.name}-sync", "controller_name": at.name, "cluster": ""}
    whose["controller_type"] = "CompositeController"
    value = at.on.controllers.metrics.registry.get_sample_value
    counted = {
        code: value("metacontroller_sync_requests_total", {**whose, "code": code, "method": "post"})
        for code in ("200", "500")
    }
    assert counted == {"200": calls - 1, "500": 1}
    assert value("metacontroller_sync_in_flight_requests", whose) == 0
    assert value("metacontroller_sync_request_duration_histogram_seconds_count", whose) == calls
