"""A release of torch."""

from __future__ import annotations

import re
from typing import NamedTuple


class Release(NamedTuple):
    """A release such as 2.4; its patches bring and remove no names."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def of(cls, text: str) -> Release | None:
        """Return what a version belongs to; None for one before its release, which has some of its names, and for none.

        >>> str(Release.of("2.4.1+cu121")), Release.of("2.5.0a0+git"), Release.of("two")
        ('2.4', None, None)
        """
        found = _VERSION.fullmatch(text)
        return None if found is None else cls(int(found[1]), int(found[2]))


_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?(?:\.post\d+)?(?:\+.*)?")
