"""The flake8 plugin. flake8 imports this file in every run, so it costs next to nothing until a file mentions
torch.

flake8 chooses the codes and reads its own `# noqa`; we read comments too, so that one anywhere in a statement
of several lines counts here as it does for `gradlint check`."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from typing import Any, ClassVar

CRASH = "GRD000"
"""No rule has this code: it says that we failed, where flake8 has room for nothing but findings."""


class Plugin:
    """What flake8 calls for each file: made with the tree and the lines, then run."""

    name = "gradlint"
    ignore_noqa: ClassVar[bool] = False

    def __init__(self, tree: ast.AST, lines: list[str], filename: str) -> None:
        """flake8 fills in parameters by name; asking for `tree` makes this a plugin about whole files."""
        self._lines = lines
        self._filename = filename

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Take from flake8 whether comments count."""
        cls.ignore_noqa = bool(options.disable_noqa)

    def run(self) -> Iterator[tuple[int, int, str, type[Any]]]:
        """The findings as flake8 wants them: row from 1, column from 0, text that begins with the code."""
        if not any("torch" in line for line in self._lines):
            return
        from gradlint.check import check_content
        from gradlint.plugins.installed import switched_off
        from gradlint.report.concise import on_one_line
        from gradlint.settings.config import Config

        config = Config(ignore_noqa=self.ignore_noqa)
        with switched_off():  # flake8 knows our codes alone.
            outcome = check_content("".join(self._lines), self._filename, config)
        for finding in outcome.findings:
            start = finding.span.start
            yield start.row, start.column - 1, f"{finding.code} {on_one_line(finding.message)}", type(self)
        for crash in outcome.crashes:
            # An exception would end the run of flake8, and hide what all other plugins have found.
            yield 1, 0, f"{CRASH} internal error of gradlint: {crash.summary}; please report it", type(self)
