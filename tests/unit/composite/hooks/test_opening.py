"""What controllers of a member may not do with the control plane's machine, and what has no name."""

import pytest

from hanse.composite.hooks.calling import HookFailed, HookParts, HookUnusable
from hanse.composite.hooks.opening import open_hook
from hanse.composite.spec import HookSpec, JsonnetSpec, PythonSpec, SourceSpec
from hanse.kube.runtime import SeededRuntime
from tests.unit.composite.hooks.stored import Stored, key

INLINE, FILE = SourceSpec(inline="function(request) {}"), SourceSpec(path="/srv/hook.jsonnet")
CODE = SourceSpec(config_map=key("hooks", "sync.jsonnet"))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (PythonSpec(INLINE, "sync"), "a Python hook would run beside the control plane"),
        (JsonnetSpec(FILE), "a Jsonnet hook may not name files of the control plane's machine"),
        (JsonnetSpec(CODE, (FILE,)), "a Jsonnet hook may not name files of the control plane's machine"),
        (JsonnetSpec(CODE, (CODE, INLINE)), r"libraries\[1\].inline has no name to be imported by"),
    ],
)
async def test_what_a_stranger_may_not_use_is_refused_at_once(call, sentence):
    with pytest.raises(HookUnusable, match=sentence):
        await open_hook(HookSpec(call), HookParts(SeededRuntime(), Stored()))


@pytest.mark.parametrize("call", [JsonnetSpec(INLINE), JsonnetSpec(CODE, (CODE,))])
async def test_jsonnet_that_is_sent_may_be_anybodys_until_it_is_closed(call):
    stored = Stored()
    stored.put("ConfigMap", "hooks", {"sync.jsonnet": INLINE.inline})
    hook = await open_hook(HookSpec(call), HookParts(SeededRuntime(), stored))

    await hook.close()
    await hook.close()

    with pytest.raises(HookFailed, match="is not called any more"):
        await hook.call({}, {})
