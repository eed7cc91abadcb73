"""Write a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_file(target: Path, content: bytes) -> None:
    """Write a file beside the target and let it take the target's place, which no reader sees half done."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".gradlint")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            if _owner(target) != _owner(beside):
                os.chown(beside, *_owner(target))
            beside.chmod(target.stat().st_mode & 0o7777)
        else:
            beside.chmod(0o666 & ~_umask())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _owner(path: Path) -> tuple[int, int]:
    """Return the user and the group of a file."""
    return path.stat().st_uid, path.stat().st_gid


def _umask() -> int:
    """Return what new files of this process may not have; there is no asking without setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
