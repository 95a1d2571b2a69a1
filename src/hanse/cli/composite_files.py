"""Lambda controllers out of files: the object, its code beside it, and what its kinds are without any server."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hanse.cli.failures import Misuse
from hanse.cli.yaml_files import read_manifests
from hanse.composite.reading import read_controller
from hanse.composite.spec import (
    ControllerSpec,
    Hooks,
    HookSpec,
    JsonnetSpec,
    KindRef,
    PythonSpec,
    Sort,
    SourceSpec,
    SpecProblems,
)
from hanse.kube.manifest import Obj, dig, name_of, namespace_of
from hanse.kube.resources import CONFIGMAPS, CRDS, SECRETS, Resource, gvk

# The name in a Python file under which its controller object is, and the functions that are hooks, as the API has them.
CONTROLLER = "CONTROLLER"
_FUNCTIONS = {
    "sync": "sync",
    "finalize": "finalize",
    "customize": "customize",
    "pre_update_child": "preUpdateChild",
    "post_update_child": "postUpdateChild",
    "map": "map",
    "tombstone": "tombstone",
}


@dataclass(frozen=True, slots=True)
class Local:
    """A controller out of files: the object, what it asks for with its code found here, and all else in the files."""

    controller: Obj
    spec: ControllerSpec
    manifests: tuple[Obj, ...] = ()


def read_local(path: Path, option: str) -> Local:
    """Read a controller out of a YAML file, a folder, or a Python file with its hooks; raises Misuse."""
    folder = path if path.is_dir() else path.parent
    if path.suffix == ".py":
        controller, manifests = _in_python(path, option), []
    else:
        manifests = list(read_manifests([path], option))
        controller = _only_controller(manifests, path, option)
    manifests += _definitions_beside(folder) if not path.is_dir() else []
    spec = read_controller(controller)
    if isinstance(spec, SpecProblems):
        raise Misuse(f"{option}: {path}: {'; '.join(spec.sentences)}")
    return Local(controller, _localised(spec, folder.absolute()), tuple(manifests))


def _definitions_beside(folder: Path) -> list[Obj]:
    """Return the kinds that other files of a folder define; what cannot be read there is somebody else's."""
    found: list[Obj] = []
    for path in sorted((*folder.glob("*.yaml"), *folder.glob("*.yml"))):
        try:
            found += [each for each in read_manifests([path], "-f") if each["kind"] == CRDS.kind]
        except Misuse:
            continue
    return found


def _only_controller(manifests: Sequence[Obj], path: Path, option: str) -> Obj:
    found = [each for each in manifests if each["kind"] in list(Sort)]
    if len(found) != 1:
        raise Misuse(f"{option}: {path} must have one of {', '.join(Sort)}; it has {len(found)}")
    return found[0]


def _in_python(path: Path, option: str) -> Obj:
    """Read the controller object of a Python file without running the file."""
    try:
        parsed = ast.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Misuse(f"{option}: {path} cannot be read: {error.strerror}") from error
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        raise Misuse(f"{option}: {path} is not valid Python: {error}") from error
    controller = _literal(parsed, path, option)
    spec = dict(controller.get("spec") or {})
    hooks = {name: _with_code(each, path) for name, each in (spec.get("hooks") or {}).items()}
    for name in _defined(parsed):
        hooks.setdefault(name, _with_code({}, path))
    return {**controller, "spec": {**spec, "hooks": hooks}}


def _literal(parsed: ast.Module, path: Path, option: str) -> Obj:
    for node in parsed.body:
        if not isinstance(node, ast.Assign) or CONTROLLER not in _names(node.targets):
            continue
        try:
            found = ast.literal_eval(node.value)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
        raise Misuse(f"{option}: {path}: {CONTROLLER} must be a dict of nothing but values, as it is not run")
    raise Misuse(
        f"{option}: {path} does not say what it controls; give it {CONTROLLER} = {{...}}, a controller object without "
        "spec.hooks, or name the controller's YAML file"
    )


def _names(targets: Iterable[ast.expr]) -> list[str]:
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _with_code(hook: Any, path: Path) -> Any:
    called = isinstance(hook, dict) and {"webhook", "python", "jsonnet"} & hook.keys()
    return hook if called or not isinstance(hook, dict) else {**hook, "python": {"file": str(path)}}


