"""`python -m gradlint` is `gradlint`."""

from __future__ import annotations

import sys

from gradlint.entrypoints.cli import main

if __name__ == "__main__":
    sys.exit(main())
