"""What an editor can set: on top of the configuration files, and what of the server is on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from gradlint.domain.frozen import Frozen
from gradlint.settings.config import ConfigError
from gradlint.settings.file import load
from gradlint.settings.layers import layer
from gradlint.settings.nearest import Configs, Overrides

SECTION = "gradlint"
_ORIGIN = "settings of the editor"
ON_TYPE, ON_SAVE = "onType", "onSave"


class Settings(Frozen):
    """`configuration` names a file that counts instead of the nearest one; `options` are keys of the configuration.

    `run` says when a document is checked.
    """

    configuration: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    run: str = ON_TYPE
    inlay_hints: bool = False
    code_lens: bool = True

    def configs(self, folder: Path) -> Configs:
        """Return the configurations that hold; names of files begin at a folder.

        Raises:
            ConfigError: a key, a value or the file cannot be used.
        """
        fixed = load(folder / Path(self.configuration).expanduser()) if self.configuration else None
        return Configs(fixed, Overrides((layer(_ORIGIN, folder, self.options),) if self.options else ()))


def settings_of(given: object) -> Settings:
    """Return the settings among what an editor sends, under our name or below `settings`.

    Raises:
        ConfigError: a setting is unknown, or its value is none that it can have.
    """
    for name in (SECTION, "settings", SECTION):
        if isinstance(given, Mapping) and name in given:
            given = given[name]
    if given is None:
        return Settings()
    if not isinstance(given, Mapping):
        raise ConfigError(f"{_ORIGIN}: they must be an object")
    values: dict[str, object] = {}
    for name, value in given.items():
        known = _FIELDS.get(name)
        if known is None:
            raise ConfigError(f"{_ORIGIN}: unknown `{name}`; there are {', '.join(_FIELDS)}")
        if value is not None:
            if not isinstance(value, known[1]) or (name == "run" and value not in (ON_TYPE, ON_SAVE)):
                raise ConfigError(f"{_ORIGIN}: `{name}` cannot be {value!r}")
            values[known[0]] = value
    return Settings(**values)  # type: ignore[arg-type]  # They have just been looked at.


_FIELDS: Mapping[str, tuple[str, type]] = {
    "configuration": ("configuration", str),
    "options": ("options", Mapping),
    "run": ("run", str),
    "inlayHints": ("inlay_hints", bool),
    "codeLens": ("code_lens", bool),
}
