"""Writes past the version counter to what was saved for backward: torch notices nothing, and is wrong."""

from __future__ import annotations

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import StaleSavedUsed
from gradlint.domain.fault.inplace import HiddenWriteToSaved
from gradlint.domain.state import State


class HiddenWriteDetector(Detector[None]):
    """Needs no facts."""

    def on_stale_saved_used(self, state: State, it: StaleSavedUsed) -> None:
        """Report the write."""
        self.report(HiddenWriteToSaved(it.write.syntax, it.saver.syntax, it.saver.op, it.node))
