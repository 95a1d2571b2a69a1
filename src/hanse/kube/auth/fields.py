"""Reading the entries of a kubeconfig field by field; whatever is wrong is said with file and field."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hanse.kube.auth.endpoint import KubeconfigError


class Fields:
    """One mapping of a kubeconfig and where it stands."""

    def __init__(self, content: Mapping[str, Any], *, source: str, where: str, folder: Path | None) -> None:
        self.source = source
        self.where = where
        self.folder = folder
        self._content = content

    def fault(self, field: str, why: str) -> KubeconfigError:
        """Make the sentence that says what is wrong with a field."""
        return KubeconfigError(f"{self.source}: {self.where}.{field} {why}")

    def __contains__(self, field: str) -> bool:
        return self._content.get(field) not in (None, "", [], {})

    def text(self, field: str, *, required: bool = False) -> str:
        """Return a string; "" where there is none."""
        value = self._content.get(field)
        if value is None or value == "":
            if required:
                raise self.fault(field, "is missing")
            return ""
        if not isinstance(value, str):
            raise self.fault(field, "must be a string")
        return value

    def header(self, field: str) -> str:
        """Return a string that will travel in an HTTP header, where a line break would end it."""
        return self._one_line(field, self.text(field))

    def flag(self, field: str) -> bool:
        """Return a boolean; False where there is none."""
        value = self._content.get(field)
        if value is None:
            return False
        # A quoted "false" is a true string: taking it for a yes could switch verification off.
        if not isinstance(value, bool):
            raise self.fault(field, "must be true or false")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of strings; empty where there is none."""
        value = self._content.get(field)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fault(field, "must be a list of strings")
        return tuple(value)

    def headers(self, field: str) -> tuple[str, ...]:
        """Return a list of strings that will travel in HTTP headers."""
        return tuple(self._one_line(field, text) for text in self.texts(field))

    def inner(self, field: str) -> Fields:
        """Return the mapping under a field; an empty one where there is none."""
        value = self._content.get(field)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise self.fault(field, "must be a mapping")
        return Fields(value, source=self.source, where=f"{self.where}.{field}", folder=self.folder)

    def inners(self, field: str) -> list[Fields]:
        """Return the mappings listed under a field; none where there is none."""
        value = self._content.get(field)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.fault(field, "must be a list of mappings")
        return [
            Fields(item, source=self.source, where=f"{self.where}.{field}[{index}]", folder=self.folder)
            for index, item in enumerate(value)
        ]

    def names(self) -> list[str]:
        """Return the names of the fields that are there."""
        return [str(name) for name in self._content]

    def value(self, field: str) -> Any:
        """Return a field of any shape, as it was written."""
        return self._content.get(field)

    def path(self, field: str) -> str:
        """Return a file name, relative to the folder of the kubeconfig; "" where there is none."""
        name = self.text(field)
        if not name:
            return ""
        if self.folder is None:
            # Whoever wrote the document would have this machine's files read and shown to a server of their choice.
            raise self.fault(field, "names a file, which only a kubeconfig that is one itself may do")
        return str(self.folder / name)

    def spelling(self, field: str) -> str:
        """Return how a value was given that may stand in the kubeconfig itself or in a file of its own."""
        return f"{field}-data" if f"{field}-data" in self or field not in self else field

    def content(self, field: str) -> bytes | None:
        """Return bytes from `FIELD-data`, else from the file that FIELD names; None where there is neither."""
        if data := self.text(f"{field}-data"):
            try:
                # Go's decoder, which kubectl uses, does not mind line breaks.
                return base64.b64decode("".join(data.split()), validate=True)
            except binascii.Error as error:
                raise self.fault(f"{field}-data", "is not base64") from error
        if path := self.path(field):
            try:
                return Path(path).read_bytes()
            except OSError as error:
                raise KubeconfigError(f"{self.source}: {self.where}.{field}: {path}: {error.strerror}") from error
        return None

    def _one_line(self, field: str, text: str) -> str:
        if any(ord(character) < 32 or ord(character) == 127 for character in text):
            raise self.fault(field, "contains a line break or another control character; remove it")
        return text
