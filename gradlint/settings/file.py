"""Read `[tool.gradlint]` of a `pyproject.toml`, or a `gradlint.toml`; every mistake is one clear error."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gradlint.domain.frozen import Frozen
from gradlint.rules.registry import all_rules
from gradlint.settings.config import DEFAULT_EXCLUDE, Config, ConfigError, FileIgnore
from gradlint.settings.environment import environment_of
from gradlint.settings.selection import ALL, Selection, unknown_word

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FORMATS = ("concise", "full", "json")
FILES = ("gradlint.toml", "pyproject.toml")
KEYS = (
    *("select", "extend-select", "ignore", "per-file-ignores"),
    *("exclude", "extend-exclude", "respect-gitignore", "output-format"),
    *("fix", "unsafe-fixes", "fixable", "unfixable", "python", "baseline"),
)


def load(path: Path) -> Config:
    """Return the configuration in one file, which must be there; a `pyproject.toml` may lack our table."""
    return _config_of(path, _our_table(path) or {})


def configured_in(directory: Path) -> Config | None:
    """Return the configuration that stands in the directory itself; `gradlint.toml` goes before `pyproject.toml`."""
    for path in (directory / name for name in FILES):
        table = _our_table(path) if path.is_file() else None
        if table is not None:
            return _config_of(path, table)
    return None


def check_words(words: Iterable[str], where: str) -> None:
    """Refuse a word that names no rule, and offer the closest one that does."""
    rules = all_rules()
    word = unknown_word(words, rules)
    if word is not None:
        known = [*(rule.code for rule in rules), *(rule.name for rule in rules)]
        raise ConfigError(f"{where}: `{word}` names no rule and begins no code{_closest(word, known)}")


def _our_table(path: Path) -> Mapping[str, object] | None:
    document = _parse(path)
    if path.name != "pyproject.toml":
        return document
    tool = document.get("tool", {})
    table = tool.get("gradlint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: `tool.gradlint` must be a table")
    return table


def _parse(path: Path) -> Mapping[str, object]:
    try:
        document: dict[str, object] = tomllib.loads(path.read_text(encoding="utf-8"))
        return document
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def _config_of(path: Path, entries: Mapping[str, object]) -> Config:
    for key in entries:
        if key not in KEYS:
            raise ConfigError(f"{path}: unknown key `{key}`{_closest(key, KEYS)}")
    table, root = _Table(path, entries), path.absolute().parent
    chosen = Selection(
        select=table.codes("select") if "select" in entries else None,
        extend_select=table.codes("extend-select"),
        ignore=table.codes("ignore"),
    )
    baseline = table.text("baseline")
    exclude = table.strings("exclude") if "exclude" in entries else DEFAULT_EXCLUDE
    return Config(
        root=root,
        selections=(chosen,),
        per_file_ignores=tuple(FileIgnore(root, *pair) for pair in table.file_ignores()),
        exclude=(*exclude, *table.strings("extend-exclude")),
        respect_gitignore=table.flag("respect-gitignore", default=True),
        output_format=table.choice("output-format", FORMATS),
        fix=table.flag("fix", default=False),
        unsafe_fixes=table.flag("unsafe-fixes", default=False),
        fixable=table.codes("fixable") if "fixable" in entries else (ALL,),
        unfixable=table.codes("unfixable"),
        environment=environment_of(root, table.text("python")),
        baseline=root / baseline if baseline is not None else None,
    )


class _Table(Frozen):
    """Typed access to the entries, with errors that name the file and the key."""

    path: Path
    entries: Mapping[str, object]

    def strings(self, key: str) -> tuple[str, ...]:
        return self._strings(self.entries.get(key, []), key)

    def codes(self, key: str) -> tuple[str, ...]:
        words = self.strings(key)
        check_words(words, f"{self.path}: `{key}`")
        return words

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.entries.get(key, default)
        if not isinstance(value, bool):
            raise ConfigError(f"{self.path}: `{key}` must be true or false")
        return value

    def text(self, key: str) -> str | None:
        value = self.entries.get(key)
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{self.path}: `{key}` must be a string")
        return value

    def choice(self, key: str, options: Sequence[str]) -> str:
        value = self.entries.get(key, options[0])
        if value not in options or not isinstance(value, str):
            raise ConfigError(f"{self.path}: `{key}` must be one of {', '.join(options)}")
        return value

    def file_ignores(self) -> list[tuple[str, tuple[str, ...]]]:
        key = "per-file-ignores"
        table = self.entries.get(key, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{self.path}: `{key}` must be a table from patterns to lists of codes")
        pairs = [(pattern, self._strings(codes, f"{key}.{pattern}")) for pattern, codes in table.items()]
        for pattern, codes in pairs:
            check_words(codes, f"{self.path}: `{key}.{pattern}`")
        return pairs

    def _strings(self, value: object, key: str) -> tuple[str, ...]:
        wrong = [item for item in value if not isinstance(item, str)] if isinstance(value, list) else []
        if wrong or not isinstance(value, list):
            holds = f", and holds {wrong[0]!r}" if wrong else ""
            raise ConfigError(f"{self.path}: `{key}` must be a list of strings{holds}")
        return tuple(value)


def _closest(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean `{close[0]}`?" if close else ""
