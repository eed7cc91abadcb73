"""Traits of operations: what judgements need beyond the measured row, one set of canonical names each.

    from gradlint.facts.aliases import canonical
    from gradlint.facts.traits import SUMS

    canonical(node.op) in SUMS

To add an operation to a trait, write its canonical name (`gradlint.facts.aliases`) into `traits.json`; all spellings
follow. To add a trait, write it there, give it a constant here with a sentence that torch can be asked about, and add
the question to `tests/facts/test_traits_agree.py`. No other file lists operations: `tests/facts/test_traits.py` refuses
it. A detector composes its own question of traits: `SUMS | MEANS`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType
from typing import Final, TypeAlias, TypedDict

from gradlint.domain.dtype import FLOATS

Trait: TypeAlias = "frozenset[str]"


class _Traits(TypedDict):
    """The file: canonical names per trait, names of methods as they are spelled, and what maps names to others."""

    traits: dict[str, str]
    methods: dict[str, str]
    maps: dict[str, dict[str, str]]


_DATA: Final[_Traits] = json.loads(resources.files(__package__).joinpath("traits.json").read_text(encoding="utf-8"))


def _trait(name: str) -> Trait:
    return frozenset(_DATA["traits"][name].split())


def _methods(name: str) -> Trait:
    return frozenset(_DATA["methods"][name].split())


def _map(name: str) -> Mapping[str, str]:
    return MappingProxyType(_DATA["maps"][name])


# Conversions.

CASTS: Final = _map("casts")
"""The dtype that a method without arguments converts to."""

_FLOATING_CASTS = frozenset(name for name, dtype in CASTS.items() if dtype in FLOATS) | {"to", "type_as"}

CONVERTS: Final[Trait] = frozenset({*CASTS, "to", "type", "type_as"})
"""Gives the elements in another type, or the tensor itself."""

# Sums and multiples.

SUMS: Final = _trait("sums")
"""The result is a sum of the tensor arguments, each with its sign."""

SCALES: Final = _trait("scales")
"""With a number beside the tensor, the result is a multiple of the tensor."""

ARITHMETIC: Final = _trait("arithmetic")
"""Computes each element from one element of each of two operands, with one of the four basic operations."""

UPDATES: Final = _trait("updates")
"""In place, moves the value by what is given: a step of an optimizer, or an average."""

REFUSES_OVERLAP: Final = _trait("refuses_overlap")
"""In place, refuses another operand that shares a part of the written memory."""

SPARSE_KEEPS: Final = _trait("sparse_keeps")
"""Gives a sparse tensor for a sparse one, alone or with a number."""

UNDERIVED_IN_PLACE: Final = _trait("underived_in_place")
"""Raises in backward if it was computed in place (measured: "the derivative for 'inplace version of acosh'")."""

SPARSE_WITHOUT_BACKWARD: Final = _trait("sparse_without_backward")
"""Takes a sparse tensor, and raises in backward, whatever gradient arrives."""

WANTS_DENSE_GRADIENT: Final = _trait("wants_dense_gradient")
"""Gives a sparse tensor for a sparse one, and raises in backward if the gradient that arrives is sparse."""

DENSE_ONLY: Final = _trait("dense_only")
"""Raises for a sparse tensor, measured with torch's own samples: its backend implements no such operation."""

COMPRESSED_REFUSES: Final = _trait("compressed_refuses")
"""Takes a sparse tensor, and raises for one of the layouts CSR and CSC."""

TAKES_ANYTHING: Final = _trait("takes_anything")
"""Has a parameter `input`, and takes what is no tensor for it: a tuple, which all others refuse (measured)."""

ONCE_ONLY: Final = _trait("once_only")
"""Has a derivative, but its derivative has none: measured, torch raises in the second backward."""

MEANS: Final = _trait("means")
"""Sums up elements, with the same weight for all."""

# The same elements.

RESHAPES: Final = _trait("reshapes")
"""The result has the elements of the input in the same order; of a contiguous input it is contiguous."""

VIEWS_IF_CONTIGUOUS: Final = _trait("views_if_contiguous")
"""The result shares the memory of a contiguous input, and may be a copy of another."""

ALWAYS_VIEWS: Final = _trait("always_views")
"""The result is a view; an empty one was measured as none, as it shares no storage."""

PERMUTES: Final = _trait("permutes")
"""The result is a view with the dimensions in another order."""

TRANSPOSES: Final = _trait("transposes")
"""Exchanges the two dimensions of a matrix."""

EXPANDS: Final = _trait("expands")
"""The result is a view that repeats elements along dimensions of size one."""

PICKS: Final[Trait] = _trait("picks") | RESHAPES | PERMUTES | EXPANDS | _FLOATING_CASTS
"""Each element of the result is an element of the input, perhaps in another type."""

