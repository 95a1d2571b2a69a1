"""Where the code of hooks comes from."""

import pytest

from hanse.composite.hooks.sources import OnDisk, Sent, Source, SourceMissing
from hanse.composite.spec import SourceSpec
from tests.unit.composite.hooks.stored import Stored, key

CODE = SourceSpec(config_map=key("hooks", "sync.py"))


async def test_a_file_is_left_to_the_process_that_reads_it():
    source = Source(SourceSpec(path="/srv/hooks/../web.py"), Stored(), "inline.py")

    assert await source.read() == OnDisk("/srv/hooks/../web.py")
    assert source.title == "/srv/hooks/../web.py"


async def test_inline_code_is_sent_under_a_name():
    source = Source(SourceSpec(inline="x = 1"), Stored(), "inline.py")

    assert await source.read() == Sent((("inline.py", "x = 1"),))
    assert source.title == "the controller's inline code"


async def test_a_config_map_is_sent_with_its_other_keys_and_read_anew_when_it_changes():
    stored = Stored()
    stored.put("ConfigMap", "hooks", {"b.py": "2", "sync.py": "1", "a.py": "3"})
    source = Source(CODE, stored, "inline.py")
    first = await source.read()

    assert first == Sent((("sync.py", "1"), ("a.py", "3"), ("b.py", "2")))
    assert await source.read() is first

    stored.put("ConfigMap", "hooks", {"sync.py": "4"})
    assert await source.read() == Sent((("sync.py", "4"),))
    assert source.title == 'key "sync.py" of ConfigMap shop/hooks'


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (None, "has no code: there is no ConfigMap shop/hooks"),
        ({}, 'has no code: ConfigMap hooks has no key "sync.py", it has no keys'),
        ({"b": "", "a": ""}, 'has no code: ConfigMap hooks has no key "sync.py", it has a, b'),
    ],
)
async def test_code_that_is_not_there_is_named(data, sentence):
    stored = Stored()
    if data is not None:
        stored.put("ConfigMap", "hooks", data)

    with pytest.raises(SourceMissing) as missing:
        await Source(CODE, stored, "inline.py").read()

    assert str(missing.value) == sentence
