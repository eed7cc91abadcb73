"""The fixes of each rule: what is mended is silent, runs under torch without the effect, and stays as it is."""

from __future__ import annotations

import json
import math
from functools import cache

import pytest

from gradlint.check import check_source
from gradlint.domain.finding import Finding
from gradlint.facts.names import TENSOR, names_of
from gradlint.fixes.mend import mend
from gradlint.outcome import Checked, Mended
from gradlint.rules.authoring.repairs import plain_method
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from gradlint.settings.config import Config
from tests.harness.program import FILENAME
from tests.harness.torch_run import run_under_torch
from tests.rules.examples import Bad, bad_of

FIXABLE = tuple(rule for rule in all_rules() if rule.fix is not None)
BAD = {name: (rule, bad) for rule in FIXABLE for name, bad in bad_of(rule).items()}

every_bad = pytest.mark.parametrize(("rule", "bad"), BAD.values(), ids=BAD.keys())


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_says_what_fixes_its_examples_get(rule: Rule) -> None:
    """Neither more nor less is promised."""
    found = [finding for bad in bad_of(rule).values() for finding in reported(rule, bad.code)]
    offered = [finding.fix for finding in found if finding.fix is not None]
    kinds = [kind for kind, safe in (("safe", True), ("unsafe", False)) if any(fix.safe is safe for fix in offered)]
    assert rule.fix == (" or ".join(kinds) or None)


@every_bad
def test_a_mended_example_is_silent_and_runs(rule: Rule, bad: Bad) -> None:
    """What the rule mends, it does not report again, and torch does not show the effect again.

    Where torch can now hear a mistake beside it, gradlint tells of that one.
    """
    fixed = mended(rule, bad.code)
    assert fixed.settled
    assert not fixed.broken
    if any(finding.fix is None for finding in reported(rule, bad.code)):
        return  # Another finding of the example has no fix, and may show the effect.
    assert reported(rule, fixed.after) == ()
    outcome = run_under_torch(fixed.after, bad.shows)
    assert outcome.raised is None or (bad.error is None and is_told(fixed.after))
    assert outcome.shown is not True, "the effect is still there"


@every_bad
def test_a_second_application_changes_nothing(rule: Rule, bad: Bad) -> None:
    """Fixes settle."""
    once = mended(rule, bad.code).after
    assert mended(rule, once).after == once


@pytest.mark.parametrize("name", [name for name, (_, bad) in BAD.items() if bad.error is None])
def test_a_safe_fix_keeps_the_values(name: str) -> None:
    """Of a program that runs through, all tensors and numbers of the module, and what its networks hold.

    Excepted are gradients, which are not among them, and what was infinite or no number: that is the fault itself.
    """
    rule, bad = BAD[name]
    safe = mended(rule, bad.code, only_safe=True)
    if not safe.made:
        return
    before, after = values(bad.code), values(safe.after)
    assert before
    assert after.keys() >= before.keys()
    assert {name: value for name, value in before.items() if not same(value, after[name])} == {}


def test_methods_out_of_place_exist() -> None:
    """`x.f_()` becomes `x = x.f()` only where torch has the other."""
    plain = {name: plain for name in names_of(TENSOR) or () if (plain := plain_method(name)) is not None}
    assert len(plain) > 100
    shows = f"all(hasattr(torch.Tensor, name) for name in {[*plain.values()]})"
    assert run_under_torch("import torch", shows).shown is True
    assert [name for name in ("add_", "clamp_", "subtract_", "relu_") if name not in plain] == []
    assert [name for name in ("gt_", "greater_", "fill_", "copy_", "bernoulli_", "normal_") if name in plain] == []


@pytest.mark.parametrize(
    "code",
    [
        # The write is part of a computation: below no_grad, the rest of it would have no graph.
        "w = torch.ones(3, requires_grad=True)\nloss = (x * w.mul_(2)).sum()\n",
        # What is added is a container: it has no `detach`.
        "w = torch.ones(3, requires_grad=True)\nkept = []\nfor _ in range(3):\n    loss = (x * w).exp().sum()\n"
        "    loss.backward()\n    kept.append({'loss': loss})\n",
        "w = torch.ones(3, requires_grad=True)\nkept = []\nfor _ in range(3):\n    loss = (x * w).exp().sum()\n"
        "    loss.backward()\n    kept += [loss]\n",
        # Another shape or type may come in with the new data.
        "w = torch.ones(3, requires_grad=True)\nw.data = x.double()\n",
        # A function writes in place: its namespace must not become the result.
        "w = torch.ones(2, requires_grad=True)\na, b = (w * 1).unbind()\ntorch.relu_(a)\n",
        # The flags differ from call to call.
        "def f(a, b, mean):\n    return torch.nn.functional.mse_loss(a, b, size_average=mean)\nf(x, x, True)\n",
    ],
)
def test_what_has_no_fix(code: str) -> None:
    """Found, and left to people."""
    found = check_source(f"import torch\nx = torch.ones(3)\n{code}", FILENAME, Config())
    assert found
    assert [finding.fix for finding in found] == [None] * len(found)


def values(code: str) -> dict[str, object]:
    """What the names of a program hold in the end, from a fixed seed."""
    raised = run_under_torch(code + VALUES).raised
    assert raised is not None
    assert raised.text.startswith("VALUES"), raised
    found: dict[str, object] = json.loads(raised.text.removeprefix("VALUES"))
    return found


def same(before: object, after: object) -> bool:
    """Whether two values are the same but for rounding."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(same(before[name], after[name]) for name in before)
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(same, before, after))
    if isinstance(before, float) and isinstance(after, float):
        return not math.isfinite(before) or math.isclose(before, after, rel_tol=1e-5, abs_tol=1e-7)
    return before == after


VALUES = """
import json as _json, torch as _torch

def _value(value, depth=0):
    if isinstance(value, _torch.Tensor):
        return value.detach().tolist()
    if isinstance(value, _torch.nn.Module):
        return {name: tensor.tolist() for name, tensor in value.state_dict().items()}
    if isinstance(value, (list, tuple)) and depth < 3:
        return [_value(one, depth + 1) for one in value]
    if isinstance(value, dict) and depth < 3:
        return {str(name): _value(one, depth + 1) for name, one in value.items()}
    return value if isinstance(value, (bool, int, float, str)) else None

raise RuntimeError("VALUES" + _json.dumps({n: _value(v) for n, v in list(globals().items()) if n[0] != "_"}))
"""


@cache
def mended(rule: Rule, code: str, *, only_safe: bool = False) -> Mended:
    """All fixes of one rule, or the safe ones."""

    def wanted(finding: Finding, now: str) -> bool:
        return finding.fix is not None and (finding.fix.safe or not only_safe)

    checked = Checked(FILENAME, reported(rule, code))
    return mend(code, checked, lambda text: Checked(FILENAME, reported(rule, text)), wanted)[1]


def is_told(code: str) -> bool:
    """Whether gradlint says that a program raises."""
    return any(finding.effect == "raises" for finding in check_source(code, FILENAME, Config()))


@cache
def reported(rule: Rule, code: str) -> tuple[Finding, ...]:
    """What one rule finds."""
    return tuple(finding for finding in check_source(code, FILENAME, Config()) if finding.code == rule.code)
