"""A new configuration, in which each key is explained: what `gradlint init` writes."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.settings.keys import KEYS, Key
from gradlint.settings.toml import as_toml

_HEAD = (
    "# gradlint: each key with its default, or where it has none with an example.",
    "# `gradlint check --show-settings` prints what holds; `gradlint rules` lists the rules.",
)


def template(*, table: bool) -> str:
    """Return a text in which every key is commented out; in a `table`, as `pyproject.toml` has it, or without."""
    head = ["[tool.gradlint]"] if table else []
    return "\n".join([*head, *_HEAD, *(line for key in KEYS for line in _lines(key))]) + "\n"


def _lines(key: Key) -> Iterator[str]:
    """Yield a key with what it means, after an empty line."""
    choices = f" One of {', '.join(key.choices)}." if key.kind == "choice" else ""
    yield ""
    yield f"# {key.meaning}{choices}"
    yield f"# {key.name} = {as_toml(shown_value(key))}"


def shown_value(key: Key) -> object:
    """Return the value that shows how a key is written: its default, or where that says nothing its example."""
    return key.default if key.default not in (None, (), {}) else key.example
