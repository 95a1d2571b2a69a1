"""The server that a source's API server asks about elected pods and whole Jobs.

It runs beside the source and knows nothing but that cluster's targets: whatever becomes of the federation's host, pods
are created. Until it knows the targets it refuses elected pods for now, since one that is stored without a target's
finalizer could be forgotten there.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Collection, Sequence

import orjson
from aiohttp import web

from hanse.api.admiralty.kinds import CLUSTER_TARGETS, TARGETS
from hanse.api.admiralty.names import TargetName
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.log import Log
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from hanse.kube.server_log import SERVER_LOG
from hanse.kube.transport import Unreachable
from hanse.pods.admission.certificates import ServingCertificate
from hanse.pods.admission.manifests import JOBS_PATH, PODS_PATH
from hanse.pods.admission.reviews import BadReview, Knowledge, answer_job, answer_pod, read_review, unavailable
from hanse.pods.admission.seals import Sealer, sealing_key
from hanse.pods.admission.values import warm_up

log = Log("hanse")

# An API server takes objects of 3 MiB; a review holds one and a little more.
BODY_BYTES = 4 * 1024**2
_BODY_SECONDS = 5.0
# Longer than API servers keep a connection that they do not use: it must not be this side that closes it.
_IDLE_SECONDS = 180.0
_LOOK_SECONDS = 3600.0
_UNKNOWN = "the targets of this cluster are not known yet; create it again in a moment"


class AdmissionServer:
    """Answers for one source; `run` serves until it is cancelled."""

    def __init__(
        self,
        client: Client,
        source: str,
        tls: ServingCertificate,
        address: str = "0.0.0.0",
        port: int = 0,
        *,
        renew: Callable[[], Awaitable[ServingCertificate]] | None = None,
        targets: Sequence[Resource] = (TARGETS, CLUSTER_TARGETS),
        controllers: Collection[str] = (),
    ) -> None:
        """`renew` tells the certificate to serve with from now on; it is asked now and then.

        `targets` are the kinds whose objects are the targets; those of the federation itself are its Clusters.
        `controllers` are users who do the work of Kubernetes' own controllers there, beside those themselves.
        """
        self._runtime = client.runtime
        self._source = source
        self._tls = tls
        self._address = address
        self._renew = renew
        self._controllers = frozenset(controllers)
        self._key = sealing_key(tls.key_pem)
        self._targets = [Cache(client, kind, metadata_only=True) for kind in targets]
        self._serving = asyncio.Event()
        self.port = port

    async def wait_serving(self) -> None:
        """Wait until the server listens and knows the targets; `port` is then where it does."""
        await self._serving.wait()
        for cache in self._targets:
            await cache.wait_synced()

    async def run(self) -> None:
        """Serve until cancelled."""
        await self._runtime.in_thread(warm_up)
        context = await self._runtime.in_thread(self._tls.tls_context)
        runner = web.AppRunner(
            self._application(),
            access_log=None,
            logger=SERVER_LOG,
            keepalive_timeout=_IDLE_SECONDS,
            shutdown_timeout=1.0,
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, self._address, self.port, ssl_context=context).start()
            self.port = int(runner.addresses[0][1])
            self._serving.set()
            async with asyncio.TaskGroup() as tasks:
                for cache in self._targets:
                    tasks.create_task(cache.run())
                tasks.create_task(self._keep_certificate(context))
        finally:
            await runner.cleanup()

    def targets(self) -> list[TargetName]:
        """Return where pods of the source may go, as far as is known."""
        return [TargetName(key.namespace, key.name) for cache in self._targets for key in cache]

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=BODY_BYTES)
        application.router.add_post(PODS_PATH, self._asked(answer_pod))
        application.router.add_post(JOBS_PATH, self._asked(answer_job))
        application.router.add_get("/healthz", self._health)
        return application

    def _asked(self, answer: Callable[[Obj, Knowledge], Obj]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                async with asyncio.timeout(_BODY_SECONDS):
                    asked = read_review(await request.read())
            except TimeoutError:
                return web.Response(status=408, text=f"the body did not arrive within {_BODY_SECONDS:g} seconds\n")
            except BadReview as error:
                return web.Response(status=400, text=f"{error}\n")
            return _json(self._answer(asked, answer))

        return handle

    def _answer(self, asked: Obj, answer: Callable[[Obj, Knowledge], Obj]) -> Obj:
        if not self._knows_targets():
            return unavailable(asked, _UNKNOWN)
        try:
            return answer(asked, self._knowledge())
        except Exception:
            # What nobody foresaw must not let a pod in, nor tell a stranger more than that.
            log.exception("A review could not be answered", uid=asked["uid"])
            return unavailable(asked, "the admission of elected pods met a fault of its own; its log says which")

    def _knowledge(self) -> Knowledge:
        return Knowledge(
            self._source, self.targets(), Sealer(self._key, self._runtime.now()), controllers=self._controllers
        )

    def _knows_targets(self) -> bool:
        return all(cache.synced for cache in self._targets)

    async def _health(self, _request: web.Request) -> web.Response:
        if self._knows_targets():
            return web.Response(text="ok\n")
        return web.Response(status=503, text=f"{_UNKNOWN}\n")

    async def _keep_certificate(self, context: ssl.SSLContext) -> None:
        while self._renew is not None:
            await self._runtime.sleep(_LOOK_SECONDS)
            try:
                found = await self._renew()
            except (ApiError, Unreachable, RuntimeError) as error:
                log.warning("The certificate of the admission server could not be looked after", why=str(error))
                continue
            if found != self._tls:
                self._tls, self._key = found, sealing_key(found.key_pem)
                await self._runtime.in_thread(lambda: self._tls.load_into(context))


def _json(body: Obj) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json")
