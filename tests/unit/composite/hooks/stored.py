"""Secrets and ConfigMaps in memory, as hooks read them."""

import base64
from typing import Any

from hanse.composite.spec import SecretKey


class Stored:
    """What a cluster has; `put` changes it as a user would."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._version = 0
        self.read: list[str] = []

    def put(self, kind: str, name: str, data: dict[str, str]) -> None:
        self._version += 1
        metadata = {"namespace": "shop", "name": name, "uid": name, "resourceVersion": str(self._version)}
        self._objects[kind, "shop", name] = {"metadata": metadata, "data": data}

    def put_secret(self, name: str, **values: str) -> None:
        self.put("Secret", name, {key: base64.b64encode(text.encode()).decode() for key, text in values.items()})

    async def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        self.read.append(name)
        return self._objects.get(("Secret", namespace, name))

    async def config_map(self, namespace: str, name: str) -> dict[str, Any] | None:
        return self._objects.get(("ConfigMap", namespace, name))


def key(name: str, key: str) -> SecretKey:
    return SecretKey(name, "shop", key)
