"""GRD001: the file is no Python 3 program."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.rules.base import Bad, Good, Report, Rule


class InvalidSyntax(Rule):
    """The file cannot be parsed, so nothing is known about it.

    What torch does
        Nothing: Python refuses the file before torch is asked. Python 2 is recognised and named, since old
        PyTorch tutorials are written in it. Bytes that are not UTF-8, where no coding line names another
        encoding, NUL bytes, and brackets nested deeper than Python allows count as well.

    Why it matters
        A file that is not read is a file about which gradlint is silent, and silence must not look like
        praise.

    When it may be wrong
        Where the file uses syntax newer than what the parser (libcst) knows; the message then says that
        Python accepts the file.

    Instead
        Write it in Python 3, or keep the file out with `exclude`. Only files that mention torch are parsed,
        and files named on the command line.

    References
        https://docs.python.org/3/reference/lexical_analysis.html
    """

    code = "GRD001"
    name = "invalid-syntax"
    effect = "invalid"
    events = ()
    bad = (
        Bad("import torch\nprint 'torch'  # GRD001\n", error="Missing parentheses in call to 'print'"),
        Bad("import torch\nx = torch.ones(2  # GRD001\n", error="was never closed"),
    )
    good = (Good("import torch\nprint('torch')\n"),)

    def check(self, event: Event) -> Iterator[Report]:
        """Nothing: a file without syntax has no events, and `check.py` reports it itself."""
        yield from ()
