"""Operators: each puts one human mistake at one place of a training script.

An operator yields the changes that it can make to a script: a node, and what stands there instead. It looks for
its place by syntax alone, and passes over places where the result would not be a defect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import libcst as cst

from .script import NETWORK, OPTIMIZER, SCHEDULER, Script, Suite

Line: TypeAlias = cst.SimpleStatementLine


class Change(NamedTuple):
    """A node and its replacement; `at` is the node whose row names the place."""

    at: cst.CSTNode
    old: cst.CSTNode
    new: cst.CSTNode


class Operator(NamedTuple):
    """A mistake, and the codes that a right finding may have."""

    name: str
    codes: frozenset[str]
    changes: Callable[[Script], Iterator[Change]]


OPERATORS: list[Operator] = []
_Changes: TypeAlias = Callable[[Script], Iterator[Change]]

ACTIVATIONS = ("exp", "sigmoid", "tanh", "softmax", "sqrt")
OPTIMIZERS = ("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "RAdam", "NAdam", "Adamax")
REDUCED = "mse_loss|l1_loss|smooth_l1_loss|cross_entropy|nll_loss|binary_cross_entropy_with_logits"
LOST = ("GRD205", "GRD302", "GRD303", "GRD304", "GRD305", "GRD306", "GRD309")


def operator(name: str, *codes: str) -> Callable[[_Changes], _Changes]:
    """Register an operator."""

    def register(changes: _Changes) -> _Changes:
        OPERATORS.append(Operator(name, frozenset(codes), changes))
        return changes

    return register


# How the pieces are changed.


def _expression(code: str) -> cst.BaseExpression:
    return cst.parse_expression(code)


def _with(suite: Suite, body: Sequence[cst.BaseStatement]) -> Suite:
    return suite.with_changes(body=list(body) or [cst.parse_statement("pass")])


def _dropped(script: Script, line: cst.BaseStatement, *instead: cst.BaseStatement) -> Change:
    suite = script.suite(line)
    assert suite is not None
    body: list[cst.BaseStatement] = []
    for one in _body(suite):
        body += instead if one is line else (one,)
    return Change(line, suite, _with(suite, body))


def _moved(script: Script, line: Line, before: cst.BaseStatement) -> Change:
    """The line stands right before another statement of its suite."""
    suite = script.suite(line)
    assert suite is not None
    body: list[cst.BaseStatement] = []
    for one in _body(suite):
        if one is before:
            body.append(line)
        if one is not line:
            body.append(one)
    return Change(line, suite, _with(suite, body))


def _body(suite: Suite) -> Sequence[cst.BaseStatement]:
    return [one for one in suite.body if isinstance(one, cst.BaseStatement)]


def _place(script: Script, line: cst.CSTNode) -> tuple[list[cst.BaseStatement], int]:
    suite = script.suite(line)
    assert suite is not None
    body = list(_body(suite))
    return body, next(index for index, one in enumerate(body) if one is line)


def _value(script: Script, value: cst.BaseExpression, pattern: str) -> Change:
    """The pattern stands instead of a value; `{}` is its code."""
    code = script.code(value)
    simple = isinstance(value, cst.Call | cst.Name | cst.Attribute | cst.Subscript) and not value.lpar
    simple = simple or pattern.startswith("torch.")
    return Change(value, value, _expression(pattern.format(code if simple else f"({code})")))


def _renamed(call: cst.Call, name: str) -> Change:
    assert isinstance(call.func, cst.Attribute)
    func = call.func.with_changes(attr=cst.Name(name))
    return Change(call, call, call.with_changes(func=func))


def _receiver(call: cst.Call) -> cst.BaseExpression:
    assert isinstance(call.func, cst.Attribute)
    return call.func.value


def _backwards(script: Script) -> dict[int, Line]:
    return {id(sink.line): sink.line for sink in script.sinks if sink.call is not None}


def _assigned(script: Script, classes: str) -> Iterator[tuple[cst.Assign, cst.Call, str]]:
    """The assignments of a call of one of these classes, each with the call and the target."""
    for node in script.all(cst.Assign):
        if isinstance(node.value, cst.Call) and re.search(rf"(^|\.)({classes})$", script.code(node.value.func)):
            yield node, node.value, script.code(node.targets[0].target)


# The order of the loop.


@operator("zero-grad-dropped", "GRD501")
def _(script: Script) -> Iterator[Change]:
    steps = list(script.steps())
    lines = list(script.lines_of("zero_grad"))
    for line, _call, receiver in lines:
        home, loop = script.function(line), script.loop(line)
        here = [other for one, _c, other in lines if script.function(one) is home]
        stepped = {other for one, _c, other in steps if script.function(one) is home}
        trains = any(script.loop(one) is loop and script.function(one) is home for one in _backwards(script).values())
        own = here.count(receiver) == 1 and len(set(here)) <= len(stepped)
        if trains and own and ".grad = None" not in script.text:
            yield _dropped(script, line)


def _next_step(script: Script, body: list[cst.BaseStatement], index: int) -> int | None:
    """The first optimizer step after an index, with a backward between them and no second one."""
    steps = {id(line) for line, _c, _r in script.steps()}
    cleared = {id(line) for line, _c, _r in script.lines_of("zero_grad")}
    seen = 0
    for later in range(index + 1, len(body)):
        if id(body[later]) in cleared:
            return None
        seen += id(body[later]) in _backwards(script)
        if id(body[later]) in steps:
            return later if seen == 1 else None
    return None


@operator("zero-grad-before-step", "GRD502")
def _(script: Script) -> Iterator[Change]:
    for line, _call, _r in script.lines_of("zero_grad"):
        body, index = _place(script, line)
        step = _next_step(script, body, index)
        if step is not None:
            yield _moved(script, line, body[step])


def _pairs(script: Script) -> Iterator[tuple[Line, Line]]:
    """A backward and the step after it in the same suite, with no other of either between or right before."""
    steps = {id(line) for line, _c, _r in script.steps()}
    for backward in _backwards(script).values():
        body, index = _place(script, backward)
        before = [one for one in body[:index] if id(one) in steps or id(one) in _backwards(script)]
        if before and id(before[-1]) not in steps:
            continue
        for one in body[index + 1 :]:
            if id(one) in _backwards(script):
                break
            if id(one) in steps and isinstance(one, cst.SimpleStatementLine):
                yield backward, one
                break


@operator("backward-dropped", "GRD503", "GRD520", "GRD308", "GRD608")
def _(script: Script) -> Iterator[Change]:
    for backward, _step in _pairs(script):
        yield _dropped(script, backward)


@operator("step-dropped", "GRD502", "GRD503", "GRD519", "GRD505", "GRD506", "GRD518")
def _(script: Script) -> Iterator[Change]:
    steps = list(script.steps())
    for line, _call, receiver in steps:
        if sum(other == receiver for _l, _c, other in steps) == 1 and script.text.count(".step(") == len(
            list(script.lines_of("step"))
        ):
            yield _dropped(script, line)


@operator("step-before-backward", "GRD104", "GRD502", "GRD503", "GRD505")
def _(script: Script) -> Iterator[Change]:
    for backward, step in _pairs(script):
        yield _moved(script, step, backward)


def _uncalled(script: Script, method: str) -> Iterator[Change]:
    for line, call, receiver in script.lines_of(method):
        trains = method != "step" or OPTIMIZER.search(receiver) or SCHEDULER.search(receiver)
        if trains and not call.args and script.loop(line) is not None:
            yield Change(line, call, call.func)


for _method in ("zero_grad", "backward", "step"):
    operator(f"{_method.replace('_', '-')}-not-called", "GRD515")(partial(_uncalled, method=_method))


@operator("scheduler-first", "GRD506")
def _(script: Script) -> Iterator[Change]:
    steps = [line for line, _c, _r in script.steps()]
    for line, call, receiver in script.lines_of("step"):
        loop = script.loop(line)
        if not SCHEDULER.search(receiver) or call.args or loop is None:
            continue
        body, index = _place(script, line)
        inner = [one for one in body[:index] if any(one is step or one in script.above(step) for step in steps)]
        if inner:
            yield _moved(script, line, inner[0])


@operator("clip-after-step", "GRD504", "GRD505")
def _(script: Script) -> Iterator[Change]:
    for line, step in _clipped(script):
        yield _moved(script, step, line)


@operator("clip-before-backward", "GRD504")
def _(script: Script) -> Iterator[Change]:
    for line, _step in _clipped(script):
        body, index = _place(script, line)
        backward = [one for one in body[:index] if id(one) in _backwards(script)]
        if backward and "unscale_" not in script.text:
            yield _moved(script, line, backward[-1])


def _clipped(script: Script) -> Iterator[tuple[Line, Line]]:
    """The lines that clip, each with the step after it in the same suite."""
    steps = {id(line) for line, _c, _r in script.steps()}
    for line, _call, _r in script.lines_of("clip_grad_norm_", "clip_grad_value_"):
        body, index = _place(script, line)
        for one in body[index + 1 :]:
            if id(one) in steps and isinstance(one, cst.SimpleStatementLine):
                yield line, one
                break


@operator("accumulation-cleared", "GRD518")
def _(script: Script) -> Iterator[Change]:
    for line, _call, _r in script.lines_of("zero_grad"):
        branch = script.up(line, cst.If)
        suite = script.suite(branch) if branch is not None else None
        if branch is None or suite is None or branch.orelse is not None or script.loop(line) is None:
            continue
        if "%" not in script.code(branch.test):
            continue
        body = list(_body(suite))
        if any(id(one) in _backwards(script) for one in body) and script.suite(line) is branch.body:
            kept = [one for one in branch.body.body if one is not line]
            first = next(index for index, one in enumerate(body) if id(one) in _backwards(script))
            if kept:
                short = branch.with_changes(body=branch.body.with_changes(body=kept))
                body[body.index(branch)] = short
                yield Change(line, suite, _with(suite, [*body[:first], line, *body[first:]]))


# The loss and its graph.


def _wrapped(script: Script, pattern: str) -> Iterator[Change]:
    if not pattern.startswith("torch.") or re.search(r"^import torch$", script.text, re.MULTILINE):
        for _sink, line, value in script.trained():
            yield _value(script, value, pattern)._replace(at=line)


def _cut(script: Script, pattern: str) -> Iterator[Change]:
    for loss, arg, _line in script.outputs():
        yield _value(script, arg.value, pattern)._replace(at=loss)


operator("loss-item", *LOST, "GRD801")(partial(_wrapped, pattern="{}.item()"))
operator("loss-detached", *LOST)(partial(_wrapped, pattern="{}.detach()"))
operator("loss-data", *LOST)(partial(_wrapped, pattern="{}.data"))
operator("loss-rewrapped", *LOST)(partial(_wrapped, pattern="torch.tensor({})"))
operator("loss-rewrapped-with-flag", *LOST)(partial(_wrapped, pattern="torch.tensor({}, requires_grad=True)"))
operator("output-detached", *LOST)(partial(_cut, pattern="{}.detach()"))
operator("output-data", *LOST)(partial(_cut, pattern="{}.data"))


@operator("argmax-before-loss", "GRD401", "GRD403", "GRD205")
def _(script: Script) -> Iterator[Change]:
    names = _criteria(script, "(CrossEntropy|NLL)Loss")
    for loss, arg, _line in script.outputs():
        func = script.code(loss.func)
        guessed = re.search("criterion|loss_f", func) and re.search(r"argmax|torch\.max\(", script.text)
        if guessed or func in names or func.endswith(("cross_entropy", "nll_loss")):
            yield _value(script, arg.value, "{}.argmax(dim=1).float()")._replace(at=loss)


@operator("forward-without-grad", "GRD307", "GRD205", "GRD109")
def _(script: Script) -> Iterator[Change]:
    for _loss, _arg, line in script.outputs():
        if script.suite(line) is not None:
            block = cst.IndentedBlock([line.with_changes(leading_lines=[])])
            item = cst.WithItem(_expression("torch.no_grad()"))
            yield _dropped(script, line, cst.With([item], block, leading_lines=line.leading_lines))


@operator("mean-dropped", "GRD201")
def _(script: Script) -> Iterator[Change]:
    for _sink, line, value in script.trained():
        func = value.func if isinstance(value, cst.Call) and not value.args else None
        if (
            isinstance(func, cst.Attribute)
            and func.attr.value == "mean"
            and isinstance(func.value, cst.BinaryOperation)
        ):
            yield Change(line, value, func.value)


def _criteria(script: Script, classes: str) -> set[str]:
    """The names to which a loss of these classes is assigned."""
    return {target for _node, _call, target in _assigned(script, classes)}


@operator("reduction-none", "GRD201")
def _(script: Script) -> Iterator[Change]:
    for sink, line, value in script.trained():
        reduces = isinstance(value, cst.Call) and re.fullmatch(
            rf"(F|.*functional)\.({REDUCED})", script.code(value.func)
        )
        if reduces and sink.call is not None and not re.search(r"reduc|average", script.code(value)):
            yield Change(line, value, _argument(cst.ensure_type(value, cst.Call), 'reduction="none"'))


@operator("criterion-unreduced", "GRD201")
def _(script: Script) -> Iterator[Change]:
    used = {
        script.code(value.func)
        for sink, _line, value in script.trained()
        if isinstance(value, cst.Call) and sink.call is not None and not script.network_call(value)
    }
    for node, call, target in _assigned(script, "(MSE|L1|SmoothL1|CrossEntropy|NLL|BCE|BCEWithLogits)Loss"):
        if target in used and not re.search(r"reduc|average", script.code(call)):
            yield Change(node, call, _argument(call, 'reduction="none"'))


def _argument(call: cst.Call, code: str) -> cst.Call:
    made = cst.ensure_type(_expression(f"f({code})"), cst.Call).args[0]
    args = [*call.args]
    if args:
        args[-1] = args[-1].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    return call.with_changes(args=[*args, made])


@operator("softmax-before-cross-entropy", "GRD701")
def _(script: Script) -> Iterator[Change]:
    names = _criteria(script, r"CrossEntropyLoss")
    for loss, arg, _line in script.outputs():
        takes_logits = script.code(loss.func) in names or script.code(loss.func).endswith("cross_entropy")
        plain = "import torch\n" in script.text and "softmax" not in script.text
        if takes_logits and plain and arg is loss.args[0]:
            yield _value(script, arg.value, "torch.softmax({}, dim=1)")._replace(at=loss)


@operator("unstable-log-softmax", "GRD407")
def _(script: Script) -> Iterator[Change]:
    for call in script.all(cst.Call):
        found = re.fullmatch(r"(.*\.)(log_softmax|logsigmoid)", script.code(call.func))
        if found and call.args and not isinstance(call.func, cst.Name) and found[1] in ("F.", "torch.nn.functional."):
            plain = "softmax" if found[2] == "log_softmax" else "sigmoid"
            inner = call.with_changes(func=_expression(f"torch.{plain}"))
            yield Change(call, call, _expression(f"torch.log({script.module.code_for_node(inner)})"))


@operator("retain-graph-dropped", "GRD204")
def _(script: Script) -> Iterator[Change]:
    for line, call, _r in script.lines_of("backward"):
        kept = [arg for arg in call.args if arg.keyword is None or arg.keyword.value != "retain_graph"]
        body, index = _place(script, line)
        later = [sink for sink in script.sinks for one in body[index + 1 :] if sink.line is one]
        own = next((sink for sink in script.sinks if sink.line is line), None)
        if len(kept) < len(call.args) and own is not None and later and _shared(script, own.loss, later[0].loss, line):
            yield Change(line, call, call.with_changes(args=kept))


def _shared(script: Script, first: cst.BaseExpression, second: cst.BaseExpression, line: Line) -> bool:
    """Whether two losses of a function come from the same output of a network."""
    home = script.function(line)
    both = []
    for loss in (first, second):
        names, before = {script.code(loss)}, set[str]()
        while names != before:
            before = set(names)
            for node in script.all(cst.Assign):
                code = script.code(node.value)
                own = script.function(node) is home and script.code(node.targets[0].target) in names
                names |= set(re.findall(r"[A-Za-z_]\w*", code)) if own and "detach" not in code else set()
        both.append(names)
    made = {
        script.code(node.targets[0].target)
        for node in script.all(cst.Assign)
        if script.function(node) is home and script.network_call(node.value) and script.row(node) < script.row(line)
    }
    return bool(both[0] & both[1] & made)


@operator("detach-dropped-between-losses", "GRD204")
def _(script: Script) -> Iterator[Change]:
    backwards = sorted(script.row(line) for line in _backwards(script).values())
    for call, receiver in script.calls("detach"):
        if not isinstance(receiver, cst.Name) or script.up(call, cst.Call) is None or script.line(call) is None:
            continue
        made = script.assigned(receiver.value, call)
        between = [row for row in backwards if row > script.row(call)]
        if made is None or not script.network_call(made[1].value) or script.without_grad(made[0]) or len(between) < 2:
            continue
        loop, home = script.loop(call), script.function(call)
        uses = [
            node
            for node in script.all(cst.Name)
            if node.value == receiver.value and script.function(node) is home and script.loop(node) is loop
            if between[0] < script.row(node) < between[-1] and node is not made[1].targets[0].target
        ]
        writes = [node for node in uses if isinstance(script.up(node, cst.AssignTarget), cst.AssignTarget)]
        detached = [node for node in uses if f"{node.value}.detach" in script.code(script.line(node) or node)]
        if uses and not writes and not detached:
            yield Change(call, call, receiver)


@operator("inplace-on-saved", "GRD103")
def _(script: Script) -> Iterator[Change]:
    for node, _call, target in _assigned(script, "|".join(ACTIVATIONS)):
        home, line = script.function(node), script.line(node)
        if isinstance(home, cst.FunctionDef) and line is not None and not script.without_grad(line):
            passes = re.search(r"forward|reparam|rsample|encode", home.name.value) and target.isidentifier()
            if passes and len(re.findall(rf"\b{target}\b", script.code(home))) > 1 and script.suite(line) is not None:
                yield _dropped(script, line, line, cst.parse_statement(f"{target} += 1e-6"))


@operator("hidden-not-detached", "GRD511", "GRD204")
def _(script: Script) -> Iterator[Change]:
    for line in script.all(cst.SimpleStatementLine):
        node, loop = line.body[0], script.loop(line)
        if not isinstance(node, cst.Assign) or loop is None or script.suite(line) is None:
            continue
        target, value = script.code(node.targets[0].target), script.code(node.value)
        cut = re.search(r"detach|repackage|\.data\b", value) and target.strip("()").split(",")[0] in value
        state = re.match(r"\(?(hid|state|h\b|c\b|memory)", target)
        if cut and state and any(script.loop(sink.line) is loop for sink in script.sinks):
            yield _dropped(script, line)


# What is kept of an iteration, and what is read.


def _read_from_losses(script: Script) -> Iterator[tuple[cst.Call, cst.Name]]:
    """The calls of `item` or `detach` on a loss after its backward, in the loop of that backward."""
    for call, receiver in script.calls("item", "detach"):
        for sink in script.sinks:
            if isinstance(receiver, cst.Name) and isinstance(sink.loss, cst.Name) and sink.call is not None:
                loop = script.loop(call)
                if receiver.value == sink.loss.value and loop is not None and loop is script.loop(sink.line):
                    yield call, receiver
                    break


@operator("total-without-item", "GRD510")
def _(script: Script) -> Iterator[Change]:
    for call, receiver in _read_from_losses(script):
        node = script.up(call, cst.AugAssign)
        if node is not None and isinstance(node.operator, cst.AddAssign) and not _bound(script, node.target):
            yield Change(call, call, receiver)


@operator("append-without-item", "GRD510")
def _(script: Script) -> Iterator[Change]:
    for call, receiver in _read_from_losses(script):
        outer = script.up(call, cst.Call)
        if (
            outer is None
            or not isinstance(outer.func, cst.Attribute)
            or not outer.args
            or outer.args[0].value is not call
        ):
            continue
        if outer.func.attr.value == "append" and not _bound(script, outer.func.value):
            yield Change(call, call, receiver)


def _bound(script: Script, kept: cst.BaseExpression) -> bool:
    """Whether what is kept starts anew in each iteration."""
    name, loop = script.code(kept), script.loop(kept)
    return any(
        script.code(node.targets[0].target) == name and script.loop(node) is loop for node in script.all(cst.Assign)
    )


@operator("numpy-without-detach", "GRD210")
def _(script: Script) -> Iterator[Change]:
    for call, receiver in script.calls("detach"):
        if not isinstance(receiver, cst.Name) or script.without_grad(call):
            continue
        made, line = script.assigned(receiver.value, call), script.line(call)
        text = re.sub(r"\.cpu\(\)|\.squeeze\(\)", "", script.code(line)) if line is not None else ""
        if made is None or f"{receiver.value}.detach().numpy()" not in text or script.without_grad(made[0]):
            continue
        losses = {sink.loss.value for sink in script.sinks if isinstance(sink.loss, cst.Name)}
        trains = any(script.function(sink.line) is script.function(call) for sink in script.sinks)
        if trains and (script.network_call(made[1].value) or receiver.value in losses):
            yield Change(call, call, receiver)


@operator("eval-keeps-graph", "GRD510", "GRD512")
def _(script: Script) -> Iterator[Change]:
    for block in script.all(cst.With):
        code = script.code(block)
        if len(block.items) != 1 or script.code(block.items[0]) != "torch.no_grad()" or script.suite(block) is None:
            continue
        loop = next((node for node in block.body.body if isinstance(node, cst.For)), None)
        kept = re.search(r"\+= (\w*loss)$|\.append\((output|outputs|pred|preds|logits|out)\)$", code, re.MULTILINE)
        name = kept[1] or kept[2] if kept else "-"
        if re.search(rf"\b{name} = (\d|.*(item\(|float\(|np\.|detach|\.data\b))", code) or f"{name} = " not in code:
            continue
        if loop is not None and kept and not any(block in script.above(sink.line) for sink in script.sinks):
            body = [one for one in block.body.body if isinstance(one, cst.BaseStatement)]
            yield _dropped(script, block, *body)


@operator("no-grad-not-called", "GRD513")
def _(script: Script) -> Iterator[Change]:
    for block in script.all(cst.With):
        for item in block.items:
            if isinstance(item.item, cst.Call) and re.search(r"(no_grad|inference_mode)\(\)$", script.code(item.item)):
                yield Change(block, item.item, item.item.func)


# Modes of the network.


def _train_calls(script: Script) -> Iterator[tuple[Line, cst.Call, str]]:
    lines = list(script.lines_of("train"))
    for line, call, receiver in lines:
        if not call.args and sum(other == receiver for _l, _c, other in lines) == 1:
            yield line, call, receiver


def _rounds(script: Script, node: cst.CSTNode) -> set[int]:
    """The loops in which a node is run: those around it, and those around the calls of its function by name."""
    loops = {id(one) for one in script.above(node) if isinstance(one, cst.For | cst.While)}
    home = script.function(node)
    if isinstance(home, cst.FunctionDef):
        for call in script.all(cst.Call):
            if script.code(call.func).rsplit(".", 1)[-1] == home.name.value:
                loops |= {id(one) for one in script.above(call) if isinstance(one, cst.For | cst.While)}
    return loops


@operator("train-mode-dropped", "GRD517")
def _(script: Script) -> Iterator[Change]:
    for line, _call, receiver in _train_calls(script):
        for other, _c, same in script.lines_of("eval"):
            if same == receiver and _rounds(script, line) & _rounds(script, other):
                yield _dropped(script, line)
                break


@operator("eval-instead-of-train", "GRD517")
def _(script: Script) -> Iterator[Change]:
    for line, call, receiver in _train_calls(script):
        after = [sink for sink in script.sinks if script.function(sink.line) is script.function(line)]
        if after and NETWORK.search(receiver.rsplit(".", 1)[-1]):
            yield _renamed(call, "eval")._replace(at=line)


# Networks and optimizers.


@operator("super-init-dropped", "GRD612")
def _(script: Script) -> Iterator[Change]:
    for line, call, _r in script.lines_of("__init__"):
        owner = script.up(line, cst.ClassDef)
        bases = {script.code(base.value) for base in owner.bases} if owner is not None else set()
        body, index = _place(script, line)
        assigns = any(re.match(r"self\.\w+ = .*nn\.", script.code(one)) for one in body[index + 1 :])
        if bases & {"nn.Module", "torch.nn.Module"} and script.code(call).startswith("super(") and assigns:
            yield _dropped(script, line)


@operator("module-list-plain", "GRD604")
def _(script: Script) -> Iterator[Change]:
    for node, call, target in _assigned(script, "ModuleList"):
        if target.startswith("self."):
            yield Change(node, call, call.args[0].value if call.args else cst.List([]))


@operator("parameter-plain", "GRD605", "GRD606")
def _(script: Script) -> Iterator[Change]:
    for node, call, target in _assigned(script, "Parameter"):
        if target.startswith("self.") and len(call.args) == 1:
            yield Change(node, call, call.args[0].value)


@operator("parameter-moved", "GRD605", "GRD601")
def _(script: Script) -> Iterator[Change]:
    for node, call, target in _assigned(script, "Parameter"):
        if target.startswith("self.") and len(call.args) == 1:
            yield _value(script, call, "{}.cuda()")._replace(at=node)


def _made(script: Script) -> Iterator[tuple[cst.Call, str, Line]]:
    """The optimizers of a single network's parameters, each with the network and the line."""
    for call in script.all(cst.Call):
        line = script.line(call)
        if script.code(call.func).rsplit(".", 1)[-1] in OPTIMIZERS and call.args and line is not None:
            found = re.fullmatch(r"([\w.]+)\.parameters\(\)", script.code(call.args[0].value))
            if found and call.args[0].keyword is None and script.suite(line) is not None:
                yield call, found[1], line


