"""The names of values in printed IR, made from names of networks and files."""

from __future__ import annotations

import re

_LONGEST_NAME = 100
"""Characters of a name that an SSA name shows."""


def value_name(name: str) -> str:
    """
    Returns an SSA name made from a name that may be any text, such as that of an ONNX value.

    The printer tells equal names apart by `_1`, `_2` and so on, so no name ends like that.
    """
    clean = re.sub(r"[^A-Za-z0-9_$.-]", "_", name[:_LONGEST_NAME])
    plain = re.sub(r"(_\d+)+$", "", clean)
    if re.match(r"[A-Za-z_$.-]", plain):
        return plain
    return re.sub(r"(_\d+)+$", "", f"v{clean.lstrip('_')}")
