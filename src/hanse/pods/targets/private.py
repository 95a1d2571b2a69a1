"""A target to which only a kubeconfig of its own leads: connected, probed and judged, apart from all others.

Nothing is asked there that a tenant of one namespace may not ask: one page of chaperons in its own namespace tells
that the server answers, knows us, lets us work, and serves what is needed. What it tells beyond that, its identity and
what its nodes have together, is welcome and not needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from hanse.api.admiralty.kinds import CLUSTER_SUMMARIES, POD_CHAPERONS, SUMMARY_NAME
from hanse.clusters.health import Health, HealthTerms, Probe, Symptom, judge
from hanse.clusters.lookout import jittered
from hanse.clusters.member_transport import Connect, MemberTransport
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Forbidden, NotFound, Unauthorized
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, uid_of
from hanse.kube.resources import NAMESPACES
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Unreachable
from hanse.pods.targets.private_rights import Rights

_SHORTEST_PAUSE_SECONDS = 0.1
# Connections of former credentials are closed when what was under way on them has long ended.
_RETIRED_SECONDS = 60.0
_SUMMARY = Key("", SUMMARY_NAME)


class PrivateTarget:
    """The way to one private target, and what is thought of it."""

    def __init__(
        self,
        endpoint: Endpoint,
        connect: Connect,
        runtime: Runtime,
        *,
        namespace: str,
        terms: HealthTerms,
        health: Health,
        changed: Callable[[], None],
    ) -> None:
        """`health` is where the judgement begins; raises KubeconfigError for an endpoint that cannot be used."""
        self.endpoint = endpoint
        self.health = health
        self.uid = ""
        self._transport = MemberTransport(connect, (endpoint,))
        self.client = Client(self._transport, runtime)
        self._runtime = runtime
        self._namespace = namespace
        self._terms = terms
        self._changed = changed
        self._identified = False
        self._rights = Rights(self.client, namespace)
        self._summaries = Cache(self.client, CLUSTER_SUMMARIES, fields=f"metadata.name={SUMMARY_NAME}")
        self._summaries.subscribe(lambda _change: changed())

    @property
    def summary(self) -> Obj | None:
        """What its nodes have together, None where it does not say, or not to us."""
        return self._summaries.get(_SUMMARY) if self._summaries.synced else None

    def renew(self, endpoint: Endpoint) -> None:
        """Show other credentials at the same place; raises KubeconfigError, and changes nothing then."""
        self._transport.renew((endpoint,))
        self.endpoint = endpoint
        self._rights = Rights(self.client, self._namespace)

    async def run(self) -> None:
        """Look after it until cancelled; whoever made it closes its client."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_probing())
            tasks.create_task(self._summaries.run())
            tasks.create_task(self._keep_closing())

    async def _keep_probing(self) -> None:
        terms = self._terms
        while True:
            started = self._runtime.monotonic()
            found = await probe(self.client, self._namespace, terms.timeout_seconds)
            if found.healthy and (lacking := await self._rights.lacking(terms.timeout_seconds)):
                found = Probe(answered=True, healthy=False, why=lacking, symptom=Symptom.NOT_AUTHORIZED)
            # Before it is ready for the first time: two names of one cluster must not both be used.
            if found.healthy and not self._identified and not await self._identify():
                why = "it does not answer which cluster it is"
                found = Probe(answered=True, healthy=False, why=why, symptom=Symptom.NOT_READY)
            now, before = self._runtime.monotonic(), self.health
            self.health = judge(before, replace(found, seconds=now - started), now, terms)
            if (before.state, before.why) != (self.health.state, self.health.why):
                self._changed()
            # From start to start: probes that hang follow each other closely, or three of them would take too long.
            period = jittered(terms.period_seconds, terms, self._runtime)
            await self._runtime.sleep(max(_SHORTEST_PAUSE_SECONDS, started + period - self._runtime.monotonic()))

    async def _identify(self) -> bool:
        """Find out which cluster it is; whoever may not know does without, and only silence is no answer."""
        try:
            async with asyncio.timeout(self._terms.timeout_seconds):
                self.uid = uid_of(await self.client.get(NAMESPACES, "kube-system"))
        except (Forbidden, NotFound):
            pass
        except (ApiError, Unreachable, TimeoutError):
            return False
        self._identified = True
        return True

    async def _keep_closing(self) -> None:
        while True:
            await self._runtime.sleep(_RETIRED_SECONDS)
            await self._transport.close_retired()


async def probe(client: Client, namespace: str, timeout: float) -> Probe:
    """Ask for the first chaperon of a namespace, "" for that of all; a hanging server counts as not answering."""

    def refused(why: str, symptom: Symptom) -> Probe:
        return Probe(answered=True, healthy=False, why=why, symptom=symptom)

    def silent(why: str, symptom: Symptom) -> Probe:
        return Probe(answered=False, healthy=False, why=why, symptom=symptom)

    path = POD_CHAPERONS.path(namespace)
    try:
        async with asyncio.timeout(timeout):
            await client.get_raw(path, query=(("limit", "1"),), timeout=timeout)
    except Unauthorized as error:
        return refused(f"its credentials are not accepted: {error}", Symptom.NOT_AUTHENTICATED)
    except Forbidden as error:
        return refused(f"its credentials do not suffice: {error}", Symptom.NOT_AUTHORIZED)
    except NotFound:
        why = f"it does not serve {POD_CHAPERONS.group_resource}; install Hanse's definitions there"
        return refused(why, Symptom.NOT_READY)
    except ApiError as error:
        return refused(f"{client.address} answers with: {error}", Symptom.NOT_READY)
    except Unreachable as error:
        return silent(str(error), Symptom.NOT_REACHABLE)
    except TimeoutError:
        return silent(f"{client.address} did not answer within {timeout:g} s", Symptom.NOT_RESPONDING)
    return Probe(answered=True, healthy=True, symptom=Symptom.READY)
