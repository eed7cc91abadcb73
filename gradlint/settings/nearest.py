"""Which configuration holds for which directory: the nearest one, going up."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
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
        passed = []
        for above in chain((directory,), directory.parents):
            if above in self._found:
                break
            passed.append(above)
            found = configured_in(above)
            if found is not None:
                # Who wrote the tree may not have files rewritten by those who only check it.
                self._found[above] = self._overrides.apply(replace(found, fix=False))
                break
        else:
            self._found[above] = self._overrides.apply(Config(environment=environment_of(Path.cwd())))
        self._found.update(dict.fromkeys(passed, self._found[above]))
        return self._found[directory]
