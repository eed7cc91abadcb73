"""What may have been meant by commands and options that do not exist."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

import click

from gradlint.domain.near_words import did_you_mean, near_words

_COMMANDS = {"lint": "check", "run": "check", "fix": "check --fix", "list": "rules", "explain-rule": "rule"}
_OPTIONS = {
    "--format": "--output-format",
    "--message-format": "--output-format",
    "--msg-template": "--output-format",
    "--report": "--output-format",
    "--reporter": "--output-format",
    "--output": "--output-file",
    "--severity": "--min-severity",
    "--severity-level": "--min-severity",
    "--level": "--min-severity",
    "--error": "--min-severity error",
    "--errors-only": "--min-severity error",
    "--fail-under": "--fail-on",
    "--fail-level": "--fail-on",
    "--error-on-warnings": "--fail-on warning",
    "--warn-only": "--fail-on never",
    "--exit-zero-even-if-changed": "--exit-zero",
    "--strict": "--preset strict",
    "--enable": "--extend-select",
    "--disable": "--ignore",
    "--extend-ignore": "--ignore",
    "--skip": "--ignore",
    "--disable-noqa": "--ignore-noqa",
    "--skip-noqa": "--ignore-noqa",
    "--extend-per-file-ignores": "--per-file-ignores",
    "--ignore-paths": "--exclude",
    "--config-file": "--config",
    "--rcfile": "--config",
    "--settings": "--show-settings",
    "--no-config": "--isolated",
    "--stdin-display-name": "--stdin-filename",
    "--silent": "--quiet",
    "--stats": "--statistics",
    "--autofix": "--fix",
    "--in-place": "--fix",
    "--torch-version": "--torch",
    "--target-version": "--torch",
    "--venv": "--python",
    "--python-executable": "--python",
}
"""Options of ruff, flake8, pylint, mypy, pyright, bandit and semgrep, and ours that say the same."""
_ELSEWHERE = {
    "--list-rules": "gradlint rules",
    "--list-checks": "gradlint rules",
    "--list-msgs": "gradlint rules",
    "--rules": "gradlint rules",
    "--explain": "gradlint rule CODE",
    "--help-msg": "gradlint rule CODE",
    "--init": "gradlint init",
    "--generate-config": "gradlint init",
}
"""Options that are commands of ours."""
_MISSING = {"--watch": "; `gradlint.recheck` in Python checks again after each change"}
"""Options of other linters for which there is nothing on our command line, and what there is."""


def no_such_command(word: str, known: Collection[str]) -> str:
    """Return the complaint about a word that is no command: a path is meant for `check`."""
    from gradlint.source.discover import SUFFIXES

    if os.path.lexists(word) or word.lower().endswith((*SUFFIXES, ".pyi")) or os.sep in word:
        return f"`{word}` is no command; did you mean `gradlint check {word}`?"
    near = [_COMMANDS[word]] if word in _COMMANDS else near_words(word, known)
    return f"no such command `{word}`{did_you_mean([f'gradlint {one}' for one in near])}"


def no_such_option(word: str, context: click.Context | None) -> str:
    """Return the complaint about an option that the command does not have."""
    if word in _MISSING:
        return f"gradlint has no `{word}` yet{_MISSING[word]}"
    known = list(_options(context, context.command)) if context is not None else []
    if context is not None and isinstance(context.command, click.Group):
        check = context.command.get_command(context, "check")
        if check is not None and word in _options(context, check):
            return f"no such option `{word}`{did_you_mean([f'gradlint check {word}'])}"
    meant = _ELSEWHERE.get(word) or _OPTIONS.get(word)
    if meant is not None and meant.startswith("-") and meant.split()[0] not in known:
        meant = None
    near = [meant] if meant is not None else near_words(word, known) if word.startswith("--") else []
    return f"no such option `{word}`{did_you_mean(near)}"


def _options(context: click.Context, command: click.Command) -> Iterable[str]:
    for parameter in command.get_params(context):
        yield from (*parameter.opts, *parameter.secondary_opts)
