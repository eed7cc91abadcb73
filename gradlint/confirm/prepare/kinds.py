"""What an unknown value may be, judged by what the program does with it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from gradlint.facts.table import load
from gradlint.facts.traits import FACTORIES, FROM_SIZES
from gradlint.interpreter.world import guesses


class Parents(dict[ast.AST, ast.AST]):
    """The parent of each node of a tree, and the names of the methods that its classes define."""

    def __init__(self, tree: ast.AST) -> None:
        super().__init__((child, node) for node in ast.walk(tree) for child in ast.iter_child_nodes(node))
        self.methods = frozenset(
            node.name
            for node, above in self.items()
            if isinstance(node, ast.FunctionDef) and isinstance(above, ast.ClassDef)
        )


NAMESPACE = "namespace"
"""Kind of what is only a bag of attributes: each of them is made up for itself."""

INSTANCE = "instance"
"""Kind of what has methods that a class of the program defines."""


_Votes: TypeAlias = "Iterable[tuple[str, int]]"


def _table(votes: Mapping[str, _Votes]) -> Mapping[str, _Votes]:
    """Return the votes of each word."""
    return {word: found for words, found in votes.items() for word in words.split()}


_ATTRIBUTES = _table(
    {
        "parameters named_parameters modules children state_dict load_state_dict train eval forward": [("module", 4)],
        "apply buffers": [("module", 4)],
        "step param_groups": [("optimizer", 4)],
        "zero_grad": [("optimizer", 2), ("module", 2)],
        "append extend insert popleft appendleft": [("list", 4)],
        "weight bias": [("tensor", 1), ("module", 2)],
        "to cuda cpu device": [("tensor", 1), ("module", 1)],
    }
)
_CALLED = _table(
    {
        "items keys values get update setdefault": [("dict", 4)],
        "startswith endswith lower upper strip format join replace": [("str", 2)],
        "backward item detach numpy tolist requires_grad_ retain_grad register_hook size dim numel": [("tensor", 4)],
    }
)
_READ = _table(
    {"shape grad grad_fn requires_grad data dtype is_leaf T mT H ndim _version is_cuda real imag": [("tensor", 4)]}
)
_KEYWORDS = _table(
    {
        "device": [("device", 5)],
        "dim axis": [("int", 3)],
        "retain_graph create_graph requires_grad inplace keepdim training": [("bool", 4)],
        "dataset": [("dataset", 5)],
        "dtype": [("dtype", 5)],
        "sampler batch_sampler collate_fn generator worker_init_fn": [("none", 6)],
    }
)
_ARGUMENTS = _table(
    {"range": [("int", 5)], "int float": [("float", 1)], "len": [("list", 1)], "str print isinstance": []}
    | {"zip": [("list", 1), ("tensor", 1)]}
)
_SIZES = FROM_SIZES | FACTORIES | {"randint", "randperm"}


def kinds_of(text: str, scope: Iterable[ast.AST], parents: Parents) -> tuple[str, ...]:
    """Return the kinds for which the uses of an expression speak, the likeliest first."""
    uses = (
        node
        for node in scope
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and _is(node, text)
    )
    return kinds_at(uses, parents) or guesses.kinds(text.rpartition(".")[2])


def kinds_at(places: Iterable[ast.expr], parents: Parents) -> tuple[str, ...]:
    """Return the kinds that some places speak for."""
    votes: Counter[str] = Counter()
    for kind, weight in (vote for node in places for vote in _votes(node, parents)):
        votes[kind] += weight
    return tuple(kind for kind, _ in votes.most_common())


def _is(node: ast.expr, text: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == text
    return isinstance(node, ast.Attribute) and text.endswith(f".{node.attr}") and ast.unparse(node) == text


def _votes(node: ast.expr, parents: Parents) -> _Votes:
    """Return what the place of a node speaks for, and how much."""
    parent = parents.get(node)
    match parent:
        case ast.Attribute():
            return _attribute(parent, parents)
        case ast.Call():
            return _call(node, parent, parents)
        case ast.keyword():
            name = parent.arg or ""
            return [("float", 4)] if guesses.is_number(name) else _KEYWORDS.get(name, [("int", 1), ("float", 1)])
        case ast.For() | ast.comprehension():
            return _iterated(parent) if parent.iter is node else []
        case ast.Assign(targets=[ast.Tuple(elts) | ast.List(elts), *_]) if parent.value is node:
            return [({2: "pair", 3: "triple"}.get(len(elts), "list"), 5)]
        case ast.Subscript():
            return _subscript(node, parent, parents)
        case ast.BinOp():
            above = parents.get(parent)
            counts = isinstance(above, ast.Call) and isinstance(above.func, ast.Name) and above.func.id == "range"
            return [("int", 5)] if counts else [("tensor", 1), ("float", 1)]
    return _BY_PARENT.get(type(parent), ())


def _attribute(parent: ast.Attribute, parents: Parents) -> _Votes:
    name, called = parent.attr, isinstance(parents.get(parent), ast.Call)
    found = _ATTRIBUTES.get(name) or (_CALLED if called else _READ).get(name)
    if found is not None:
        return found
    if called and load().find(f"Tensor.{name}") is not None:
        return [("tensor", 3)]
    if called and name in parents.methods:
        return [(INSTANCE, 4)]
    return [(NAMESPACE, 5)]


def _call(node: ast.expr, parent: ast.Call, parents: Parents) -> _Votes:
    if parent.func is node:
        return _called(node, parent, parents.get(parent))
    function = ast.unparse(parent.func)
    head, _, name = function.rpartition(".")
    if name in _ARGUMENTS:
        return _ARGUMENTS[name]
    if name == "DataLoader" and parent.args[:1] == [node]:
        return [("dataset", 6)]
    if name == "enumerate":
        return _iterated(parents.get(parent), second=True)
    if "optim" in head and name[:1].isupper():
        return [("parameters", 3)]
    if name in _SIZES or (name[:1].isupper() and head.rpartition(".")[2] in ("nn", "N")):
        return [("int", 4)]
    if load().find(name) is not None or head in ("F", "torch", "nn.functional"):
        first = bool(parent.args) and parent.args[0] is node
        return [("tensor", 3 if first else 1), *([] if first else [("target", 1), ("float", 1), ("int", 1)])]
    return []


def _called(node: ast.expr, parent: ast.Call, above: ast.AST | None) -> _Votes:
    if isinstance(above, (ast.For, ast.comprehension)) and above.iter is parent:
        return [("gives_batches", 4)]
    target = above.targets[0] if isinstance(above, ast.Assign) else None
    if isinstance(target, ast.Tuple) and len(target.elts) in (2, 3):
        return [(f"gives{len(target.elts)}", 4)]
    if len(parent.args) > 2 or parent.keywords:
        return [("gives", 3), ("function", 1)]
    if len(parent.args) == 2:
        return [("criterion", 2), ("function", 2), ("module", 1)]
    return [("module", 3), ("function", 1)]


def _iterated(parent: ast.AST | None, *, second: bool = False) -> _Votes:
    target = getattr(parent, "target", None)
    if second and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [("loader", 5)]
    return [("loader", 2), ("list", 2), ("tensor", 1)]


def _subscript(node: ast.expr, parent: ast.Subscript, parents: Parents) -> _Votes:
    if parent.value is not node:
        return [("int", 2), ("target", 1)]
    if isinstance(parent.slice, ast.Constant) and isinstance(parent.slice.value, str):
        return [("dict", 4)]
    above = parents.get(parent)
    if isinstance(above, ast.Attribute) and (NAMESPACE, 5) in _attribute(above, parents):
        return [(NAMESPACE, 5)]
    return [("tensor", 2), ("list", 1)]


_BY_PARENT: dict[type[ast.AST] | type[None], _Votes] = {
    ast.List: [("int", 1)],
    ast.Tuple: [("int", 1)],
    ast.AugAssign: [("tensor", 1), ("float", 1)],
    ast.UnaryOp: [("tensor", 1), ("bool", 1)],
    ast.If: [("bool", 2)],
    ast.IfExp: [("bool", 1)],
    ast.While: [("bool", 1)],
    ast.BoolOp: [("bool", 2)],
    ast.Compare: [("float", 1), ("int", 1), ("str", 1)],
}