def _defined(parsed: ast.Module) -> Iterator[str]:
    """Yield the hooks that a file defines: functions of their names, and those marked with @hook(NAME)."""
    for node in parsed.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for name in (*_marks(node), node.name):
            if name in _FUNCTIONS:
                yield _FUNCTIONS[name]
                break


def _marks(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and len(mark.args) == 1 and isinstance(mark.args[0], ast.Constant):
            called = mark.func.attr if isinstance(mark.func, ast.Attribute) else getattr(mark.func, "id", "")
            if called == "hook":
                yield str(mark.args[0].value)


def _localised(spec: ControllerSpec, folder: Path) -> ControllerSpec:
    """Return a controller whose code is found beside its file, by relative paths or as files named like its keys."""
    hooks = {each.name: getattr(spec.hooks, each.name) for each in fields(spec.hooks)}
    found = {name: None if hook is None else _hook(hook, folder) for name, hook in hooks.items()}
    return replace(spec, hooks=Hooks(**found))


def _hook(hook: HookSpec, folder: Path) -> HookSpec:
    match hook.call:
        case PythonSpec(source=SourceSpec() as source):
            return replace(hook, call=replace(hook.call, source=_source(source, folder)))
        case JsonnetSpec() as call:
            libraries = tuple(_source(each, folder) for each in call.libraries)
            return replace(hook, call=replace(call, source=_source(call.source, folder), libraries=libraries))
        case _:
            return hook


def _source(source: SourceSpec, folder: Path) -> SourceSpec:
    if source.path:
        return replace(source, path=str(folder / source.path))
    if source.config_map is not None and (folder / source.config_map.key).is_file():
        return SourceSpec(path=str(folder / source.config_map.key))
    return source


class LocalObjects:
    """The Secrets and ConfigMaps that files have, as hooks read them."""

    def __init__(self, manifests: Iterable[Obj]) -> None:
        named = (each for each in manifests if dig(each, "metadata", "name"))
        self._found = {(gvk(each), namespace_of(each) or "default", name_of(each)): each for each in named}

    async def secret(self, namespace: str, name: str) -> Obj | None:
        """Return a Secret, None where no file has it."""
        return self._found.get(((SECRETS.group, SECRETS.version, SECRETS.kind), namespace, name))

    async def config_map(self, namespace: str, name: str) -> Obj | None:
        """Return a ConfigMap, None where no file has it."""
        return self._found.get(((CONFIGMAPS.group, CONFIGMAPS.version, CONFIGMAPS.kind), namespace, name))


class KnownKinds:
    """Which kinds the plurals in a controller mean: Kubernetes' own, those that files define, and those of objects."""

    def __init__(self, manifests: Iterable[Obj]) -> None:
        listed = list(manifests)
        self._kinds = {_ref(kind): kind for kind in (*_guessed(listed), *_builtin(), *_defined_in(listed))}

    def of(self, ref: KindRef) -> Resource:
        """Return a kind; raises Misuse where nothing tells what it is."""
        if ref not in self._kinds:
            raise Misuse(f"-f: nothing says of which kind {ref} are; give their CustomResourceDefinition with -f, too")
        return self._kinds[ref]


def _ref(kind: Resource) -> KindRef:
    return KindRef(kind.api_version, kind.plural)


def _builtin() -> Iterator[Resource]:
    from hanse.apiserver.kinds import BUILTIN

    for (group, version), entries in BUILTIN.items():
        for entry in entries:
            yield Resource(group, version, entry.plural, entry.kind, entry.namespaced)


def _defined_in(manifests: Iterable[Obj]) -> Iterator[Resource]:
    for each in manifests:
        if each["kind"] != CRDS.kind:
            continue
        names, namespaced = dig(each, "spec", "names", default={}), dig(each, "spec", "scope") == "Namespaced"
        for version in dig(each, "spec", "versions", default=()):
            yield Resource(
                dig(each, "spec", "group", default=""),
                version.get("name", ""),
                names.get("plural", ""),
                names.get("kind", ""),
                namespaced,
            )


def _guessed(manifests: Iterable[Obj]) -> Iterator[Resource]:
    """Yield the kinds of objects under every plural that English has for them."""
    for group, version, kind in {gvk(each) for each in manifests}:
        word = kind.lower()
        for plural in (f"{word}s", f"{word}es", f"{word[:-1]}ies"):
            yield Resource(group, version, plural, kind)
