"""The files of a run, by the environment that belongs to them."""

from __future__ import annotations

from pathlib import Path

from gradlint.domain.asked import Asked
from gradlint.domain.release import Release
from gradlint.settings.config import Config
from gradlint.source.environment.cache import Cache
from gradlint.source.environment.environment import Environment
from gradlint.source.environment.index import Unread
from gradlint.source.environment.place import site_packages
from gradlint.source.files import Files
from gradlint.source.kept import Keeping


class Projects:
    """One store of files for each environment that a configuration names, and one for those without."""

    def __init__(self, keeping: Keeping | None = None) -> None:
        self._keeping = keeping or Keeping()
        self._held: dict[str, str] = {}
        self._files: dict[tuple[Path | None, bool, Release | None], Files] = {}
        self._missing: list[str] = []

    def files(self, config: Config) -> Files:
        """Return the store for the files of a configuration."""
        key = config.environment, config.follow_links, config.torch
        if key not in self._files:
            asked = Asked()
            environment = self._environment(config, asked)
            self._files[key] = Files(environment, follow_links=config.follow_links, asked=asked, held=self._held)
        return self._files[key]

    def hold(self, path: str, text: str | None) -> None:
        """Let a text count instead of what a file holds, or, with None, the file itself, which may have changed."""
        if text is None:
            self._held.pop(path, None)
        else:
            self._held[path] = text
        for files in self._files.values():
            files.changed(path)

    def release(self, config: Config) -> Release | None:
        """Return the release of torch that a project uses: the configured one, or the one that is installed."""
        environment = self.files(config).environment
        return config.torch or (None if environment is None else environment.torch)

    def _environment(self, config: Config, asked: Asked) -> Environment | None:
        if config.environment is None:
            return None
        folders = site_packages(config.environment)
        if isinstance(folders, Unread):
            self._missing.append(f"the Python environment {config.environment} is not read: {folders.why}")
            return None
        return Environment(folders, Cache(self._keeping.beside(config.root)), asked)

    def end(self) -> tuple[str, ...]:
        """Keep for later runs what was learnt of installed packages; return what could not be read of them."""
        problems, self._missing = self._missing, []
        for files in self._files.values():
            if files.environment is not None:
                files.environment.save()
                for package, why in files.environment.problems.items():
                    problems.append(f"the package {package} of the Python environment is not read: {why}")
        return tuple(problems)
