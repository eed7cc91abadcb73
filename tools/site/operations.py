"""The reference of operations: what `gradlint op` prints, of all of them, a page for each initial."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from functools import cache
from typing import Any

from gradlint.facts import describe, load, topics

TOPICS = "operations/topics.md"


def navigation() -> list[Any]:
    """Return the pages in their order."""
    return [{"Modes, hooks and transforms": TOPICS}, *({initial.upper(): _place(initial)} for initial in _by_initial())]


def pages() -> dict[str, str]:
    """Return the text of each page by its place."""
    return {TOPICS: _topics(), **{_place(initial): _page(initial) for initial in _by_initial()}}


def _place(initial: str) -> str:
    return f"operations/{initial}.md"


@cache
def _by_initial() -> dict[str, dict[str, list[str]]]:
    """Return the names by initial and by the last part; `relu`, `relu_` and `ReLU` are not the same."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in load():
        last = name.rpartition(".")[2]
        found[last.strip("_")[:1].lower()][last].append(name)
    return {initial: dict(sorted(found[initial].items(), key=_order)) for initial in sorted(found)}


def _order(item: tuple[str, list[str]]) -> tuple[str, str]:
    return item[0].lower().strip("_"), item[0]


def _page(initial: str) -> str:
    lines = [f"# Operations: {initial.upper()}", "", _source(), ""]
    for last, names in _by_initial()[initial].items():
        lines += [f"## `{last}`", ""]
        for text, spelt in _texts(names).items():
            lines += [", ".join(f"`torch.{name}`" for name in spelt), "", "```text", text, "```", ""]
    return "\n".join(lines)


def _texts(names: list[str]) -> dict[str, list[str]]:
    """Return the names by what is said of them, without the line that has the name."""
    table = load()
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=lambda name: (name.count("."), name)):
        entry = table.find(name)
        assert entry is not None, "the table finds its names"
        text = describe.text(table, entry).partition("\n")[2].partition("\n\n  measured on")[0]
        found[textwrap.dedent(text)].append(name)
    return found


def _source() -> str:
    return f"What [`gradlint op NAME`](../operations.md) prints; measured on torch {load().torch}."


def _topics() -> str:
    lines = ["# Modes, hooks and transforms", "", _source(), ""]
    for topic in sorted(topics.topics(), key=lambda topic: topic.name):
        lines += [f"## `torch.{topic.name}`", "", *(f"- {one.text}" for one in topic.statements), ""]
    return "\n".join(lines)
