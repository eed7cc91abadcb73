"""What measures need before they say something: gradients of others, values that change, and nothing of chance."""

from __future__ import annotations

import ast

import pytest

from gradlint.check import check_source
from gradlint.confirm.check.evidence import measure_of
from gradlint.confirm.effects import missing, training, wrong
from gradlint.confirm.prove import Prover
from gradlint.domain.finding import Finding, Position, Span
from tests.confirm.examples import BAD, Claim, found_in
from tests.harness.torch_run import run_under_torch
from tests.rules.examples import bad_of

WALKED = {
    *(missing.NO_GRADIENT, missing.CONSTANT, missing.UNWEIGHTED, missing.STILL_ARRIVES),
    *(training.STALE, training.CLIPPED, training.IDLE, training.DISCARDED, training.UNTRAINED, training.UNREACHED),
    *(training.STILL_SCALED, wrong.WRONG_GRADIENT, wrong.NAN_GRADIENT, wrong.UNINITIALISED),
}
"""The measures that say something of gradients that arrive, somewhere at least."""

NEVER_REACHED = """\
import torch
w = torch.nn.Parameter(torch.ones(3))
v = torch.nn.Parameter(torch.ones(3))
opt = torch.optim.SGD([w, v], lr=0.1)
for _ in range(3):
    loss = (w * 2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def found(text: str, code: str) -> Finding:
    """The only finding of a rule in a program."""
    (finding,) = (one for one in check_source(text, "program.py") if one.code == code)
    return finding


def _without_walks(text: str) -> str:
    """The program with `pass` in each row of a statement that walks a graph, so that all others stay in place."""
    rows = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            last = node.end_lineno or node.lineno
            if ast.unparse(node.value.func).endswith("backward"):
                rows[node.lineno - 1 : last] = [" " * node.col_offset + "pass"] * (last - node.lineno + 1)
    return "\n".join(rows) + "\n"


WALKING = {
    name: claim
    for name, (rule, _) in BAD.items()
    if name in list(bad_of(rule))[:1]
    for claim in found_in(name)
    if measure_of(claim.finding) in WALKED and _without_walks(claim.code) != claim.code
}
"""The first bad example of each rule with such a measure, as far as it walks graphs by statements."""


@pytest.mark.parametrize("claim", WALKING.values(), ids=WALKING)
def test_no_gradient_is_missed_where_no_backward_runs(quick_prover: Prover, claim: Claim) -> None:
    """Without what walks its graphs no claim about gradients is confirmed."""
    assert quick_prover.confirm(claim.finding, _without_walks(claim.code)).verdict != "confirmed"


def test_the_mutation_reaches_the_measures_of_gradients() -> None:
    """Most of them; the others are those of rules whose example walks graphs in another way."""
    assert {measure_of(claim.finding) for claim in WALKING.values()} >= WALKED - {
        *(training.STILL_SCALED, wrong.UNINITIALISED, missing.CONSTANT)
    }


def test_the_proof_that_a_leaf_is_not_reached_keeps_a_backward_that_reaches_another(prover: Prover) -> None:
    """And its last statement does not fail without that."""
    answer = prover.confirm(found(NEVER_REACHED, "GRD308"), NEVER_REACHED)
    assert answer.repro is not None and ".backward()" in answer.repro
    assert run_under_torch(_without_walks(answer.repro)).raised is None


def test_a_loss_that_changes_by_chance_does_not_change_with_the_leaf(quick_prover: Prover) -> None:
    """Other values of the leaf draw no random numbers, which would move all those that are drawn after them."""
    text = """\
import torch
from torch import nn
encoder, head = nn.Linear(4, 3), nn.Linear(3, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
code = encoder(torch.randn(8, 4)).data
loss = head(code).pow(2).mean()
loss.backward()
optimizer.step()
"""
    finding = found(text, "GRD302")
    assert measure_of(finding) is missing.NO_GRADIENT
    assert quick_prover.confirm(finding, text).verdict == "confirmed"
    assert quick_prover.confirm(finding, text.replace("head(code)", "head(torch.randn(8, 3))")).verdict != "confirmed"


def _layer(forward: str) -> str:
    return f"""\
import torch
from torch import nn

def head(n):
    return nn.Linear(n, 2)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.head = head(4)

    def forward(self, x):
        return {forward}

model = Net()
model(torch.ones(1, 4)).sum().backward()
"""


def test_a_layer_that_a_helper_makes_belongs_to_no_module(quick_prover: Prover) -> None:
    """Nor is that refuted; one that the helper makes for an attribute does belong to one."""
    bad = _layer("head(4)(self.body(x))")
    finding = found(bad.replace("        self.head = head(4)\n", "\n"), "GRD607")
    assert quick_prover.confirm(finding, bad.replace("        self.head = head(4)\n", "\n")).verdict == "confirmed"
    assert quick_prover.confirm(finding, _layer("self.head(self.body(x))")).verdict != "confirmed"


def test_a_write_of_the_values_that_are_there_shows_nothing(quick_prover: Prover) -> None:
    """The bias is zero already; with another value the write is seen."""
    text = "import torch\nbn = torch.nn.BatchNorm1d(3)\nbn.bias.data.fill_({})\nbn(torch.randn(4, 3)).sum()\n"
    verdicts = [quick_prover.confirm(found(text.format(n), "GRD301"), text.format(n)).verdict for n in (0, 1)]
    assert verdicts == ["unconfirmed", "confirmed"]


def test_a_probe_that_fails_refutes_nothing(quick_prover: Prover) -> None:
    """What cannot be measured is not said to be otherwise."""
    text = "import torch\nclass Own:\n    data = None\nx = Own()\nx.data = torch.ones(3)\n"
    place = Span(Position(5, 1), Position(5, 23))
    finding = Finding("GRD301", "data-update", "m", "error", "silent", "program.py", place, (5, 5))
    answer = quick_prover.confirm(finding, text)
    assert answer.verdict == "unconfirmed"


def test_a_program_that_reads_an_empty_command_line_has_the_defaults(quick_prover: Prover) -> None:
    """With the real one the user may choose otherwise."""
    text = """\
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--inplace", action="store_true")
args = parser.parse_args({})
w = torch.ones(3, requires_grad=True)
if args.inplace:
    w.add_(1)
print(w)
"""
    finding = found(text.format(""), "GRD101")
    verdicts = [quick_prover.confirm(finding, text.format(given)).verdict for given in ("", "[]")]
    assert verdicts == ["confirmed", "unconfirmed"]


def test_a_function_that_a_script_does_not_call_shows_nothing(quick_prover: Prover) -> None:
    """In a module that only defines, others may call it."""
    text = "import torch\ndef scale(w):\n    loss = w.detach().sum()\n    loss.backward()\n"
    finding = found(text, "GRD205")
    assert quick_prover.confirm(finding, text).verdict == "confirmed"
    assert quick_prover.confirm(finding, f"{text}print(torch.ones(1))\n").verdict == "unconfirmed"
    assert quick_prover.confirm(finding, f"{text}import tests\ntests.run(scale)\n").verdict == "confirmed"
