"""From a URL path and query to what is asked: which kind, which object, which verb, with which options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hanse.apiserver import status
from hanse.kube.transport import Query

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_MANAGER_LIMIT = 128
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_WRITE_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class ResourcePath:
    """What a path under /api or /apis names."""

    group: str
    version: str
    namespace: str = ""
    plural: str = ""
    name: str = ""
    subresource: str = ""
    # What follows `proxy`, as the client wrote it.
    below: str = ""


def parse_path(path: str) -> ResourcePath | None:
    """Read a resource path; None where the path is not under /api/V or /apis/G/V."""
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 2 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 3 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    # `namespaces/x/finalize` and `/status` are subresources of the Namespace itself, not kinds within it.
    if len(rest) >= 3 and rest[0] == "namespaces" and not (len(rest) == 3 and rest[2] in ("finalize", "status")):
        namespace, rest = rest[1], rest[2:]
    elif len(rest) >= 2 and rest[0] == "namespaces":
        namespace = rest[1]
    if len(rest) > 3 and rest[2] == "proxy":
        below = path.partition(f"/{rest[1]}/proxy")[2]
        return ResourcePath(group, version, namespace, rest[0], rest[1], "proxy", below)
    if len(rest) > 3:
        return ResourcePath(group, version, namespace, rest[0], rest[1], "/".join(rest[2:]))
    plural, name, subresource = (*rest, "", "", "")[:3]
    below = "/" if subresource == "proxy" and path.endswith("/") else ""
    return ResourcePath(group, version, namespace, plural, name, subresource, below)


def verb_of(method: str, path: ResourcePath, options: Options) -> str:
    """Return the verb that authorization and routing know."""
    if method in ("GET", "HEAD"):
        if path.name:
            return "get"
        return "watch" if options.flag("watch") else "list"
    if method == "DELETE" and not path.name:
        return "deletecollection"
    return _WRITE_VERBS.get(method, method.lower())


class Options:
    """The query of a request, read with the API's own names."""

    __slots__ = ("_values",)

    def __init__(self, query: Query) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in query:
            self._values.setdefault(name, []).append(value)

    def text(self, name: str) -> str:
        """Return a parameter's first value, "" where it is absent."""
        return self._values.get(name, [""])[0]

    def flag(self, name: str) -> bool:
        """Tell whether a boolean parameter is set; present without a value means true, as upstream reads it."""
        if name not in self._values:
            return False
        value = self._values[name][0]
        return value in _TRUE or not value

    def given(self, name: str) -> bool:
        """Tell whether a parameter is present at all."""
        return name in self._values

    def number(self, name: str) -> int:
        """Return an integer parameter, 0 where it is absent or not a number."""
        text = self.text(name)
        try:
            return int(text) if text else 0
        except ValueError:
            raise status.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None

    @property
    def dry_run(self) -> bool:
        """Whether nothing shall be stored."""
        return any(self._values.get("dryRun", []))

    def check_write(self, kind: str) -> None:
        """Refuse a write whose options have values that they cannot have; `kind` names the options in the refusal."""
        problems = []
        values = [value for value in self._values.get("dryRun", []) if value]
        if any(value != "All" for value in values):
            problems.append(status.unsupported_value("dryRun", values, ("All",)))
        manager = self.text("fieldManager")
        if len(manager.encode()) > _MANAGER_LIMIT:
            told = f"Too long: may not be more than {_MANAGER_LIMIT} bytes"
            problems.append(status.FieldProblem("fieldManager", "FieldValueTooLong", told))
        elif not manager.isprintable():
            problems.append(status.invalid_value("fieldManager", manager, "should only contain printable characters"))
        validation = self.text("fieldValidation")
        if validation not in _VALIDATIONS:
            problems.append(status.unsupported_value("fieldValidation", validation, _VALIDATIONS))
        if problems:
            raise status.invalid("meta.k8s.io", kind, "", problems)

    def all(self, name: str) -> list[str]:
        """Return every value of a parameter that may be given more than once."""
        return self._values.get(name, [])

    def as_mapping(self) -> Mapping[str, str]:
        """Return each parameter's first value."""
        return {name: values[0] for name, values in self._values.items()}
