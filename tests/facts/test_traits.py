"""The file of traits keeps its schema, and no other file lists operations."""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import gradlint
from gradlint.domain.dtype import TENSOR_TYPES
from gradlint.facts import load
from gradlint.facts.aliases import PREFIXES, bare, canonical, is_inplace
from gradlint.facts.names import MODULE, TENSOR, names_of

PACKAGE = Path(gradlint.__file__).parent

OURS = {"index", "uninitialised"}
"""Operations that the interpreter names itself: a subscript that copies, memory that a constructor takes."""

ENTRIES = [entry for name in load() if (entry := load().find(name)) is not None]
KNOWN = {canonical(entry.name) for entry in ENTRIES} | {
    *OURS,
    *(names_of("torch") or ()),
    *(names_of(TENSOR) or ()),
    *(names_of("torch.nn.init") or ()),
}


def file(name: str) -> Mapping[str, Any]:
    """A data file of the facts."""
    data: Mapping[str, Any] = json.loads(resources.files("gradlint.facts").joinpath(name).read_text(encoding="utf-8"))
    return data


def test_every_name_of_a_trait_is_a_canonical_one() -> None:
    rows = file("traits.json")["traits"]
    wrong = [(trait, name) for trait, names in rows.items() for name in names.split() if canonical(name) != name]
    unknown = [(trait, name) for trait, names in rows.items() for name in names.split() if name not in KNOWN]
    assert wrong == []
    assert unknown == []


def test_names_of_a_trait_stand_in_order() -> None:
    rows = {**file("traits.json")["traits"], **file("traits.json")["methods"]}
    assert [trait for trait, names in rows.items() if names.split() != sorted({*names.split()})] == []


def test_every_trait_has_a_constant() -> None:
    source = (PACKAGE / "facts" / "traits.py").read_text(encoding="utf-8")
    asked = set(re.findall(r'_(?:trait|methods|map)\("(\w+)"\)', source))
    data = file("traits.json")
    assert {*data["traits"], *data["methods"], *data["maps"]} == asked


@pytest.mark.parametrize(
    ("spelled", "one", "shown"),
    [
        ("Tensor.subtract_", "sub", "subtract_"),
        ("subtract", "sub", "subtract"),
        ("Tensor.__isub__", "sub", "__isub__"),
        ("special.expit", "sigmoid", "expit"),
        ("nn.Sigmoid", "sigmoid", "sigmoid"),
        ("nn.LSTM", "nn.LSTM", "nn.LSTM"),
        ("nn.functional.softmax", "softmax", "softmax"),
        ("linalg.norm", "linalg.norm", "linalg.norm"),
        ("nn.functional.unfold", "nn.functional.unfold", "nn.functional.unfold"),
        ("Tensor.unfold", "unfold", "unfold"),
        ("Tensor.zero_", "zero_", "zero_"),
        ("index assignment", "index assignment", "index assignment"),
    ],
)
def test_canonical_and_shown_names(spelled: str, one: str, shown: str) -> None:
    assert (canonical(spelled), bare(spelled)) == (one, shown)


def test_a_canonical_name_is_its_own() -> None:
    assert [entry.name for entry in ENTRIES if canonical(canonical(entry.name)) != canonical(entry.name)] == []


def test_names_that_write_in_place() -> None:
    assert [name for name in ("add_", "Tensor.__iadd__", "nn.functional.relu_") if not is_inplace(name)] == []
    assert [name for name in ("add", "Tensor.__invert__", "Tensor.__int__", "nn.ReLU") if is_inplace(name)] == []


# No other file lists operations.

FUNCTIONS = ast.Name | ast.Attribute | ast.Lambda | ast.Call
"""What stands for a function among the values of a dict, which then is a register of handlers."""

