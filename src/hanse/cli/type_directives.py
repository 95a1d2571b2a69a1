"""What somebody asks for who enables a federated type: on the command line, or in a file as kubefedctl takes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hanse.api.kubefed.forms import FORM_D, Form, chosen_form
from hanse.cli.failures import Misuse
from hanse.cli.yaml_files import read_yaml
from hanse.kube.manifest import dig


@dataclass(frozen=True, slots=True)
class TypeDirective:
    """A kind by what people type, and the group and version that its federated type gets."""

    kind: str
    version: str = ""
    """The version of the kind itself; "" for the one that the host prefers."""
    federated_group: str = FORM_D.group
    federated_version: str = FORM_D.version

    @property
    def form(self) -> Form:
        """The form in which its objects are written."""
        return chosen_form(self.federated_group, self.federated_version)


def directive_of(kind: str, path: Path | None, federated_group: str, federated_version: str) -> TypeDirective:
    """Return what was asked for; raises Misuse where it is not clear."""
    if bool(kind) == (path is not None):
        raise Misuse("name one kind to enable, e.g. `hanse enable widgets.example.com`, or give a file with -f")
    if path is None:
        directive = TypeDirective(
            kind,
            federated_group=federated_group or FORM_D.group,
            federated_version=federated_version or FORM_D.version,
        )
    elif federated_group or federated_version:
        raise Misuse("-f: the file says the group and version; leave out --federated-group and --federated-version")
    else:
        directive = _read(path)
    if "." not in directive.federated_group:
        raise Misuse(f"--federated-group: {directive.federated_group!r} must be a domain with a dot in it")
    return directive


def _read(path: Path) -> TypeDirective:
    document: Any = read_yaml(path, "-f")
    name = dig(document, "metadata", "name", default="")
    if dig(document, "kind") != "EnableTypeDirective" or not name:
        raise Misuse(f"-f: {path} must be an EnableTypeDirective whose metadata.name is a kind, e.g. deployments.apps")
    return TypeDirective(
        name,
        dig(document, "spec", "targetVersion", default=""),
        dig(document, "spec", "federatedGroup", default=FORM_D.group),
        dig(document, "spec", "federatedVersion", default=FORM_D.version),
    )
