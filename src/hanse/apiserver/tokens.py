"""Signed tokens: JSON Web Tokens under the server's own elliptic-curve key (ES256).

What a token says is decided elsewhere; here it is signed, and a signature is believed or not. Verified tokens are
remembered, since a client shows the same one with every request.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from functools import lru_cache

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from hanse.kube.manifest import Obj
from hanse.kube.runtime import Runtime

ISSUER = "https://kubernetes.default.svc.cluster.local"
LEGACY_ISSUER = "kubernetes/serviceaccount"
_REMEMBERED = 4096
_SIGNATURE_HALF = 32
# The order of P-256, which a private key lies below.
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class TokenSigner:
    """Signs claims and reads them back; without a key of its own it makes one when it first signs."""

    def __init__(self, runtime: Runtime, key: ec.EllipticCurvePrivateKey | None = None) -> None:
        self._runtime = runtime
        self._given = key
        self._verified = lru_cache(maxsize=_REMEMBERED)(self._verify)

    @property
    def key_id(self) -> str:
        """The name of the key in the heads of tokens."""
        public = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return _encoded(hashlib.sha256(public).digest())

    def sign(self, claims: Obj) -> str:
        """Return a token that carries these claims."""
        head = orjson.dumps({"alg": "ES256", "kid": self.key_id})
        body = orjson.dumps(claims, option=orjson.OPT_SORT_KEYS)
        signed = f"{_encoded(head)}.{_encoded(body)}"
        # Deterministic signatures (RFC 6979) keep seeded runs the same to the byte.
        signature = self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        r, s = utils.decode_dss_signature(signature)
        raw = r.to_bytes(_SIGNATURE_HALF, "big") + s.to_bytes(_SIGNATURE_HALF, "big")
        return f"{signed}.{_encoded(raw)}"

    def claims_of(self, token: str) -> Obj | None:
        """Return what a token of this server says; None where the server did not sign it."""
        return self._verified(token)

    def key_set(self) -> Obj:
        """Return the public key as a JSON Web Key Set, for those who verify tokens themselves."""
        numbers = self._key.public_key().public_numbers()
        return {
            "keys": [
                {
                    "use": "sig",
                    "kty": "EC",
                    "kid": self.key_id,
                    "crv": "P-256",
                    "alg": "ES256",
                    "x": _encoded(numbers.x.to_bytes(_SIGNATURE_HALF, "big")),
                    "y": _encoded(numbers.y.to_bytes(_SIGNATURE_HALF, "big")),
                }
            ]
        }

    @property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        if self._given is None:
            seed = hashlib.sha256(self._runtime.secret().encode()).digest()
            self._given = ec.derive_private_key(int.from_bytes(seed, "big") % (_ORDER - 1) + 1, ec.SECP256R1())
        return self._given

    def _verify(self, token: str) -> Obj | None:
        parts = token.split(".")
        if len(parts) != 3:
            return None
        try:
            head, body, raw = (_decoded(part) for part in parts)
            if len(raw) != 2 * _SIGNATURE_HALF or orjson.loads(head).get("alg") != "ES256":
                return None
            signature = utils.encode_dss_signature(
                int.from_bytes(raw[:_SIGNATURE_HALF], "big"), int.from_bytes(raw[_SIGNATURE_HALF:], "big")
            )
            signed = f"{parts[0]}.{parts[1]}".encode()
            self._key.public_key().verify(signature, signed, ec.ECDSA(hashes.SHA256()))
            claims = orjson.loads(body)
        except (InvalidSignature, ValueError, AttributeError, binascii.Error):
            return None
        return claims if isinstance(claims, dict) else None


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
