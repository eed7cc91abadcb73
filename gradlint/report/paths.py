"""Paths as other programs know them: from the directory of the repository on."""

from __future__ import annotations

import os
from collections.abc import Mapping

CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY")
"""Where GitHub, GitLab and Azure name the directory of the repository, from which they count paths."""


def path_below(root: str, filename: str) -> str:
    """Return the path of a file from a directory on, with slashes; the absolute one if it is not in it."""
    absolute = os.path.normpath(os.path.join(root, filename))
    inside = absolute.startswith(os.path.join(os.path.normpath(root), ""))
    return (os.path.relpath(absolute, root) if inside else absolute).replace(os.sep, "/")


def checkout(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the directory of the repository where a CI names one and we are in it."""
    here = os.path.join(os.getcwd(), "")
    named = (environment.get(name) for name in CHECKOUTS)
    return next((root for root in named if root and here.startswith(os.path.join(root, ""))), None)
