"""The options of `gradlint check` that say the same as keys of the configuration, and those that name its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from gradlint.entrypoints.decorating import with_options
from gradlint.settings.config import Config, ConfigError
from gradlint.settings.file import inline, load
from gradlint.settings.keys import KEY_OF, KEYS
from gradlint.settings.layers import layer
from gradlint.settings.nearest import Configs, Overrides
from gradlint.source.environment.place import interpreter

_WORDS = "codes", "patterns"
_OWN = "python", "baseline"
"""Keys whose options are read where they are used."""
_OPTIONS = (
    click.option("--select", multiple=True, metavar="CODES", help="Use only these rules: codes or prefixes."),
    click.option("--extend-select", multiple=True, metavar="CODES", help="Use these rules as well."),
    click.option("--ignore", multiple=True, metavar="CODES", help="Do not use these rules."),
    click.option("--preview/--no-preview", default=None, help="Use rules that are still being tried out."),
    click.option("--preset", type=click.Choice(KEY_OF["preset"].choices), help="Begin from a set of values."),
    click.option(
        "--min-severity", type=click.Choice(KEY_OF["min-severity"].choices), help="Report only these or higher ones."
    ),
    click.option(
        "--fail-on",
        type=click.Choice(KEY_OF["fail-on"].choices),
        help="Exit with 1 only for these or higher ones [default: warning].",
    ),
    click.option("--per-file-ignores", multiple=True, metavar="PATTERN:CODES", help="Ignore them in some files."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Keep these out, instead of the default."),
    click.option("--extend-exclude", multiple=True, metavar="PATTERN", help="Keep out more of the tree."),
    click.option(
        "--extend-include",
        multiple=True,
        metavar="PATTERN",
        help="Check more files of directories: '*.md' for Python in Markdown.",
    ),
    click.option("--fixable", multiple=True, metavar="CODES", help="Fix only these."),
    click.option("--unfixable", multiple=True, metavar="CODES", help="Do not fix these."),
    click.option(
        "--config",
        multiple=True,
        metavar="FILE | KEY=VALUE",
        help="Use this pyproject.toml or gradlint.toml; or TOML that goes on top of all files.",
    ),
    click.option("--isolated", is_flag=True, help="Use no configuration file."),
    click.option("--python", metavar="PATH", help="Read the packages of this Python environment, as source."),
    click.option("--no-environment", is_flag=True, help="Read no installed packages."),
)


settings_options = with_options(_OPTIONS)
"""Add the options to a command."""


def configs_of(options: Mapping[str, Any]) -> Configs:
    """Return the configurations that hold under the options of a command line.

    Raises:
        ConfigError: the options contradict each other, or one names what there is not.
    """
    files = [text for text in options["config"] if _names_a_file(text)]
    if len(files) > 1:
        raise ConfigError("--config: name one file; what it shares with others it can `extend`")
    if files and options["isolated"]:
        raise ConfigError("--config FILE and --isolated exclude each other")
    if options["python"] is not None and options["no_environment"]:
        raise ConfigError("--python and --no-environment exclude each other")
    said = (inline(text) for text in options["config"] if text not in files)
    overrides = Overrides(
        (*said, layer("command line", Path.cwd(), _entries(options), options=True)),
        ignore_noqa=options["ignore_noqa"],
        python=None if options["python"] is None else interpreter(options["python"]),
        no_environment=options["no_environment"],
        follow_links=options["follow_links"],
    )
    return Configs(load(Path(files[0])) if files else Config() if options["isolated"] else None, overrides)


def _names_a_file(text: str) -> bool:
    """Return whether a value of `--config` is no TOML: it then has to be a file."""
    return text.endswith(".toml") or Path(text).is_file()


def _entries(options: Mapping[str, Any]) -> dict[str, object]:
    """Return what the options say of keys; one that was not given, or only with empty words, says nothing."""
    entries: dict[str, object] = {}
    for key in KEYS:
        said = options.get(key.field) if key.option is not None and key.name not in _OWN else None
        if said is not None and said != ():
            entries[key.name] = said
    for name in [name for name in entries if KEY_OF[name].kind in _WORDS]:
        entries[name] = list(words_of(options[KEY_OF[name].field]))
    if options["fix_only"]:
        entries["fix"] = True
    if "per-file-ignores" in entries:
        entries["per-file-ignores"] = _file_ignores(options["per_file_ignores"])
    return entries


def words_of(values: Iterable[str]) -> Iterator[str]:
    """Yield the words of an option that may be given several times, with commas or spaces between words."""
    for value in values:
        yield from value.replace(",", " ").split()


def _file_ignores(items: Iterable[str]) -> dict[str, list[str]]:
    """Read `PATTERN:CODE`, more of them or more codes after commas: `tests/*:GRD1,GRD301,demo.py:GRD2`."""
    collected: dict[str, list[str]] = {}
    last = ""
    for word in (word.strip() for item in items for word in item.split(",") if word.strip()):
        pattern, colon, code = word.rpartition(":")
        if not colon and not collected:
            raise ConfigError(f"--per-file-ignores: `{word}` has no pattern; write it as PATTERN:CODE")
        last = pattern.strip() if colon else last
        collected.setdefault(last, []).append(code.strip())
    return collected
