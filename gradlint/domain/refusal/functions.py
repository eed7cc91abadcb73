"""Refusals about functions of the program that torch runs: custom functions, hooks, checkpoints."""

from __future__ import annotations

from typing import Literal, TypeAlias

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
    """A backward comes to a custom function that has none; `applied` is where the function was applied.

    "both": it defines `backward` and `vjp`, of which torch takes one. "raises": its backward, `defined` there, raises
    on every way through it.
    """

    applied: cst.CSTNode
    reason: Literal["missing", "both", "raises"] = "missing"
    defined: cst.CSTNode | None = None


class OpWithoutBackward(Refusal):
    """A backward comes to a custom operation that has no registered gradient, which was `applied` there."""

    applied: cst.CSTNode


class CustomOpRefused(Refusal):
    """Torch does not take a custom operation as it is defined, or what it returns.

    "namespace": its name has none. "mutates": `mutates_args` is missing, or names what is no argument. "unannotated": a
    parameter has no annotation; "no-result": nor has the result. "writes": a gradient is registered for one that writes
    to its argument. "aliases": it returns an argument, or a view of one. `name` is what the reason is about.
    """

    reason: Literal["namespace", "mutates", "unannotated", "no-result", "writes", "aliases"]
    name: str


class FunctionWithoutForward(Refusal):
    """A custom function that has no `forward` is applied."""


class DifferentiatedTwice(Refusal):
    """A backward differentiates again the gradient of a function that is marked with `once_differentiable`.

    `applied` is where the function was applied.
    """

    applied: cst.CSTNode


class NoneGradientArrived(Refusal):
    """A backward computes with the None that it gets for a result without a gradient: Python raises.

    Forward has called `set_materialize_grads(False)`. `applied` is where the function was applied, `backward` the call
    in which the result has no gradient. `tangent`: a `jvp` computes with the None that it gets for what is no tensor.
    """

    applied: cst.CSTNode
    backward: cst.CSTNode | None
    tangent: bool = False


class CtxAttributeMissing(Refusal):
    """The backward of a custom function reads the attribute `name` of `ctx`, which its `forward` has not set."""

    name: str
    forward: cst.CSTNode | None


Nontensor: TypeAlias = Literal["number", "text", "list", "tuple", "dict", "array"]
"""What a value is that stands where torch takes a tensor."""

Role: TypeAlias = Literal[
    "forward",
    "setup_context",
    "backward",
    "vjp",
    "jvp",
    "vmap",
    "register_hook",
    "register_post_accumulate_grad_hook",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_multi_grad_hook",
    "grad_fn.register_hook",
    "grad_fn.register_prehook",
    "pack_hook",
    "unpack_hook",
    "transformed",
    "parametrization",
]
"""What torch calls a function of the program as: a method of a custom function, a hook by how it was registered, or the
function of a transform.
"""


class CallbackArguments(Refusal):
    """Torch calls the function defined at the node with `given` arguments, which it does not take, for a `call`."""

    role: Role
    given: int
    call: cst.CSTNode


class SavedNontensor(Refusal):
    """`save_for_backward`, or another `method` of `ctx`, is given something that is certainly no tensor."""

    kind: Nontensor
    method: str = "save_for_backward"


class DirtyNotReturned(Refusal):
    """`forward` of a custom function marks an input dirty, and does not return it."""


class DirtyView(Refusal):
    """A custom function with several results is applied to a view, `made` there, which it `marks` dirty."""

    marks: cst.CSTNode
    made: cst.CSTNode | None


Returned: TypeAlias = Literal[
    "something",
    "other",
    "shape",
    "dtype",
    "count",
    "unwanted",
    "pair",
    "output",
    "unpacked",
    "single",
    "saved",
    "loaded",
]


class HookResult(Refusal):
    """A backward, or the call of a module, runs `hook`, which returns what torch does not take.

    "something": for a hook of the accumulated gradient, anything at all. "other": what is no tensor. Of the hooks of a
    module, "count": so many gradients; "unwanted": gradients of data; "pair": a pre-hook that is given keywords returns
    other than arguments and keywords; "output": what is no tensor, in place of the output, which was one. "unpacked": a
    saved tensor is unpacked to what is no tensor; the node is where the hooks are installed. "single": a hook of a node
    returns what is no tuple. "saved", "loaded": for a hook after `state_dict` or `load_state_dict`, anything at all.
    """

    returned: Returned
    hook: cst.CSTNode


Misuse: TypeAlias = Literal[
    "disabled",
    "enabled",
    "nested",
    "ended",
    "writes",
    "arguments",
    "twice",
    "released",
    "none",
    "made",
    "detached",
    "returned",
]


class SavedTensorMisused(Refusal):
    """Torch refuses what is asked of saved tensors; `origin` is where the reason stands, if elsewhere.

    "disabled": hooks are installed where they are switched off. "enabled": they are switched off where some are
    installed. "nested": `allow_mutation_on_saved_tensors` inside of itself; "ended": a backward after its block.
    "writes": a pack hook writes to what it is given. Of `register_hooks`, "arguments": other than two functions;
    "twice": there are hooks already; "released": a backward has freed the tensor; "none": None was saved. "made": the
    constructor of a saved tensor is called. "detached": a backward needs a tensor that `detach_` has taken out of its
    graph. "returned": a custom function with a `setup_context` saves an input that its forward returns as it is.
    """

    reason: Misuse
    origin: cst.CSTNode | None = None


class MixedHooks(Refusal):
    """A module that has a full backward hook is given one of the old sort, or the other way round."""


class CheckpointReentrant(Refusal):
    """A backward comes to a checkpoint that does not support it.

    Of reentrant ones: "selective" where it asks for some gradients only, "constant" where nothing requires grad.
    "different": the function, which runs again, saves fewer tensors than before, or others. "unpacked": the backward of
    a custom function below the checkpoint reads its saved tensors twice.
    """

    reason: Literal["selective", "constant", "different", "unpacked"]
    checkpoint: cst.CSTNode


class CheckpointOption(Refusal):
    """A checkpoint is given an argument that it does not take, or not a reentrant one."""

    name: str
    reentrant: bool


class DistributionLacks(Refusal):
    """A `distribution` is asked for a sample or a number by a `method` that its class does not implement.

    Or `kl_divergence` is given it and `another`, for which torch has no formula.
    """

    distribution: str
    method: str
    another: str = ""
