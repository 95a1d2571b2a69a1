"""get and list."""

from __future__ import annotations

import base64
import binascii

import orjson

from hanse.apiserver import objects, representation, status
from hanse.apiserver.answers import Answer, answer_stored, finish, form_of
from hanse.apiserver.core import Call
from hanse.apiserver.selection import matcher_of
from hanse.apiserver.storage import Compacted, Record
from hanse.kube.manifest import Obj
from hanse.kube.selectors import FieldSelector

_TOKEN_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


async def get(call: Call) -> Answer:
    """Answer with one object."""
    parse_version(call.options.text("resourceVersion"))
    record = call.core.record(call.served, call.namespace, call.path.name)
    if record is None:
        raise status.not_found(call.served.resource, call.path.name)
    return answer_stored(call, record.value)


async def list_objects(call: Call) -> Answer:
    """Answer with the objects of a kind, all or a page of them, now or at a revision."""
    page = _page_of(call)
    matches = matcher_of(call)
    records = _records(call, page)
    chosen: list[bytes] = []
    limit = call.options.number("limit")
    if call.options.text("resourceVersion") == "0":
        # Any state will do, and upstream has one at hand that it does not cut into pages.
        limit = 0
    form = form_of(call)
    # Lists of custom kinds come from another list type upstream, which always names its continuation.
    metadata: Obj = {"continue": ""} if call.served.custom and not form.view else {}
    metadata["resourceVersion"] = str(page.revision)
    for place, record in enumerate(records):
        if matches is not None and not matches(record.value):
            continue
        if limit and len(chosen) == limit:
            metadata["continue"] = _continue_token(page.revision, record.path)
            # With a selector the server cannot know how many of the rest would match.
            if matches is None:
                metadata["remainingItemCount"] = len(records) - place
            break
        chosen.append(record.value)
    body = representation.many(call.served, chosen, form, metadata, call.core.runtime.now())
    return finish(call, form, body)


class _Page:
    __slots__ = ("exact", "revision", "start")

    def __init__(self, revision: int, start: str, *, exact: bool) -> None:
        self.revision = revision
        self.start = start
        self.exact = exact


def _page_of(call: Call) -> _Page:
    if call.options.given("sendInitialEvents"):
        problem = status.forbidden_value("sendInitialEvents", "sendInitialEvents is forbidden for list")
        raise status.invalid("meta.k8s.io", "ListOptions", "", [problem])
    current = call.core.storage.revision
    token, version = call.options.text("continue"), call.options.text("resourceVersion")
    match = call.options.text("resourceVersionMatch")
    _check_match(match, version, token)
    if token:
        if version not in ("", "0"):
            raise status.bad_request("specifying resource version is not allowed when using continue")
        revision, start = _read_token(token)
        return _Page(revision if revision > 0 else current, start, exact=revision > 0)
    if match != "Exact":
        _check_not_future(version, current)
        return _Page(current, "", exact=False)
    return _Page(_check_not_future(version, current), "", exact=True)


def _check_match(match: str, version: str, token: str) -> None:
    if not match:
        return
    field, problems = "resourceVersionMatch", []
    if not version:
        problems.append(
            status.forbidden_value(field, "resourceVersionMatch is forbidden unless resourceVersion is provided")
        )
    if token:
        problems.append(status.forbidden_value(field, "resourceVersionMatch is forbidden when continue is provided"))
    if match not in ("Exact", "NotOlderThan"):
        problems.append(status.unsupported_value(field, match, ("Exact", "NotOlderThan", "")))
    elif match == "Exact" and version == "0":
        told = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        problems.append(status.forbidden_value(field, told))
    if problems:
        raise status.invalid("meta.k8s.io", "ListOptions", "", problems)


def _check_not_future(version: str, current: int) -> int:
    revision = parse_version(version)
    if revision > current:
        details = {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}
        details["retryAfterSeconds"] = 1  # type: ignore[assignment]
        raise status.failure(504, "Timeout", f"Too large resource version: {revision}, current: {current}", details)
    return revision


def parse_version(text: str) -> int:
    """Read a resourceVersion, 0 where none is given; raises 400 on anything but a number."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        problem = status.invalid_value("resourceVersion", text, f'strconv.ParseUint: parsing "{text}": invalid syntax')
        raise status.bad_request(f"invalid resource version: {problem.field}: {problem.message}")
    return int(text)


def _records(call: Call, page: _Page) -> list[Record]:
    storage, bucket = call.core.storage, call.served.bucket
    prefix = f"{call.namespace}/" if call.namespace else ""
    exact = _exact_name(call)
    if exact is not None and not page.exact:
        record = storage.get(bucket, exact)
        return [record] if record else []
    if not page.exact or page.revision == storage.revision:
        records = storage.scan(bucket, prefix)
    else:
        try:
            records = storage.scan_at(bucket, prefix, page.revision)
        except Compacted as error:
            raise _expired(call, page, error) from None
    if page.start:
        return [record for record in records if record.path >= page.start]
    return records


def _exact_name(call: Call) -> str | None:
    # `kubectl get x -w` and single-object informers list by name: no need to look at the others.
    fields = call.options.text("fieldSelector")
    if not fields or call.options.text("labelSelector") or (call.served.resource.namespaced and not call.namespace):
        return None
    try:
        name = FieldSelector.parse(fields).exact("metadata.name")
    except ValueError:
        return None
    return objects.path_of(call.namespace, name) if name else None


def _expired(call: Call, page: _Page, error: Compacted) -> Exception:
    if not call.options.text("continue"):
        return status.expired(f"The resourceVersion for the provided list is too old. ({error.asked})")
    refusal = status.expired(_TOKEN_EXPIRED)
    refusal.status["metadata"] = {"continue": _continue_token(-1, page.start)}
    return refusal


def _continue_token(revision: int, start: str) -> str:
    token = {"v": "meta.k8s.io/v1", "rv": revision, "start": start}
    return base64.urlsafe_b64encode(orjson.dumps(token)).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    try:
        decoded = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(decoded["rv"]), str(decoded["start"])
    except (binascii.Error, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        raise status.bad_request("invalid continue token: continue key is not valid") from None
