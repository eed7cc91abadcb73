"""The program around the machine: names that the file imports, its functions and classes, and what is opaque."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Iterable
from operator import is_
from typing import TYPE_CHECKING, Any

import libcst as cst

from gradlint.domain.announcement import Escaped, GradientTested, GraphsEscaped, GraphsShared
from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import Frame, State
from gradlint.domain.value import (
    External,
    Function,
    Imported,
    Instance,
    Mapping,
    NoGradient,
    Ref,
    Tensor,
    Unknown,
    Value,
)
from gradlint.interpreter.args import Args
from gradlint.interpreter.contents import all_attributes, contents
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.annotations import annotated
from gradlint.interpreter.torch.names import star_names
from gradlint.interpreter.torch.switches import thaw
from gradlint.interpreter.world.imports import UNITS, Loaded, Loading, binds, from_stars, imported
from gradlint.source.core import Import, Param

if TYPE_CHECKING:
    from gradlint.interpreter.world.fragment import Fragment

_BUILTINS = frozenset(dir(builtins)) | {"reveal"}

_CANONICAL = (
    (re.compile(r"torch\.nn\.modules\.\w+\.(\w+)$"), r"torch.nn.\1"),
    (re.compile(r"torch\.nn\.parameter\.(\w+)$"), r"torch.nn.\1"),
    (re.compile(r"torch\.autograd\.variable\.Variable$"), "torch.autograd.Variable"),
    (re.compile(r"torch\.optim\.[a-z_0-9]+\.([A-Z]\w*)$"), r"torch.optim.\1"),
    (re.compile(r"torch\.functional\.(\w+)$"), r"torch.\1"),
    (re.compile(r"torch\.autograd\.grad_mode\.(\w+)$"), r"torch.\1"),
    (re.compile(r"torch\.(?:functional|_tensor)\.Tensor$"), "torch.Tensor"),
)
"""Other paths to the same thing; the schedulers keep theirs, for they are known by their module."""


class Program:
    """What one file defines, and how its names are resolved: in the file, in its neighbours, in libraries.

    `walks_back`: the file may name `backward`.
    """

    def __init__(self, nowhere: cst.CSTNode, home: str = "", loading: Loading | None = None) -> None:
        self.nowhere = nowhere
        self.home = home
        self.walks_back = True
        self.frame = 1
        self.loading = loading
        self.admitted: dict[str, Loaded | None] = {}
        self.functions: list[Function] = []
        self.classes: list[Ref] = []
        self._externals: dict[str, External] = {}
        self._fragment: Fragment | None = None

    # Names.

    def external(self, path: str) -> External:
        """The imported thing at a path; other paths to the same thing give the same value."""
        found = self._externals.get(path)
        if found is None:
            canonical = path
            if path.startswith("torch.") and "lr_scheduler" not in path and "swa_utils" not in path:
                for pattern, target in _CANONICAL:
                    canonical = pattern.sub(target, canonical)
            found = self._externals[path] = External(canonical)
        return found

    def unbound(self, machine: Machine, state: State, name: str, number: int) -> Value:
        """A name that no scope of the program binds: from a star import, a builtin, or unknown.

        The frame `number` is the outermost one, the file's.
        """
        frame = state.frames[number]
        if frame.stars:
            found = from_stars(machine, state, frame, name)
            if found is not None:
                return found
        if name in _BUILTINS:
            return self.external(f"builtins.{name}")
        if not frame.stars and frame.file == self.home and number == self.frame:
            from gradlint.interpreter.world.fragment import supposed

            found = supposed(machine, state, self.frame, name)
            if found is not None:
                return found
        return machine.symbol("global", name)

    def fragment(self) -> Fragment:
        """The names of this file that nothing binds."""
        from gradlint.interpreter.world.fragment import Fragment

        if self._fragment is None:
            assert isinstance(self.nowhere, cst.Module)
            self._fragment = Fragment(self.nowhere)
        return self._fragment

    def from_star(self, path: str, name: str) -> External | None:
        """What `from path import *` of a part of torch binds a name to."""
        return self.external(f"{path}.{name}") if name in star_names(path) else None

    # Other files.

    def module_frame(self, name: str) -> Frame:
        """A file's own frame, as its code begins."""
        return Frame({"__name__": name}, file=self.home)

    def file_of(self, state: State, instr: Import) -> str | None:
        """The file of the program that an import leads to; None for a library's."""
        importer = self.module_of(state)
        if self.loading is None or not importer:
            return None
        return self.loading.neighbours.find(importer, instr.path, instr.level)

    def below(self, path: str, name: str) -> str | None:
        """The file of a module inside a package."""
        return None if self.loading is None else self.loading.neighbours.below(path, name)

    def loaded(self, path: str, give_ups: Counter[str]) -> Loaded | None:
        """What another file leaves behind, asked for once; None where it is not known."""
        if self.loading is not None and path not in self.admitted:
            if len(self.admitted) < UNITS:
                self.admitted[path] = self.loading.load(path)
            else:
                give_ups["imports not followed"] += 1
        return self.admitted.get(path)

    def imported(self, machine: Machine, state: State, name: Imported) -> Value:
        """The value of a name that another file of the program binds."""
        return imported(machine, state, name)

    def may_bind(self, path: str, name: str) -> bool:
        """Whether a file may bind a name at its top level."""
        unit = None if self.loading is None else self.loading.neighbours.unit(path)
        return unit is not None and binds(unit, name, builtin=name in _BUILTINS)

    def closure(self, state: State) -> int:
        """The frame that a function defined here closes over: the nearest that is no class body."""
        number, frame = state.frame, state.frames[state.frame]
        while frame.of_class and frame.outer is not None:
            number, frame = frame.outer, state.frames[frame.outer]
        state.frames[number] = frame._replace(captured=True)
        return number

    def module_of(self, state: State) -> str:
        """The file whose code is running."""
        frame = state.frames[state.frame]
        while frame.outer is not None:
            frame = state.frames[frame.outer]
        return self.home if frame.file is None else frame.file

    def defined(self, function: Function) -> None:
        """Remember a function of this file, to be interpreted with unknown arguments if nobody calls it."""
        if function.module == self.home:
            self.functions.append(function)

    def defined_class(self, cls: Ref, module: str) -> None:
        """Remember a class of this file."""
        if module == self.home:
            self.classes.append(cls)

    # Values.

    def pairs(self, state: State, value: Value) -> dict[Any, Value] | None:
        """The items of a mapping whose keys are all known."""
        if isinstance(value, Ref):
            record = state[value]
            if isinstance(record, Mapping) and not record.open:
                return dict(record.items)
        return None

    def new_mapping(self, state: State, items: dict[str, Value], is_open: bool) -> Ref:
        """A dict."""
        pairs: dict[Value, Value] = dict(items.items())
        return state.new(Mapping(pairs, is_open))

    def parameter(self, machine: Machine, state: State, function: Function, param: Param) -> Value:
        """A parameter that no argument is known for: what annotation and default say of it."""
        value = annotated(machine, state, param)
        if value is not None:
            return value
        default = dict(function.defaults).get(param.name)
        if isinstance(default, bool):
            return Unknown("bool", syntax=param.node)
        if isinstance(default, (int, float)):
            return Unknown("number", syntax=param.node)
        if isinstance(default, str):
            return Unknown("str", syntax=param.node)
        return Unknown(syntax=param.node)

    def opaque(self, machine: Machine, state: State, values: Iterable[Value], node: cst.CSTNode) -> Value:
        """The result of a call that is not known: it may depend on everything that went in.

        A decorator that is not known is taken to leave the function as it is.
        """
        values = tuple(values)
        if type(node) is cst.Decorator and len(values) == 1:
            return values[0]
        machine.announce(state, Escaped(node, values))
        let_go(machine, state, values, node)
        if machine.frozen:
            thaw(machine, state, values)
        for receiver in machine.hooked_elsewhere:
            forget_attributes(state, receiver)
        for value in values:
            if type(value) is NoGradient and _asserts(node):
                machine.announce(state, GradientTested(node, value.read, asserted=True))
            forget_attributes(state, value)
        given = origins(state, values)
        machine.announce(state, GraphsShared(node, given))
        edges = [Edge(origin, None) for origin in given]
        if any(edge.node.live for edge in edges):
            state.escape()
            return Unknown(None, Node("call", node, edges, tracked=None), None, node)
        return Unknown(syntax=node)

    def library_call(self, machine: Machine, state: State, path: str, args: Args, node: cst.CSTNode) -> Value:
        """A call of a library other than torch."""
        from gradlint.interpreter.libraries.model_zoos import makes_network, new_network
        from gradlint.interpreter.libraries.table import LIBRARIES
        from gradlint.interpreter.world.fragment import UNSEEN, make_unseen

        known = LIBRARIES.get(path) or LIBRARIES.get(f"{path.partition('.')[0]}.*")
        if known is not None:
            return known(machine, state, args, node)
        if path.startswith(UNSEEN):
            return make_unseen(machine, state, node)
        if makes_network(path):
            return new_network(machine, state, node)
        return self.opaque(machine, state, args.values(), node)


