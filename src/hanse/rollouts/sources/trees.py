"""Files in memory, by their path: what archives, ConfigMaps and folders are all read into, within limits.

Nothing that was written by somebody else reaches the disk or a program before it has passed through here: no links, no
devices, no paths that lead outside, not more bytes or files than the limits allow.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from hanse.rollouts.sources.problem import CHART_ERROR, SourceProblem
from hanse.rollouts.sources.settings import MEGABYTE, Limits

Tree = dict[str, bytes]
_BLOCK = 64 * 1024
_DEEPEST_CHARTS = 4


def safe_path(written: str) -> PurePosixPath | None:
    """Return a relative path that stays below where it starts; None for any other."""
    path = PurePosixPath(written)
    if not written or path.is_absolute() or ".." in path.parts or "\\" in written or "\0" in written:
        return None
    return path


def unpack(archive: bytes, limits: Limits, where: str) -> Tree:
    """Return the files of a tar.gz; raises SourceProblem for what is none, is too large, or holds links."""
    room = _Room(limits, where)
    tree: Tree = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(_gunzip(archive, room, where)), mode="r:") as tar:
            for member in tar:
                room.take_file()
                if member.isdir():
                    continue
                path = safe_path(member.name)
                if path is None:
                    raise SourceProblem(CHART_ERROR, f"{where} holds the path {member.name!r}, which leads out of it")
                if not member.isfile():
                    raise SourceProblem(CHART_ERROR, f"{where} holds {path}, a link or device; only files are taken")
                content = tar.extractfile(member)
                tree[str(path)] = content.read() if content is not None else b""
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise SourceProblem(CHART_ERROR, f"{where} is not a whole tar.gz archive") from error
    return tree


def unpack_charts(tree: Mapping[str, bytes], limits: Limits, where: str) -> Tree:
    """Return a chart's files with the archives of its charts/ folders unpacked, as deep as charts are nested."""
    result = dict(tree)
    for _ in range(_DEEPEST_CHARTS):
        packed = [path for path in result if path.endswith(".tgz") and PurePosixPath(path).parent.name == "charts"]
        if not packed:
            return result
        for path in packed:
            folder = path.removesuffix(".tgz")
            for name, content in below_top(unpack(result.pop(path), limits, f"{path} of {where}")).items():
                result[f"{folder}/{name}"] = content
        _Room(limits, where).take_all(result)
    raise SourceProblem(CHART_ERROR, f"{where} has charts within charts, more than {_DEEPEST_CHARTS} deep")


def below_top(tree: Mapping[str, bytes]) -> Tree:
    """Return the files of the one folder that everything is in, as charts are packed."""
    return {path.partition("/")[2]: content for path, content in tree.items() if "/" in path}


def subtree(tree: Mapping[str, bytes], path: str) -> Tree:
    """Return the files below a folder, by their paths from there; everything for ""."""
    prefix = f"{path.strip('/')}/" if path.strip("/") not in ("", ".") else ""
    return {name.removeprefix(prefix): content for name, content in tree.items() if name.startswith(prefix)}


def read_folder(root: Path, within: str, limits: Limits, where: str) -> Tree:
    """Return the files below a folder of `root`; raises SourceProblem for links and for what lies outside of it."""
    folder = place_within(root, within, where)
    if not folder.is_dir():
        raise SourceProblem(CHART_ERROR, f"{where}: there is no such folder where the control plane runs")
    room = _Room(limits, where)
    return {str(file.relative_to(folder)): _read(file, room, where) for file in _files(folder, where)}


def read_file(root: Path, within: str, limits: Limits, where: str) -> bytes:
    """Return one file below `root`; raises SourceProblem as `read_folder` does."""
    return _read(place_within(root, within, where), _Room(limits, where), where)


def place_within(root: Path, within: str, where: str) -> Path:
    """Return the path of something below `root`, reached over no link; raises SourceProblem."""
    path = safe_path(within or ".")
    if path is None:
        raise SourceProblem(CHART_ERROR, f"{where} leads outside of the folder that the control plane was given")
    current = root
    for part in path.parts:
        current = current / part
        if current.is_symlink():
            raise SourceProblem(CHART_ERROR, f"{where} leads over a link, which is not followed")
    return current


def write_tree(tree: Mapping[str, bytes], folder: Path) -> None:
    """Write the files below a folder; raises SourceProblem where their names do not go together."""
    for name, content in tree.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_bytes(content)
        except OSError as error:
            raise SourceProblem(CHART_ERROR, f"{name} cannot be written: {error.strerror}") from error


class _Room:
    """What is left of the limits."""

    def __init__(self, limits: Limits, where: str) -> None:
        self._bytes, self._files = limits.unpacked_bytes, limits.unpacked_files
        self._limits, self._where = limits, where

    def take_file(self) -> None:
        self._files -= 1
        if self._files < 0:
            raise SourceProblem(
                CHART_ERROR, f"{self._where} holds more than {self._limits.unpacked_files} files; that is too many"
            )

    def take(self, size: int) -> None:
        self._bytes -= size
        if self._bytes < 0:
            raise SourceProblem(
                CHART_ERROR,
                f"{self._where} holds more than {self._limits.unpacked_bytes // MEGABYTE} MB; that is too much",
            )

    def take_all(self, tree: Mapping[str, bytes]) -> None:
        for content in tree.values():
            self.take_file()
            self.take(len(content))


def _gunzip(archive: bytes, room: _Room, where: str) -> bytes:
    """Return what is packed, block by block: a small archive may unfold into far more than fits into memory."""
    unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    unpacked = bytearray()
    try:
        for start in range(0, len(archive), _BLOCK):
            rest = archive[start : start + _BLOCK]
            while rest and not unzip.eof:
                block = unzip.decompress(rest, _BLOCK)
                rest = unzip.unconsumed_tail
                room.take(len(block))
                unpacked += block
        unpacked += unzip.flush()
    except zlib.error as error:
        raise SourceProblem(CHART_ERROR, f"{where} is not a whole tar.gz archive") from error
    if not unzip.eof:
        raise SourceProblem(CHART_ERROR, f"{where} is not a whole tar.gz archive")
    return bytes(unpacked)


def _files(folder: Path, where: str) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names) + folders:
            path = Path(parent, name)
            if path.is_symlink():
                raise SourceProblem(
                    CHART_ERROR, f"{where} holds the link {path.relative_to(folder)}; links are not taken"
                )
            if name in names:
                yield path


def _read(path: Path, room: _Room, where: str) -> bytes:
    room.take_file()
    try:
        # Without following a link that was put there a moment ago.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise SourceProblem(CHART_ERROR, f"{where} holds {path.name}, which is no plain file")
            room.take(status.st_size)
            return file.read(status.st_size)
    except OSError as error:
        raise SourceProblem(CHART_ERROR, f"{where}: {path.name} cannot be read: {error.strerror}") from error
