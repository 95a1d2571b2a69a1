"""What is being admitted: one operation on one object, by whom and how."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hanse.apiserver import negotiation
from hanse.apiserver.core import Call, Core
from hanse.apiserver.identity import Identity
from hanse.apiserver.registry import Served
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import gvk

_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


@dataclass(frozen=True, slots=True)
class Attributes:
    """One operation on its way through admission; objects are in the version of `served`."""

    operation: str
    served: Served
    subresource: str
    kind: tuple[str, str, str]
    namespace: str
    """Where the object lies; for a Namespace, its own name."""
    name: str
    object: Obj | None
    old: Obj | None
    options: Obj
    dry_run: bool
    identity: Identity

    @property
    def resource(self) -> tuple[str, str, str]:
        """Group, version and plural name of the resource."""
        resource = self.served.resource
        return resource.group, resource.version, resource.plural

    @property
    def is_namespace(self) -> bool:
        """Whether the object is a Namespace."""
        return self.served.bucket == "core/namespaces"

    @property
    def is_exempt(self) -> bool:
        """Whether the object itself configures admission, which nothing configured may then prevent."""
        return self.served.resource.group == "admissionregistration.k8s.io"


def attributes_of(
    call: Call, obj: Obj | None, old: Obj | None, *, subresource: str = "", options: Obj | None = None
) -> Attributes:
    """Describe a write for admission; both objects are in the served version."""
    operation = "DELETE" if obj is None else "UPDATE" if old is not None else "CREATE"
    resource = call.served.resource
    kind = (resource.group, resource.version, resource.kind)
    if subresource == "scale" and obj is not None:
        from hanse.apiserver.verbs.scale import scale_of

        obj, old = scale_of(call, obj), scale_of(call, old or obj)
        kind = gvk(obj)
    # A name that the server is still to make up is not there yet, and a collection has none.
    name = call.path.name or str(dig(obj or {}, "metadata", "name", default=""))
    if call.verb == "deletecollection":
        name = ""
    return _attributes(call, operation, subresource, kind, name, obj, old, options)


def part_attributes(call: Call, obj: Obj, operation: str) -> Attributes:
    """Describe what was sent to a subresource that takes a kind of its own: a Binding, the options of exec."""
    options: Obj | None = {} if operation == "CONNECT" else None
    return _attributes(call, operation, call.path.subresource, gvk(obj), call.path.name, obj, None, options)


def _attributes(
    call: Call,
    operation: str,
    subresource: str,
    kind: tuple[str, str, str],
    name: str,
    obj: Obj | None,
    old: Obj | None,
    options: Obj | None,
) -> Attributes:
    return Attributes(
        operation,
        call.served,
        subresource,
        kind,
        name if call.served.bucket == "core/namespaces" else call.namespace,
        name,
        obj,
        old,
        options if options is not None else _options(call, operation),
        call.options.dry_run or bool((options or {}).get("dryRun")),
        call.identity,
    )


def _options(call: Call, operation: str) -> Obj:
    # A patch is admitted as the creation or update that it amounts to.
    options: Obj = {"kind": _OPTIONS.get(operation, ""), "apiVersion": "meta.k8s.io/v1"}
    if call.options.dry_run:
        options["dryRun"] = ["All"]
    for name in ("fieldManager", "fieldValidation"):
        if call.options.text(name):
            options[name] = call.options.text(name)
    return options


def delete_options(call: Call) -> Obj:
    """Return the options of a deletion as its request gave them."""
    given = negotiation.read_body(call.request.body, call.request.headers) if call.request.body else {}
    if not isinstance(given, dict) or given.get("kind", "DeleteOptions") != "DeleteOptions":
        given = {}
    options: Obj = {**given, "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    if call.options.dry_run:
        options["dryRun"] = ["All"]
    if call.options.text("propagationPolicy"):
        options.setdefault("propagationPolicy", call.options.text("propagationPolicy"))
    return options


def equivalents(core: Core, attributes: Attributes) -> list[Attributes]:
    """Return the same operation as the other versions of the resource show it."""
    others = [
        one for one in core.registry.all() if one.bucket == attributes.served.bucket and one is not attributes.served
    ]
    return [_converted(core, attributes, other) for other in others]


def _converted(core: Core, attributes: Attributes, other: Served) -> Attributes:
    resource = other.resource
    if attributes.kind[2] != attributes.served.resource.kind:
        return replace(attributes, served=other)
    return replace(
        attributes,
        served=other,
        kind=(resource.group, resource.version, resource.kind),
        object=in_version(core, attributes.object, attributes.served, other),
        old=in_version(core, attributes.old, attributes.served, other),
    )


def in_version(core: Core, obj: Obj | None, present: Served, wanted: Served) -> Obj | None:
    """Return an object of one version as another version of the same kind shows it."""
    if obj is None or present is wanted:
        return obj
    if present.conversion is not None:
        stored = core.registry.of_bucket(present.bucket) or present
        obj = {**present.conversion.to_stored(obj), **_typed(stored)}
    if wanted.conversion is not None:
        obj = wanted.conversion.from_stored(obj)
    return {**obj, **_typed(wanted)}


def _typed(served: Served) -> Obj:
    return {"kind": served.resource.kind, "apiVersion": served.resource.api_version}


def admission_request(attributes: Attributes, asked: Attributes, uid: str = "") -> Obj:
    """Return the `request` of a review: `asked` is what the client sent, `attributes` what the rule matched."""
    identity = attributes.identity
    request: Obj = {"uid": uid} if uid else {}
    request |= {
        "kind": _named(attributes.kind, "kind"),
        "resource": _named(attributes.resource, "resource"),
        "subResource": attributes.subresource,
        "requestKind": _named(asked.kind, "kind"),
        "requestResource": _named(asked.resource, "resource"),
        "requestSubResource": asked.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation,
        "userInfo": {
            "username": identity.user,
            "uid": identity.uid,
            "groups": list(identity.all_groups()),
            "extra": {name: list(values) for name, values in identity.extra.items()},
        },
        "dryRun": attributes.dry_run,
        # A connection has no options beside those that it consists of.
        "options": attributes.options or None,
    }
    return request


def _named(parts: tuple[str, str, str], last: str) -> dict[str, str]:
    return dict(zip(("group", "version", last), parts, strict=True))
