"""Rules of a pod's volumes, and of the sources that persistent volumes share with them."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.builtin import environment, field_rules
from hanse.apiserver.status import FieldProblem, duplicate_value, forbidden_value, invalid_value, required_value
from hanse.kube.manifest import Obj
from hanse.kube.names import name_problems
from hanse.kube.quantities import parse_quantity

_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_SHORTEST_TOKEN_SECONDS = 600
_PROJECTED = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
# In the order in which a server looks for them; the second one that it finds is the one too many.
_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
    "azureFile", "azureDisk", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "scaleIO", "storageos",
    "configMap", "projected", "csi", "ephemeral", "image", "local", "flexVolume",
)  # fmt: skip


def volume_problems(spec: Obj, field: str, problems: list[FieldProblem]) -> set[str]:
    """Check a pod's volumes and return their names."""
    names: set[str] = set()
    for place, volume in enumerate(spec.get("volumes") or ()):
        if not isinstance(volume, dict):
            continue
        name, at = str(volume.get("name") or ""), f"{field}[{place}]"
        problems += source_problems(volume, at)
        if not name:
            problems.append(required_value(f"{at}.name"))
        else:
            problems += [invalid_value(f"{at}.name", name, told) for told in name_problems(name, "label")]
        if name in names:
            problems.append(duplicate_value(f"{at}.name", name))
        names.add(name)
    return names


def source_problems(volume: Obj, field: str) -> list[FieldProblem]:
    """Check what a volume is made of: exactly one thing, with what that needs."""
    given = [name for name in _SOURCES if isinstance(volume.get(name), dict)]
    problems = []
    for place, name in enumerate(given):
        if place:
            problems.append(forbidden_value(f"{field}.{name}", "may not specify more than 1 volume type"))
        else:
            problems += _source(name, volume[name], f"{field}.{name}")
    return problems


def _source(kind: str, source: Obj, field: str) -> list[FieldProblem]:
    match kind:
        case "configMap":
            return _required(source, field, "name") + _files(source, field)
        case "secret":
            return _required(source, field, "secretName") + _files(source, field)
        case "downwardAPI":
            return _mode(source.get("defaultMode"), f"{field}.defaultMode") + _downward(source, field)
        case "projected":
            return _mode(source.get("defaultMode"), f"{field}.defaultMode") + _projected(source, field)
        case "hostPath":
            return _host_path(source, field)
        case "emptyDir":
            return _empty_dir(source, field)
    needed = {"persistentVolumeClaim": ("claimName",), "nfs": ("server", "path"), "csi": ("driver",)}
    return _required(source, field, *needed.get(kind, ()))


def _required(source: Obj, field: str, *names: str) -> list[FieldProblem]:
    return [required_value(f"{field}.{name}") for name in names if not source.get(name)]


def _mode(mode: Any, field: str) -> list[FieldProblem]:
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid_value(field, mode, _MODE)]


def _files(source: Obj, field: str) -> list[FieldProblem]:
    problems = _mode(source.get("defaultMode"), f"{field}.defaultMode")
    for place, item in enumerate(source.get("items") or ()):
        at = f"{field}.items[{place}]"
        problems += _required(item, at, "key") + _path(item, at) + _mode(item.get("mode"), f"{at}.mode")
    return problems


def _path(item: Obj, field: str) -> list[FieldProblem]:
    path = str(item.get("path") or "")
    if not path:
        return [required_value(f"{field}.path")]
    problems = relative_path_problems(f"{field}.path", path)
    if not problems and path.startswith(".."):
        problems.append(invalid_value(f"{field}.path", path, "must not start with '..'"))
    return problems


def relative_path_problems(field: str, path: str) -> list[FieldProblem]:
    """Check a path that must stay below where it begins."""
    problems = [invalid_value(field, path, "must be a relative path")] if path.startswith("/") else []
    return problems + no_climbing(field, path)


def no_climbing(field: str, path: str) -> list[FieldProblem]:
    """Check that a path has no part that leads upwards."""
    return [invalid_value(field, path, "must not contain '..'")] if ".." in path.split("/") else []


def _downward(source: Obj, field: str) -> list[FieldProblem]:
    problems = []
    for place, item in enumerate(source.get("items") or ()):
        problems += _path(item, f"{field}.items[{place}]") if not item.get("path") else []
        if isinstance(item.get("fieldRef"), dict):
            problems += environment.field_path_problems(item["fieldRef"], f"{field}.fieldRef", environment.IN_FILES)
        if isinstance(item.get("resourceFieldRef"), dict):
            problems += environment.amount_problems(item["resourceFieldRef"], f"{field}.resourceFieldRef")
        problems += _mode(item.get("mode"), f"{field}.mode")
    return problems


def _projected(source: Obj, field: str) -> list[FieldProblem]:
    problems = []
    for place, one in enumerate(source.get("sources") or ()):
        at = f"{field}.sources[{place}]"
        given = [name for name in _PROJECTED if isinstance(one.get(name), dict)]
        if given:
            problems += _projection(given[0], one[given[0]], f"{at}.{given[0]}", field)
        if len(given) > 1:
            problems.append(forbidden_value(at, "may not specify more than 1 volume type per source"))
    return problems


def _projection(kind: str, source: Obj, field: str, above: str) -> list[FieldProblem]:
    match kind:
        case "secret" | "configMap":
            return _required(source, field, "name") + _files(source, field)
        case "downwardAPI":
            return _downward(source, field)
        case "serviceAccountToken":
            seconds, problems = source.get("expirationSeconds"), []
            if seconds is not None and seconds < _SHORTEST_TOKEN_SECONDS:
                told = "may not specify a duration less than 10 minutes"
                problems.append(invalid_value(f"{field}.expirationSeconds", seconds, told))
            return problems + _required(source, above, "path")
    return []


def _host_path(source: Obj, field: str) -> list[FieldProblem]:
    path = str(source.get("path") or "")
    problems = no_climbing(f"{field}.path", path) if path else [required_value(f"{field}.path")]
    return problems + field_rules.one_of(f"{field}.type", source.get("type") or "", _HOST_PATH_TYPES)


def _empty_dir(source: Obj, field: str) -> list[FieldProblem]:
    limit = source.get("sizeLimit")
    if limit is not None and parse_quantity(str(limit)) < 0:
        return [forbidden_value(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []
