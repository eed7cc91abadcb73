"""The parts of the concrete machine that hear of the program, one file each."""

from __future__ import annotations

from gradlint.concrete.lost import Lost
from gradlint.concrete.membership import Membership
from gradlint.concrete.modes import Modes
from gradlint.concrete.scaling import Scaling
from gradlint.concrete.watcher import Watcher

WATCHERS: tuple[type[Watcher], ...] = (Scaling, Modes, Membership, Lost)
