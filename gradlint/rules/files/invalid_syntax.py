from __future__ import annotations

from gradlint.rules.base import Rule


class InvalidSyntax(Rule):
    """The file cannot be parsed, so it is not checked.

    What torch does
        Nothing: Python rejects the file before torch is imported. gradlint recognises Python 2 and says
        so, because old PyTorch tutorials are written in it. Bytes that are not UTF-8 in a file without an
        encoding declaration, NUL bytes, and brackets nested deeper than Python allows are reported too.

    Why it matters
        gradlint finds nothing in a file that it cannot read. Without this report, the file would look
        as if it had passed.

    When it may be wrong
        If the file uses syntax that the parser (libcst) does not support yet. The message then says
        that Python accepts the file.

    Instead
        Fix the syntax, convert the file to Python 3, or add it to `exclude`. gradlint parses only files
        that mention torch and files named on the command line.

    References
        https://docs.python.org/3/reference/lexical_analysis.html
    """

    code = "GRD001"
    name = "invalid-syntax"
    effect = "invalid"
    raises = "Missing parentheses in call to 'print'"
    bad = "import torch\nprint 'torch'  # GRD001\n"
    good = "import torch\nprint('torch')\n"
