import asyncio, random, pytest
from hanse.kube import Unreachable
from hanse.kube.resources import *
from hanse.kube.manifest import *
from tests.component.simulator.harness import *
class Bad(Wire):
    calm = False
    async def send(self, request, timeout):
        if not self.calm and self._runtime.uniform(0,1) < 0.15: raise Unreachable(self.address, "lost request")
        a = await self._inner.send(request, timeout)
        if not self.calm and self._runtime.uniform(0,1) < 0.15: raise Unreachable(self.address, "lost answer")
        return a
@pytest.mark.looptime
@pytest.mark.parametrize("seed", range(40))
async def test_fuzz(seed):
    r = random.Random(seed)
    async with world(seed=seed) as here:
        wires=[]
        def wrap(t):
            wires.append(Bad(t, here.runtime, lag_seconds=r.choice([0,0.02,0.3]))); return wires[-1]
        cluster = here.cluster(wrap=wrap)
        async with PodHistory(here).watching() as h, running(cluster):
            await here.client.create(DEPLOYMENTS, deployment(4))
            n=4
            for step in range(12):
                await here.runtime.sleep(r.uniform(0,3))
                op=r.choice(["scale","image","kill","fail","pause"])
                if op=="scale": n=r.randint(0,8); await here.client.patch(DEPLOYMENTS,"web",{"spec":{"replicas":n}},"default")
                elif op=="image": await here.client.patch(DEPLOYMENTS,"web",{"spec":{"template":{"spec":{"containers":[{"name":"web","image":f"nginx:{r.randint(1,3)}"}]}}}},"default")
                elif op=="kill":
                    ps=await here.pods()
                    if ps: await here.client.delete(PODS, name_of(r.choice(ps)), "default")
                elif op=="fail":
                    cluster.fail(); await here.runtime.sleep(r.uniform(0,20)); cluster.heal()
            for w in wires: w.calm=True
            d = await here.available(n, seconds=300)
            await here.runtime.sleep(30)
            d = await here.available(n, seconds=1)
            pods = (await here.client.list(PODS,"default")).items
            assert len(pods)==n, [p["metadata"]["name"] for p in pods]
            assert h.most <= 8+2+2, h.most
            assert len({p["status"]["podIP"] for p in pods})==n
