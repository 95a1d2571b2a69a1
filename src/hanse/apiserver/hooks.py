"""What a server keeps for admission: the stored configurations, decoded once, and the client that calls webhooks."""

from __future__ import annotations

from collections.abc import Callable

from hanse.apiserver import objects
from hanse.apiserver.hub import Hub
from hanse.apiserver.storage import Change, Storage
from hanse.apiserver.webhook_client import WebhookClient
from hanse.kube.manifest import Obj

GROUP = "admissionregistration.k8s.io"
_API_VERSION = f"{GROUP}/v1"
KINDS = {
    "mutatingadmissionpolicies": "MutatingAdmissionPolicy",
    "mutatingadmissionpolicybindings": "MutatingAdmissionPolicyBinding",
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "validatingadmissionpolicies": "ValidatingAdmissionPolicy",
    "validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
}

# Leads from a Service's namespace, name and port to the `host:port` where it can be reached; None where it cannot.
ServiceResolver = Callable[[str, str, int], str | None]


class Hooks:
    """A server's admission configurations, fresh at every write, and how webhooks are reached."""

    def __init__(self) -> None:
        self.client = WebhookClient()
        self.resolver: ServiceResolver | None = None
        self._held: dict[str, tuple[Obj, ...]] = {}
        self._heard = False

    def configurations(self, storage: Storage, hub: Hub, plural: str) -> tuple[Obj, ...]:
        """Return the stored objects of one of the admission kinds, by name."""
        if not self._heard:
            hub.listen(self._hear)
            self._heard = True
        held = self._held.get(plural)
        if held is None:
            records = storage.scan(f"{GROUP}/{plural}")
            held = tuple(objects.decode(record.value, _API_VERSION, KINDS[plural]) for record in records)
            self._held[plural] = held
        return held

    def _hear(self, change: Change) -> None:
        group, _, plural = change.bucket.partition("/")
        if group == GROUP:
            self._held.pop(plural, None)
