"""Formulas of `derivatives.yaml`, which are C++, as Python for real numbers."""

from __future__ import annotations

import re

_NAME = r"[A-Za-z_][\w.]*"
_KERNEL = re.compile(r"(\w*backward\w*|\w+_double_backward)\(")

_PLAIN = (
    (r"/\*.*?\*/\s*", ""),
    (r"\bat::", ""),
    (r"\bself\b", "input"),
    (r"\.conj\(\)", ""),
    (r"\.toDouble\(\)|\.toFloat\(\)|\.toComplexDouble\(\)", ""),
    (r"\.sym_sizes\(\)|\.sizes\(\)", ".shape"),
    (r"\.sym_size\(([^()]*)\)|\.size\(([^()]*)\)", r".shape[\1\2]"),
    (r"_symint\(", "("),
    (r"\{([^{}]*)\}", r"[\1]"),
    (r"\bM_PI\b", "pi"),
    (r"\bM_LN2\b", "log(2)"),
    (r"\bM_LN10\b", "log(10)"),
    (r"\btrue\b", "True"),
    (r"\bfalse\b", "False"),
    (r"&&", "and"),
    (r"\|\|", "or"),
    (r"!(?=\w)", "not "),
    (r"scalar_tensor\(0\., grad\.options\(\)\)", "0.0"),
    (r"\.to\(input\.scalar_type\(\)\)", ""),
    (r"\[ ", "["),
    (r" \]", "]"),
)
"""What is spelled otherwise in Python. Numbers are real, so that conjugation goes."""

_NOT_IMPLEMENTED = re.compile(r'not_implemented\("([^"]*)"')


def readable(formula: str) -> str:
    """Return a formula as Python, as far as it can be said: the caller executes it.

    >>> readable("handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))")
    'grad * alpha'
    >>> readable("self.is_complex() ? grad * self.conj() : grad * (self * self - 1).rsqrt()")
    'grad * (input * input - 1).rsqrt()'
    """
    text = " ".join(formula.split())
    for pattern, replacement in _PLAIN:
        text = re.sub(pattern, replacement, text)
    text = _conditional(text)
    for name, meaning in (("handle_r_to_c", "{1}"), ("maybe_multiply", "{0} * {1}")):
        text = _written_out(text, name, meaning)
    return text.strip()


def is_missing(formula: str) -> bool:
    """Return whether torch says that it has no derivative."""
    return _NOT_IMPLEMENTED.search(formula) is not None


def kernel(formula: str) -> str | None:
    """Return the name of the function that computes the derivative, where the formula is but a call of it."""
    found = _KERNEL.search(formula)
    return found.group(1).removesuffix("_symint") if found is not None else None


def _conditional(text: str) -> str:
    """Write `a ? b : c` as Python; a question about complex numbers has its answer."""
    question = _top(text, "?")
    if question is None:
        return text
    colon = _top(text, ":", question)
    if colon is None:
        return text
    test, yes, no = text[:question].strip(), text[question + 1 : colon].strip(), text[colon + 1 :].strip()
    if "omplex" in test:
        return _conditional(no)
    return f"{_conditional(yes)} if {test} else {_conditional(no)}"


def _top(text: str, mark: str, start: int = -1) -> int | None:
    """Return where a mark stands outside of all parentheses."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == mark and not depth and place > start and text[place : place + 2] != "::":
            return place
    return None


def _written_out(text: str, name: str, meaning: str) -> str:
    """Replace calls of a helper of torch's by what they mean."""
    while (found := re.search(rf"\b{name}\(", text)) is not None:
        arguments, end = _arguments(text, found.end())
        if len(arguments) != 2:
            return text
        shown = meaning.format(*(_as_factor(one) if "*" in meaning else one for one in arguments))
        whole = found.start() == 0 and end == len(text)
        text = text[: found.start()] + (shown if whole or "*" not in meaning else f"({shown})") + text[end:]
    return text


def _as_factor(text: str) -> str:
    return f"({text})" if re.search(r" [-+/] | if ", text) and _top(text, " ") is not None else text


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """Return the arguments of the call whose parenthesis opens before `start`, and where it ends."""
    depth, begin, found = 0, start, []
    for place in range(start, len(text)):
        letter = text[place]
        if letter in ",)" and not depth:
            found.append(text[begin:place].strip())
            begin = place + 1
            if letter == ")":
                return found, place + 1
        depth += (letter in "([") - (letter in ")]")
    return found, len(text)
