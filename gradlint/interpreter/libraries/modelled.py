"""Which names of libraries gradlint has a model of, so that their source is not read."""

from __future__ import annotations

from gradlint.interpreter.libraries.model_zoos import NETWORKS
from gradlint.interpreter.libraries.table import LIBRARIES
from gradlint.interpreter.libraries.trainers import TRAINER
from gradlint.plugins.installed import likened

_FRAMEWORKS = frozenset({"accelerate", "lightning", "lightning_fabric", "pytorch_lightning"})


def is_modelled(path: str) -> bool:
    """Return whether the thing at a path is known without its source."""
    package = path.partition(".")[0]
    if likened(path) is not None:
        return True
    if package in _FRAMEWORKS or path in LIBRARIES or f"{package}.*" in LIBRARIES:
        return True
    return NETWORKS.match(path) is not None or TRAINER.match(path) is not None