SPLITS: Final = _trait("splits")
"""Several results, each of elements of the input."""

ELEMENTS: Final[Trait] = PICKS | SPLITS
"""Each element of each result is an element of the input, perhaps in another type."""

COPIES: Final = _trait("copies")
"""The result has the shape and the values of the input."""

SHARES: Final[Trait] = _trait("shares") | RESHAPES | PERMUTES | EXPANDS
"""The result may share the memory of the input."""

JOINS: Final = _trait("joins")
"""Puts a list of tensors together."""

ACCUMULATES: Final[Trait] = _trait("accumulates") | SUMS | SCALES | MEANS | ELEMENTS | JOINS
"""Puts results together and computes no further step from them: a running total, a collected list."""

# Tensors made of sizes.

ZEROS: Final = _trait("zeros")
ONES: Final = _trait("ones")
FILLED: Final = _trait("filled")
"""Filled with a number that is given."""

UNFILLED: Final = _trait("unfilled")
"""Memory that nobody has written; `torch.FloatTensor(3)` is `uninitialised`."""

FROM_SIZES: Final = _trait("from_sizes")
"""Made of sizes and numbers, and of no tensor."""

FACTORIES: Final = _trait("factories")
"""Takes sizes, and `requires_grad`."""

LIKES: Final = _trait("likes")
"""Takes the size or the type of its first tensor, and not its values."""

RANDOM: Final = _trait("random")
"""Draws numbers."""

RANDOM_IN_TRAINING: Final = _trait("random_in_training")
"""Draws numbers if `training` is true."""

DROPS_BY_DEFAULT: Final = _trait("drops_by_default")
"""Drops values unless it is told not to; in lower case the modules that do so in training."""

FILLS: Final = _trait("fills")
"""In place, gives all elements one value."""

INITIALISES: Final = _trait("initialises")
"""In place, gives a parameter its first values; other writes may load a trained network, or train it by hand."""

# Element by element.

UNARY_SAME: Final = _trait("unary_same")
"""Computes each element from one element, in the same type."""

UNARY_FLOATING: Final = _trait("unary_floating")
"""Computes each element from one element; integers become floating."""

UNARY: Final[Trait] = _trait("unary_other") | UNARY_SAME | UNARY_FLOATING
"""Computes each element from one element."""

TESTS: Final = _trait("tests")
"""Says something of each element: the result is bool."""

BROADCASTS: Final = _trait("broadcasts")
"""Broadcasts and promotes its operands."""

BROADCASTS_FLOATING: Final = _trait("broadcasts_floating")
"""Broadcasts and promotes its operands; integers become floating."""

COMPARES: Final = _trait("compares")
"""Broadcasts its operands; the result is bool."""

COMPARISONS: Final = _trait("comparisons")
"""Compares two numbers."""

MIRRORED: Final = _map("mirrored")
"""The comparison with its operands exchanged."""

NEGATED: Final = _map("negated")
"""The comparison that is true where the other is false."""

SAME_SIZE: Final = _trait("same_size")
"""The result has the size and type of the input, and an element may depend on others."""

STEADY: Final[Trait] = (_trait("steady") | ELEMENTS | UNARY | ARITHMETIC) - RANDOM_IN_TRAINING
"""Gives the same for the same: draws no numbers, and keeps nothing from call to call."""

# Values.

BOUNDED: Final = _trait("bounded")
"""The result is small or negative, whatever goes in."""

NEVER_NEGATIVE: Final = _trait("never_negative")
"""No element of the result is below zero."""

RANGES: Final[Trait] = _trait("ranges") | JOINS | ELEMENTS
"""The elements of the result are within the range of the input's, or nearly so."""

PEAKS: Final = _trait("peaks")
"""The maximum of something, or close to it."""

LOWS: Final = _trait("lows")
"""The minimum of something."""

NORMS: Final = _trait("norms")
CLAMPS: Final = _trait("clamps")
"""Bounds the elements by `min` and `max`."""

ZERO_AT_ZERO: Final[Trait] = _trait("zero_at_zero") | _FLOATING_CASTS
"""The result is zero where the first input is."""

FINITE_TESTS: Final = _trait("finite_tests")
"""Says which elements are infinite or NaN."""

POLES: Final = _trait("poles")
"""Has an infinite slope at zero."""

ROOTS: Final = _trait("roots")
"""Has an infinite slope at zero, and none below."""

SINGULAR_AT_ONE: Final = _trait("singular_at_one")
"""Has an infinite slope at 1 and -1, the bounds of its range."""

SINGULAR: Final[Trait] = POLES | ROOTS | SINGULAR_AT_ONE
"""Has an infinite slope somewhere."""

STEEP: Final = _trait("steep")
"""Computes exponentials."""

