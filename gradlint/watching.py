"""Check files again whenever one of them, or its configuration, has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from gradlint.check import check_paths, names_of
from gradlint.outcome import Outcome
from gradlint.settings.config import Config
from gradlint.settings.file import FILES
from gradlint.settings.nearest import Configs
from gradlint.source.discover import Discovery

INTERVAL = 0.5
"""Seconds between two looks at the files."""


def recheck(
    paths: Iterable[str | Path], config: Config | None = None, *, interval: float = INTERVAL
) -> Iterator[Outcome]:
    """Yield what `check_paths` returns, now and after each change, without end: whoever iterates stops.

    A change is a file that is new, gone, or written, or a configuration file beside or above one. It is looked for
    every `interval` seconds, by the times and sizes of files.

    Raises:
        ConfigError: a configuration is wrong, perhaps for as long as it is being written.
        TypeError: `paths` is one path, and not a list of them.
    """
    names = names_of(paths)
    checked: object = None
    while True:
        now = _state(names, config)
        if now == checked:
            time.sleep(interval)
            continue
        checked = now
        yield check_paths(names, config)


def _state(names: list[str], config: Config | None) -> dict[Path, tuple[int, int] | None]:
    """Return the time and the size of each file that counts; None for what is not there."""
    files = [found.path for found in Discovery(Configs(config)).files(names)]
    folders = {folder for file in files for folder in file.parents}
    return {file: _stamp(file) for file in (*files, *(folder / name for folder in folders for name in FILES))}


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