@operator("optimizer-empty", "GRD602", "GRD614", "GRD608")
def _(script: Script) -> Iterator[Change]:
    for call, network, line in _made(script):
        code = f"[p for p in {network}.parameters() if not p.requires_grad]"
        yield Change(line, call.args[0].value, _expression(code))


@operator("optimizer-of-other-network", "GRD608", "GRD308")
def _(script: Script) -> Iterator[Change]:
    made = list(_made(script))
    for call, network, line in made:
        others = [other for _c, other, at in made if other != network and script.function(at) is script.function(line)]
        if others and sum(one == network for _c, one, _l in made) == 1:
            yield Change(line, call.args[0].value, _expression(f"{others[0]}.parameters()"))


@operator("network-frozen", "GRD205", "GRD602", "GRD614", "GRD514")
def _(script: Script) -> Iterator[Change]:
    for _call, network, line in _made(script):
        if f"{network}.requires_grad_" not in script.text:
            frozen = cst.parse_statement(f"{network}.requires_grad_(False)")
            yield _dropped(script, line, frozen, line)


@operator("network-alias", "GRD609")
def _(script: Script) -> Iterator[Change]:
    for node, call, target in _assigned(script, "deepcopy"):
        network = call.args and NETWORK.search(script.code(call.args[0].value).rsplit(".", 1)[-1])
        if network and re.search("target|ema|old|teacher", target) and script.line(node) is not None:
            yield Change(node, call, call.args[0].value)


