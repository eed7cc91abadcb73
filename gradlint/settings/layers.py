"""Layers of settings: files and what they extend, presets, and the command line; the last one is on top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

from gradlint.domain.near_words import did_you_mean, near_words
from gradlint.domain.release import Release
from gradlint.facts.versions import releases
from gradlint.settings.config import Config, ConfigError, FileIgnore
from gradlint.settings.environment import environment_of
from gradlint.settings.keys import KEY_OF, NEVER, Key, Layer
from gradlint.settings.selection import Selection
from gradlint.settings.words import check_words

_DEFAULT = {name: KEY_OF[name].default for name in ("output-format", "min-severity", "fail-on")}
PRESETS: Mapping[str, Mapping[str, object]] = {
    "default": _DEFAULT,
    "strict": {**_DEFAULT, "fail-on": "info"},
    "education": {**_DEFAULT, "output-format": "full"},
}
"""What each preset says; `strict` also begins from all rules but those of the preview (`Config.selected`)."""

_SELECTION = ("select", "extend-select", "ignore")


def layer(origin: str, folder: Path, entries: Mapping[str, object], *, options: bool = False) -> Layer:
    """Return the layer of some entries.

    Where they are `options`, a complaint is about `--key`, and otherwise about the key and the origin.

    Raises:
        ConfigError: a key is unknown, or a value is none that it can have.
    """
    for name in entries:
        if name not in KEY_OF:
            raise ConfigError(f"{origin}: unknown key `{name}`{did_you_mean(near_words(name, KEY_OF))}")
    where = {name: f"--{name}" if options else f"{origin}: `{name}`" for name in entries}
    return Layer(origin, folder, {name: _checked(KEY_OF[name], entries[name], where[name]) for name in entries})


def settled(config: Config, layers: Iterable[Layer]) -> Config:
    """Return a configuration with layers on top; one that names a preset is on top of that."""
    return reduce(_over, layers, config)


def _over(config: Config, top: Layer) -> Config:
    config = replace(config, layers=(*config.layers, top))
    preset = top.values.get("preset")
    if preset is not None:
        config = _with_values(config, PRESETS[preset])
    values = {name: value for name, value in top.values.items() if name not in _NOT_FIELDS}
    config = _with_values(config, values)
    ignores = (FileIgnore(config.root, *pair) for pair in top.values.get("per-file-ignores", {}).items())
    python, baseline = top.values.get("python"), top.values.get("baseline")
    return replace(
        config,
        selections=(*config.selections, *_selection(top)),
        per_file_ignores=(*config.per_file_ignores, *ignores),
        severity=(*config.severity, *top.values.get("severity", {}).items()),
        environment=config.environment if python is None else environment_of(top.folder, python),
        baseline=config.baseline if baseline is None else top.folder / baseline,
    )


_NOT_FIELDS = {*_SELECTION, "extend", "per-file-ignores", "severity", "python", "baseline"}


def _with_values(config: Config, values: Mapping[str, Any]) -> Config:
    """Return the configuration with values in the fields of the same names, or after what is there already."""
    fields: dict[str, Any] = {}
    for name, value in values.items():
        key = KEY_OF[name]
        fields[key.field] = (*getattr(config, key.field), *value) if key.adds else value
    return replace(config, **fields)


def _selection(top: Layer) -> Iterable[Selection]:
    """Yield what a layer says of rules, if it says anything."""
    said = {KEY_OF[name].field: top.values[name] for name in _SELECTION if name in top.values}
    if said:
        yield Selection(**said)


def _checked(key: Key, value: object, where: str) -> object:
    """Return a value as it is kept: lists as tuples.

    Raises:
        ConfigError: it is none that the key can have.
    """
    if key.kind == "flag":
        return _is(isinstance(value, bool), value, where, "true or false")
    if key.kind == "text":
        return _is(isinstance(value, str) and bool(value.strip()), value, where, "a string that is not empty")
    if key.kind == "choice":
        return _choice(key, value, where)
    if key.kind == "release":
        return _release(value, where)
    if key.kind == "patterns":
        return _strings(value, where)
    if key.kind == "codes":
        return _codes(value, where)
    if not isinstance(value, dict):
        content = "patterns to lists of codes" if key.kind == "table of codes" else "codes to severities"
        raise ConfigError(f"{where} must be a table from {content}")
    if not all(name.strip() for name in value):
        raise ConfigError(f"{where} has an entry without a {'pattern' if key.kind == 'table of codes' else 'code'}")
    items = {name: f"{where[:-1]}.{name}`" if where.endswith("`") else where for name in value}
    if key.kind == "table of codes":
        return {name: _codes(value[name], items[name]) for name in value}
    check_words(value, where)
    return {name: _severity(key, value[name], items[name]) for name in value}


def _release(value: object, where: str) -> Release:
    release = Release.of(value) if isinstance(value, str) else None
    if release is None or release not in releases():
        ends = f"from {releases()[0]} to {releases()[-1]}"
        raise ConfigError(f'{where} must be a release of torch {ends}, written as a string such as "2.4"')
    return release


def _is(fits: bool, value: object, where: str, what: str) -> object:
    if not fits:
        raise ConfigError(f"{where} must be {what}")
    return value


def _choice(key: Key, value: object, where: str) -> object:
    return _is(value in key.choices, value, where, f"one of {', '.join(key.choices)}")


def _severity(key: Key, value: object, where: str) -> object:
    if value in ("off", NEVER, "ignore", False):
        raise ConfigError(f"{where} must be one of {', '.join(key.choices)}; `ignore` switches a rule off")
    return _choice(key, value, where)


def _codes(value: object, where: str) -> tuple[str, ...]:
    words = _strings(value, where)
    check_words(words, where)
    return words


def _strings(value: object, where: str) -> tuple[str, ...]:
    wrong = [item for item in value if not isinstance(item, str)] if isinstance(value, (list, tuple)) else []
    if wrong or not isinstance(value, (list, tuple)):
        holds = f", and holds {wrong[0]!r}" if wrong else ""
        raise ConfigError(f"{where} must be a list of strings{holds}")
    if not all(item.strip() for item in value):
        raise ConfigError(f"{where} holds an empty string")
    return tuple(value)
