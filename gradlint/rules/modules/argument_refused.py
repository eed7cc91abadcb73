from __future__ import annotations

import re

from gradlint.domain.refusal import arguments as refusal
from gradlint.facts import guards
from gradlint.rules.base import EventRule, Report


class ArgumentRefused(EventRule[refusal.ArgumentRefused]):
    """A function, layer, optimizer or scheduler of torch is given an argument that it refuses.

    What torch does
        It raises a ValueError: "Invalid beta parameter at index 0: 1.0", or a TypeError: "missing 1 required positional
        argument". Learning rates may not be negative, `nesterov` needs a momentum, `embed_dim` must be divisible by
        `num_heads`, a probability lies between 0 and 1.

    Why it matters
        The line never runs. Where it is behind an option, this shows only when someone takes it.

    When it may be wrong
        If the line is never executed.

    Instead
        Give a value that torch takes: the message names what it asks for.

    References
        https://docs.pytorch.org/docs/stable/optim.html
        https://docs.pytorch.org/docs/stable/nn.html
    """

    code = "GRD650"
    name = "argument-refused"
    effect = "raises"
    raises = "Nesterov momentum requires a momentum and zero dampening"
    torch_says = (
        "unexpected keyword argument|missing .* required|takes .* positional argument|got multiple values for",
        "expected np.ndarray|expected sequence of length|only one element tensors can be converted",
        "has conjugate bit set|imag is not implemented for tensors with non-complex dtypes",
        'missing the required "forward" function|should not be called',
        "name can.*t contain|name can.*t be empty|already exists|is not a Module subclass|cannot assign",
    )
    bad = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, nesterov=True)  # GRD650
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
"""

    @property
    def errors(self) -> tuple[str, ...]:
        """Return what torch says of names and numbers of arguments, and the words of each test of values."""
        return *self.torch_says, *map(re.escape, guards.said())

    def check(self, event: refusal.ArgumentRefused) -> Report | None:
        shown = event.function.removeprefix("torch.").removeprefix("nn.functional.")
        match event.reason:
            case "value":
                text = event.text.rstrip(".:! ")
                said = f" ({text})" if text.count(" ") > 1 else ""  # Less is a part of a sentence that says nothing.
                if not event.name:
                    return Report(event.node, f"`{shown}` cannot be called{said}: torch raises here")
                name = event.name.removeprefix("self_")  # What a module was made with.
                return Report(event.node, f"`{shown}` refuses this value of `{name}`{said}: torch raises here")
            case "unexpected":
                return Report(event.node, f"`{shown}` has no argument `{event.name}`: torch raises here")
            case "twice":
                message = f"`{shown}` is given the argument `{event.name}` by position and by name: torch raises here"
                return Report(event.node, message)
            case "missing":
                return Report(event.node, f"`{shown}` needs the argument `{event.name}`: torch raises here")
            case "many":
                message = f"`{shown}` takes at most {event.text} arguments by position: torch raises here"
                return Report(event.node, message)