@operator("state-dict-alias", "GRD516")
def _(script: Script) -> Iterator[Change]:
    for call in script.all(cst.Call):
        copied = call.args and re.search(r"deepcopy$", script.code(call.func))
        if copied and re.fullmatch(r"[\w.]+\.state_dict\(\)", script.code(call.args[0].value)):
            yield Change(call, call, call.args[0].value)


@operator("update-in-graph", "GRD101", "GRD102")
def _(script: Script) -> Iterator[Change]:
    for call, receiver in script.calls("copy_", "mul_", "add_", "fill_", "zero_", "clamp_"):
        loop = script.loop(call)
        if isinstance(receiver, cst.Attribute) and receiver.attr.value == "data" and isinstance(loop, cst.For):
            walked = re.search(r"parameters\(\)", script.code(loop.iter))
            if walked and isinstance(receiver.value, cst.Name) and not script.without_grad(call):
                yield Change(call, receiver, receiver.value)


@operator("dropout-always-on", "GRD611")
def _(script: Script) -> Iterator[Change]:
    for call in script.all(cst.Call):
        kept = [arg for arg in call.args if script.code(arg.value) != "self.training"]
        if script.code(call.func) == "F.dropout" and len(kept) < len(call.args):
            kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            yield Change(call, call, call.with_changes(args=kept))


