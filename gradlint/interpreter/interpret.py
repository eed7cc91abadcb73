"""One file interpreted: its top level first, then what nobody called, with arguments that are not known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import libcst as cst

from gradlint.domain.announcement import GraphsShared, Listener, ModuleMade, Returned
from gradlint.domain.event import Event
from gradlint.domain.graph import Node
from gradlint.domain.state import Frame, Names, State, fresh_address
from gradlint.domain.value import (
    Args,
    Bound,
    Class,
    External,
    Function,
    Imported,
    Instance,
    Mapping,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from gradlint.interpreter.dispatch import call_in_place
from gradlint.interpreter.escape import escape, invalidate_attributes
from gradlint.interpreter.libraries.trainers import is_configuration, run_method
from gradlint.interpreter.machine import Machine, Observer
from gradlint.interpreter.program import BUILTINS, Loaded, Loading, Program
from gradlint.interpreter.python import (  # noqa: F401 -- each registers its instructions with the machine
    attribute,
    branch,
    comparison,
    exceptions,
    generators,
    literals,
    loop,
    operators,
    subscript,
    with_statement,
)
from gradlint.interpreter.python.binding import kept_defaults, parameter, with_defaults, with_options
from gradlint.interpreter.python.classes import decorated, find_in_class, is_function_class, linear_bases
from gradlint.interpreter.python.contexts import DUAL
from gradlint.interpreter.python.instances import instantiate
from gradlint.interpreter.reachable import graphs_in
from gradlint.interpreter.torch.custom import apply
from gradlint.interpreter.torch.module_methods import set_training
from gradlint.interpreter.torch.parameters import LISTS, is_module, module_base, parameters_of
from gradlint.interpreter.torch.scaler_stages import invalidate_gradients
from gradlint.interpreter.world.imports import from_stars, imported
from gradlint.interpreter.world.placeholders import suppose_attributes, supposed_arguments, supposed_value
from gradlint.interpreter.world.second_call import Trial, attributes_kept, call_again
from gradlint.interpreter.world.templates import templates_of
from gradlint.interpreter.world.training import MAY_TRAIN
from gradlint.source.files import Files, Unit
from gradlint.source.lower import lower_module

STEPS = 4_000
"""The steps of another file's top level."""


class Interpreter(Machine):
    """A machine that can call anything, and look up any name."""

    call = call_in_place
    imported = imported

    def unbound(self, state: State, name: str, number: int) -> Value:
        """Look among star imports, builtins, and what a fragment supposes."""
        program, frame = self.program, state.frames[number]
        module = None if program.environment is None else program.environment.module(frame.file or "")
        if module is not None and program.is_bound(f"{module}.{name}"):
            return self.imported(state, Imported("", f"{module}.{name}"))
        if frame.stars:
            found = from_stars(self, state, frame, name)
            if found is not None:
                return found
        if name in BUILTINS:
            return program.external(f"builtins.{name}")
        if not frame.stars and frame.file == program.home and number == program.frame:
            found = supposed_value(self, state, program.frame, name)
            if found is not None:
                return found
        return self.symbol("global", name)


def run_file(unit: Unit, loading: Loading) -> Loaded:
    """Run the top level of another file by a machine of its own."""
    program = Program(unit.module, unit.path, loading)
    program.frame = fresh_address()
    machine = Interpreter(program, STEPS)
    state = State()
    state.enter(program.frame, Frame({"__name__": unit.path.rpartition("/")[2].removesuffix(".py")}, file=unit.path))
    with machine.bounded(1):
        ends = machine.join(machine.run(unit.code.body, [state]))
        state = ends[0] if ends else machine.exits[-1].state if machine.exits else state
    state.leave(program.frame)
    frame = state.frames[program.frame]
    for value in frame.names.values() if unit.installed else ():
        record = state.heap.get(value.id) if isinstance(value, Ref) else None
        if isinstance(value, Ref) and isinstance(record, (Sequence, Mapping)):
            state.put(value.id, record._replace(open=True))  # Other code of the package may add to it.
        invalidate_attributes(state, value)
    names: Names = {name: value for name, value in frame.names.items() if isinstance(name, str)}
    return Loaded(program.frame, {**state.frames, program.frame: frame._replace(names=names)}, state.heap)


STEPS_PER_LINE, STEPS_AT_LEAST = 8, 4_000
STEPS_TO_TRAIN = 40_000
"""At least so many for a file that backpropagates: training loops are short, and their paths many."""

