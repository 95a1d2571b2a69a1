"""Telling a placeholder that this admission made from one that somebody wrote.

An API server asks a webhook again when another one changed the pod after it. What the second request holds is what the
first answer wrote, and nothing in it but a secret can prove that. So the manifest is sealed: with a key that all
replicas share, for the user and the namespace of the request, and for so long as one request may take.

Whoever can reach the server can have a pod sealed without creating it, or copy a seal from a placeholder of their own.
That gains next to nothing: what runs is what the placeholder shows (`placeholders.restored_pod`), and of a manifest
that is brought along only what placeholders do not show is believed.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

import orjson

from hanse.api.admiralty.keys import MANIFEST, SEAL
from hanse.kube.manifest import Obj, annotations_of
from hanse.pods.admission.requests import AdmissionRequest

# The longest time that may pass between two calls for one request.
LIFE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals manifests at a moment; the key is repeated nowhere."""

    key: bytes
    now: float

    def seal(self, manifest: str, request: AdmissionRequest) -> str:
        """Return the seal of a manifest that is written for this request."""
        return self._sealed(manifest, request, str(int(self.now)))

    def holds(self, pod: Obj, request: AdmissionRequest) -> bool:
        """Tell whether the manifest on a pod was written for this request."""
        annotations = annotations_of(pod)
        manifest, seal = annotations.get(MANIFEST), annotations.get(SEAL)
        if manifest is None or seal is None:
            return False
        moment = seal.partition(".")[0]
        if not (moment.isascii() and moment.isdecimal() and len(moment) <= len(str(int(self.now)))):
            return False
        if abs(self.now - int(moment)) > LIFE_SECONDS:
            return False
        return hmac.compare_digest(seal.encode(), self._sealed(manifest, request, moment).encode())

    def _sealed(self, manifest: str, request: AdmissionRequest, moment: str) -> str:
        message = orjson.dumps([moment, request.namespace, request.user, manifest])
        return f"{moment}.{hmac.new(self.key, message, hashlib.sha256).hexdigest()}"


def sealing_key(private_key_pem: bytes) -> bytes:
    """Return the key that every replica with the same serving key has."""
    return hmac.new(private_key_pem, b"pods.hanse.dev/seal", hashlib.sha256).digest()