@operator("set-epoch-dropped", "GRD507")
def _(script: Script) -> Iterator[Change]:
    for line, _call, receiver in script.lines_of("set_epoch"):
        if "sampler" in receiver and script.loop(line) is not None:
            yield _dropped(script, line)


# Automatic mixed precision and frameworks.


@operator("loss-not-scaled", "GRD505")
def _(script: Script) -> Iterator[Change]:
    for sink in script.sinks:
        call = sink.call
        scaled = call is not None and "scaler" in script.code(_receiver(call)) and "enabled=False" not in script.text
        if call is not None and scaled and isinstance(_receiver(call), cst.Call):
            yield Change(sink.line, _receiver(call), sink.loss)


@operator("scaler-update-dropped", "GRD505")
def _(script: Script) -> Iterator[Change]:
    for line, _call, receiver in script.lines_of("update"):
        if "scaler" in receiver and script.text.count(f"{receiver}.update(") == 1:
            yield _dropped(script, line)


@operator("scaler-step-bypassed", "GRD505")
def _(script: Script) -> Iterator[Change]:
    for line, call, receiver in script.lines_of("step"):
        if "scaler" in receiver and len(call.args) == 1:
            yield Change(line, call, _expression(f"{script.code(call.args[0].value)}.step()"))


@operator("unscale-dropped", "GRD504", "GRD505")
def _(script: Script) -> Iterator[Change]:
    for line, _call, _r in script.lines_of("unscale_"):
        body, index = _place(script, line)
        if any("clip_grad" in script.code(one) for one in body[index + 1 :]):
            yield _dropped(script, line)