SHARE = 0.35
"""How much of a file's steps its top level, or one function nobody calls, may use up."""

SHARE_TO_TRAIN, SHARE_OF_OPTIONS = 0.7, 0.05
"""The same of a function that runs a backward, and of the second run of another one."""


@dataclass(frozen=True)
class Interpretation:
    """What was seen, and what was given up: calls too deep, paths dropped, operations that are not known.

    `absences` is what did not happen, judged over all paths of this file; another file may do it all the same.
    `units` are the other files whose code was run: nodes of events may stand there. `entrances` are the calls that led
    to each function of an installed package.
    """

    events: tuple[Event, ...]
    give_ups: Counter[str]
    absences: tuple[Event, ...] = ()
    units: tuple[Unit, ...] = ()
    entrances: dict[cst.CSTNode, set[cst.CSTNode]] = field(default_factory=dict)


def interpret(
    module: cst.Module,
    lines: int | None = None,
    path: str = "",
    other_files: Files | None = None,
    listeners: Callable[[Machine], Iterable[Listener]] = lambda machine: (),
    observer: Observer | None = None,
    assumes: bool = True,
) -> Interpretation:
    """Run a module on the abstract torch. `lines` bounds the steps; without it the module is counted.

    `path` is its file, from which names are imported that `other_files` knows. `listeners` are made for the machine,
    and hear what it announces; an `observer` is shown each step. With `assumes` false nothing is taken that is not
    known: neither what a name stands for, nor that a parameter has its default.
    """
    count = lines if lines is not None else module.code.count("\n")
    loading = Loading(other_files, run_file) if other_files is not None and path else None
    program = Program(module, path, loading)
    program.may_backpropagate = _may_backpropagate(module, path, other_files)
    least = STEPS_TO_TRAIN if program.backpropagating else STEPS_AT_LEAST
    machine = Interpreter(program, max(least, STEPS_PER_LINE * count))
    machine.observer, machine.assumes = observer, assumes
    machine.listen(listeners(machine))
    state = State()
    state.enter(1, Frame({"__name__": "__main__"}, file=path))
    state = _top_level(machine, state, module)
    _uncalled(machine, state, module)
    seen, undone = machine.end(state)
    units = () if loading is None else loading.units()
    result = Interpretation(tuple(seen), machine.give_ups, tuple(undone), units, machine.entrances)
    if observer is None:
        vars(machine).clear()  # It and its listeners know each other, and nothing collects such circles meanwhile.
    return result


def _may_backpropagate(module: cst.Module, path: str, other_files: Files | None) -> bool:
    """Return whether the file itself may backpropagate; if others do, nothing here is certainly left undone."""
    own = other_files.unit(path) if other_files is not None and path else None
    return own is None or own.module is not module or MAY_TRAIN.search(own.text) is not None


def _top_level(machine: Machine, state: State, module: cst.Module) -> State:
    start = state.fork()
    with machine.bounded(SHARE * 2):
        region = machine.open(state)
        ends = machine.run(lower_module(module).body, [state])
        ends = machine.join(ends)
        machine.close(ends, region)
        if ends:
            return ends[0]
        return machine.exits[-1].state if machine.exits else start
    state.leave(1)
    # Where it was given up, blocks are open: a function that is called later runs outside of them.
    state.grad, state.blocked, state.inference, state.off = start.grad, start.blocked, start.inference, start.off
    return state


def _uncalled(machine: Machine, state: State, module: cst.Module) -> None:
    """Run the functions and methods that nothing calls, each from the state after the top level."""
    trials: list[Trial] = []
    for cls in list(machine.program.classes):
        if machine.budget <= 0:
            machine.give_up("out of steps")
            return
        trials.extend(_class(machine, state, cls))
    for function in machine.program.callers_first(machine.program.functions):
        if function.code in machine.called or function.owner is not None:
            continue
        if machine.budget <= 0:
            machine.give_up("out of steps")
            return
        _function(machine, state.fork(), decorated(state, function), Args())
        _with_options(machine, state, decorated(state, function), Args())
    for trial in trials:
        call_again(machine, trial, module)


