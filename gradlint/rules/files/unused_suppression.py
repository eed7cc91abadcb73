from __future__ import annotations

from gradlint.rules.base import Rule


class UnusedSuppression(Rule):
    """A comment is there to silence findings of gradlint, and silences none.

    What torch does
        Nothing: the comment is for gradlint.

    Why it matters
        The fault was fixed or never existed, but the comment is still there. It will hide the next
        fault of that kind on the line.

    When it may be wrong
        Codes of other tools, a bare `# noqa`, a comment without codes for a whole file, and codes of rules that
        are not selected in this run are not reported. Neither is a comment in a file that is too large to be
        checked completely.

    Instead
        Remove the code, or the comment. `--fix` does this. All forms of such comments are listed in
        `docs/suppressions.md`.

    References
        https://docs.astral.sh/ruff/rules/unused-noqa/
    """

    code = "GRD003"
    name = "unused-suppression"
    effect = "fragile"
    fix = "safe"
    bad = "import torch\n\nx = torch.ones(2)\nx.add_(1)  # noqa: GRD101  # GRD003\n"
    good = """\
import torch

w = torch.ones(2, requires_grad=True)
w.data.add_(1)  # noqa: GRD301
print(w)  # noqa: T201
x = w * 2  # noqa
"""
