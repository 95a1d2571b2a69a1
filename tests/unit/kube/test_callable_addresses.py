"""Which addresses may be called that strangers chose."""

import pytest

from hanse.kube.callable_addresses import guarded_resolver, is_callable


@pytest.mark.parametrize(
    ("host", "trusted", "stranger"),
    [
        ("hook.shop", True, True),
        ("10.0.0.7", True, True),
        ("2001:db8::1", True, True),
        ("localhost", True, False),
        ("LocalHost.", True, False),
        ("127.0.0.1", True, False),
        ("127.8.8.8", True, False),
        ("::1", True, False),
        ("::ffff:127.0.0.1", True, False),
        ("0.0.0.0", True, False),
        ("169.254.169.254", False, False),
        ("::ffff:169.254.169.254", False, False),
        ("fe80::1%eth0", False, False),
    ],
)
def test_link_local_addresses_are_never_called_and_loopback_only_for_the_trusted(host, trusted, stranger):
    assert is_callable(host, loopback=True) is trusted
    assert is_callable(host, loopback=False) is stranger


async def test_a_name_is_as_good_as_what_it_leads_to():
    assert [each["host"] for each in await guarded_resolver(loopback=True).resolve("127.0.0.1", 80)] == ["127.0.0.1"]
    for loopback, host in ((False, "127.0.0.1"), (True, "169.254.169.254")):
        with pytest.raises(OSError, match="which is not called"):
            await guarded_resolver(loopback=loopback).resolve(host, 80)
