"""Jsonnet hooks in processes of their own."""

import pytest

from hanse.composite.hooks.calling import HookFailed, HookParts
from hanse.composite.hooks.jsonnet import jsonnet_hook
from hanse.composite.spec import JsonnetSpec, SourceSpec
from hanse.kube.runtime import SystemRuntime
from tests.unit.composite.hooks.stored import Stored, key

MEGABYTE = 1024 * 1024
ROOT = {"kind": "CatSet", "metadata": {"namespace": "shop", "name": "web"}}
TITLE = 'the Jsonnet function of key "hook.jsonnet" of ConfigMap shop/hooks'
SPEC = JsonnetSpec(SourceSpec(config_map=key("hooks", "hook.jsonnet")), timeout=60)


async def said(hook):
    try:
        return await hook.call({"children": [1, 2], "name": "ä"}, ROOT)
    except HookFailed as failed:
        return str(failed)


CASES = [
    (
        "function(request) { replicas: std.length(request.children), name: request.name }",
        {"replicas": 2, "name": "ä"},
    ),
    ("local l = import './lib.libsonnet'; function(r) { size: l.f('8') }", {"size": "8MB"}),
    ("function(r) { a: error 'no ' + r.name }", f"{TITLE} failed: no ä (hook.jsonnet:1:18-38)"),
    ("function(r) r.spec", f"{TITLE} failed: Field does not exist: spec (hook.jsonnet:1:13-19)"),
    ("function(r) {", f"{TITLE} failed: hook.jsonnet:1:14 Unexpected: end of file while parsing field definition"),
    ("{ a: 1 }", f"{TITLE} failed: Unexpected type object, expected function"),
    (
        "local f(x) = f(x) + 1; function(r) { a: f(1) }",
        f"{TITLE} failed: max stack frames exceeded. (hook.jsonnet:1:14-18)",
    ),
    ("function(r) [1]", f"{TITLE} answered a list where a JSON object is wanted"),
    (
        "function(r) { told: importstr '/etc/hostname' }",
        f'{TITLE} imports "/etc/hostname", which is not among its files',
    ),
    (
        "function(r) { told: importbin '/etc/hostname' }",
        f'{TITLE} imports "/etc/hostname", which is not among its files',
    ),
]


async def test_a_function_is_evaluated_with_the_request_and_whatever_goes_wrong_is_one_sentence():
    stored = Stored()
    hook = jsonnet_hook(SPEC, HookParts(SystemRuntime(), stored, workers=1))
    beside = {"lib.libsonnet": "{ f(x):: x + (importstr 'unit.txt') }", "unit.txt": "MB"}

    found = []
    for code, _ in CASES:
        stored.put("ConfigMap", "hooks", {"hook.jsonnet": code, **beside})
        found.append(await said(hook))
    await hook.close()

    assert found == [expected for _, expected in CASES]


@pytest.mark.parametrize(
    ("code", "limits", "reason"),
    [
        (
            "function(r) { x: std.foldl(function(a, i) a + a, std.range(1, 64), 'xxxxxxxx') }",
            (60, 64),
            "used more than",
        ),
        (
            "local f(x) = if x < 0 then x else f(x + 1) tailstrict; function(r) { x: f(0) }",
            (0.05, 512),
            "took longer than 0.05 s",
        ),
    ],
)
async def test_a_hostile_function_is_ended(code, limits, reason):
    seconds, megabytes = limits
    spec = JsonnetSpec(SourceSpec(inline=code), timeout=seconds, memory=megabytes * MEGABYTE)
    hook = jsonnet_hook(spec, HookParts(SystemRuntime(), Stored()))

    found = await said(hook)
    await hook.close()

    assert found.startswith(f"the Jsonnet function of the controller's inline code {reason}")
