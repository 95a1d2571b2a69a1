"""Whoever may send pods to a cluster does not become its administrator by that."""

from __future__ import annotations

import pytest

from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import PODS
from tests.component.pods.chaperons.stage import chaperon, stage

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
NAME, NAMESPACE = "web-abcde", "kube-system"


async def test_a_chaperon_in_a_system_namespace_gets_no_pod_and_can_go():
    async with stage() as target:
        sent = chaperon()
        await target.send({**sent, "metadata": {**sent["metadata"], "namespace": NAMESPACE}})

        async def refused() -> Obj | None:
            fence = dig(await target.client.get(POD_CHAPERONS, NAME, NAMESPACE), "status", "fence", default={})
            return fence if fence.get("phase") == "Refused" else None

        async def gone() -> bool:
            return await target.client.find(POD_CHAPERONS, NAME, NAMESPACE) is None

        told = await target.until(refused)
        assert await target.client.find(PODS, NAME, NAMESPACE) is None
        assert "pods of namespace kube-system never run elsewhere" in told["message"]
        await target.client.delete(POD_CHAPERONS, NAME, NAMESPACE)
        await target.until(gone)
