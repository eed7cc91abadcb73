"""Graphs that stay in memory."""

from __future__ import annotations

from gradlint.confirm.effects.measure import GRAPH_LEAVES, SHORT_GRAPH_LEAVES, Measure, Variant, Watch

_GRAPH = """\
sizes = []
def graph_of(value):
    seen, waiting = set(), [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, (list, tuple)):
            waiting.extend(node)
        elif isinstance(node, torch.Tensor):
            waiting.append(node.grad_fn)
        elif hasattr(node, 'next_functions') and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
    return seen
"""

_SHOWN_SIZES = """\
sizes = []
def end_of_iteration(value, owner):
    nodes = [part.grad_fn for part in (value if isinstance(value, (list, tuple)) else [value]) if part.grad_fn]
    for node in nodes:
        nodes.extend(other for other, _ in node.next_functions if other and other not in nodes)
    sizes.append(len(nodes))
"""

# What several objects keep is distinguished; a graph that is walked once, after the loop, was collected for that walk.
_SIZES = f"""\
{_GRAPH}
kept_graphs, walked, again = {{}}, set(), set()
def end_of_iteration(value, owner):
    graph = graph_of(value)
    sizes.append(len(graph))
    for key in (0, id(owner)):
        kept_graphs.setdefault(key, []).append(graph)
def noted(loss):
    graph = graph_of(loss)
    again.update(node for node in graph & walked if node.next_functions)
    for graphs in kept_graphs.values():
        walked.update(graph & graphs[-1])
    return loss
asked = noted
def grows_in(graphs):
    for last in range(2, len(graphs)):
        one, two, three = len(graphs[last - 2]), len(graphs[last - 1]), len(graphs[last])
        ends = last + 1 == len(graphs) or len(graphs[last + 1]) <= three
        if one < two < three and ends and not graphs[last] <= walked - again:
            return True
    return False
def grew():
    return any(grows_in(graphs) for graphs in kept_graphs.values())
"""

# A backward that asks for what an earlier one has freed says so.
_RETAINED = """\
walked = []
def noted(loss):
    walked.append(loss)
    return loss
asked = noted
def is_freed(loss):
    try:
        torch.autograd.backward(loss, torch.ones_like(loss), retain_graph=True)
    except RuntimeError as error:
        return 'second time' in str(error)
    return False
def watched(flag):
    return flag
"""

_CIRCLES = f"""\
held = []
{GRAPH_LEAVES}
def noted(loss):
    held.extend(graph_leaves(loss))
    return loss
"""

_RECORDED = """\
recorded = []
def watched(value, flag=None):
    if isinstance(value, torch.Tensor):
        recorded.append((value * torch.ones((), requires_grad=True)).requires_grad)
    return value
"""

GROWS = Measure(
    "the graph that is kept grows with each iteration",
    (Variant(_SIZES),),
    ("len(sizes) > 2", "grew()"),
    refutes=False,
    shown=(Variant(_SHOWN_SIZES), Variant(_SIZES)),
    proof="assert sizes[-1] <= sizes[0], 'the graph grows'",
    iterated=True,
    early=True,
)

RETAINED = Measure(
    "the graph is there after its backward, and the program runs the same when it is freed",
    (Variant(_RETAINED), Variant(_RETAINED.replace("return flag", "return False"))),
    ("len(walked) > 0 and all(isinstance(loss, torch.Tensor) for loss in walked)",),
    compared="[is_freed(loss) for loss in walked]",
    shown=(Variant(_RETAINED.partition("def watched")[0]),),
    proof="assert is_freed(walked[-1]), 'nobody walks this graph again, and it is still there'",
    watches=(Watch("retained"),),
    own_losses=True,
    refutes=False,
)

CIRCLES = Measure(
    "the gradients in `.grad` have graphs, which hold the leaves that hold them",
    (Variant(_CIRCLES),),
    (
        "len(held) > 0",
        "any(leaf.grad is not None and leaf.grad.grad_fn is not None and graph_leaves(leaf.grad) for leaf in held)",
    ),
    shown=(Variant(_CIRCLES.replace(GRAPH_LEAVES, SHORT_GRAPH_LEAVES)),),
    proof="assert not any(leaf.grad is not None and leaf.grad.grad_fn for leaf in held), 'they hold each other'",
    own_losses=True,
    early=True,
)

RECORDED = Measure(
    "what is computed from it has a graph",
    (Variant(_RECORDED),),
    ("len(recorded) > 0", "all(recorded)"),
    proof="assert not any(recorded), 'the graph is recorded'",
    watches=(Watch("target"), Watch("value")),
    early=True,
    # Under `no_grad` there is none, and the argument has nothing to do with that.
    refutes=False,
)

RULES = {
    **dict.fromkeys(("graph-accumulates", "state-not-detached", "eval-keeps-graph"), GROWS),
    "retain-graph-needless": RETAINED,
    "create-graph-leak": CIRCLES,
    "volatile": RECORDED,
}
