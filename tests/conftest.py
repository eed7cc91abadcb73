"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

collect_ignore = ["neovim", "ray"]
"""`make neovim` and `make ray` run these: they need Neovim, and Ray, and are not skipped where it is missing."""


@pytest.fixture(scope="session", autouse=True)
def no_settings_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The secret that signs the cache is made for the tests alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))
        yield
