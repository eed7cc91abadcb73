"""From the records of many calls to one value: a constant, a test on a flag, or what must and may be.

A value in the table is a text of labels (always exactly these), `{"?": "", "must": .., "may": ..}`, a test
`{"?": flag, key: value, ..., "*": value}`, or a list of values whose sets add up. A test is kept only if each
of its branches was seen at least twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

Json: TypeAlias = "str | dict[str, Json] | list[Json]"
Labels = frozenset[str]

NUMBER = "N"
ABSENT = "-"
ELSE = "*"

# Flags that decide facts by the library's own design are believed first, and on fewer samples.
TRUSTED = (
    "inplace", "training", "reduction", "return_indices", "dim", "keepdim", "dtype", "bias", "affine",
    "track_running_stats", "elementwise_affine", "other", "exponent", "p", "dropout_p", "ord", "weight",
    "return_inverse", "return_counts", "as_tuple", "requires_grad", "full_matrices", "compute_uv", "upper",
    "mode", "min", "max", "label_smoothing", "copy", "approximate", "rounding_mode", "elementwise_affine",
    "alpha", "beta", "n", "padding",
)  # fmt: skip
LAST = ("@contiguous", "@ranks", "@ndim", "@first")
# Numbers are one case, except for these values of these arguments, which torch's formulas treat apart.
_SPECIAL = frozenset(["0", "1", "2", "0.0", "1.0", "2.0", "0.5", "-1", "-1.0", "inf", "-inf"])
_SPECIAL_OF = frozenset([
    "exponent", "self", "p", "ord", "num_layers", "proj_size", "label_smoothing", "n", "beta", "alpha",
    "dropout", "dropout_p", "max_norm", "correction", "dim", "other", "@ndim",
])  # fmt: skip
_ENOUGH = 2
_LEAST_FOR_UNTRUSTED = 6
_ENOUGH_FOR_THREE = 24
_COVERED = 0.8


class Seen(NamedTuple):
    """One observation: the flags of the call, and the labels for which the fact held."""

    flags: Mapping[str, str]
    labels: Labels


Quality = Callable[[Sequence[Seen]], bool]


def is_constant(seen: Sequence[Seen]) -> bool:
    """Say whether all observations agree."""
    return len({s.labels for s in seen}) == 1


def has_common(seen: Sequence[Seen]) -> bool:
    """Say whether some label holds in all observations: enough for rules of which several may hold."""
    return bool(frozenset.intersection(*(s.labels for s in seen)))


def fit(seen: Sequence[Seen], good: Quality = is_constant) -> Json:
    """Return the value that the observations support."""
    if good(seen):
        return leaf(seen, good)
    simple = _explained(seen, good, 1)
    if simple is not None:
        return simple
    if good is is_constant and len(_labels(seen)) > 1:
        return _by_label(seen)
    return _settled(seen, good)


def _settled(seen: Sequence[Seen], good: Quality) -> Json:
    deep = [Seen({f: k for f, k in s.flags.items() if f in TRUSTED}, s.labels) for s in seen]
    return (
        _explained(seen, good, 2)
        or (_explained(deep, good, 3) if len(seen) >= _ENOUGH_FOR_THREE else None)
        or _partly_explained(seen, good)
        or leaf(seen, good)
    )


def _labels(seen: Sequence[Seen]) -> Labels:
    return frozenset[str]().union(*(s.labels for s in seen))


def _by_label(seen: Sequence[Seen]) -> Json:
    """Fit each label alone, for each may hang on an argument of its own.

    Labels that agree are written together.
    """
    together: dict[frozenset[int], set[str]] = {}
    for label in sorted(_labels(seen)):
        where = frozenset(i for i, s in enumerate(seen) if label in s.labels)
        together.setdefault(where, set()).add(label)
    if len(together) == 1:
        return _settled(seen, is_constant)
    parts = [fit([Seen(s.flags, s.labels & group) for s in seen]) for group in together.values()]
    tested: list[Json] = [part for part in parts if isinstance(part, dict) and part["?"]]
    settled = [part.split() for part in parts if isinstance(part, str)]
    must = frozenset(label for labels in settled for label in labels)
    open_labels = [str(part["may"]).split() for part in parts if isinstance(part, dict) and not part["?"]]
    may = must.union(*open_labels)
    rest: Json = text(must) if must == may else {"?": "", "must": text(must), "may": text(may)}
    if not tested:
        return rest
    return [rest, *tested] if may else tested


def leaf(seen: Sequence[Seen], good: Quality = is_constant) -> Json:
    """Return what holds always and what holds sometimes, without any test."""
    must = frozenset.intersection(*(s.labels for s in seen))
    may = frozenset[str]().union(*(s.labels for s in seen))
    if must == may or good is has_common:
        return text(must)
    return {"?": "", "must": text(must), "may": text(may)}


def text(labels: Labels) -> str:
    """Write labels as the table holds them."""
    return " ".join(sorted(labels))


def _explained(seen: Sequence[Seen], good: Quality, depth: int) -> Json | None:
    """Return a test after which every branch is good, using further tests up to the depth."""
    for flag, groups in _splits(seen):
        branches = {key: _branch(group, good, depth) for key, group in groups.items()}
        if all(branch is not None for branch in branches.values()):
            return _test(flag, {k: b for k, b in branches.items() if b is not None}, seen, good)
    return None


def _branch(group: Sequence[Seen], good: Quality, depth: int) -> Json | None:
    if good(group):
        return leaf(group, good)
    return _explained(group, good, depth - 1) if depth > 1 else None


def _partly_explained(seen: Sequence[Seen], good: Quality) -> Json | None:
    """Return the trusted test that settles most observations, and at least half.

    The rest is left to must and may.
    """
    best: tuple[int, Json] | None = None
    for flag, groups in _splits(seen):
        settled = sum(len(group) for group in groups.values() if good(group))
        if (flag in TRUSTED or flag in LAST) and settled > (best[0] if best else len(seen) // 2):
            inner = {key: _branch(group, good, 2) or leaf(group, good) for key, group in groups.items()}
            best = (settled, _test(flag, inner, seen, good))
    return best[1] if best else None


def _splits(seen: Sequence[Seen]) -> Iterator[tuple[str, dict[str, list[Seen]]]]:
    """Yield the flags that part the observations into groups of at least two, the trusted flags first."""
    flags = {flag for s in seen for flag in s.flags}
    flags -= {flag for flag in LAST if any(flag not in s.flags for s in seen)}
    order = sorted(flags, key=_rank)
    for flag in order:
        for singled in _singled_out(seen, flag):
            groups: dict[str, list[Seen]] = {}
            for s in seen:
                groups.setdefault(_case(s.flags.get(flag, ABSENT), singled), []).append(s)
            # A value that was seen once decides nothing: it falls to must and may over all calls.
            groups = {key: group for key, group in groups.items() if len(group) >= _ENOUGH}
            enough = sum(len(group) for group in groups.values()) >= _COVERED * len(seen)
            if len(groups) > 1 and enough and (flag in TRUSTED or len(seen) >= _LEAST_FOR_UNTRUSTED):
                yield flag, groups


def _rank(flag: str) -> tuple[int, str]:
    if flag in TRUSTED:
        return (TRUSTED.index(flag), flag)
    return (len(TRUSTED) + (LAST.index(flag) + 1 if flag in LAST else 100 * flag.startswith("@")), flag)


def _singled_out(seen: Sequence[Seen], flag: str) -> list[frozenset[str]]:
    """Return sets of numbers to tell from the rest: none, each special one that is frequent, all of these."""
    if flag not in _SPECIAL_OF:
        return [frozenset()]
    counts = Counter(s.flags.get(flag, ABSENT) for s in seen)
    often = sorted(k for k, n in counts.items() if n >= _ENOUGH and (k in _SPECIAL or flag == "@ndim") and is_number(k))
    return [
        frozenset(),
        *(frozenset({key}) for key in often),
        *([frozenset(often)] if len(often) > 1 else []),
    ]


def is_number(key: str) -> bool:
    """Say whether the key of a case is a number."""
    return key[0].isdigit() or (key[0] in "-(" and len(key) > 1) or key in {"inf", "nan"}


def _case(key: str, singled: frozenset[str]) -> str:
    return NUMBER if is_number(key) and key not in singled else key


def _test(flag: str, branches: Mapping[str, Json], seen: Sequence[Seen], good: Quality) -> Json:
    """Write the test; a value that was never seen gets what must and may be over all observations."""
    found: dict[str, Json] = {"?": flag}
    rest = branches.get(NUMBER)
    found.update(sorted((k, b) for k, b in branches.items() if not (is_number(k) and k != NUMBER and b == rest)))
    found[ELSE] = leaf(seen, is_constant if good is is_constant else good)
    if good is has_common and not has_common(seen):
        found[ELSE] = ""
    return found
