"""Refusals about functions of the program that torch runs: custom functions, hooks, checkpoints."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from gradlint.domain.event import Refusal


class FunctionWithoutApply(Refusal):
    """A custom function is used otherwise than by `apply`.

    `use`: an object of it is made, or called, or `forward` is called with None for its `ctx`, of which it uses the
    attribute `name`.
    """

    use: Literal["made", "called", "without-ctx"]
    name: str = ""


class FunctionWithoutBackward(Refusal):
    """A backward comes to a custom function that defines none; `applied` is where the function was applied."""

    applied: cst.CSTNode


class CtxAttributeMissing(Refusal):
    """The backward of a custom function reads the attribute `name` of `ctx`, which its `forward` has not set."""

    name: str
    forward: cst.CSTNode | None


class DirtyNotReturned(Refusal):
    """`forward` of a custom function marks an input dirty, and does not return it."""


class HookResult(Refusal):
    """A backward runs `hook`, which returns what torch does not take.

    "something": for a hook of the accumulated gradient, anything at all. "other": what is no tensor.
    """

    returned: Literal["something", "other", "shape", "dtype"]
    hook: cst.CSTNode


class CheckpointReentrant(Refusal):
    """A backward comes to a checkpoint that does not support it.

    Of reentrant ones: "selective" where it asks for some gradients only, "constant" where nothing requires grad.
    "different": the function, which runs again, saves fewer tensors than before.
    """

    reason: Literal["selective", "constant", "different"]
    checkpoint: cst.CSTNode


class CheckpointOption(Refusal):
    """A checkpoint is given an argument that it does not take, or not a reentrant one."""

    name: str
    reentrant: bool