# Layers and losses.

AFFINE: Final = _trait("affine")
"""Multiplies by weights: any number may come out."""

COLUMNS: Final = _trait("columns")
"""Gives a column of its own accord, where others need `unsqueeze` or `[:, None]`."""

PRODUCTS: Final = _trait("products")
"""Products of two matrices."""

PROBABILITIES: Final = _trait("probabilities")
LOG_PROBABILITIES: Final = _trait("log_probabilities")

APPLIED_BY_LOSSES: Final = _trait("applied_by_losses")
"""Losses of scores compute it themselves."""

ACTIVATIONS: Final = _trait("activations")
"""Has no upper bound: what comes out is neither a probability nor the logarithm of one."""

DISTANCES: Final = _trait("distances")
"""Losses that compare element by element, and are zero where both are equal."""

LOSSES_OF_SCORES: Final = _trait("losses_of_scores")
LOSSES_OF_LOG_PROBABILITIES: Final = _trait("losses_of_log_probabilities")
LOSSES_OF_PROBABILITIES: Final = _trait("losses_of_probabilities")

WEIGHTED_LOSSES: Final = _trait("weighted_losses")
"""As a module, is made with weights, which may not require grad."""

ONE_DTYPE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {name: tuple(operands.split()) for name, operands in _map("one_dtype").items()}
)
"""The two operands that must have one type."""

NUMBERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {name: tuple(parameters.split()) for name, parameters in _map("numbers").items()}
)
"""The parameters that take a Python number, and a tensor only if it does not require grad: its number is taken.

Only those that `python -m tools.measure_numbers` does not measure: `gradlint.facts.numbers` has all.
"""

SLOPES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {name: tuple(parameters.split()) for name, parameters in _map("slopes").items()}
)
"""Activations, with the parameters whose mean is their slope where the input is negative."""

ONE_DTYPE_MODULES: Final = _trait("one_dtype_modules")
"""As a module, wants an input of the type of its parameters."""

INDEXED: Final = _trait("indexed")
"""Takes positions, as `index` or `indices`."""

# Memory and autograd.

SAVES_AS_LISTED: Final = _trait("saves_as_listed")
"""Keeps nothing for backward but what its row lists; others keep results of their own, too."""

NOT_ITERATED: Final = _trait("not_iterated")
"""In place, does not go through the element-wise iterator: an expanded tensor takes it, if it requires no grad."""

RESHAPES_INPLACE: Final = _trait("reshapes_inplace")
"""In place, gives the tensor another shape, which the size rules know."""

ANY_SHAPE_INPLACE: Final[Trait] = _trait("any_shape_inplace") | RESHAPES_INPLACE
"""In place, may give the tensor another shape."""

SIZE_BY_OTHER: Final = _trait("size_by_other")
"""Was measured to give a result as large as its input, and need not."""

SIZE_BY_VALUES: Final = _trait("size_by_values")
"""The size of the result, or a Python answer, depends on the values; of `where`, if it has one argument."""

CALLS_PYTHON: Final = _methods("calls_python")
"""The methods that call a function of the program for each element: no tensor that takes part may require grad."""

NO_FORWARD: Final = _trait("no_forward")
"""Has no derivative in forward mode: refuses a dual tensor."""

UNBATCHED: Final = _trait("unbatched")
"""Cannot be mapped by `vmap`."""

OF_ONE_EACH: Final = _trait("of_one_each")
"""Gives one tensor for each that it is given, computed from that alone."""

ONE_OR_MANY: Final = _trait("one_or_many")
"""Gives a tensor for a tensor, and a tuple for several."""

# Calls of old programs.

ALPHA_FIRST: Final = _trait("alpha_first")
"""Used to take `alpha` before the tensor that it multiplies."""

VALUE_FIRST: Final = _trait("value_first")
"""Used to take `value` before the tensors that it multiplies."""

FACTORS_FIRST: Final = _trait("factors_first")
"""Used to take `beta` and `alpha` before what they multiply."""

IMPLICIT_DIM: Final = _trait("implicit_dim")
"""Guesses the dimension by the rank where none is given."""

# Names as they are spelled.

OPERATORS: Final = _map("operators")
"""The operation of each of Python's binary operators."""

TENSORS_ONLY: Final = _methods("tensors_only")
"""Attributes that show a value to be a tensor: nothing else that programs use has them."""

OF_RESULTS: Final = _methods("of_results")
"""Methods that tensors and arrays have in common, or that other objects rarely have."""

RELEASING: Final = _methods("releasing")
"""Methods by which a tensor itself is recorded or no longer recorded from there on, or takes the values of another."""

VIEW_ATTRIBUTES: Final = _methods("view_attributes")
"""Attributes that are views of the tensor."""
