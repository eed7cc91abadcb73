"""The version: that of the installed distribution, which is made from the tag."""

from __future__ import annotations

from importlib import metadata

DISTRIBUTION = "torch-gradlint"
UNKNOWN = "0+unknown"


def version() -> str:
    """Return the version; of a source tree that is not installed, none is known."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return UNKNOWN
