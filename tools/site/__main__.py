"""Prepare the sources of the documentation site, and check what was built of them: `make site`.

    python -m tools.site sources FOLDER
    python -m tools.site playground DOWNLOADS FOLDER
    python -m tools.site check FOLDER

The first writes mkdocs.yml and the pages of docs/ to a folder, with those that are generated; no page needs a plugin of
ours, so that any builder with the configuration of MkDocs can build it. The second adds to the built site what the
playground runs on: `make playground`. The third finishes the built site, and follows each link and anchor; the exit
status is 1 if any leads nowhere, or a page would load anything from elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tools.site import built, playground, sources


def main(arguments: Sequence[str]) -> int:
    """Do what the first argument says."""
    command, folders = arguments[0] if arguments else "", [Path(one) for one in arguments[1:]]
    if len(folders) != {"sources": 1, "playground": 2, "check": 1}.get(command):
        print(__doc__, file=sys.stderr)
        return 2
    folder = folders[-1]
    if command == "sources":
        sources.write(folder)
        return 0
    if command == "playground":
        playground.assemble(folders[0], folder / "assets" / "playground")
        return 0
    built.finish(folder)
    broken = built.broken_links(folder)
    for one in broken:
        print(one)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
