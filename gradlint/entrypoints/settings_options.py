"""The options of `gradlint check` that say the same as keys of the configuration, and those that name its files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from gradlint.entrypoints.decorating import with_options
from gradlint.settings.config import Config, ConfigError
from gradlint.settings.file import inline, load
from gradlint.settings.keys import DEFAULT_FAIL_ON, KEY_OF, KEYS
from gradlint.settings.layers import layer
from gradlint.settings.nearest import Configs, Overrides
from gradlint.source.environment.place import interpreter

_WORDS = "codes", "patterns"
_OPTIONS = (
    click.option("--select", multiple=True, metavar="CODES", help="Use only these rules: codes, prefixes or names."),
    click.option("--extend-select", multiple=True, metavar="CODES", help="Use these rules as well."),
    click.option("--ignore", multiple=True, metavar="CODES", help="Do not use these rules."),
    click.option("--preview/--no-preview", default=None, help="Use the preview rules, which may still change."),
    click.option("--preset", type=click.Choice(KEY_OF["preset"].choices), help="Start from the values of a preset."),
    click.option(
        "--min-severity",
        type=click.Choice(KEY_OF["min-severity"].choices),
        help="Report only findings of this severity or a higher one.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice(KEY_OF["fail-on"].choices),
        help=f"Exit with 1 only for findings of this severity or a higher one [default: {DEFAULT_FAIL_ON}].",
    ),
    click.option("--per-file-ignores", multiple=True, metavar="PATTERN:CODES", help="Ignore rules in some files."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Exclude these instead of the default."),
    click.option("--extend-exclude", multiple=True, metavar="PATTERN", help="Exclude these as well."),
    click.option(
        "--extend-include",
        multiple=True,
        metavar="PATTERN",
        help="Also check files that match: '*.md' for Python in Markdown.",
    ),
    click.option("--fixable", multiple=True, metavar="CODES", help="Fix only findings of these rules."),
    click.option("--unfixable", multiple=True, metavar="CODES", help="Do not fix findings of these rules."),
    click.option(
        "--config",
        multiple=True,
        metavar="FILE | KEY=VALUE",
        help="Use this configuration file; or set a key, as in TOML, which overrides all files.",
    ),
    click.option("--isolated", is_flag=True, help="Use no configuration file."),
    click.option(
        "--python", metavar="PATH", help="Read the installed packages of this Python environment; none is imported."
    ),
    click.option("--no-environment", is_flag=True, help="Do not read installed packages."),
    click.option("--torch", metavar="RELEASE", help="The release of torch that the project uses, such as 2.4."),
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
    own = layer("command line", Path.cwd(), _entries(options), options=True)
    if "python" in own.values and not interpreter(own.values["python"]).exists():
        raise ConfigError(f"--python: {options['python']}: no such file or directory")
    said = (inline(text) for text in options["config"] if text not in files)
    overrides = Overrides(
        (*said, own),
        ignore_noqa=options["ignore_noqa"],
        no_environment=options["no_environment"],
        follow_links=options["follow_links"],
    )
    return Configs(load(Path(files[0])) if files else Config() if options["isolated"] else None, overrides)


def _names_a_file(text: str) -> bool:
    """Return whether a value of `--config` is no TOML: it then has to be a file."""
    return text.endswith(".toml") or os.path.exists(text)


def _entries(options: Mapping[str, Any]) -> dict[str, object]:
    """Return what the options say of keys; one that was not given says nothing."""
    entries: dict[str, object] = {}
    for key in KEYS:
        said = options.get(key.field) if key.option is not None else None
        if said is not None and said != ():
            entries[key.name] = words_of(said, f"--{key.name}") if key.kind in _WORDS else said
    if options["fix_only"]:
        entries["fix"] = True
    if "per-file-ignores" in entries:
        entries["per-file-ignores"] = _file_ignores(options["per_file_ignores"])
    return entries


def words_of(values: Iterable[str], option: str) -> list[str]:
    """Return the words of an option that may be given several times, with commas or spaces between words.

    Raises:
        ConfigError: a value has no word.
    """
    words = [value.replace(",", " ").split() for value in values]
    if not all(words):
        raise ConfigError(f"{option}: the value is empty")
    return [word for some in words for word in some]


def _file_ignores(items: Iterable[str]) -> dict[str, list[str]]:
    """Read `PATTERN:CODE`, more of them or more codes after commas: `tests/*:GRD1,GRD301,demo.py:GRD2`."""
    collected: dict[str, list[str]] = {}
    last = ""
    for word in (word for item in items for word in [one for one in item.split(",") if one.strip()] or [item]):
        pattern, colon, code = (part.strip() for part in word.rpartition(":"))
        last = pattern if colon else last
        if not (last and code):
            raise ConfigError(f"--per-file-ignores: `{word.strip()}` is not of the form PATTERN:CODE")
        collected.setdefault(last, []).append(code)
    return collected
