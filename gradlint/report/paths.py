"""Paths as other programs know them: from the directory of the repository on."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gradlint.source.read import is_below

CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY")
"""Where GitHub, GitLab and Azure name the directory of the repository, from which they count paths."""


def path_below(root: str, filename: str) -> str:
    """Return the path of a file from a directory on, with slashes; the absolute one if it is not below it."""
    absolute, top = os.path.abspath(filename), os.path.abspath(root)
    return (os.path.relpath(absolute, top) if is_below(absolute, top) else absolute).replace(os.sep, "/")


def checkout(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the directory of the repository where a CI names one and we are in it."""
    named = (os.path.realpath(root) for name in CHECKOUTS if (root := environment.get(name)))
    return next((root for root in named if is_below(os.getcwd(), root)), None)
