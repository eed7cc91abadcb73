"""What `.gitignore` files keep out, from the root of the repository down to each directory."""

from __future__ import annotations

from pathlib import Path

from pathspec import GitIgnoreSpec


class Gitignores:
    """The `.gitignore` files of all directories that were asked about, each read once."""

    def __init__(self) -> None:
        self._specs: dict[Path, tuple[tuple[Path, GitIgnoreSpec], ...]] = {}

    def ignore(self, path: Path, *, is_directory: bool) -> bool:
        """Return whether git would leave this entry of a directory out; the deepest file with an opinion decides.

        That a directory above is left out is for the caller to know, who comes from there.
        """
        for root, spec in reversed(self._above(path.parent)):
            relative = path.relative_to(root).as_posix() + ("/" if is_directory else "")
            verdict = spec.check_file(relative).include
            if verdict is not None:
                return verdict
        return False

    def _above(self, directory: Path) -> tuple[tuple[Path, GitIgnoreSpec], ...]:
        if directory not in self._specs:
            self._specs[directory] = (*self._outer(directory), *_read(directory))
        return self._specs[directory]

    def _outer(self, directory: Path) -> tuple[tuple[Path, GitIgnoreSpec], ...]:
        """Return what holds from further up: to the root of the repository, or, outside of any, of the walk."""
        parent = directory.parent
        if (directory / ".git").exists() or parent == directory:
            return ()
        in_repository = any((above / ".git").exists() for above in directory.parents)
        return self._above(parent) if in_repository or parent in self._specs else ()


def _read(directory: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    """Return the rules of one directory; at the root of a repository also those that are private to the clone."""
    texts = [_text(directory / ".git" / "info" / "exclude"), _text(directory / ".gitignore")]
    lines = [line for text in texts for line in text.splitlines()]
    return [(directory, GitIgnoreSpec.from_lines(lines))] if lines else []


def _text(path: Path) -> str:
    """Return the content; empty where there is none or git itself could not read it."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
