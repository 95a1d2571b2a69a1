"""The names that Admiralty derives from those of targets and sources: virtual nodes, finalizers, bindings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from hanse.api.admiralty.keys import PREFIX

_SHORT, _LONG = 63, 253
_DIGEST = 10
_SUFFIX = 5
# The alphabet of Kubernetes' own generated names: no vowels, nothing that is read as something else.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True, order=True)
class TargetName:
    """A Target by its namespace and name; a ClusterTarget has no namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """The target as people write it, and as the engine calls the cluster behind it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def node(self) -> str:
        """The virtual node that stands for it."""
        return joined("admiralty", parts=(self.namespace, self.name), limit=_LONG)

    @property
    def finalizer(self) -> str:
        """What holds an object that may have a copy there."""
        return PREFIX + joined(parts=(self.namespace, self.name), limit=_SHORT)

    def serves(self, namespace: str) -> bool:
        """Tell whether pods of a namespace may go there."""
        return self.namespace in ("", namespace)


def target_named(text: str) -> TargetName:
    """Return the target that is written NAMESPACE/NAME, or NAME for a ClusterTarget."""
    namespace, _, name = text.rpartition("/")
    return TargetName(namespace, name)


def joined(*constants: str, parts: tuple[str, ...], limit: int, tail: str = "") -> str:
    """Join words to a name that no other parts give; only the first part may be empty.

    A digest of all parts is appended where the name alone could stand for others: a part holds a hyphen, or it is too
    long. `tail` is a constant at the end of it.
    """
    words = [*constants, *parts, *([tail] if tail else [])]
    name = "-".join(word for word in words if word)
    ambiguous = len(parts) > 1 and any("-" in part for part in parts)
    if not ambiguous and len(name) <= limit:
        return name
    digest = hashlib.sha256("/".join(words).encode()).hexdigest()[:_DIGEST]
    return f"{name[: limit - _DIGEST - 1].rstrip('-')}-{digest}"


def child_name(source: str, namespace: str, name: str) -> str:
    """Return what an object of a source is called in its targets: its own name and five characters, at most 63 in all.

    They depend on nothing but where it comes from, so that nobody makes a second one without noticing.
    """
    digest = int.from_bytes(hashlib.sha256(f"{source}/{namespace}/{name}".encode()).digest()[:8])
    suffix = ""
    for _ in range(_SUFFIX):
        digest, rest = divmod(digest, len(_ALPHABET))
        suffix += _ALPHABET[rest]
    return f"{name[: _SHORT - _SUFFIX - 1].rstrip('-.')}-{suffix}"