def _asserts(node: cst.CSTNode) -> bool:
    """Whether a call is an assertion of a test: `self.assertIsNone(...)`."""
    func = node.func if isinstance(node, cst.Call) else None
    name = func.attr if isinstance(func, cst.Attribute) else func
    return isinstance(name, cst.Name) and name.value.startswith("assert")


def forget_attributes(state: State, value: Value, depth: int = 3) -> None:
    """Something unknown was given an object: what stands in its attributes, and in its parts', may be another now."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if not isinstance(record, Instance) or not isinstance(record.cls, Ref) or not isinstance(value, Ref):
        return
    if record.module.uninitialised:
        record = record._replace(module=record.module._replace(uninitialised=False))
        state.put(value.id, record)
    changed = record.mapped(lambda one: _forgotten(state, one))
    if not all(map(is_, changed.values(), record.values())):
        state.put(value.id, changed)
    if depth:
        for one in record.values():
            forget_attributes(state, one, depth - 1)


def _forgotten(state: State, value: Value) -> Value:
    if isinstance(value, Ref):
        record = state.heap.get(value.id)
        return Unknown() if isinstance(record, Tensor) and not record.parameter and record.node.live else value
    return Unknown() if value is None or isinstance(value, (int, float)) else value


def origins(state: State, values: Iterable[Value]) -> list[Node]:
    """The graphs behind values, looked for in what they hold too, up to `MOST_GRAPHS`."""
    found: dict[Node, None] = {}
    for value in contents(state, values, all_attributes, calls=True):
        # By its use something unknown may be a tensor, which has a history of its own.
        shown = (state.tensor_of(value) or value) if isinstance(value, Unknown) else value
        record = state.heap.get(shown.id) if isinstance(shown, Ref) else shown
        if isinstance(record, Tensor):
            found[record.node] = None
        elif isinstance(record, Unknown) and record.origin is not None:
            found[record.origin] = None
        if len(found) == MOST_GRAPHS:
            break
    return list(found)


MOST_GRAPHS = 24
"""How many graphs the result of an unknown call is taken to depend on: a network would bring all its parameters."""


def let_go(machine: Machine, state: State, values: Iterable[Value], node: cst.CSTNode | None = None) -> None:
    """Values go where gradlint does not look: whatever hangs on them may be backpropagated or changed there."""
    escaped = machine.escaped

    def is_gone(ref: Ref) -> bool:
        return escaped.get(ref.id) is state.heap.get(ref.id)

    graphs: list[Node] = []
    for value in contents(state, values, all_attributes, calls=True, skip=is_gone):
        if isinstance(value, Ref):
            record = escaped[value.id] = state.heap.get(value.id)
            if isinstance(record, Tensor):
                graphs.append(record.node)
        elif isinstance(value, Unknown) and value.origin is not None:
            graphs.append(value.origin)
    if graphs:
        machine.announce(state, GraphsEscaped(node or machine.program.nowhere, graphs))
