"""A stand-in for gymnasium: one small environment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


class _CartPole:
    observation_space = SimpleNamespace(shape=(4,))
    action_space = SimpleNamespace(n=2)

    def reset(self, seed: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self._state = self._random.uniform(-0.05, 0.05, 4)
        self._steps = 0
        return self._state.astype(np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        x, v, angle, spin = self._state
        spin += 0.1 * (9.8 * np.sin(angle) - (2 * action - 1) * np.cos(angle))
        self._state = np.array([x + 0.02 * v, v + 0.1 * (2 * action - 1), angle + 0.1 * spin, spin])
        self._steps += 1
        fallen = bool(abs(self._state[2]) > 0.4)
        return self._state.astype(np.float32), 1.0, fallen, self._steps >= 30, {}


def make(name: str) -> _CartPole:
    return _CartPole()
