"""Whether gradlint knows a torch call: the table has a row, the interpreter a function, or it is no operation.

The interpreter is asked itself: a call that it has nothing to say about is counted among what it gave up.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, TypeAlias

import libcst as cst

from gradlint.facts import load
from gradlint.interpreter.interpret import interpret
from gradlint.interpreter.program import Program
from gradlint.interpreter.torch.module_methods import METHODS as MODULE_METHODS
from gradlint.interpreter.torch.optim import OPTIMIZER_METHODS

How: TypeAlias = Literal["row", "written", "no operation", "missing"]

_NO_OPERATION: dict[str, tuple[str, ...]] = {
    "kinds of numbers and of memory": (
        r"device|dtype|layout|memory_format|Size|finfo|iinfo|promote_types|can_cast|result_type",
        r"is_floating_point|is_complex|is_storage|[gs]et_default_(dtype|device)|UntypedStorage(\.\w+)?",
    ),
    "sizes doubled and texts: no tensor goes in": (
        r"nn\._(single|pair|triple|quadruple|ntuple|list_with_default)|nn\._reduction\.\w+|typename|__version__\..+",
    ),
    "random numbers: the state of a generator": (
        r"Generator|(cuda\.|random\.|default_generator\.)?(manual_seed(_all)?|seed|initial_seed|[gs]et_rng_state(_all)?|fork_rng)",
    ),
    "devices: their number, memory, and streams": (
        r"(cuda|xpu|mps|mlu|npu|musa|hpu|sdaa|neuron|mtia|cpu|accelerator|backends|version)\.(?!amp\.|\w+Tensor).*",
        r"get_device_module|Event|Stream",
    ),
    "settings of the whole process": (
        r"set_(printoptions|num_(interop_)?threads|warn_always|float32_matmul_precision|flush_denormal)",
        r"get_num_threads|(use|are|is)_deterministic_\w+|set_deterministic_debug_mode|__config__\.show",
    ),
    "files: what is loaded is not known": (
        r"save|load|(hub|serialization|utils\.model_zoo|export|onnx|distributed\.checkpoint)\..+",
    ),
    "compilers: the function stays what it is": (
        r"compile|(compiler|jit|fx|library|_dynamo|_inductor|_jit_internal|_logging)\..+",
        r"_C\.(_get_tracing_state|_jit_\w+|_are_functorch_transforms_active)|is_autocast_(\w+_)?enabled",
    ),
    "processes: who takes part; what they send each other is an operation": (
        r"distributed\.(is_\w+|get_\w+|(init|destroy)_process_group|(monitored_)?barrier|new_group|init_device_mesh)",
        r"distributed\.((device_mesh|launch|run|elastic)\..+|\w+Store|ReduceOp)|multiprocessing\..+",
        r"futures\.(Future|collect_all)",
    ),
    "modules spread over processes: where each part goes": (
        r"distributed\.(tensor\.parallel\.\w+Parallel|_?tensor\.(Replicate|Shard)|fsdp\.MixedPrecision\w*)",
    ),
    "distributions: what a parameter or value may be, and who is asked for what": (
        r"distributions\.((biject_to|transform_to)(\.register)?|(kl\.)?register_kl|constraints\.\w+)",
        r"distributions\.Distribution\.set_default_validate_args",
    ),
    "names of a module": (r"(\w+\.)*__dict__\.\w+|torch_version\.TorchVersion",),
    "data: sets, samplers, and workers give what the program puts in": (
        r"utils\.data\.(?!DataLoader$|TensorDataset$).+",
    ),
    "reports and tests: they look on": (
        r"(utils\.tensorboard|profiler|autograd\.profiler|utils\.benchmark|utils\.flop_counter|testing)\..+",
        r"utils\.collect_env\..+|_C\._log_api_usage_once|_C\._add_docstr",
    ),
    "learning rates: numbers of the loop": (r"optim\.lr_scheduler\.\w+|Scheduler\.\w+",),
    "trees of values, and doors for classes that stand in for tensors": (
        r"(handle_torch_function|has_torch_function\w*|overrides\..+|utils\.(_pytree|_python_dispatch)\..+)",
    ),
}
"""Names below torch that compute nothing with tensors, as patterns, by the reason why they need no row."""

_PATTERN = re.compile("|".join(pattern for patterns in _NO_OPERATION.values() for pattern in patterns))
_OWN_METHODS = {"Module": frozenset(MODULE_METHODS) | {"forward"}, "Optimizer": frozenset(OPTIMIZER_METHODS)}


@cache
def how_known(name: str) -> How:
    """How gradlint knows a call by its name below torch, or a method such as `Tensor.add_`.

    `Tensor|Module.to` is known if it is known of both.
    """
    owner, _, last = name.rpartition(".")
    if "|" in owner:
        answers = [how_known(f"{one}.{last}") for one in owner.split("|")]
        return "missing" if "missing" in answers else answers[0]
    if load().find(name) is not None:
        return "row"
    if _PATTERN.fullmatch(name):
        return "no operation"
    return "written" if _is_written(owner, last) else "missing"


def _is_written(owner: str, last: str) -> bool:
    if owner in _OWN_METHODS:
        return last in _OWN_METHODS[owner]
    if owner in ("Distribution", "GradScaler"):
        # The one is written for all methods alike, the other for none.
        return owner == "Distribution"
    call = f"a.{last}(b)" if owner == "Tensor" else f"torch.{owner}.{last}(a, b)" if owner else f"torch.{last}(a, b)"
    return not _gives_up(f"import torch\ndef ask(a: torch.Tensor, b):\n    return {call}\n")


def _gives_up(program: str) -> bool:
    return bool(interpret(cst.parse_module(program)).give_ups)


_PROGRAM = Program(cst.parse_module(""))


@cache
def canonical(name: str) -> str:
    """The name that the interpreter gives a path below torch: `nn.modules.conv.Conv2d` is `nn.Conv2d`."""
    return _PROGRAM.external(f"torch.{name}").path.removeprefix("torch.")


def family(name: str) -> str:
    """The part of torch that a name stands in, for people."""
    for prefix, label in _FAMILIES:
        if name.startswith(prefix):
            return label
    return "functions of other parts" if "." in name else "functions of torch"


_FAMILIES = (
    ("Tensor|", "methods of tensors or modules"),
    ("Tensor.", "methods of tensors"),
    ("Module.", "methods of modules"),
    ("Optimizer.", "methods of optimizers"),
    ("Distribution.", "methods of distributions"),
    ("Scheduler.", "methods of schedulers"),
    ("GradScaler.", "methods of gradient scalers"),
    ("nn.functional.", "nn.functional"),
    ("nn.init.", "nn.init"),
    ("nn.utils.", "nn.utils"),
    ("nn.", "modules"),
    ("optim.", "optimizers and schedulers"),
    ("autograd.", "autograd"),
    ("distributions.", "distributions"),
    ("distributed.", "distributed"),
    ("linalg.", "linalg"),
    ("fft.", "fft"),
    ("special.", "special"),
)
