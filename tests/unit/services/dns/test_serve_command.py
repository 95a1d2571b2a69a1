"""What `hanse dns serve` is told is read before anything is done."""

import pytest
from click.testing import CliRunner

from hanse.cli.main import main
from hanse.services.dns.serving import parse_address

ADDRESSES = {
    "127.0.0.1": ("127.0.0.1", 53),
    "127.0.0.1:8053": ("127.0.0.1", 8053),
    "[::1]:8053": ("::1", 8053),
    "[::1]": ("::1", 53),
    "::1": ("::1", 53),
    "0.0.0.0:0": ("0.0.0.0", 0),
}
# Options that are wrong, and a part of the sentence that says so.
MISTAKES = {
    "a name for an address": (
        ["--listen", "localhost:53"],
        "--listen: 'localhost:53' must be an IP address and a port",
    ),
    "a port beyond all": (["--listen", "127.0.0.1:65536"], "has no port from 0 to 65535"),
    "no network": (["--allow-transfer", "10.0.0.1/8"], "--allow-transfer: '10.0.0.1/8' must be a network"),
    "no secondary": (["--notify", "ns2"], "--notify: 'ns2' must be an IP address"),
    "no name": (["--nameserver", "a..b"], "--nameserver: 'a..b' is no domain name"),
    "no address": (["--nameserver", "ns=one"], "--nameserver: 'one' does not appear to be an IPv4 or IPv6 address"),
}


@pytest.mark.parametrize(("text", "address"), ADDRESSES.items())
def test_an_address_may_have_a_port(text, address):
    assert parse_address(text) == address


@pytest.mark.parametrize(("options", "sentence"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_in_a_sentence_that_names_the_option(options, sentence):
    done = CliRunner().invoke(main, ["dns", "serve", "--kubeconfig", "/nowhere", *options])

    assert done.exit_code == 2
    assert sentence in done.output


def test_the_group_lists_its_commands_and_knows_no_others():
    listed = CliRunner().invoke(main, ["dns", "--help"])
    unknown = CliRunner().invoke(main, ["dns", "conjure"])

    assert all(name in listed.output for name in ("records", "trace", "serve"))
    assert unknown.exit_code == 2
    assert "there is no command 'conjure'" in unknown.output
