"""Which configuration holds for which directory: the nearest one, going up."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path

from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.settings.config import Config
from gradlint.settings.environment import environment_of
from gradlint.settings.file import configured_in
from gradlint.settings.keys import Layer
from gradlint.settings.layers import settled


class Overrides(Frozen):
    """What the command line puts on top of whichever configuration is found.

    `layers` are what it says of keys; the rest has no key, or another meaning there.
    """

    layers: tuple[Layer, ...] = ()
    ignore_noqa: bool = False
    no_environment: bool = False
    follow_links: bool = False

    def apply(self, config: Config) -> Config:
        """Return the configuration with these on top."""
        config = settled(config, self.layers)
        return replace(
            config,
            ignore_noqa=config.ignore_noqa or self.ignore_noqa,
            environment=None if self.no_environment else config.environment,
            follow_links=self.follow_links,
        )


class Configs:
    """The configuration of each directory, looked up once; or one and the same for all."""

    def __init__(self, fixed: Config | None = None, overrides: Overrides | None = None) -> None:
        self._overrides = overrides or Overrides()
        self._fixed = None if fixed is None else self._overrides.apply(fixed)
        self._found: dict[Path, Config] = {}
        self._about: dict[str, Config] = {}

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

    def about(self, finding: Finding) -> Config:
        """Return the configuration of the file of a finding."""
        filename = finding.filename
        if filename not in self._about:
            self._about[filename] = self.of(Path(filename).absolute().parent)
        return self._about[filename]

    def fails(self, finding: Finding) -> bool:
        """Return whether a finding makes the run fail, by the configuration of its file."""
        return self.about(finding).fails(finding)

    def fixes(self, finding: Finding) -> bool:
        """Return whether the fix of a finding may be made, by the configuration of its file."""
        return self.about(finding).fixes(finding)
