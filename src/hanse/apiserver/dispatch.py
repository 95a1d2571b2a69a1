"""From a request to its answer: who asks, what for, may they, and which verb does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hanse.apiserver import admission, status
from hanse.apiserver.answers import Answer, AnyAnswer
from hanse.apiserver.authorization import Attributes, authorize, forbidden
from hanse.apiserver.computed import read_computed
from hanse.apiserver.core import Call, Core
from hanse.apiserver.identity import ANONYMOUS, Identity
from hanse.apiserver.impersonation import act_as
from hanse.apiserver.plain_paths import answer_plain_path, is_public
from hanse.apiserver.requests import Options, ResourcePath, parse_path, verb_of
from hanse.apiserver.storage import OutOfSpace, StorageError
from hanse.apiserver.verbs import (
    backup,
    create,
    delete,
    patch,
    pod_streams,
    proxy,
    read,
    reviews,
    scale,
    subresources,
    token,
    update,
    watch,
)
from hanse.kube.errors import ApiError
from hanse.kube.log import Log
from hanse.kube.transport import Request

_log = Log(__name__)

SIZE_LIMIT = 3 * 1024 * 1024

Verb = Callable[[Call], Awaitable[AnyAnswer]]
_OBJECT_VERBS: dict[str, Verb] = {
    "get": read.get,
    "list": read.list_objects,
    "watch": watch.watch,
    "create": create.create,
    "update": update.update,
    "patch": patch.patch,
    "delete": delete.delete,
    "deletecollection": delete.delete_collection,
}
_OPTION_KINDS = {
    "create": "CreateOptions",
    "update": "UpdateOptions",
    "patch": "PatchOptions",
    "delete": "DeleteOptions",
    "deletecollection": "DeleteOptions",
}
_PART_VERBS: dict[tuple[str, str], Verb] = {
    ("scale", "get"): scale.get_scale,
    ("scale", "update"): scale.update_scale,
    ("scale", "patch"): scale.patch_scale,
    ("binding", "create"): subresources.bind,
    ("eviction", "create"): subresources.evict,
    ("finalize", "update"): subresources.finalize,
    ("log", "get"): pod_streams.log,
    ("exec", "get"): pod_streams.execute,
    ("exec", "create"): pod_streams.execute,
    ("attach", "get"): pod_streams.attach,
    ("attach", "create"): pod_streams.attach,
    ("portforward", "get"): pod_streams.forward,
    ("portforward", "create"): pod_streams.forward,
    ("token", "create"): token.token_request,
    **{("proxy", verb): proxy.proxy for verb in ("create", "delete", "get", "patch", "update")},
}


async def dispatch(core: Core, request: Request, identity: Identity) -> AnyAnswer:
    """Answer a request; every refusal, and every failure of the server itself, becomes a Status."""
    try:
        return await _answer(core, request, identity)
    except ApiError as error:
        return Answer(error.code, status.status_body(error))
    except OutOfSpace as error:
        _log.error("The store is full", server=core.name, error=str(error))
        return Answer(500, status.status_body(status.failure(500, "", "etcdserver: mvcc: database space exceeded")))
    except StorageError as error:
        _log.error("A write could not be stored", server=core.name, error=str(error))
        return _failed(str(error))
    except RecursionError:
        return Answer(400, status.status_body(status.bad_request("the request is nested too deeply")))
    except Exception as error:  # noqa: BLE001 - the process edge: a fault in one request must not end the server
        _log.error("A request failed inside the server", server=core.name, path=request.path, exc_info=error)
        return _failed("the request failed inside the server")


def _failed(message: str) -> Answer:
    return Answer(500, status.status_body(status.internal(message)))


async def _answer(core: Core, request: Request, identity: Identity) -> AnyAnswer:
    if len(request.body) > SIZE_LIMIT:
        raise status.too_large(SIZE_LIMIT)
    options = Options(request.query)
    path = parse_path(request.path)
    if path is None or not path.plural:
        return await _answer_plain(core, request, identity)
    verb = verb_of(request.method, path, options)
    identity = _authorized(core, request, identity, _asked(path, verb))
    served = core.registry.find(path.group, path.version, path.plural)
    if served is None:
        if path.group not in core.registry.groups():
            return Answer(404, b"404 page not found\n", "text/plain; charset=utf-8")
        raise status.no_such_resource()
    # A single-object watch (`watch=true` on a name) is a watch of the collection for that name.
    if verb == "get" and options.flag("watch"):
        verb = "watch"
    if verb in _OPTION_KINDS:
        options.check_write(_OPTION_KINDS[verb])
    call = Call(core, identity, request, path, options, served, verb)
    if served.bucket == "core/endpoints":
        call.warnings.append("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
    if served.definition.get("deprecationWarning"):
        call.warnings.append(served.definition["deprecationWarning"])
    try:
        return await _verb_for(call)(call)
    except ApiError as error:
        return Answer(error.code, status.status_body(error), warnings=tuple(call.warnings))


async def _answer_plain(core: Core, request: Request, identity: Identity) -> AnyAnswer:
    if not is_public(request.path):
        _authorized(core, request, identity, Attributes(request.method.lower(), path=request.path))
    if (request.method, request.path) == ("GET", backup.PATH):
        return await backup.backup(core)
    return answer_plain_path(core, request)


def _asked(path: ResourcePath, verb: str) -> Attributes:
    return Attributes(verb, path.group, path.plural, path.subresource, path.namespace, path.name)


def _authorized(core: Core, request: Request, identity: Identity, asked: Attributes) -> Identity:
    """Return whom the request acts as, or refuse it."""
    if identity == ANONYMOUS:
        raise status.unauthorized()
    identity = act_as(core, request.headers, identity, asked)
    if not identity.is_master and not authorize(core, identity, asked).allowed:
        raise forbidden(identity, asked)
    return identity


def _verb_for(call: Call) -> Verb:
    part = call.path.subresource
    if part:
        return _part_verb(call, part)
    if call.verb not in call.served.resource.verbs and call.verb in _OBJECT_VERBS:
        raise status.method_not_allowed()
    review = reviews.REVIEWS.get(call.served.resource.kind) if call.verb == "create" else None
    if review is not None and not call.served.custom:
        return review
    if call.served.bucket == "core/bindings":
        return subresources.bind
    if call.served.bucket in call.core.computed:
        return read_computed
    verb = _OBJECT_VERBS.get(call.verb)
    # Objects of a namespaced kind are written within a namespace; across all of them they are only read.
    across = call.served.resource.namespaced and not call.path.namespace
    if verb is None or (across and call.verb not in ("list", "watch", "deletecollection")):
        raise status.method_not_allowed()
    if (call.verb == "create" and call.path.name) or (call.verb in ("update", "patch") and not call.path.name):
        raise status.method_not_allowed()
    if call.verb == "delete":
        admission.check_namespace_may_go(call)
    return verb


def _part_verb(call: Call, part: str) -> Verb:
    known = call.served.subresources.get(part)
    if known is None:
        raise (
            status.not_found(call.served.resource, call.path.name) if call.served.custom else status.no_such_resource()
        )
    if call.verb not in known.verbs:
        raise status.method_not_allowed()
    special = _PART_VERBS.get((part, call.verb))
    return special or _OBJECT_VERBS[call.verb]
