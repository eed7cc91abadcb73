"""From what people type (`F.relu`, `x.abs`, `torch.Tensor.max_`, `*=`) to the names of the table."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.near_words import near_words
from gradlint.facts.table import Entry, Table
from gradlint.facts.topics import topic_names

_PREFIXES = (
    ("torch.", ""),
    ("F.", "nn.functional."),
    ("functional.", "nn.functional."),
    ("init.", "nn.init."),
    ("LA.", "linalg."),
    ("modules.", "nn."),
    ("rnn.", "nn.utils.rnn."),
    ("utils.rnn.", "nn.utils.rnn."),
)
_ANYWHERE = (
    *("", "Tensor.", "nn.functional.", "nn.", "linalg.", "nn.init."),
    *("special.", "fft.", "nn.utils.", "nn.utils.rnn."),
)
_SHORTEST = 4
"""Shorter beginnings are those of too many names."""

_NAMESPACES = frozenset(
    [
        *(
            "torch",
            "nn",
            "F",
            "functional",
            "linalg",
            "LA",
            "special",
            "fft",
            "sparse",
            "masked",
            "init",
            "rnn",
            "utils",
        ),
        *("autograd", "func", "functorch", "optim", "distributions", "amp", "cuda", "backends", "parametrizations"),
        *("np", "numpy", "jax", "tf"),
    ]
)
"""What before a dot is no tensor's name."""

_OPERATORS = {
    "+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "//": "__floordiv__", "%": "__mod__",
    "**": "__pow__", "@": "__matmul__", "==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__",
    ">": "__gt__", ">=": "__ge__", "&": "__and__", "|": "__or__", "^": "__xor__", "~": "__invert__",
    "<<": "__lshift__", ">>": "__rshift__", "[]": "__getitem__", "[]=": "__setitem__", "+=": "__iadd__",
    "-=": "__isub__", "*=": "__imul__", "/=": "__itruediv__", "//=": "__ifloordiv__", "%=": "__imod__",
    "**=": "__ipow__", "&=": "__iand__", "|=": "__ior__", "^=": "__ixor__", "<<=": "__ilshift__",
    ">>=": "__irshift__",
}  # fmt: skip


def look_up(table: Table, text: str) -> Entry | None:
    """Return the entry that a person means; the function before the method, the module by its capitals."""
    return next((entry for name in _readings(text.strip()) if (entry := table.find(name)) is not None), None)


def _readings(text: str) -> Iterator[str]:
    text = text.removesuffix("()")
    if text in _OPERATORS:
        yield f"Tensor.{_OPERATORS[text]}"
        return
    said = text
    for prefix, meaning in _PREFIXES:
        if text.startswith(prefix):
            text = meaning + text.removeprefix(prefix)
    yield text
    head, dot, last = text.rpartition(".")
    if not dot:
        yield from (prefix + text for prefix in _ANYWHERE)
    elif head.isidentifier() and head not in _NAMESPACES and not said.startswith("torch."):
        # Any other name before the dot is somebody's tensor: `x.abs`, `loss.backward`.
        yield f"Tensor.{last}"


def close_matches(table: Table, text: str) -> list[str]:
    """Return up to five names that have a page and that the text may be a misspelling, or the beginning, of."""
    text = text.strip().removesuffix("()").removeprefix("torch.")
    names = [*table, *(name.removeprefix("torch.") for name in topic_names() if name.replace(".", "").isidentifier())]
    lasts: dict[str, str] = {}
    for name in names:
        known = lasts.get(name.rpartition(".")[2])
        if known is None or name.count(".") < known.count("."):
            lasts[name.rpartition(".")[2]] = name
    last = text.rpartition(".")[2]
    longer = sorted((one for one in lasts if len(last) >= _SHORTEST and one.startswith(last)), key=len)
    near = [lasts[one] for one in (*near_words(last, lasts, 5), *longer)]
    return list(dict.fromkeys([*near_words(text, names, 5), *near]))[:5]
