from __future__ import annotations

from gradlint.rules.base import Rule


class WrongSuppression(Rule):
    """A comment that begins with `# gradlint:` cannot be understood, and silences nothing.

    What torch does
        Nothing: the comment is for gradlint.

    Why it matters
        Findings are reported that were meant to be silenced. If gradlint guessed, a missing bracket would
        silence all findings instead of one.

    When it may be wrong
        A misspelt word is reported only if it is close to one that gradlint knows, or if a bracket follows. All
        other text after `# gradlint:` is accepted as prose.

    Instead
        Write `# gradlint: ignore[GRD101]`, with the code of a rule, the first letters of it, or the name of the rule.
        An `enable` needs a `disable` before it. `docs/suppressions.md` lists all forms.

    References
        https://docs.astral.sh/ruff/rules/invalid-rule-code/
    """

    code = "GRD005"
    name = "wrong-suppression"
    effect = "fragile"
    fix = "safe"
    bad = """\
import torch

w = torch.ones(2, requires_grad=True)
v = w * 2  # gradlint: enable[GRD301]  # GRD005
"""
    good = """\
import torch

w = torch.ones(2, requires_grad=True)
w.data.add_(1)  # gradlint: ignore[GRD301]
# gradlint: the next line is right
v = w * 2
"""
