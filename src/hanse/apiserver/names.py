"""Which names objects, labels and annotations may have, with the server's sentences for those they may not."""

from __future__ import annotations

from hanse.apiserver.status import FieldProblem, invalid_value
from hanse.kube.manifest import Obj
from hanse.kube.names import NameRule, name_problems
from hanse.kube.selectors import label_value_problems, qualified_name_problems

_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_ANNOTATIONS_LIMIT = 256 * 1024


def metadata_problems(metadata: Obj, rule: NameRule) -> list[FieldProblem]:
    """Check name, labels and annotations."""
    name = str(metadata.get("name") or "")
    prefix = str(metadata.get("generateName") or "")
    # A prefix may end with a dash: the rest of the name follows.
    stem = f"{prefix[:-1]}a" if prefix.endswith("-") else prefix
    problems = [invalid_value("metadata.generateName", prefix, told) for told in name_problems(stem, rule) if prefix]
    problems += [invalid_value("metadata.name", name, told) for told in name_problems(name, rule)]
    problems += label_problems(metadata.get("labels") or {}, "metadata.labels") + annotation_problems(metadata)
    return problems + _finalizer_problems(metadata) + _owner_problems(metadata)


def _finalizer_problems(metadata: Obj) -> list[FieldProblem]:
    problems = []
    for place, name in enumerate(metadata.get("finalizers") or ()):
        field = f"metadata.finalizers[{place}]"
        problems += [invalid_value("metadata.finalizers", name, told) for told in qualified_name_problems(name)]
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            told = "name is neither a standard finalizer name nor is it fully qualified"
            problems.append(invalid_value(field, name, told))
    return problems


def _owner_problems(metadata: Obj) -> list[FieldProblem]:
    problems = []
    controllers = []
    for owner in metadata.get("ownerReferences") or ():
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                told = "version must not be empty" if name == "apiVersion" else "must not be empty"
                problems.append(invalid_value(f"metadata.ownerReferences.{name}", owner.get(name) or "", told))
        if owner.get("controller"):
            controllers.append(owner)
    if len(controllers) > 1:
        first, second = (f"{one.get('kind')}/{one.get('name')}" for one in controllers[:2])
        told = (
            f'Only one reference can have Controller set to true. Found "true" in references for {first} and {second}'
        )
        problems.append(invalid_value("metadata.ownerReferences", metadata["ownerReferences"], told))
    return problems


def label_problems(labels: dict[str, str], field: str) -> list[FieldProblem]:
    """Check the keys and values of a label map."""
    problems = []
    for key, value in labels.items():
        problems += [invalid_value(field, key, told) for told in qualified_name_problems(key)]
        problems += [invalid_value(field, value, told) for told in label_value_problems(value)]
    return problems


def annotation_problems(metadata: Obj, field: str = "metadata.annotations") -> list[FieldProblem]:
    """Check the keys of annotations and their size together."""
    annotations: dict[str, str] = metadata.get("annotations") or {}
    problems = []
    size = 0
    for key, value in annotations.items():
        problems += [invalid_value(field, key, told) for told in qualified_name_problems(key.lower())]
        size += len(key) + len(value)
    if size > _ANNOTATIONS_LIMIT:
        told = f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes"
        problems.append(FieldProblem(field, "FieldValueTooLong", told))
    return problems
