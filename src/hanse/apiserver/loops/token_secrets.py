"""Secrets of type kubernetes.io/service-account-token: filled with a token for their account, gone when it is."""

from __future__ import annotations

import base64

from hanse.apiserver import objects
from hanse.apiserver.core import Core
from hanse.apiserver.loops.worker import Worker
from hanse.apiserver.service_accounts import secret_claims
from hanse.apiserver.storage import Change
from hanse.apiserver.system_writes import delete_as_server, server_call
from hanse.apiserver.verbs.writing import change_object
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, annotations_of, is_deleting

_SECRETS, _ACCOUNTS = "core/secrets", "core/serviceaccounts"
_TYPE = b'"type":"kubernetes.io/service-account-token"'
_ACCOUNT_NAME, _ACCOUNT_UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"


class TokenSecrets:
    """Fills and removes token Secrets as their service accounts come and go."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._worker: Worker[str] = Worker("token-secrets", core.runtime, self._reconcile)

    async def start(self) -> None:
        """Look at every token Secret once, then follow."""
        self._core.hub.listen(self._hear)
        self._look("")
        self._worker.start()

    async def stop(self) -> None:
        """Stop following."""
        await self._worker.stop()

    def _hear(self, change: Change) -> None:
        if change.bucket == _SECRETS and not change.deleted and _TYPE in change.value:
            self._worker.add(change.path)
        elif change.bucket == _ACCOUNTS and (change.deleted or change.previous is None):
            self._look(f"{change.path.partition('/')[0]}/")

    def _look(self, prefix: str) -> None:
        for record in self._core.storage.scan(_SECRETS, prefix):
            if _TYPE in record.value:
                self._worker.add(record.path)

    async def _reconcile(self, path: str) -> None:
        record = self._core.storage.get(_SECRETS, path)
        secrets, accounts = (self._core.registry.of_bucket(one) for one in (_SECRETS, _ACCOUNTS))
        if record is None or secrets is None or accounts is None:
            return
        secret = objects.decode(record.value, "v1", "Secret")
        if is_deleting(secret):
            return
        namespace, name = secret["metadata"]["namespace"], secret["metadata"]["name"]
        noted = annotations_of(secret)
        account = self._core.read(accounts, namespace, noted.get(_ACCOUNT_NAME, ""))
        if account is None or noted.get(_ACCOUNT_UID, account["metadata"]["uid"]) != account["metadata"]["uid"]:
            await delete_as_server(self._core, secrets, namespace, name, uid=secret["metadata"]["uid"])
            return
        if {"token", "namespace", "ca.crt"} <= set(secret.get("data") or {}) and _ACCOUNT_UID in noted:
            return
        call = server_call(self._core, secrets, namespace, name, "update")
        try:
            await change_object(call, lambda live: self._filled(live, account))
        except NotFound:
            return

    def _filled(self, secret: Obj, account: Obj) -> Obj:
        metadata = secret["metadata"]
        metadata["annotations"] = {**annotations_of(secret), _ACCOUNT_UID: account["metadata"]["uid"]}
        data = secret["data"] = dict(secret.get("data") or {})
        data.setdefault("ca.crt", _base64(self._core.root_certificate))
        data.setdefault("namespace", _base64(metadata["namespace"]))
        if not data.get("token"):
            data["token"] = _base64(self._core.signer.sign(secret_claims(account, metadata["name"])))
        return secret


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
