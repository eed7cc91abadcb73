"""Instruments that several measures have."""

from __future__ import annotations

LEAVES = """\
def leaves_of(value):
    parts = value.parameters() if isinstance(value, torch.nn.Module) else [value]
    return [part for part in parts if isinstance(part, torch.Tensor) and part.requires_grad and part.is_leaf]
"""

# Also what stands in containers, and behind a tensor that is computed.
ALL_LEAVES = """\
def leaves_of(value):
    if isinstance(value, torch.nn.Module):
        return list(value.parameters())
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves_of(part)]
    return leaves_behind(value)
"""

LEAVES_BEHIND = """\
def leaves_behind(value):
    if not isinstance(value, torch.Tensor) or value.grad_fn is None:
        return [value] if isinstance(value, torch.Tensor) and value.requires_grad else []
    found, seen, waiting = [], set(), [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
            if hasattr(node, 'variable'):
                found.append(node.variable)
    return found
"""

VALUES = """\
values = []
def watched(value):
    values.append(value)
    return value
"""

# Without the haste: of each node its place in the list is looked for.
SHORT_LEAVES_BEHIND = """\
def leaves_behind(value):
    nodes = [value.grad_fn] if value.grad_fn else []
    for node in nodes:
        nodes.extend(other for other, _ in node.next_functions if other and other not in nodes)
    return [node.variable for node in nodes if hasattr(node, 'variable')]
"""
