"""Where the documentation is published."""

from __future__ import annotations

DOCS = "https://github.com/gradlint/gradlint/blob/main/docs"


def page_address(code: str, name: str) -> str:
    """Return the address of the page about a rule, `docs/rules/CODE-name.md`."""
    return f"{DOCS}/rules/{code}-{name}.md"
