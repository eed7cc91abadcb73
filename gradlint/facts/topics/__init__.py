"""What `gradlint op` says of names that are no operations: transforms, modes, hooks, modules, and their like.

Each page of the Markdown files beside this one has a title, the names that lead to it, and statements; below each
statement stands a program that shows it under torch (`tests/facts/test_topics.py`). `x` is `[1., 2., 3.]` and requires
grad.
"""

from __future__ import annotations

import re
import textwrap
from functools import cache
from importlib import resources

from gradlint.domain.frozen import Frozen

_INDEXED = re.compile(r"\w+\[.+\]\s*(?P<written>=.*)?")


class Statement(Frozen):
    """A sentence about torch, and a program that shows it."""

    text: str
    shown_by: str


class Topic(Frozen):
    """A page: its title below `torch`, the names that lead to it, and what it says."""

    name: str
    also: tuple[str, ...]
    statements: tuple[Statement, ...]


_STATEMENT = re.compile(r"^- (?P<text>.+?)\n(?:```python\n(?P<code>.*?)^```\n)?(?=\n|- |\Z)", re.MULTILINE | re.DOTALL)


@cache
def topics() -> tuple[Topic, ...]:
    """Return all pages."""
    folder = resources.files(__package__)
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".md")), key=lambda one: one.name)
    return tuple(
        _topic(part)
        for file in files
        for part in re.split(r"^# (?=\S)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    )


def _topic(text: str) -> Topic:
    title, _, rest = text.partition("\n")
    also = re.match(r"also: (.*)\n", rest)
    statements = tuple(
        Statement(" ".join(match["text"].split()), match["code"] or "") for match in _STATEMENT.finditer(rest)
    )
    return Topic(title.strip(), tuple(also[1].split(", ")) if also else (), statements)


@cache
def _by_name() -> dict[str, Topic]:
    return {name: topic for topic in topics() for name in (*topic.also, topic.name, f"torch.{topic.name}")}


def topic_names() -> tuple[str, ...]:
    """Return all names that lead to a page."""
    return tuple(_by_name())


def topic_of(name: str) -> Topic | None:
    """Return the page that a name leads to; None if it is no topic.

    >>> topic_of("torch.func.vmap").name, topic_of("x[i]").name
    ('func.vmap', 'Tensor.__getitem__')
    """
    name = name.strip().removesuffix("()")
    indexed = _INDEXED.fullmatch(name)
    if indexed is not None:
        name = "x[i]=" if indexed["written"] else "x[i]"
    return _by_name().get(name) or _by_name().get(f"{name.rpartition('.')[0]}.*")


def text(topic: Topic, torch: str) -> str:
    """Return the page about the topic."""
    lines = [
        textwrap.fill(one.text, 110, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
        for one in topic.statements
    ]
    return "\n".join([f"torch.{topic.name}", "", *lines, "", f"  each shown by a program on torch {torch}, CPU"])


def as_json(topic: Topic, torch: str) -> dict[str, object]:
    """Return the page in plain JSON types, with the program that shows each statement."""
    statements = [{"text": one.text, "shown_by": one.shown_by} for one in topic.statements]
    return {"name": topic.name, "torch": torch, "also": list(topic.also), "statements": statements}