NO_OPERATIONS = {
    *dir(builtins),
    *TENSOR_TYPES,
    *load().dtypes,
    *(names_of(MODULE) or ()),
    *(entry.name.removeprefix("Tensor.") for entry in ENTRIES if "Tensor" not in str(entry.row.result)),
    *("tensor", "real", "imag", "cpu", "cuda", "positive", "negative"),
}
"""Words that also name builtins, types, methods of modules, attributes, kinds of values, and arguments."""

EXCEPTIONS = {
    "concrete/lost.py": "kinds of cuts",
    "concrete/nonfinite.py": "names of Python's operators, and kinds of masks",
    "concrete/operations.py": "names of Python's operators",
    "interpreter/libraries/numpy_arrays.py": "names of numpy",
    "interpreter/libraries/table.py": "names of numpy",
}
"""Files that list what is called like an operation, and why."""

OPERATIONS = {entry.name.rpartition(".")[2] for entry in ENTRIES} - NO_OPERATIONS
LISTED = re.compile(r"\s*[\w.]+(\s+[\w.]+)*\s*")


def is_operation(text: str) -> bool:
    """Whether a string is the name of an operation, with or without what stands before it."""
    plain = text.removeprefix("torch.")
    return plain.removeprefix(next((one for one in PREFIXES if plain.startswith(one)), "")) in OPERATIONS


def texts_of(node: ast.AST) -> list[str]:
    """The strings of a literal collection, or the words of a string that lists some.

    A register of functions is code, a dict of sentences is the text of a rule, and a `Literal` is a type.
    """
    if isinstance(node, (ast.Set, ast.List, ast.Tuple)):
        return [text for part in node.elts for text in _texts(part)]
    if isinstance(node, ast.Dict) and not all(isinstance(value, FUNCTIONS) or _is_text(value) for value in node.values):
        return [text for key in node.keys if key is not None for text in _texts(key)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and LISTED.fullmatch(node.value):
        return node.value.split()
    return []


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Starred):
        yield from texts_of(node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value


def nodes_of(code: str) -> Iterator[ast.AST]:
    """All nodes of a program, but not what stands in a `Literal`."""
    stack: list[ast.AST] = [ast.parse(code)]
    while stack:
        node = stack.pop()
        yield node
        if not (isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Literal"):
            stack.extend(ast.iter_child_nodes(node))


def lists_operations(texts: list[str]) -> bool:
    """Whether three strings or more are given, and most of them are operations."""
    return len(texts) >= 3 and 2 * sum(map(is_operation, texts)) > len(texts)


def test_no_other_file_lists_operations() -> None:
    """Write them into `gradlint/facts/traits.json`; a register of functions is code, and may be anywhere."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("facts/") or name in EXCEPTIONS:
            continue
        lines = [
            getattr(node, "lineno", 0)
            for node in nodes_of(path.read_text(encoding="utf-8"))
            if lists_operations(texts_of(node))
        ]
        found += [f"gradlint/{name}:{line}" for line in sorted(lines)]
    assert found == []


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ('{"add", "sub", "mul"}', True),
        ('frozenset([*("exp", "log"), "sin"])', True),
        ('{"add": 1, "sub": 2, "mul": 3}', True),
        ('{"add": "+", "sub": "-", "mul": "*"}', True),
        ('{"add": "sum", "sub": "difference", "mul": "product"}', True),
        ('{"torch.add": "the sum of both", "torch.sub": "the difference", "torch.mul": "the product"}', False),
        ('"add sub mul".split()', True),
        ('{"add": on_add, "sub": on_sub, "mul": lambda: 0}', False),
        ('name in ("add", "sub")', False),
        ('{"int", "float", "bool", "sum"}', False),
        ('("requires_grad", "is_leaf", "shape")', False),
        ('"Add what exp gives to it."', False),
        ('Literal["add", "sub", "mul"]', False),
    ],
)
def test_what_counts_as_a_list_of_operations(code: str, refused: bool) -> None:
    assert any(lists_operations(texts_of(node)) for node in nodes_of(code)) is refused
