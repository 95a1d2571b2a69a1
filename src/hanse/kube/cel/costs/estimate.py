"""The least and the most that an expression can cost, by one walk through it.

The rules are those of cel-go's estimator: a variable and a field cost one, a loop costs its body for every element,
a branch costs the dearer side. Paths (`self`, `items`, `@items`, `name`) lead from a node to what is known of its size.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from hanse.kube.cel.costs.amounts import MOST, NOTHING, ONE, Range, exactly
from hanse.kube.cel.costs.calls import Sized, call_charge
from hanse.kube.cel.syntax import (
    Call,
    Comprehension,
    Constant,
    ListLiteral,
    MapLiteral,
    Name,
    Node,
    Select,
    Type,
)

Path = tuple[str, ...]
_LIST, _MAP, _MESSAGE = exactly(10), exactly(30), exactly(40)
_SCALARS = ("bool", "int", "uint", "double", "timestamp", "duration")
_ACCUMULATORS = ("@result", "__result__")


class Sizes(Protocol):
    """Who knows how large the values are that an expression is asked about."""

    @property
    def unknown(self) -> Range:
        """The size of whatever no path leads to."""
        ...

    def of(self, path: Path) -> Range | None:
        """Return the size of what a path leads to; None where nothing is known."""
        ...


@dataclass(frozen=True, slots=True)
class _Entry:
    """How large the keys and values of a container are that the expression itself made."""

    is_list: bool
    key: Range
    value: Range


@dataclass(frozen=True, slots=True)
class _Local:
    """A variable of a loop or of cel.bind."""

    path: Path
    size: Range | None = None
    entry: _Entry | None = None


def estimate(tree: Node, sizes: Sizes) -> Range:
    """Return what an expression costs at least and at most."""
    return _Walk(sizes).cost(tree)


@dataclass(slots=True)
class _Walk:
    known: Sizes
    paths: dict[int, Path] = field(default_factory=dict)
    results: dict[int, Range] = field(default_factory=dict)
    entries: dict[int, _Entry] = field(default_factory=dict)
    locals: dict[str, list[_Local]] = field(default_factory=dict)

    def cost(self, node: Node) -> Range:
        match node:
            case Name():
                local = self._local(node)
                self.paths[node.number] = local.path if local is not None else (node.name,)
                return ONE
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case Comprehension():
                return self._bind(node) if _is_bind(node) else self._loop(node)
            case _:
                return NOTHING

    def _select(self, node: Select) -> Range:
        cost = self.cost(node.operand)
        if node.test:
            return cost
        self.paths[node.number] = (*self._path(node.operand), node.field)
        return cost + ONE if node.operand.type.kind in ("map", "message", "dyn") else cost

    def _call(self, node: Call) -> Range:
        if node.function == "dyn" and len(node.args) == 1:
            cost = ONE + self.cost(node.args[0])
            self._same_size(node, node.args[0])
            return cost
        costs = [self.cost(one) for one in node.args]
        cost = self.cost(node.target) if node.target is not None else NOTHING
        if not node.overloads:
            return NOTHING
        target = self._sized(node.target) if node.target is not None else None
        args = tuple(self._sized(one) for one in node.args)
        calls, result = Range(MOST, 0), None
        for overload in node.overloads:
            charge, size = self._overload(node, overload, target, args, costs)
            calls |= charge
            result = size if result is None else result | size if size is not None else result
            if overload in ("index_list", "index_map") and node.args:
                entry = self._entry(node.args[0])
                self.paths[node.number] = (
                    *self._path(node.args[0]),
                    "@items" if overload == "index_list" else "@values",
                )
                result = entry.value if entry is not None else None
            result = result if result is not None else self._size(node)
        if result is not None:
            self.results[node.number] = result
        return cost + calls

    def _overload(
        self, node: Call, overload: str, target: Sized | None, args: tuple[Sized, ...], costs: list[Range]
    ) -> tuple[Range, Range | None]:
        """Return what one overload costs with its arguments, and the size of what it gives."""
        if overload in ("logical_or", "logical_and"):
            # The other side may never be asked.
            return Range(costs[0].least, sum(costs, NOTHING).most), None
        if overload == "conditional":
            self._union_entries(node, *node.args[1:])
            return costs[0] + (costs[1] | costs[2]), args[1].size | args[2].size
        if overload.startswith("add_") and len(node.args) == 2:
            self._union_entries(node, *node.args)
        charge = call_charge(node.function, overload, target, args)
        return sum(costs, charge.cost), charge.result

    def _list(self, node: ListLiteral) -> Range:
        cost, size = _LIST, Range(MOST if node.elements else 0, 0)
        for element in node.elements:
            cost += self.cost(element)
            size |= self._size(element) or self.known.unknown
        self.entries[node.number] = _Entry(is_list=True, key=ONE, value=size)
        return cost

    def _map(self, node: MapLiteral) -> Range:
        cost = _MESSAGE if node.message else _MAP
        keys = values = Range(MOST if node.entries else 0, 0)
        for key, value in node.entries:
            if key is not None:
                cost += self.cost(key)
                keys |= self._size(key) or self.known.unknown
            cost += self.cost(value)
            values |= self._size(value) or self.known.unknown
        if not node.message:
            self.entries[node.number] = _Entry(is_list=False, key=keys, value=values)
        return cost

    def _loop(self, node: Comprehension) -> Range:
        cost = self.cost(node.over) + self.cost(node.start)
        self._push(node.result_name, _Local(self._path(node.start), self._size(node.start), self._entry(node.start)))
        over, entry = self._path(node.over), self._entry(node.over)
        is_list = entry.is_list if entry is not None else node.over.type.kind == "list"
        values = _Local((*over, "@items" if is_list else "@values"), entry.value if entry else None)
        keys = _Local((*over, "@indices" if is_list else "@keys"), entry.key if entry else None)
        self._push(node.variable, keys if node.second or not is_list else values)
        if node.second:
            self._push(node.second, values)
        each = self.cost(node.condition) + self.cost(node.step)
        for name in (node.variable, node.second):
            if name:
                self.locals[name].pop()
        cost += self.cost(node.result)
        self.locals[node.result_name].pop()
        count = self._size(node.over) or self.known.unknown
        self._loop_size(node, count)
        return cost + count * each

    def _loop_size(self, node: Comprehension, count: Range) -> None:
        if isinstance(node.start, Constant):
            size = self._size(node.start)
            if size is not None:
                self.results[node.number] = size
        elif isinstance(node.start, ListLiteral | MapLiteral):
            self.results[node.number] = count
            entry = self._entry(node.step)
            if entry is not None:
                self.entries[node.number] = entry

    def _bind(self, node: Comprehension) -> Range:
        cost = self.cost(node.over) + self.cost(node.start)
        self._push(node.result_name, _Local(self._path(node.start), self._size(node.start), self._entry(node.start)))
        cost += self.cost(node.result)
        # The name goes out of scope with its size, so the size is taken while it is known.
        self._same_size(node, node.result)
        self.locals[node.result_name].pop()
        return cost

    def _push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _local(self, node: Node) -> _Local | None:
        held = self.locals.get(node.name) if isinstance(node, Name) else None
        return held[-1] if held else None

    def _path(self, node: Node) -> Path:
        local = self._local(node)
        return local.path if local is not None else self.paths.get(node.number, ())

    def _entry(self, node: Node) -> _Entry | None:
        found = self.entries.get(node.number)
        local = self._local(node)
        return found if found is not None or local is None else local.entry

    def _size(self, node: Node) -> Range | None:
        found = self.results.get(node.number)
        if found is None:
            found = _literal_size(node)
        if found is None:
            path = self._path(node)
            found = self.known.of(path) if path and path[0] not in _ACCUMULATORS else None
        if found is None and _is_scalar(node.type):
            found = ONE
        if found is None:
            local = self._local(node)
            found = local.size if local is not None else None
        return found

    def _sized(self, node: Node) -> Sized:
        path, unknown = self._path(node), self.known.unknown
        elements = self.known.of((*path, "@items")) if path else None
        return Sized(node.type, self._size(node) or unknown, elements or unknown, node)

    def _same_size(self, node: Node, source: Node) -> None:
        size, entry = self._size(source), self._entry(source)
        if size is not None:
            self.results[node.number] = size
        if entry is not None:
            self.entries[node.number] = entry

    def _union_entries(self, node: Node, left: Node, right: Node) -> None:
        one, other = self._entry(left), self._entry(right)
        if one is not None and other is not None:
            self.entries[node.number] = _Entry(one.is_list, one.key | other.key, one.value | other.value)


def _is_bind(node: Comprehension) -> bool:
    empty = isinstance(node.over, ListLiteral) and not node.over.elements
    never = isinstance(node.condition, Constant) and node.condition.value is False
    return empty and never and node.result_name not in _ACCUMULATORS


def _literal_size(node: Node) -> Range | None:
    match node:
        case Constant(value=str() | bytes() as value):
            return exactly(len(value))
        case Constant():
            return ONE
        case ListLiteral(elements=elements):
            return exactly(len(elements))
        case MapLiteral(entries=entries, message=""):
            return exactly(len(entries))
        case _:
            return None


def _is_scalar(kind: Type) -> bool:
    if kind.kind == "optional" and kind.params:
        return _is_scalar(kind.params[0])
    return kind.kind in _SCALARS
