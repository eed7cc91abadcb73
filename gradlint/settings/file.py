"""Read `[tool.gradlint]` of a `pyproject.toml`, or a `gradlint.toml`; every mistake is one clear error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from gradlint.settings.config import Config, ConfigError
from gradlint.settings.environment import environment_of
from gradlint.settings.keys import Layer
from gradlint.settings.layers import layer, settled
from gradlint.source.regular import CONFIGURATION, content_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = ("gradlint.toml", "pyproject.toml")
INLINE = "--config"
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


def load(path: Path) -> Config:
    """Return the configuration in one file, which must be there; a `pyproject.toml` may lack our table."""
    return _config_of(path, table_in(path) or {})


def configured_in(directory: Path) -> Config | None:
    """Return the configuration that stands in the directory itself; `gradlint.toml` goes before `pyproject.toml`."""
    for path in (directory / name for name in FILES):
        table = table_in(path) if os.path.isfile(path) else None
        if table is not None:
            return _config_of(path, table)
    return None


def inline(text: str) -> Layer:
    """Return the layer of `key = value` on the command line; its paths begin in the current directory."""
    try:
        entries: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{INLINE}: `{text}` is neither a file nor TOML such as 'key = \"value\"': {error}") from None
    if not entries:
        raise ConfigError(f"{INLINE}: `{text}` names no file and sets no key")
    if "extend" in entries:
        raise ConfigError(f"{INLINE}: `extend` belongs into a file; name one with {INLINE} FILE")
    return layer(INLINE, Path.cwd(), entries)


def make_config(**keys: object) -> Config:
    """Return a configuration by the keys of the configuration file, with underscores for hyphens.

    Paths and patterns in it begin at the current directory.

    Raises:
        ConfigError: a key or a value that the configuration file could not have, either.
    """
    entries = {key.replace("_", "-"): _as_in_toml(value) for key, value in keys.items()}
    return _config_of(Path(make_config.__name__), entries)


def _as_in_toml(value: object) -> object:
    """Return a value as TOML would give it, which has lists and no tuples or sets, and texts and no paths."""
    if isinstance(value, (tuple, set, frozenset)):
        return [*value] if isinstance(value, tuple) else sorted(value)
    if isinstance(value, Mapping):
        return {key: _as_in_toml(one) for key, one in value.items()}
    return str(value) if isinstance(value, Path) else value


def is_toml(text: str) -> bool:
    """Return whether a text can be read."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def table_in(path: Path) -> Mapping[str, object] | None:
    """Return what a file says of gradlint; None for a `pyproject.toml` that says nothing."""
    document = _parse(path)
    tool = document.get("tool", {})
    table = tool.get("gradlint") if isinstance(tool, dict) else None
    if path.name != "pyproject.toml":
        if table is not None:
            raise ConfigError(f"{path}: the keys stand at the top level of this file, and not in `[tool.gradlint]`")
        return document
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: `tool.gradlint` must be a table")
    return table


def _parse(path: Path) -> Mapping[str, object]:
    try:
        text = content_of(path, CONFIGURATION).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    if sum(line.count(".") ** 2 for line in text.split("\n")) > _MOST_DOTS:
        raise ConfigError(f"{path}: has keys of too many parts to be read")
    try:
        document: dict[str, object] = tomllib.loads(text)
        return document
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        where = f"{path}:{place[1]}:{place[2]}" if place else f"{path}"
        raise ConfigError(f"{where}: not valid TOML: {_PLACE.sub('', str(error))}") from error
    except ValueError as error:  # Of numbers that are too long, which tomllib lets pass.
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: is nested too deeply to be read") from error


_MOST_DOTS = 4_000_000
"""Of the squares of how many dots stand in each row: so many steps tomllib takes for a key of that many parts."""


def _config_of(path: Path, entries: Mapping[str, object]) -> Config:
    """Return the configuration of a file and of those that it extends, with the root where the file is."""
    root = path.absolute().parent
    return settled(Config(root=root, environment=environment_of(root)), _chain(path, entries))


def _chain(path: Path, entries: Mapping[str, object]) -> list[Layer]:
    """Return the layers of a file, that which it extends first."""
    layers = [layer(str(path), path.absolute().parent, entries)]
    led = [path.absolute()]
    while "extend" in layers[0].values:
        base = Path(os.path.normpath(led[-1].parent / os.path.expanduser(layers[0].values["extend"])))
        if base in led:
            circle = " -> ".join(map(str, (*led[led.index(base) :], base)))
            raise ConfigError(f"{layers[0].origin}: `extend` goes in a circle: {circle}")
        if not base.is_file():
            raise ConfigError(f"{layers[0].origin}: `extend`: {base}: no such file")
        layers.insert(0, layer(str(base), base.parent, table_in(base) or {}))
        led.append(base)
    return layers
