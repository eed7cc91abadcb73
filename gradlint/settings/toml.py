"""Values of settings as TOML."""

from __future__ import annotations

import json


def as_toml(value: object) -> str:
    """Return a value on one line, as it is written after `key = `; strings are escaped as in JSON."""
    if isinstance(value, dict):
        items = ", ".join(f"{json.dumps(name)} = {as_toml(item)}" for name, item in value.items())
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(value)
