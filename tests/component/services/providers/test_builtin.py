"""Publishing into a zone of the built-in server."""

import pytest

from hanse.kube.runtime import SeededRuntime
from hanse.services.dns.names import to_wire
from hanse.services.dns.types import Type
from hanse.services.dns.zone import Zone
from hanse.services.providers.builtin import BuiltIn
from tests.behaviour.dns_providers import ZONE, ProviderConformance, Stage


class TestBuiltIn(ProviderConformance):
    @pytest.fixture
    def stage(self):
        zone = Zone(ZONE, now=1.0)
        provider = BuiltIn(zone, SeededRuntime())

        async def ask(name, kind):
            node = zone.find(to_wire(name).lower()) or {}
            found = node.get(Type[kind])
            # The zone keeps bytes; how many there are tells enough beside what is listed.
            kept = [each for each in await provider.records() if (each.name, each.type) == (name, kind)]
            values = {value for each in kept for value in each.values}
            return values if found is not None and len(found.entries) == len(values) else set()

        return Stage(lambda: provider, ask)
