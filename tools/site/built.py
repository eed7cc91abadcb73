"""What is done with the built site: it loads nothing from elsewhere, languages are named, and links followed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.site.pages import language

SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the theme loads for its search on pages from file://, and our copy of it."""
OWN_SHIM = "assets/iframe-worker.js"


class _Page(HTMLParser):
    """The anchors of a page, where it leads, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.addresses: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down what an element is called, and where it leads."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name == "src" or (name == "href" and tag == "link" and ("rel", "stylesheet") in attrs):
                self.loaded.append(value or "")
            elif name == "href":
                self.addresses.append(value or "")


def finish(folder: Path) -> None:
    """Name the language of pages that are not English, and load from the site what the theme loads from elsewhere.

    The dialog of the search has a name for those who do not see it.
    """
    for path in folder.rglob("*.html"):
        place = path.relative_to(folder).as_posix()
        text = path.read_text(encoding="utf-8")
        text = re.sub(r'<html lang="[a-z]+"', f'<html lang="{language(place)}"', text, count=1)
        text = text.replace('role="dialog">', 'role="dialog" aria-label="Search">')
        path.write_text(
            text.replace(SHIM, posixpath.relpath(OWN_SHIM, posixpath.dirname(place) or ".")), encoding="utf-8"
        )


def broken_links(folder: Path) -> list[str]:
    """Return what leads nowhere, and what would be loaded from elsewhere."""
    return sorted({one for path in folder.rglob("*.html") for one in _broken(folder, path)})


def _broken(folder: Path, path: Path) -> Iterator[str]:
    place, page = path.relative_to(folder).as_posix(), _read(path)
    yield from (f"{place}: {address} is loaded from elsewhere" for address in page.loaded if urlsplit(address).netloc)
    for address in {*page.loaded, *page.addresses}:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        there = posixpath.join("/", posixpath.dirname(place), unquote(parts.path)) if parts.path else place
        found = folder / posixpath.normpath(there).lstrip("/")
        if not found.is_file():
            yield f"{place}: {address} leads nowhere"
        elif found.suffix == ".html" and unquote(parts.fragment) not in _read(found).anchors | {"__skip"}:
            yield f"{place}: {address}: there is no such anchor"


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page
