"""A JSON text with the place of each string, so that one can be replaced and all else stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from gradlint.domain.finding import Position
from gradlint.domain.frozen import Frozen
from gradlint.source.parse import recursion_as_usual
from gradlint.source.read import UNREADABLE_FILE, Unusable, unreadable

Path: TypeAlias = "tuple[str | int, ...]"
"""The keys and indices that lead to a value."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},]')


class Stretch(Frozen):
    """Where a value stands in the text."""

    start: int
    end: int


def load(text: str) -> object:
    """Return the data of a JSON text, or why it is none."""
    try:
        with recursion_as_usual():
            data: object = json.loads(text)
    except json.JSONDecodeError as error:
        at = Position(error.lineno, error.colno)
        return Unusable(UNREADABLE_FILE, f"the notebook is not valid JSON: {error.msg}", at)
    except RecursionError:
        return unreadable("the notebook is nested too deeply")
    except ValueError as error:  # A number of thousands of digits.
        return unreadable(f"the notebook is not valid JSON: {error}")
    return data


def stretches(text: str, wanted: Callable[[Path], bool]) -> dict[Path, Stretch]:
    """Return where strings and lists stand in a valid text, by the paths that are wanted."""
    found: dict[Path, Stretch] = {}
    path: list[str | int] = []
    opened: list[int] = []
    key_next: list[bool] = []
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[":
                opened.append(token.start())
                key_next.append(token[0] == "{")
                path.append("" if token[0] == "{" else 0)
            case "}" | "]":
                path.pop()
                key_next.pop()
                _note(found, tuple(path), Stretch(opened.pop(), token.end()), wanted)
            case ",":
                if isinstance(path[-1], int):
                    path[-1] += 1
                else:
                    key_next[-1] = True
            case string if key_next and key_next[-1]:
                path[-1], key_next[-1] = json.loads(string), False
            case _:
                _note(found, tuple(path), Stretch(*token.span()), wanted)
    return found


def _note(found: dict[Path, Stretch], path: Path, stretch: Stretch, wanted: Callable[[Path], bool]) -> None:
    if wanted(path):
        found[path] = stretch


def replaced(text: str, stretch: Stretch, items: Sequence[Stretch], new: str) -> str:
    """Return what stands for the string, or list of lines, in a stretch when its value is another.

    The `items` are the places of the lines. Those that stay, and what stands between them, are left as they are.
    """
    plain = text.isascii()
    if not items:
        as_list = text[stretch.start] == "["
        string = json.dumps(new, ensure_ascii=plain)
        return f"[{string}]" if as_list else string
    old = [text[item.start : item.end] for item in items]
    values: list[str] = [json.loads(item) for item in old]
    lines = re.findall(r"[^\n]*\n|[^\n]+", new)
    head = _alike(values, lines)
    tail = _alike(values[head:][::-1], lines[head:][::-1])
    known = dict(zip(values, old, strict=True))
    middle = lines[head : len(lines) - tail]
    written = [known.get(line) or json.dumps(line, ensure_ascii=plain) for line in middle]
    written = [*old[:head], *written, *old[len(old) - tail :]]
    lead = text[stretch.start + 1 : items[0].start]
    between = text[items[0].end : items[1].start] if len(items) > 1 else f",{lead}"
    return f"[{lead}{between.join(written)}{text[items[-1].end : stretch.end - 1]}]"


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return with how many equal lines both begin."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)
