"""Which configuration holds for which directory: the nearest one, going up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gradlint.settings.config import Config, Overrides
from gradlint.settings.environment import environment_of
from gradlint.settings.file import configured_in


class Configs:
    """The configuration of each directory, looked up once; or one and the same for all."""

    def __init__(self, fixed: Config | None = None, overrides: Overrides | None = None) -> None:
        self._overrides = overrides or Overrides()
        self._fixed = None if fixed is None else self._overrides.apply(fixed)
        self._found: dict[Path, Config] = {}

    def of(self, directory: Path) -> Config:
        """Return the configuration that holds for the files in an absolute directory: the nearest, going up."""
        if self._fixed is not None:
            return self._fixed
        if directory not in self._found:
            self._found[directory] = self._look_up(directory)
        return self._found[directory]

    def _look_up(self, directory: Path) -> Config:
        found = configured_in(directory)
        if found is not None:
            # Who wrote the tree may not have files rewritten by those who only check it.
            return self._overrides.apply(replace(found, fix=False))
        if directory == directory.parent:
            return self._overrides.apply(Config(environment=environment_of(Path.cwd())))
        return self.of(directory.parent)