def _with_options(machine: Machine, state: State, function: Function, args: Args) -> None:
    """Run a function once more, with other values for the parameters that have defaults, if it may then do more."""
    trains = function.code.node in machine.program.backpropagating
    kept = kept_defaults(function, trains=trains)
    least = machine.limit if trains else max(machine.limit, machine.steps // 2)
    if kept is not None and machine.assumes and machine.budget > least:
        _function(machine, state.fork(), function, args._replace(keywords=kept), options=True)


def _function(
    machine: Machine,
    state: State,
    function: Function,
    args: Args,
    *,
    options: bool = False,
    method: bool = False,
    template: bool = False,
) -> list[State]:
    """Run a function once, with arguments that are not known; return the states after it.

    Parameters have their defaults; with `options` any values. `method`: a class holds it, though it gets no object.
    `template`: it is a method of another file, and trains by what this file defines.
    """
    method = method or function.owner is not None
    if function.frame not in state.frames:
        return []
    events, backwards = len(machine.events), machine.backwards
    ends: list[State] = []
    trains = template or function.code.node in machine.program.backpropagating
    share = SHARE_TO_TRAIN if trains else SHARE_OF_OPTIONS if options else SHARE
    with machine.bounded(share), machine.assuming():
        # Between the top level and this call anything may have run.
        state.escape()
        invalidate_gradients(machine, state, function.code.node)
        state.decide(DUAL, None)  # Whoever calls it may have entered one.
        region = machine.open(state)
        supposed = supposed_arguments(machine, state, function.code.node, function, trains=template, options=options)
        given = args._replace(keywords=args.keywords | supposed)
        complete = (with_options if options else with_defaults)(machine, function, given)
        results = run_method(machine, state, function, complete)
        for end, value in results if machine.graphs_in_question else ():
            # Whoever calls the function may do anything with what it returns, and with what it was given.
            machine.announce(end, GraphsShared(function.code.node, tuple(graphs_in(end, (value, *args.positional)))))
        ends = [end for end, _ in results]
        machine.close(ends, region)
        for end, value in results:
            if not is_configuration(end, function, args.get(0, "")):
                escape(machine, end, (value,), function.code.node)
            machine.announce(end, Returned(function.code.node, method, value))
    if machine.backwards == backwards:
        machine.events[events:] = machine.sides.in_uncalled(machine.events[events:], function.code.name, method=method)
    return ends


def invalidate_since_init(machine: Machine, state: State, made: Value) -> None:
    """Forget what other methods may have changed since `__init__`: lengths, sizes, graphs, what was None or a number.

    A module without parameters of its own is made to be derived from, as one from which a class of the file derives:
    the object may be of a class that adds some.
    """
    record = state.heap.get(made.id) if isinstance(made, Ref) else None
    if not isinstance(record, Instance) or not isinstance(made, Ref):
        return
    _loosen(state, record.values(), {made.id})
    changed = record.mapped(_loosened)
    known = (cls for cls in machine.program.classes if cls.id in state.heap)
    bases = {base for cls in known for base in linear_bases(state, cls)[1:]}
    derived = is_module(state, made) and (record.cls in bases or not parameters_of(state, made)[0])
    state.put(made.id, changed._replace(open=record.open or derived))


def _loosened(value: Value) -> Value:
    return Unknown() if value is None or isinstance(value, (int, float)) else value


def _loosen(state: State, held: Iterable[Value], seen: set[int]) -> None:
    """Forget lengths, sizes and graphs of what is held, and of what containers and objects among that hold."""
    for value in held:
        one = state.heap.get(value.id) if isinstance(value, Ref) else None
        if not isinstance(value, Ref) or value.id in seen:
            continue
        seen.add(value.id)
        if isinstance(one, (Sequence, Mapping)):
            state.put(value.id, one._replace(open=True))
            _loosen(state, one.items if isinstance(one, Sequence) else one.items.values(), seen)
        elif isinstance(one, Instance) and isinstance(one.cls, Ref) and not is_module(state, value):
            state.put(value.id, one.mapped(_loosened))
            _loosen(state, one.values(), seen)
        elif isinstance(one, Instance) and not one.attrs and module_base(state, one) in LISTS:
            # An empty list of modules: another method, or that of a subclass, gives it some.
            state.put(value.id, one._replace(open=True))
        elif isinstance(one, Tensor) and one.grad is False and not one.parameter:
            # A loss that begins at zero: another method, or that of a subclass, adds to it.
            made_of = Node("input", one.syntax or one.node.syntax, tracked=None)
            state.put(value.id, one._replace(grad=None, shape=None, node=made_of))


def _custom_function(machine: Machine, state: State, cls: Ref) -> None:
    """Apply a custom function that nobody applies to arguments that are not known."""
    forward = find_in_class(state, cls, "forward")
    if isinstance(forward, Bound):
        forward = forward.function
    if not isinstance(forward, Function) or forward.code in machine.called:
        return
    if any(param.kind in ("*", "**") for param in forward.code.params):
        return
    new_style = find_in_class(state, cls, "setup_context") is not None
    params = forward.code.params if new_style else forward.code.params[1:]
    with machine.bounded(SHARE):
        region = machine.open(state)
        given = tuple(parameter(machine, state, forward, param) for param in params)
        fewest = sum(param.name not in dict(forward.defaults) for param in params)
        apply(machine, state, cls, Args(given), forward.code.node, fewest)
        machine.close([state], region)


_CLASS_METHOD = External("builtins.classmethod")
_DECORATORS = (External("builtins.staticmethod"), _CLASS_METHOD)


def _class(machine: Machine, state: State, cls: Ref) -> Iterator[Trial]:
    """Yield an object with unknown arguments, and each method of it that nothing has called."""
    record = state.heap.get(cls.id)
    if not isinstance(record, Class):
        return
    if is_function_class(state, cls):
        _custom_function(machine, state.fork(), cls)
        return
    methods = [value for value in record.attrs.values() if isinstance(value, Function)]
    unbound = [
        (value.function, Args((cls,) if value.receiver == _CLASS_METHOD else ()))
        for value in record.attrs.values()
        if isinstance(value, Bound) and value.receiver in _DECORATORS and isinstance(value.function, Function)
    ]
    if all(method.code in machine.called for method in (*methods, *(one for one, _ in unbound))):
        return
    forward = find_in_class(state, cls, "forward")
    inherited = (
        forward if isinstance(forward, Function) and forward not in methods and "__init__" in record.attrs else None
    )
    after = state.fork()
    templates = templates_of(machine, state, cls, record)
    methods = templates + methods
    machine.called.difference_update(one.code for one in templates)
    keeping: list[tuple[Function, frozenset[str]]] = []
    steps = [one for one in methods if one.code.node in machine.program.backpropagating]
    alone = {one.code for one in steps if one.code not in machine.called and one not in templates}
    training = list(steps)
    writing: list[Function] = []
    made: Value = None  # If the budget does not reach to the end of the constructor.
    with machine.bounded(SHARE), machine.assuming():
        region = machine.open(after)
        after.site = record.code.node, None
        init = record.attrs.get("__init__")
        supposed = supposed_arguments(machine, after, record.code.node, init) if isinstance(init, Function) else {}
        made = instantiate(machine, after, cls, Args((), supposed, True), record.code.node)
        machine.close([after], region)
        assumed = machine.assumed
        fresh = after.fork()
        suppose_attributes(machine, fresh, made)
        invalidate_since_init(machine, after, made)
        suppose_attributes(machine, after, made)
        if isinstance(made, Ref) and is_module(after, made):
            # The methods may be called in training or in evaluation.
            set_training(after, made, None)
            machine.announce(after, ModuleMade(record.code.node, made))
        if inherited is not None and is_module(after, made):
            methods.append(inherited)
        for method in sorted(
            machine.program.callers_first(methods), key=lambda one: not is_configuration(after, one, made)
        ):
            if (method.code in machine.called and method is not inherited) or machine.budget <= machine.limit:
                continue
            receiver = made if method.code.name not in ("__new__",) else Unknown()
            backwards, written = machine.backwards, machine.written
            ends = _function(machine, after.fork(), method, Args((receiver,)), template=method in templates)
            if method in templates:
                machine.called -= alone  # The base class may not show all that it gives to them.
            if machine.written > written and method.code.name == "forward" and is_module(after, made):
                writing.append(method)
            _with_options(machine, after, method, Args((receiver,)))
            if len(ends) == 1 and is_configuration(after, method, made):
                after = ends[0]  # Which the framework calls before all others.
            if machine.backwards > backwards and method not in steps:
                training.append(method)
            if names := attributes_kept(after, ends, made):
                keeping.append((method, names))
        for function, args in unbound:
            if function.code not in machine.called and machine.budget > machine.limit:
                _function(machine, after.fork(), function, args, method=True)
    if (keeping or training or writing) and isinstance(made, Ref):
        yield Trial(fresh, made, assumed, tuple(keeping), tuple(training), tuple(writing))
