"""Clients outside led to an application's releases by weights: one name, mixed from the addresses of every release.

`assembly.entrances` gives each release a Service of its own, for which the services room finds addresses. `mixing` is a
function from these and from the weights of TrafficTargets to the ServiceAddresses of the application's one name, which
DNS and balancers follow; the controller stores it. Everything here is about stored objects.
"""

from hanse.rollouts.weights.controller import WeightsController

__all__ = ["WeightsController"]