@operator("framework-bypassed", "GRD505")
def _(script: Script) -> Iterator[Change]:
    for sink in script.sinks:
        call, loss = sink.call, sink.loss
        receiver = script.code(_receiver(call)) if call is not None and len(call.args) == 1 else ""
        if call is not None and isinstance(loss, cst.Name) and re.search("accelerator|fabric", receiver):
            yield Change(sink.line, call, _expression(f"{loss.value}.backward()"))


# Misspelt names.


def _misspelt(script: Script, right: str, wrong: str) -> Iterator[Change]:
    for call, _r in script.calls(right):
        yield _renamed(call, wrong)


for _right, _wrong in (("zero_grad", "zero_gard"), ("backward", "backwards"), ("detach", "detatch")):
    operator(f"misspelt-{_right.replace('_', '-')}", "GRD801")(partial(_misspelt, right=_right, wrong=_wrong))


@operator("misspelt-layer", "GRD801")
def _(script: Script) -> Iterator[Change]:
    for function in script.all(cst.FunctionDef):
        owner = script.up(function, cst.ClassDef)
        if owner is None or function.name.value != "forward":
            continue
        layers = set(re.findall(r"self\.(\w{4,}) = (?:torch\.)?nn\.\w+\(", script.code(owner)))
        for call in script.all(cst.Call):
            func = call.func
            if isinstance(func, cst.Attribute) and func.attr.value in layers and script.function(call) is function:
                name = func.attr.value
                if script.code(func.value) == "self" and name[:1] + name[2:] not in layers:
                    yield _renamed(call, name[:1] + name[2:])
