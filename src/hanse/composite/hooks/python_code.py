"""Loads a hook's Python code: a file, files that were sent, or an installed module; and knows when it has changed."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NamedTuple

from hanse.composite.hooks.serving import Refusal
from hanse.composite.lambdas import HOOK_MARK

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

# Not a name that anybody imports, so that the file may be called like any module that it imports.
_MAIN = "__hanse_hooks__"


class Place(NamedTuple):
    """Where code is: one of a path, the names and texts of sent files (the first is the main one), a module's name."""

    path: str = ""
    files: tuple[tuple[str, str], ...] = ()
    module: str = ""
    folders: tuple[str, ...] = ()

    @staticmethod
    def read(asked: Mapping[str, Any]) -> Place:
        """Read the place out of a question's head."""
        files = tuple((name, text) for name, text in asked.get("files", ()))
        return Place(asked.get("path", ""), files, asked.get("module", ""), tuple(asked.get("folders", ())))

    @property
    def main(self) -> str:
        """The name of the main file, as tracebacks tell it."""
        return self.path or (self.files[0][0] if self.files else "")


class Code:
    """The code of one place, loaded by its first use."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._module: ModuleType | None = None
        self._stamps: dict[str, tuple[int, int, int] | None] = {}
        self._modules_seen = 0
        sys.path[:0] = [*([os.path.dirname(place.path)] if place.path else []), *place.folders]
        if place.files:
            sys.meta_path.insert(0, _Sent(dict(place.files)))

    def changed(self) -> bool:
        """Tell whether a file that was loaded is another one by now, or gone."""
        return any(_stamp(path) != stamp for path, stamp in self._stamps.items())

    def function(self, name: str) -> Callable[[Any], Any]:
        """Return the function that is marked as this hook, else the one that is called so; raises Refusal."""
        module = self._loaded()
        marked = [each for each in vars(module).values() if getattr(each, HOOK_MARK, None) == name]
        function = marked[0] if marked else getattr(module, name, None)
        if function is None:
            raise Refusal(f'is not there; define it, or mark one with @hook("{name}")')
        if not callable(function):
            raise Refusal(f"is no function but a {type(function).__name__}")
        return function  # type: ignore[no-any-return]

    def watch(self) -> None:
        """Remember how the files of the hook's own modules look that are loaded by now; libraries are not looked at."""
        if len(sys.modules) == self._modules_seen:
            return
        self._modules_seen = len(sys.modules)
        folder = self._folder()
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if folder and isinstance(path, str) and path.startswith(folder) and path not in self._stamps:
                self._stamps[path] = _stamp(path)

    def line_of(self, error: BaseException) -> str:
        """Say where in the hook's own code an exception was raised, "" where that is not known."""
        found = ""
        trace = error.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            if self._is_own(name):
                found = f" (line {trace.tb_lineno} of {os.path.basename(name)})"
            trace = trace.tb_next
        return found

    def _is_own(self, filename: str) -> bool:
        if filename == self.place.main or filename in self._stamps:
            return True
        return any(filename == name for name, _ in self.place.files)

    def _loaded(self) -> ModuleType:
        if self._module is None:
            # What an earlier attempt missed may be there by now.
            importlib.invalidate_caches()
            self._module = importlib.import_module(self.place.module) if self.place.module else self._main()
        return self._module

    def _main(self) -> ModuleType:
        # Compiled here and not imported: what stands in a cache of compiled files knows changes by the second alone.
        place = self.place
        if place.path:
            self._stamps[place.path] = _stamp(place.path)
            try:
                with open(place.path, "rb") as file:
                    text: bytes | str = file.read()
            except OSError as error:
                raise Refusal(f"cannot be read: {error.strerror}") from None
        else:
            text = place.files[0][1]
        module = ModuleType(_MAIN)
        module.__file__ = place.main
        # Dataclasses and pickles look for the module of a class by its name.
        sys.modules[_MAIN] = module
        exec(compile(text, place.main, "exec", dont_inherit=True), vars(module))  # noqa: S102 - that is what hooks are
        return module

    def _folder(self) -> str:
        if self.place.path:
            return os.path.dirname(self.place.path) + os.sep
        top = sys.modules.get(self.place.module.partition(".")[0])
        path = getattr(top, "__file__", None) or ""
        return os.path.dirname(path) + os.sep if os.path.basename(path) == "__init__.py" else path


class _Sent:
    """Finds the modules that were sent beside the main file."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        file = f"{name}.py"
        return ModuleSpec(name, self, origin=file) if file in self._files else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        file = f"{module.__name__}.py"
        exec(compile(self._files[file], file, "exec", dont_inherit=True), vars(module))  # noqa: S102 - as above


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
