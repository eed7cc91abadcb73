"""The settings that hold, as lines of TOML with the origin of each value: what `--show-settings` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gradlint.domain.release import Release
from gradlint.settings.config import Config
from gradlint.settings.environment import torch_in
from gradlint.settings.keys import KEYS, Key, Layer
from gradlint.settings.layers import PRESETS
from gradlint.settings.toml import as_toml

_BUILT_IN = "default"


def shown(config: Config, directory: Path) -> Iterator[str]:
    """Yield what holds for the files of a directory; of a key that adds up, a line for each origin."""
    yield f"# What holds for the files in {directory}; paths and patterns begin in {config.root}."
    for key in KEYS:
        if key.name != "extend":
            yield from _lines(key, config)


def _lines(key: Key, config: Config) -> Iterator[str]:
    said = list(_said(key, config.layers))
    if key.adds and said:
        yield from (f"{key.name} = {as_toml(value)}  # {origin}" for value, origin in said)
        return
    value, origin = said[-1] if said else (key.default, _BUILT_IN)
    if key.name == "fix" and value is True and not config.fix:
        value, origin = False, f"{origin} says true, which counts only with `--config FILE` or `--fix`"
    if key.name == "python":
        value, origin = config.environment, "found" if origin == _BUILT_IN else origin
    if key.name == "baseline":
        value = config.baseline
    if key.name == "torch" and value is None and config.environment is not None:
        value, origin = torch_in(config.environment), "installed"
    if isinstance(value, (Path, Release)):
        value = str(value)
    yield f"{key.name} = {as_toml(value)}  # {origin}" if value is not None else f"# {key.name} is not set"


def _said(key: Key, layers: Sequence[Layer]) -> Iterator[tuple[object, str]]:
    """Yield what each layer says of a key, from below; a preset is below the layer that names it."""
    for layer in layers:
        preset = layer.values.get("preset")
        if preset is not None and key.name in PRESETS[preset]:
            yield PRESETS[preset][key.name], f"preset `{preset}` of {layer.origin}"
        if key.name in layer.values:
            yield layer.values[key.name], layer.origin
