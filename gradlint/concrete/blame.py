"""Both ends of an error of autograd, at the moment at which torch raises it.

What is found is attached to the exception: if the program catches it, nothing is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gradlint.concrete.calls import Call
from gradlint.concrete.cuts import Cut
from gradlint.concrete.places import Place
from gradlint.concrete.seen import ATTRIBUTE, Seen
from gradlint.concrete.tape import FREED, STALE, freed_by, label_of, refusing, versions_in
from gradlint.concrete.training import Training
from gradlint.concrete.writes import Writes
from gradlint.domain.event import Event
from gradlint.domain.fault.backward import RootWithoutGraph
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.domain.fault.training_loop import GraphSwitchedOff
from gradlint.domain.refusal import backward as refusal
from gradlint.domain.refusal import inplace

_WRITES: dict[str, type[Event]] = {
    "a view of a leaf Variable that requires grad is being used in an in-place operation": inplace.LeafViewWrite,
    "a leaf Variable that requires grad is being used in an in-place operation": inplace.LeafWrite,
    "This view is the output of a function that returns multiple views": inplace.MultiViewWrite,
    "This view was created in no_grad mode": inplace.NoGradViewWrite,
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled": inplace.NoGradViewWrite,
    "This view was created inside a custom Function": inplace.CustomViewWrite,
    "more than one element of the written-to tensor refers to a single memory location": inplace.OverlapWrite,
}


class Blame:
    """Explains errors by what was seen before them."""

    def __init__(self, writes: Writes, training: Training, cut: Callable[[torch.Tensor], Cut | None]) -> None:
        self._writes, self._training, self._cut = writes, training, cut
        self._left: tuple[int, list[Cut]] = 0, []

    def leaves(self, cut: Cut, backwards: int) -> None:
        """Note where a value has become a number or an array: nobody sees what is made of that."""
        if self._left[0] != backwards:
            self._left = backwards, []
        if all(one.place.key != cut.place.key for one in self._left[1]):
            self._left[1].append(cut)

    def operation(self, error: Exception, op: str, given: list[torch.Tensor], place: Place) -> None:
        """Explain why torch refuses a write."""
        said = str(error)
        kind = next((kind for words, kind in _WRITES.items() if words in said), None)
        if kind is None or not given:
            return
        written = given[0] if given[0]._base is None else given[0]._base
        made, parameter = self._training.origin(written), isinstance(written, torch.nn.Parameter)
        fields: dict[str, object] = {"op": op, "made": made, "parameter": parameter}
        note = f"{op} at {place}" + (f"; the tensor was made at {made}" if made else "")
        _attach(error, Seen(kind, place, fields), note)

    def backward(self, error: RuntimeError, call: Call, place: Place) -> None:
        """Explain why a backward raises."""
        said = str(error)
        if STALE in said:
            self._stale(error, call, place)
        elif FREED in said:
            self._freed(error, call, place)
        elif "does not require grad and does not have a grad_fn" in said:
            self._without_graph(error, call, place)
        elif "grad can be implicitly created only for scalar outputs" in said:
            root = next((one for one in call.roots if one.numel() != 1), None)
            if root is not None:
                made = self._made(root)
                fields: dict[str, object] = {"call": call.name, "shape": tuple(root.shape), "root": made}
                note = f"the tensor of shape {list(root.shape)} was computed at {made}"
                _attach(error, Seen(refusal.NonscalarRoot, place, fields), note)
        elif "appears to not have been used in the graph" in said and call.inputs is not None:
            inside = {id(leaf) for leaf in call.leaves} | {id(way.node) for way in call.ways}
            unused = [one for one in call.inputs if id(one) not in inside and id(one.grad_fn) not in inside]
            made = self._made(unused[0]) if unused else None
            _attach(error, Seen(refusal.GradInputUnused, place, {"made": made}), f"the input was made at {made}")
        elif "One of the differentiated Tensors does not require grad" in said and call.inputs is not None:
            plain = next((one for one in call.inputs if not one.requires_grad), None)
            made = None if plain is None else self._made(plain)
            fields = {"made": made, "call": call.name}
            _attach(error, Seen(refusal.GradInputWithoutGraph, place, fields), f"the input was made at {made}")

    def _made(self, tensor: torch.Tensor) -> Place | None:
        label = None if tensor.grad_fn is None else label_of(tensor.grad_fn)
        return self._training.origin(tensor) if label is None else label.place

    def _stale(self, error: RuntimeError, call: Call, place: Place) -> None:
        """Find the node that has saved what was written, by asking each: torch gives the same answer as before."""
        said = str(error)
        for way, name in refusing(call.ways, said[: said.find(" instead.")]):
            if way.label is None:
                continue
            versions = versions_in(said)
            written = versions and self._writes.between(way.label.reads, *versions)
            saver = f"`{way.label.op}` at {way.label.place} saved it (`{name}` of {type(way.node).__name__})"
            if not written or versions is None:
                return _note(error, f"{saver}; the write was not seen")
            op, result = written.op, name == "result"
            fields: dict[str, object] = {
                "by": op,
                "saver": way.label.place,
                "saver_op": way.label.op,
                "label": ">" if result else name,
                "backward": place,
                "built": None,
                "leaf": _is_leaf(way.node, name),
            }
            note = f"{saver} at version {versions[0]}; `{op}` at {written.place} has changed it to {written.version}"
            return _attach(error, Seen(refusal.StaleSaved, written.place, fields), note)
        return None

    def _freed(self, error: RuntimeError, call: Call, place: Place) -> None:
        for way, _ in refusing(call.ways, FREED):
            earlier = freed_by(way.node)
            if way.label is None or earlier is None:
                continue
            fields = {"earlier": earlier, "part": way.label.place, "part_op": way.label.op}
            note = f"the backward at {earlier} freed what `{way.label.op}` at {way.label.place} had saved"
            return _attach(error, Seen(refusal.SecondBackward, place, fields), note)
        return None

    def _without_graph(self, error: RuntimeError, call: Call, place: Place) -> None:
        root = next((one for one in call.roots if not one.requires_grad), None)
        cut = None if root is None else self._cut(root)
        since, left = self._left
        if cut is None and len(left) == 1 and since == self._training.number:
            cut = left[0]
        if cut is None:
            note = "no tensor that required grad took part"
            if left:
                note += f"; one was last made a Python number at {left[-1].place}, and numbers have no graph"
            return _attach(error, Seen(RootWithoutGraph, place, {"call": call.name, "cuts": ()}), note)
        if not torch.is_grad_enabled() and cut.kind == "no_grad":
            return _attach(
                error, Seen(GraphSwitchedOff, cut.place, {"backward": place}), f"switched off at {cut.place}"
            )
        fields = {"kind": cut.kind, "op": cut.op, "leaf": None, "backward": place, "raises": True, "parameter": True}
        return _attach(error, Seen(LostLeaf, cut.place, fields), f"`{cut.op}` at {cut.place} left the graph")


def _is_leaf(node: Any, name: str) -> bool:
    """Return whether what a node has saved is a leaf, by the edge of the same position as the argument."""
    below = [type(one).__name__ for one, _ in node.next_functions if one is not None]
    return name != "result" and "AccumulateGrad" in below


def _attach(error: BaseException, seen: Seen, note: str) -> None:
    setattr(error, ATTRIBUTE, seen)
    _note(error, note)


def _note(error: BaseException, note: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(f"gradlint: {note}")
