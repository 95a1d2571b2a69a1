"""A small client of Google's Compute API: what a load balancer needs of it, and waiting until it is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import orjson

from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import Runtime
from hanse.services.ingress.gce.pieces import API

# Gives a bearer token that is good for the next request.
Token = Callable[[], Awaitable[str]]

_REQUEST_SECONDS = 60.0
_LOOK_SECONDS = 1.0
_LONGEST_OPERATION_SECONDS = 600.0


class ComputeError(Exception):
    """The Compute API refused, or could not be reached; its text is what it said."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class Compute:
    """One project's resources."""

    def __init__(
        self, session: aiohttp.ClientSession, project: str, token: Token, runtime: Runtime, *, api: str = API
    ) -> None:
        self.project = project
        self._session = session
        self._token = token
        self._runtime = runtime
        self._root = f"{api}/projects/{project}"

    async def find(self, collection: str, name: str) -> Obj | None:
        """Read a resource of the whole project; None where there is none."""
        return await self.find_at(f"global/{collection}/{name}")

    async def find_at(self, path: str) -> Obj | None:
        """Read what is at a path of the project; None where nothing is."""
        try:
            return await self._send("GET", path)
        except ComputeError as error:
            if error.code == 404:
                return None
            raise

    async def list(self, collection: str) -> list[Obj]:
        """List a collection of the whole project completely."""
        found: list[Obj] = []
        token = ""
        while True:
            page = await self._send("GET", f"global/{collection}", query={"pageToken": token} if token else {})
            found += page.get("items") or ()
            token = page.get("nextPageToken") or ""
            if not token:
                return found

    async def ask(self, path: str) -> Obj:
        """Post a question that changes nothing, such as listInstances."""
        return await self._send("POST", path, {})

    async def insert(self, collection: str, body: Obj) -> None:
        """Make a resource, and wait until it is there."""
        await self._carry_out("POST", f"global/{collection}", body)

    async def update(self, collection: str, body: Obj) -> None:
        """Replace a resource; its fingerprint must be that of what was read."""
        await self._carry_out("PUT", f"global/{collection}/{body['name']}", body)

    async def call(self, path: str, body: Obj) -> None:
        """Have a resource changed by one of its own methods, such as setUrlMap."""
        await self._carry_out("POST", path, body)

    async def delete(self, collection: str, name: str) -> bool:
        """Take a resource away, and wait until it is gone; False where it was not there."""
        try:
            await self._carry_out("DELETE", f"global/{collection}/{name}")
        except ComputeError as error:
            if error.code == 404:
                return False
            raise
        return True

    async def _carry_out(self, method: str, path: str, body: Obj | None = None) -> None:
        operation = await self._send(method, path, body)
        deadline = self._runtime.monotonic() + _LONGEST_OPERATION_SECONDS
        while operation.get("status") != "DONE":
            if self._runtime.monotonic() > deadline:
                raise ComputeError(f"{method} {path} is not done after {_LONGEST_OPERATION_SECONDS:g} s")
            await self._runtime.sleep(_LOOK_SECONDS)
            operation = await self._send("GET", f"global/operations/{operation['name']}")
        if errors := dig(operation, "error", "errors", default=[]):
            raise ComputeError("; ".join(str(each.get("message") or each.get("code")) for each in errors))

    async def _send(self, method: str, path: str, body: Obj | None = None, query: dict[str, str] | None = None) -> Obj:
        headers = {"authorization": f"Bearer {await self._token()}", "content-type": "application/json"}
        data = orjson.dumps(body) if body is not None else None
        patience = aiohttp.ClientTimeout(total=_REQUEST_SECONDS)
        try:
            async with self._session.request(
                method, f"{self._root}/{path}", data=data, headers=headers, params=query or {}, timeout=patience
            ) as answer:
                return _understood(answer.status, await answer.read())
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ComputeError(f"the Compute API did not answer {method} {path}: {error or 'timeout'}") from error


def _understood(status: int, body: bytes) -> Obj:
    try:
        said: Any = orjson.loads(body) if body else {}
    except orjson.JSONDecodeError:
        said = None
    if status >= 400:
        message = dig(said, "error", "message", default="") or body[:200].decode(errors="replace")
        raise ComputeError(f"googleapi: Error {status}: {message}", status)
    if not isinstance(said, dict):
        raise ComputeError("the Compute API answers, but not with a JSON object")
    return said
