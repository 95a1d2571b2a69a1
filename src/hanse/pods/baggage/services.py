"""Global Services and Ingresses into intents: they lead to pods wherever those run.

A Service that selects a pod which runs elsewhere is in every target in another cluster, and so is an Ingress that leads
to such a Service. Copies select by the owner's own labels, which pods keep in other clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hanse.api.admiralty.keys import CILIUM_GLOBAL, GLOBAL, IS_DELEGATE, NO_PREFIX
from hanse.api.namespaces import is_system
from hanse.api.plain_kinds import INGRESSES
from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj, dig, key_of, namespace_of, uid_of
from hanse.kube.resources import PODS, SERVICES, Resource
from hanse.placement.ask import ClusterTerm, Placement
from hanse.pods.baggage.companion import (
    AT_ONCE,
    TOLERATES_ALL,
    CompanionDoor,
    elsewhere,
    is_copy,
    is_federated,
)
from hanse.pods.baggage.copies import copy_of
from hanse.pods.baggage.elected import Elected, Labels, selects
from hanse.pods.baggage.selectors import original_selector
from hanse.pods.targeting import Targets
from hanse.propagation.door import Affected, Inputs
from hanse.propagation.intent import Intent, Problem, Ref

SERVICE_ANNOTATIONS = {GLOBAL: "true", CILIUM_GLOBAL: "true"}
INGRESS_ANNOTATIONS = {GLOBAL: "true"}
# What the source's cluster gave a Service out of its own ranges, and every other gives out of its own.
_ALLOCATED = ("clusterIPs", "ipFamilies", "healthCheckNodePort", "loadBalancerIP", "externalIPs", "selector")


class GlobalDoor(CompanionDoor):
    """Has Services, and the Ingresses that lead to them, in all targets of a source."""

    def __init__(
        self,
        source: str,
        targets: Targets,
        services: Mapping[Key, Obj] | None = None,
        ingresses: Mapping[Key, Obj] | None = None,
        elected: Elected | None = None,
    ) -> None:
        """`source` is the cluster's name, "" for the federation itself."""
        super().__init__(source, targets)
        self._services = services if services is not None else {}
        self._ingresses = ingresses if ingresses is not None else {}
        self._elected = elected or Elected()

    @property
    def name(self) -> str:
        """What people call the door of global Services."""
        return "global"

    @property
    def resources(self) -> Sequence[Resource]:
        """Services and Ingresses."""
        return (SERVICES, INGRESSES)

    @property
    def inputs(self) -> Sequence[Resource]:
        """The pods that Services may select, and the Services to which Ingresses may lead."""
        return (PODS, SERVICES, INGRESSES)

    def informed(self, inputs: Inputs) -> GlobalDoor:
        """Return the door that knows these pods, Services and Ingresses."""
        elected = Elected(inputs[PODS].items())
        return GlobalDoor(self._source, self._targets, inputs[SERVICES], inputs[INGRESSES], elected)

    def affected(self, resource: Resource, change: Change) -> Affected:
        """Return the Services that begin or cease to select a pod, and the Ingresses that lead to a Service."""
        if resource == SERVICES:
            return Affected(refs=tuple(self._leading_to({change.key})))
        if resource != PODS:
            return Affected()
        news = self._elected.take_in(change)
        services = set(self._selecting(change.key.namespace, news)) if news else set[Key]()
        refs = [Ref(SERVICES, key) for key in sorted(services)]
        return Affected(refs=(*refs, *self._leading_to(services)))

    def admits(self, source: Obj) -> bool:
        """Tell whether an object may be in other clusters: not one that is there for another source, or by itself.

        Nor one of a system namespace: there it would stand among what the other cluster lives by.
        """
        return not is_copy(source) and not is_federated(source) and not is_system(namespace_of(source))

    def translate(self, source: Obj) -> Intent | Problem:
        """Say where an object is to be: in all targets in other clusters, or nowhere while it leads to no such pod."""
        if source["kind"] == INGRESSES.kind:
            return self._ingress(source)
        try:
            selector = original_selector(source)
        except ValueError as error:
            return Problem("BadPattern", f"metadata.annotations[{NO_PREFIX}]: {error}")
        return self._service(source, selector)

    def _service(self, source: Obj, selector: Mapping[str, str]) -> Intent:
        voices = self._elected.voices(namespace_of(source), selector)
        why = "" if voices else "it selects no pod that runs elsewhere"
        template = copy_of(
            self._source, source, {"spec": service_spec(source, selector)}, {**SERVICE_ANNOTATIONS, IS_DELEGATE: ""}
        )
        return self._intent(SERVICES, source, template, why, voices)

    def _ingress(self, source: Obj) -> Intent:
        namespace = namespace_of(source)
        selectors = [self._selector(Key(namespace, name)) for name in backends(source)]
        voices = [voice for each in selectors for voice in self._elected.voices(namespace, each)]
        why = "" if voices else "it leads to no Service with pods that run elsewhere"
        template = copy_of(
            self._source, source, {"spec": source.get("spec") or {}}, {**INGRESS_ANNOTATIONS, IS_DELEGATE: ""}
        )
        return self._intent(INGRESSES, source, template, why, voices)

    def _intent(self, resource: Resource, source: Obj, template: Obj, unneeded: str, voices: Sequence[Obj]) -> Intent:
        names = elsewhere(self._targets, namespace_of(source))
        return Intent(
            resource=resource,
            key=key_of(source),
            source_uid=uid_of(source),
            template=template,
            placement=Placement(clusters=ClusterTerm(names=names), tolerations=TOLERATES_ALL, failover=AT_ONCE),
            sources=("pods that run elsewhere are among those that it leads to",),
            nowhere=True,
            unneeded=unneeded or ("" if names else "its namespace has no target in another cluster"),
            voices=tuple(voices),
            created=source["metadata"].get("creationTimestamp") or "",
        )

    def _selector(self, service: Key) -> dict[str, str]:
        """Return what a Service selects, nothing where it is not there or not to be copied."""
        found = self._services.get(service)
        try:
            return original_selector(found) if found is not None and self.admits(found) else {}
        except ValueError:
            return {}

    def _selecting(self, namespace: str, news: Sequence[Labels]) -> Iterator[Key]:
        for key in self._services:
            selector = self._selector(key) if key.namespace == namespace else {}
            if any(selects(selector, labels) for labels in news):
                yield key

    def _leading_to(self, services: set[Key]) -> Iterator[Ref]:
        namespaces = {key.namespace for key in services}
        for key in sorted(self._ingresses) if services else ():
            ingress = self._ingresses.get(key) if key.namespace in namespaces else None
            if ingress is not None and any(Key(key.namespace, name) in services for name in backends(ingress)):
                yield Ref(INGRESSES, key)


def service_spec(service: Obj, selector: Mapping[str, str]) -> Obj:
    """Return the spec of a Service's copy: what its own cluster allocated for it is every other's to allocate."""
    spec = {name: value for name, value in (service.get("spec") or {}).items() if name not in _ALLOCATED}
    if spec.get("clusterIP") != "None":
        spec.pop("clusterIP", None)
    if spec.get("ipFamilyPolicy") == "SingleStack":
        # What a server fills in for itself; another one may have both families.
        del spec["ipFamilyPolicy"]
    if "ports" in spec:
        spec["ports"] = [{name: value for name, value in port.items() if name != "nodePort"} for port in spec["ports"]]
    return {**spec, "selector": dict(selector)}


def backends(ingress: Obj) -> list[str]:
    """Return the Services that an Ingress leads to, each once; a rule without paths leads to none of its own."""
    found = [dig(ingress, "spec", "defaultBackend", "service", "name")]
    for rule in dig(ingress, "spec", "rules") or ():
        found += [dig(path, "backend", "service", "name") for path in dig(rule, "http", "paths") or ()]
    return list(dict.fromkeys(name for name in found if name))
