"""The training loop: which backward fills the gradients of which leaf, which step uses them, and what clears them."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from gradlint.concrete.leaf import Leaf, Steps
from gradlint.concrete.places import Place, Spot
from gradlint.concrete.seen import Seen
from gradlint.domain.fault import training_loop as fault
from gradlint.domain.fault.lost_gradient import ParameterNeverReached

Tensor = torch.Tensor
_CLEARS = frozenset({"zero_", "_foreach_zero_"})
USELESS = (fault.ZeroGradMisplaced, fault.StepBeforeBackward, fault.BackwardMissing)
"""The faults by which no step of an optimizer finds gradients."""
SOUGHT = (
    *(fault.ZeroGradMissing, *USELESS, fault.AccumulationCleared, fault.StepMissing, ParameterNeverReached),
    fault.StepWithoutEffect,
)
"""The faults that are looked for in all that is watched."""
_STILL = 2
"""So many steps must have changed nothing; a schedule may begin with zero, and end with one step of it."""
UNUSED = 3
"""So often the gradients of a backward must have been cleared, and never have been used."""
_INSTALLED = torch.__path__[0]
_OPTIM = torch.optim.__path__[0]


class Training:
    """Follows gradients. Nothing is kept alive."""

    def __init__(self) -> None:
        self.number = 0
        self.steps = 0
        self.born = 0
        self.closing: int | None = None
        self.zeros = 0
        self.cuts = 0
        self.stepping: Place | None = None
        self._leaves: dict[int, Leaf] = {}
        self._optimizers: dict[int, Steps] = {}
        self._found: dict[object, Seen] = {}
        self.dropped: dict[tuple[int, int], tuple[Place, Place, Counter[Leaf]]] = {}
        """Backwards whose gradients were cleared unused, with where, and how often those of each leaf were."""
        self._spent: set[tuple[int, int]] = set()
        """The backwards of which a step, or the program, has used a gradient."""
        self.hooked = False
        """Whether the program has hooks that see gradients."""
        self._last: Place | None = None
        self.iterations: Callable[[], int] = lambda: 0
        """Returns how many iterations are over, those between samples among them."""
        self.by_hand = False
        """Whether the program itself has written a parameter by its gradient."""

    def resume(self) -> None:
        """Know nothing of gradients until they are cleared: a backward, a step and a clear may have gone unseen."""
        self.stepping = self.closing = None
        for leaf in self._leaves.values():
            leaf.filled = leaf.used = leaf.dropped = None
            leaf.known = leaf.scaled = leaf.unscaled = False
            leaf.idle.clear()
            leaf.unused.clear()

    def leaf(self, tensor: Tensor) -> Leaf:
        """Return what is known of a leaf."""
        known = self._leaves.get(id(tensor))
        if known is None or known.tensor() is not tensor:
            key, leaves = id(tensor), self._leaves
            self.born += 1
            known = leaves[key] = Leaf(weakref.ref(tensor), born=self.born)
        return known

    def leaves(self) -> Iterable[Leaf]:
        """Return the leaves that are known, the oldest first."""
        return self._leaves.values()

    def made(self, tensor: Tensor, place: Place) -> None:
        """Note where a leaf was made."""
        leaf = self.leaf(tensor)
        if leaf.made is None:
            leaf.made = place

    def origin(self, tensor: Tensor) -> Place | None:
        """Return where a leaf was made."""
        known = self._leaves.get(id(tensor))
        return known.made if known is not None and known.tensor() is tensor else None

    def registered(self, name: str, parameter: Any, place: Place, built: Place | None) -> None:
        """Note where a module registered a parameter."""
        if isinstance(parameter, Tensor):
            leaf = self.leaf(parameter)
            leaf.name = leaf.name or name
            leaf.made = leaf.made or place
            leaf.built = leaf.built or built

    def backpropagated(self, leaves: Iterable[Tensor], place: Place) -> None:
        """Note that a backward has added to the gradients of leaves."""
        self._last = place
        for one in leaves:
            leaf = self.leaf(one)
            leaf.filled = place
            leaf.since = self.steps
            leaf.scaled = leaf.unscaled = leaf.asked = False
            leaf.backwards += 1

    def looked_at(self) -> None:
        """Note that the program looks at a gradient, which may be that of any leaf, or of a result."""
        if self._last is not None:
            self._spent.add(self._last.key)

    def cleared(self, tensor: Tensor, place: Place, writer: str) -> None:
        """Note that a gradient was cleared or replaced, by code in the file `writer`."""
        leaf = self.leaf(tensor)
        if leaf.filled is not None and leaf.known and leaf.held and self.closing is None:
            self.dropped.setdefault(leaf.filled.key, (leaf.filled, place, Counter()))[2][leaf] += 1
            if leaf.read:
                self._spent.add(leaf.filled.key)
        if leaf.filled is not None and leaf.used is None and leaf.known:
            leaf.dropped = place, leaf.filled
            if writer.startswith(_OPTIM):
                self._idle(leaf, tensor, place, leaf.filled)
        leaf.filled = leaf.used = None
        leaf.scaled = leaf.unscaled = False
        leaf.known = tensor.grad is None

    def all_cleared(self, tensors: Iterable[Tensor], place: Place) -> None:
        """Note that an optimizer has cleared the gradients of its parameters."""
        for one in tensors:
            self.cleared(one, place, _OPTIM)

    def _idle(self, leaf: Leaf, tensor: Tensor, place: Place, filled: Place) -> None:
        """Count gradients that are cleared unused; a backward is used if any step, or a scaler, has come after it."""
        leaf.version = tensor._version
        if not leaf.unused:
            leaf.began = leaf.version
        if not leaf.unscaled:
            leaf.unused.append((place, filled))
        if leaf.unscaled or leaf.since != self.steps or (leaf.idle and leaf.idle[-1] != (place, filled)):
            leaf.idle.clear()
        if leaf.unscaled or leaf.since != self.steps:
            return
        leaf.idle.append((place, filled))

    def written(self, tensors: Iterable[Tensor], op: str, place: Place, writer: str) -> None:
        """Note that tensors were written that may be gradients: torch clears, scales and clips, or the program does.

        Who writes to gradients by other means has something in mind that is not known.
        """
        tensors = list(tensors)
        self.stepped_by_hand(tensors, place)
        if op not in _CLEARS and writer.startswith(_INSTALLED):
            return
        plain = [one for one in tensors if not one.requires_grad]
        written = {id(one) for one in plain}
        memory = {one.data_ptr() for one in plain if one.layout is torch.strided} if self.by_hand else set()
        for leaf in list(self._leaves.values()) if written else ():
            owner = leaf.tensor()
            if owner is None or owner.grad is None:
                continue
            if id(owner.grad) in written or (
                memory and owner.grad.layout is torch.strided and owner.grad.data_ptr() in memory
            ):
                if op in _CLEARS:
                    self.cleared(owner, place, writer)
                leaf.known = op in _CLEARS

    def stepped_by_hand(self, tensors: Iterable[Tensor], place: Place | None) -> None:
        """Note that the program writes leaves: a step by hand, if it has read gradients that no optimizer holds."""
        for one in tensors if self.stepping is None and place is not None else ():
            leaf = self._leaves.get(id(one))
            if leaf is None or leaf.tensor() is not one or not leaf.asked or leaf.filled is None or leaf.held:
                continue
            self.by_hand = True
            if leaf.used is not None and leaf.known:
                self._find(Seen(fault.ZeroGradMissing, leaf.filled, {"step": leaf.used}))
            leaf.used, leaf.filled, leaf.asked = place, None, False

    def optimizer_made(self, optimizer: Any, place: Place) -> None:
        """Note where an optimizer was made."""
        self._optimizers[id(optimizer)] = Steps(weakref.ref(optimizer), place)

    def optimizers(self) -> Iterator[Any]:
        """Yield the optimizers that are alive."""
        yield from (one for known in self._optimizers.values() if (one := known.optimizer()) is not None)

    def step_begins(self, optimizer: Any, closure: bool, place: Place) -> list[Leaf]:
        """Look at the gradients that a step is about to use; return its leaves."""
        self.stepping = place
        steps = self._optimizers.get(id(optimizer))
        if steps is None or steps.optimizer() is not optimizer:
            steps = self._optimizers[id(optimizer)] = Steps(weakref.ref(optimizer))
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        if [*map(id, parameters)] != [*map(id, [leaf.tensor() for leaf in steps.leaves])]:
            steps.leaves = [self.leaf(one) for one in parameters]
        leaves = steps.leaves
        if closure:
            self.closing = self.number
        else:
            self._uses(steps, parameters, place)
        return leaves

    def _uses(self, steps: Steps, parameters: list[Tensor], place: Place) -> None:
        """Look at the gradients that a step uses."""
        leaves = steps.leaves
        for leaf, one in zip(leaves, parameters, strict=True):
            leaf.untouched = leaf.untouched and one.requires_grad and one.grad is None
        filled = [leaf for leaf in leaves if leaf.filled is not None]
        if filled or any(one.grad is not None and bool(one.grad.any()) for one in parameters):
            steps.useful += 1
        elif steps.empty is None and not any(leaf.dropped for leaf in leaves) and not steps.misplaced:
            steps.empty = place
        dropped = next((leaf.dropped for leaf in leaves if leaf.dropped is not None), None)
        if dropped is not None and not filled:
            if steps.empty is None:
                steps.misplaced = steps.misplaced or (*dropped, place)
            steps.cleared = steps.cleared or dropped
        self._accumulated(steps, filled, place)
        for leaf in filled:
            if leaf.used is not None and leaf.filled is not None and leaf.known:
                self._find(Seen(fault.ZeroGradMissing, leaf.filled, {"step": leaf.used}))

    def _accumulated(self, steps: Steps, filled: list[Leaf], place: Place) -> None:
        """Tell a step that uses the gradients of the last iteration alone from one that uses all since the last."""
        for leaf in filled:
            if leaf.idle and leaf.idle[-1][1] == leaf.filled:
                steps.partial = steps.partial or (*leaf.idle[-1], place)
                steps.lost = max(steps.lost, steps.seen + len(leaf.idle))
            else:
                steps.whole = True
            leaf.idle.clear()
        steps.seen = steps.lost

    def closed(self, optimizer: Any) -> tuple[list[Leaf], Place] | None:
        """Return the leaves and the place of a step with a closure that is over, if it has used a backward."""
        steps = self._optimizers.get(id(optimizer))
        if self.closing is None or steps is None or self.stepping is None:
            return None
        return (steps.leaves, self.stepping) if any(leaf.filled for leaf in steps.leaves) else None

    def step_ended(self, optimizer: Any, closure: Spot | None = None) -> Place | None:
        """Note that the gradients are used; return where."""
        place, self.stepping = self.stepping, None
        self.steps += 1
        steps = self._optimizers.get(id(optimizer))
        if steps is not None and place is not None and self.closing is not None:
            if self.closing != self.number:
                steps.useful += 1
            elif closure is not None and not any(leaf.filled for leaf in steps.leaves):
                steps.useful += 1
                self._find(Seen(fault.ClosureWithoutBackward, place, {"closure": closure}))
            else:  # The backward has run before the step.
                self._uses(steps, [one for group in optimizer.param_groups for one in group["params"]], place)
        self.closing = None
        for leaf in () if steps is None else steps.leaves:
            if leaf.filled is not None:
                self._spent.add(leaf.filled.key)
                leaf.used, leaf.filled = place, None
            leaf.dropped, leaf.stepped = None, True
        return place

    def scheduled(self, optimizer: Any, place: Place) -> None:
        """Note that a schedule of an optimizer steps."""
        steps = self._optimizers.get(id(optimizer))
        if steps is not None:
            steps.schedule = place

    def measured(self, optimizer: Any, moved: bool | None, place: Place) -> None:
        """Note whether a step that had gradients has changed any parameter; None if that is not known."""
        steps = self._optimizers.get(id(optimizer))
        if steps is None or moved is None:
            return
        if moved:
            steps.still = steps.still if steps.moving else 0
            steps.moving += 1
        else:
            steps.still += 1
            if steps.still == 1:
                rates = [group.get("lr") for group in optimizer.param_groups]
                steps.idle = place, max((float(one) for one in rates if one is not None), default=None)

    def _find(self, seen: Seen) -> None:
        self._found.setdefault(seen.key, seen)

    def seen(self) -> Iterator[Seen]:
        """Yield what is known at the end."""
        yield from self._found.values()
        for steps in self._optimizers.values():
            yield from self._useless(steps) if not steps.useful else self._unreached(steps)
            if steps.partial is not None and not steps.whole and steps.lost >= 2:
                clear, backward, step = steps.partial
                yield Seen(fault.AccumulationCleared, clear, {"backward": backward, "step": step})
            if steps.still >= _STILL and steps.idle is not None:
                step, rate = steps.idle
                count: dict[str, object] = {"steps": steps.still, "of": steps.still + steps.moving}
                at = step if rate or steps.schedule is None else steps.schedule
                yield Seen(fault.StepWithoutEffect, at, {"step": step, "made": steps.made, "rate": rate, **count})
        yield from self._unused()

    def _unused(self) -> Iterator[Seen]:
        """Yield the backwards whose gradients are cleared again and again, and that no step or program has used."""
        for leaf in self._leaves.values():
            if len(leaf.unused) >= 2 and not (leaf.stepped or leaf.looked or leaf.version != leaf.began):
                clear, backward = leaf.unused[-1]
                yield Seen(fault.StepMissing, backward, {"cleared": clear})
        for key, (backward, clear, times) in self.dropped.items() if self.steps and not self.hooked else ():
            if max(times.values()) >= UNUSED and key not in self._spent:
                yield Seen(fault.StepMissing, backward, {"cleared": clear})

    def _useless(self, steps: Steps) -> Iterator[Seen]:
        """Yield why no step of an optimizer has found gradients."""
        reached = [leaf for leaf in steps.leaves if leaf.backwards]
        if steps.misplaced is not None:
            clear, filling, step = steps.misplaced
            yield Seen(fault.ZeroGradMisplaced, clear, {"backward": filling, "step": step})
        elif steps.empty is not None and reached:
            filled = next((leaf.filled for leaf in reached if leaf.filled is not None), None)
            cleared, backward = steps.cleared or (None, filled)
            if backward is not None:
                yield Seen(fault.StepBeforeBackward, steps.empty, {"backward": backward, "cleared": cleared})
        elif steps.empty is not None and not self.number:
            yield Seen(fault.BackwardMissing, steps.empty, {})
        elif self.number:
            yield from self._unreached(steps)

    def _unreached(self, steps: Steps) -> Iterator[Seen]:
        """Yield the parameters that no backward has reached, once for each place where some were made.

        Where that is not known, of copies and of `nn.Parameter` outside of a module, the optimizer is the place.
        """
        for leaf in steps.leaves:
            place = leaf.made or steps.made
            if place is not None and leaf.untouched and not leaf.backwards and not leaf.lost:
                yield Seen(ParameterNeverReached, place, {})
