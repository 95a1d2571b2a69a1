"""The schema of a hook: how it is called, and how the two sides know each other.

Metacontroller's webhooks with Metacontroller's defaults; Python and Jsonnet stand beside them, and are Hanse's own.
What could never be called is refused when it is written, with a sentence. Every rule is compiled for every hook of
every kind, so only mistakes that are easily made have one; the others are told where a controller is read, as
Metacontroller does with all of them.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import record, text

ONE_WAY = "give one of webhook, python and jsonnet, and not several"
AN_ADDRESS = "give url, or both service and path"
ONE_CA = "give exactly one of inline, secretRef and configMapRef"
ONE_CREDENTIAL = "give either authorization or basicAuth, and not both"
NOT_BASIC = "must not be Basic: write basicAuth for that"
ONE_PYTHON_SOURCE = "give exactly one of file, configMap, inline and module"
ONE_SOURCE = "give exactly one of file, configMap and inline"
ONE_LIBRARY = "give either file or configMap"

_ADDED = "(Hanse's own, optional)"
_LONGEST_NAME = 253
# Far more hosts than any controller calls; the cost of the rules below is reckoned with it.
_MOST_ENDPOINTS = 256
_IDENTIFIER = "^[A-Za-z_][A-Za-z0-9_]*$"
_DOTTED = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$"


def rule(expression: str, message: str) -> dict[str, Any]:
    """Return the part of a schema that refuses what an expression does not hold for."""
    return {"x-kubernetes-validations": [{"rule": expression, "message": message}]}


def _count(*fields: str) -> str:
    """Return the expression that counts how many of some fields are given."""
    return " + ".join(f"(has(self.{field}) ? 1 : 0)" for field in fields)


def number(description: str, **rules: object) -> dict[str, Any]:
    """Return the schema of a 32-bit number."""
    return {"type": "integer", "format": "int32", "description": description, **rules}


def flag(description: str) -> dict[str, Any]:
    """Return the schema of a boolean."""
    return {"type": "boolean", "description": description}


def listed(description: str, items: dict[str, Any], **rules: object) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "description": description, "items": items, **rules}


def _named(description: str) -> dict[str, Any]:
    return text(description, maxLength=_LONGEST_NAME)


def _timeout(description: str) -> dict[str, Any]:
    return text(f"{description}, such as 500ms, 10s or 1m30s; 10s where absent or not above zero", format="duration")


def _reference(what: str, key: dict[str, Any] | None = None, *, key_needed: bool = False) -> dict[str, Any]:
    fields = {"name": _named(f"The {what}'s name"), "namespace": _named(f"The {what}'s namespace")}
    needed = ["name", "namespace", "key"] if key_needed else ["name", "namespace"]
    return record({**fields, **({"key": key} if key else {})}, f"Which {what}", required=needed)


_CA_KEY = text("The key that holds the certificates", default="ca.crt", maxLength=_LONGEST_NAME)
_CA_BUNDLE = record(
    {
        "inline": text("The certificates themselves, as PEM"),
        "secretRef": _reference("Secret", _CA_KEY),
        "configMapRef": _reference("ConfigMap", _CA_KEY),
    },
    "The authorities that the server's certificate is checked with, in place of the system's",
)
_CLIENT_TLS = record(
    {
        "secretRef": _reference("Secret"),
        "certKey": text("The key that holds the certificate", default="tls.crt"),
        "privateKeyKey": text("The key that holds the private key", default="tls.key"),
    },
    "The certificate that is shown to the server",
    required=["secretRef"],
)
_AUTHORIZATION = record(
    {
        "type": text(
            "The scheme of the Authorization header, before the credential; basicAuth is for Basic", default="Bearer"
        ),
        "secretRef": _reference("Secret", _named("The key that holds the credential"), key_needed=True),
    },
    "The credential that every request carries",
    required=["secretRef"],
)
_BASIC_AUTH = record(
    {
        "secretRef": _reference("Secret"),
        "usernameKey": text("The key that holds the name; no colon may be in it", default="username"),
        "passwordKey": text("The key that holds the password", default="password"),
    },
    "The name and the password that every request carries",
    required=["secretRef"],
)
_ENDPOINT: dict[str, Any] = {
    "caBundle": _CA_BUNDLE,
    "clientTLS": _CLIENT_TLS,
    "authorization": _AUTHORIZATION,
    "basicAuth": _BASIC_AUTH,
}
_CREDENTIAL_RULE = "!(has(self.authorization) && has(self.basicAuth))"

ENDPOINT_CONFIGS = listed(
    "How hosts are trusted and how they know us; a webhook that says any of it itself goes by that alone",
    record(
        {
            "host": text("The host of the webhooks that this is for, with its port where it is not the usual"),
            **_ENDPOINT,
        },
        required=["host"],
        **rule(_CREDENTIAL_RULE, ONE_CREDENTIAL),
    ),
    maxItems=_MOST_ENDPOINTS,
)

_SERVICE = record(
    {
        "name": _named("The Service's name"),
        "namespace": _named("The Service's namespace"),
        "port": number("Its port; 80 where absent"),
        "protocol": text("http or https; http where absent"),
    },
    "The Service behind which the hook is, where no url is given",
    required=["name", "namespace"],
)
_ETAG = record(
    {
        "enabled": flag("Whether answers are kept by their ETag, and asked for only when they have changed"),
        "cacheTimeoutSeconds": number("How long an answer is kept; for ever where absent or 0"),
        "cacheCleanupSeconds": number("How often old answers are thrown away; taken, and not needed here"),
    },
    "Keeping answers",
)
_WEBHOOK = record(
    {
        "url": text("The address that is called; it wins over service and path"),
        "service": _SERVICE,
        "path": text("The path at the Service"),
        "timeout": _timeout("How long an answer may take"),
        "etag": _ETAG,
        "responseUnMarshallMode": text(
            "Whether fields that nobody knows are an error: loose where absent under v1, strict under v2",
            enum=["loose", "strict"],
        ),
        **_ENDPOINT,
    },
    "A hook that is called by HTTP",
    **{
        "x-kubernetes-validations": [
            {"rule": "has(self.url) || (has(self.service) && has(self.path))", "message": AN_ADDRESS},
            {"rule": _CREDENTIAL_RULE, "message": ONE_CREDENTIAL},
        ]
    },
)

_SOURCES: dict[str, Any] = {
    "file": text("A file of the machine on which the controllers run", minLength=1),
    "configMap": _reference(
        "ConfigMap", _named("The key that holds the code; the other keys are files beside it"), key_needed=True
    ),
}
_CODE: dict[str, Any] = {**_SOURCES, "inline": text("The code itself", minLength=1)}


def _limits(memory: str) -> dict[str, Any]:
    quantity = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
        "description": f"How much memory it may take; {memory} where absent",
    }
    return {"timeout": _timeout("How long a call may take"), "memory": quantity}


_PYTHON = record(
    {
        **_CODE,
        "module": text("An installed module", pattern=_DOTTED),
        "function": text("The function that is called; named as the hook where absent", pattern=_IDENTIFIER),
        **_limits("256Mi"),
    },
    f"A hook that is a Python function, in a process of its own {_ADDED}",
    **rule(f"{_count('file', 'configMap', 'inline', 'module')} == 1", ONE_PYTHON_SOURCE),
)
_LIBRARY = record(_SOURCES)
_JSONNET = record(
    {**_CODE, "libraries": listed("What it imports", _LIBRARY, maxItems=64), **_limits("512Mi")},
    f"A hook that is a Jsonnet function, in a process of its own {_ADDED}",
    **rule(f"{_count('file', 'configMap', 'inline')} == 1", ONE_SOURCE),
)

# A hook with no way to call it is taken, as Metacontroller takes it: it is never called.
_ONE_WAY_RULE = f"{_count('webhook', 'python', 'jsonnet')} <= 1"


def hook(description: str) -> dict[str, Any]:
    """Return the schema of one hook."""
    return record(
        {
            "version": text("In which form it is told of objects", enum=["v1", "v2"], default="v1"),
            "webhook": _WEBHOOK,
            "python": _PYTHON,
            "jsonnet": _JSONNET,
        },
        description,
        **rule(_ONE_WAY_RULE, ONE_WAY),
    )
