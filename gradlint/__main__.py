"""`python -m gradlint` is `gradlint`."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # Python puts the current directory in front, from which nothing may be imported: it is what is checked.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]

    from gradlint.entrypoints.cli import main

    sys.exit(main())
