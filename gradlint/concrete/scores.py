"""Distributions that are given probabilities as the scores that they normalise."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.distributions import categorical

from gradlint.concrete.losses import origin
from gradlint.concrete.seen import Seen
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.domain.fault.losses import WrongActivation
from gradlint.facts import traits


class Scores(Watcher):
    """Looks at the `logits` of categorical distributions, of which they take the logarithm of the sum first."""

    functions = frozenset({torch.Tensor.logsumexp})

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._found: dict[tuple[int, int], Seen] = {}

    def operated(self, it: Operation) -> None:
        """Look at what has computed the scores."""
        code = it.caller.f_code
        if code.co_filename != categorical.__file__ or code.co_name != "__init__" or it.place.key in self._found:
            return
        op, made = origin(it.given[0].grad_fn) if it.tracked else (None, None)
        if op in traits.PROBABILITIES:
            name = type(it.caller.f_locals.get("self")).__name__
            fields = {"loss": name, "takes": "scores", "got": op, "kind": "probabilities", "made": made}
            self._found[it.place.key] = Seen(WrongActivation, it.place, fields)

    def seen(self) -> Iterator[Seen]:
        """Yield the distributions of probabilities that were taken for scores."""
        yield from self._found.values()
