"""What `gradlint run` says of a run besides findings: how much was watched, and how the parameters fared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Observed:
    """What a run of the program says of a finding; so many `iterations` of it were watched."""

    verdict: Literal["seen", "not seen", "not run"]
    iterations: int

    @property
    def said(self) -> str:
        """Return it in words."""
        if self.verdict == "seen":
            return "seen in a run"
        many = "" if self.iterations == 1 else "s"
        within = f"in {self.iterations:,} watched iteration{many}" if self.iterations else "in the watched run"
        if self.verdict == "not seen":
            return f"did not occur {within}"
        return f"torch was not called here {within}"


@dataclass(frozen=True)
class Series:
    """A parameter over the measured iterations; None where it got no gradient.

    `gradients` are the norms of the gradients that steps have used, `updates` the norms of what steps have changed,
    divided by that of the weights, `zeros` the share of the gradients' elements that were zero. Of so many `units`,
    outputs of a layer, `dead` got no gradient but zero in any measured iteration; None for what has no units.
    `inactive` ones were zero behind their rectifier for the whole last sample; None for what has none behind it.
    """

    name: str
    module: str
    layer: str
    shape: tuple[int, ...]
    elements: int
    gradients: tuple[float | None, ...] = ()
    updates: tuple[float | None, ...] = ()
    zeros: tuple[float | None, ...] = ()
    units: int | None = None
    dead: int | None = None
    inactive: int | None = None


@dataclass(frozen=True)
class Rows:
    """The rows of a file at which torch was called, those at which it raised, and what tells its text from others."""

    digest: str
    rows: tuple[int, ...]
    raised: tuple[int, ...] = ()


@dataclass(frozen=True)
class Run:
    """A run of a program: its iterations, the measured ones among them, and what was measured there.

    `slowdown` is how many times as long a watched iteration took as one that was not; None if all were. `sought` are
    the codes of rules about what is silent that the machine looks for. `occurred` are the findings, with the rows where
    they stand, and those that an exception led to which the program has caught. `tensors` are the iterations
    after which the tensors in the program's variables were counted, with how many there were; `holder` is what holds
    most of those that came last, if there are ever more.
    """

    program: str
    folder: str
    torch: str
    exit_code: int
    iterations: int
    watched: int
    samples: int
    operations: int
    backwards: int
    steps: int
    seconds: float
    slowdown: float | None = None
    points: tuple[int, ...] = ()
    tensors: tuple[tuple[int, int], ...] = ()
    holder: str | None = None
    losses: tuple[float | None, ...] = ()
    parameters: tuple[Series, ...] = ()
    unmeasured: str | None = None
    sought: tuple[str, ...] = ()
    occurred: tuple[tuple[str, str, int, int], ...] = ()
    files: Mapping[str, Rows] = field(default_factory=dict)
