"""What policies want remembered of a request: their auditAnnotations, and the failures that a binding only audits.

The server keeps no audit log of its own, so these go to its log, one line for each, under upstream's keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from hanse.apiserver.admission.attributes import Attributes
from hanse.kube.log import Log
from hanse.kube.manifest import Obj

_log = Log(__name__)

_VALUE_LIMIT = 10 * 1024
_FAILURE_KEY = "validation.policy.admission.k8s.io/validation_failure"


@dataclass(slots=True)
class AuditTrail:
    """The annotations that one request has gathered, by key."""

    annotations: dict[str, list[str]] = field(default_factory=dict)
    failures: list[Obj] = field(default_factory=list)

    def annotate(self, policy: str, key: str, value: str) -> None:
        """Note what an auditAnnotation says; the same said twice is said once."""
        values = self.annotations.setdefault(f"{policy}/{key}", [])
        shortened = value[:_VALUE_LIMIT]
        if shortened not in values:
            values.append(shortened)

    def fail(self, policy: str, binding: str, message: str, expression: int, actions: list[str]) -> None:
        """Note a validation that failed where its binding wants that audited."""
        told = {"message": message, "policy": policy, "binding": binding, "expressionIndex": expression}
        self.failures.append({**told, "validationActions": actions})

    def entries(self) -> dict[str, str]:
        """Return the annotations as an audit event would carry them."""
        found = {key: ", ".join(values) for key, values in self.annotations.items()}
        if self.failures:
            found[_FAILURE_KEY] = orjson.dumps(self.failures).decode()
        return found

    def publish(self, attributes: Attributes) -> None:
        """Write what was gathered to the log."""
        for key, value in self.entries().items():
            _log.info(
                "A policy annotated a request",
                annotation=key,
                value=value,
                operation=attributes.operation,
                resource="/".join(part for part in attributes.resource if part),
                namespace=attributes.namespace,
                object=attributes.name,
                user=attributes.identity.user,
            )
