"""How much simulated containers use."""

import pytest

from hanse.simulator.metrics.usage import Use, container_uses, load_of, total_use

MIB = 2**20


def pod(*, annotations=None, requests=None, running=("web", "helper")):
    containers = [{"name": name, "resources": {"requests": requests or {}}} for name in ("web", "helper")]
    states = [{"name": name, "state": {"running": {}} if name in running else {}} for name in ("web", "helper")]
    metadata = {"name": "web", "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"containers": containers}, "status": {"containerStatuses": states}}


def test_an_idle_container_uses_a_part_of_what_it_asks_for():
    asked = {"cpu": "200m", "memory": "128Mi"}
    assert container_uses(pod(requests=asked), 0) == {"web": Use(10, 64 * MIB), "helper": Use(10, 64 * MIB)}
    assert container_uses(pod(), 0)["web"] == Use(1, 8 * MIB)


def test_the_first_container_carries_the_load_and_annotations_say_what_else_is_used():
    said = {"simulator.hanse.dev/cpu": "30m", "simulator.hanse.dev/memory": "5Mi"}
    assert container_uses(pod(annotations=said), 400) == {"web": Use(430, 5 * MIB), "helper": Use(30, 5 * MIB)}


def test_what_does_not_run_uses_nothing():
    assert container_uses(pod(running=("helper",)), 400) == {"helper": Use(401, 8 * MIB)}
    assert total_use([]) == Use()


@pytest.mark.parametrize(("said", "load"), [("2500m", 2500), ("1", 1000), ("much", 0), ("-1", 0), (None, 0)])
def test_the_load_of_a_service_is_an_amount_of_cpu(said, load):
    annotations = {} if said is None else {"simulator.hanse.dev/load": said}
    assert load_of({"metadata": {"annotations": annotations}}) == load
