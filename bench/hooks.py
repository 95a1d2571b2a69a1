"""Measures what calling a hook costs: Python and Jsonnet in their processes, and a webhook, beside a bare POST.

All hooks do the same: they make five children of a parent that has five. The webhook's server shares the process with
whoever calls it, as it does for the bare POST, so that both ends are measured. Rounds go in turn, medians are told.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

import aiohttp
import orjson
from aiohttp import web

from bench.results import append_results, line
from hanse.composite.hooks.calling import Hook, HookParts
from hanse.composite.hooks.opening import open_hook
from hanse.composite.spec import HookSpec, JsonnetSpec, PythonSpec, SourceSpec, WebhookSpec
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SystemRuntime

_WARM_UP = 20
_ROUNDS = 7
_CALLS = 200
_COLUMNS = (
    "date",
    "commit",
    "command",
    "bare POST µs",
    "webhook µs",
    "Python µs",
    "Jsonnet µs",
    "first call of a Python hook ms",
)
_HEADING = f"""# Hooks: what one call costs

One call with a request about a parent with five pods (9 KB), whose answer is five children: the median of {_ROUNDS}
rounds, in which all ways take turns. Ratios are to a bare POST to the server that the webhook has, which shares the
process with its caller. The first call of a Python hook starts its process.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""

PYTHON = """
def sync(request):
    parent = request["parent"]
    name, labels = parent["metadata"]["name"], parent["spec"]["selector"]["matchLabels"]
    children = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}", "labels": labels},
            "spec": parent["spec"]["template"]["spec"],
        }
        for number in range(parent["spec"]["replicas"])
    ]
    return {"status": {"replicas": len(request["children"]["Pod.v1"])}, "children": children}
"""
JSONNET = """
function(request)
  local parent = request.parent;
  {
    status: { replicas: std.length(request.children['Pod.v1']) },
    children: [
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: '%s-%d' % [parent.metadata.name, number], labels: parent.spec.selector.matchLabels },
        spec: parent.spec.template.spec,
      }
      for number in std.range(0, parent.spec.replicas - 1)
    ],
  }
"""


class Nothing:
    """A cluster without Secrets and ConfigMaps."""

    async def secret(self, namespace: str, name: str) -> Obj | None:
        return None

    async def config_map(self, namespace: str, name: str) -> Obj | None:
        return None


def ordinary_request() -> Obj:
    """Return a sync request about a parent with five pods, about 10 KB."""
    container = {
        "name": "web",
        "image": "registry.example.com/shop/web:1.2.3",
        "env": [{"name": f"SETTING_{number}", "value": "x" * 40} for number in range(15)],
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "256Mi"}},
    }
    labels = {"app": "web"}
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}, "status": {"phase": "Running"}}
    pods = {
        f"web-{n}": {**pod, "metadata": {"name": f"web-{n}", "namespace": "shop", "labels": labels}} for n in range(5)
    }
    spec = {"replicas": 5, "selector": {"matchLabels": labels}, "template": {"spec": {"containers": [container]}}}
    parent = {"apiVersion": "ctl.example.com/v1", "kind": "CatSet", "metadata": {"namespace": "shop", "name": "web"}}
    return {"parent": {**parent, "spec": spec}, "children": {"Pod.v1": pods}, "related": {}, "finalizing": False}


async def measure(calls: int) -> dict[str, float]:
    """Return the median seconds of one call of each sort; "start" is the first call of a Python hook."""
    request = ordinary_request()
    async with AsyncExitStack() as ending:
        url = await _webhook_server(ending)
        session = await ending.enter_async_context(aiohttp.ClientSession())
        hooks = {name: await _opened(spec, ending) for name, spec in _specs(url).items()}

        async def bare() -> Obj:
            async with session.post(url, data=orjson.dumps(request)) as answer:
                return dict(orjson.loads(await answer.read()))

        ways: dict[str, Callable[[], Awaitable[Obj]]] = {"bare POST": bare}
        ways |= {name: _calling(hook, request) for name, hook in hooks.items()}
        started = time.perf_counter()
        expected = await ways["Python"]()
        first = time.perf_counter() - started
        for way in ways.values():
            if await way() != expected:
                raise SystemExit("the hooks do not answer alike")
        return {"start": first, **await _medians(ways, calls)}


async def _medians(ways: dict[str, Callable[[], Awaitable[Obj]]], calls: int) -> dict[str, float]:
    rounds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(_ROUNDS):
        for name, way in ways.items():
            await _seconds(way, _WARM_UP)
            rounds[name].append(await _seconds(way, calls) / calls)
    return {name: statistics.median(seconds) for name, seconds in rounds.items()}


async def _seconds(way: Callable[[], Awaitable[Obj]], calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        await way()
    return time.perf_counter() - started


def _calling(hook: Hook, request: Obj) -> Callable[[], Awaitable[Obj]]:
    return lambda: hook.call(request, request["parent"])


def _specs(url: str) -> dict[str, WebhookSpec | PythonSpec | JsonnetSpec]:
    return {
        "webhook": WebhookSpec(url),
        "Python": PythonSpec(SourceSpec(inline=PYTHON), "sync"),
        "Jsonnet": JsonnetSpec(SourceSpec(inline=JSONNET)),
    }


async def _opened(spec: WebhookSpec | PythonSpec | JsonnetSpec, ending: AsyncExitStack) -> Hook:
    hook = await open_hook(HookSpec(spec), HookParts(SystemRuntime(), Nothing(), trusted=True))
    ending.push_async_callback(hook.close)
    return hook


async def _webhook_server(ending: AsyncExitStack) -> str:
    names: dict[str, Callable[[Obj], Obj]] = {}
    exec(PYTHON, {}, names)

    async def answer(request: web.Request) -> web.Response:
        body = orjson.dumps(names["sync"](orjson.loads(await request.read())))
        return web.Response(body=body, content_type="application/json")

    application = web.Application()
    application.router.add_post("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    ending.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return f"http://127.0.0.1:{runner.addresses[0][1]}/"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=_CALLS, help="calls of each sort in each of the rounds")
    parser.add_argument("--dry-run", action="store_true", help="print without adding a line to RESULTS.md")
    asked = parser.parse_args(arguments)
    calls = asked.calls
    import uvloop

    found = uvloop.run(measure(calls))
    size = len(orjson.dumps(ordinary_request())) / 1000
    print(f"{calls} calls with a request of {size:.1f} KB, medians of {_ROUNDS} rounds; ratios to a bare POST")
    for name in ("bare POST", "webhook", "Python", "Jsonnet"):
        print(f"{name:10} {found[name] * 1e6:8.0f} µs  {found[name] / found['bare POST']:6.2f}")
    print(f"the first call of a Python hook, which starts its process: {found['start'] * 1e3:.0f} ms")
    if not asked.dry_run:
        append_results([_result(found, calls)], _HEADING)


def _result(found: dict[str, float], calls: int) -> str:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    command = "python -m bench.hooks" + ("" if calls == _CALLS else f" --calls {calls}")
    bare = found["bare POST"]
    ratios = (f"{found[name] * 1e6:.0f} ({found[name] / bare:.2f}×)" for name in ("webhook", "Python", "Jsonnet"))
    start = [time.strftime("%Y-%m-%d"), commit.stdout.strip(), f"`{command}`", f"{bare * 1e6:.0f}"]
    return line([*start, *ratios, f"{found['start'] * 1e3:.0f}"])


if __name__ == "__main__":
    main()
