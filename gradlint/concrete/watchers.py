"""The parts of the concrete machine that hear of the program, one file each."""

from __future__ import annotations

from gradlint.concrete.activations import Activations
from gradlint.concrete.alive import Alive
from gradlint.concrete.built import Built
from gradlint.concrete.crossed import Crossed
from gradlint.concrete.epochs import Epochs
from gradlint.concrete.gradients import Gradients
from gradlint.concrete.growth import Growth
from gradlint.concrete.lost import Lost
from gradlint.concrete.membership import Membership
from gradlint.concrete.modes import Modes
from gradlint.concrete.names import Names
from gradlint.concrete.nonfinite import Nonfinite
from gradlint.concrete.scaling import Scaling
from gradlint.concrete.scores import Scores
from gradlint.concrete.skips import Skips
from gradlint.concrete.statements import Statements
from gradlint.concrete.wasted import Wasted
from gradlint.concrete.watcher import Watcher
from gradlint.concrete.zeros import Zeros

WATCHERS: tuple[type[Watcher], ...] = (
    Scaling,
    Modes,
    Membership,
    Lost,
    Nonfinite,
    Zeros,
    Growth,
    Gradients,
    Epochs,
    Built,
    Names,
    Statements,
    Crossed,
    Wasted,
    Activations,
    Alive,
    Scores,
    Skips,
)
