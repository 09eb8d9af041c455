"""
The identity of the compiler: a hash of its source files. Changed code never meets old cache
entries.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

GENERATORS = ("glow_dialects", "interface", "lowering", "runtime")
"""The folders whose code turns instructions into objects."""
COMPILER = (*GENERATORS, "frontend", "passes", "quantization", "semantics")
"""The folders that results of a compilation depend on."""


@cache
def source_hash(folders: tuple[str, ...]) -> str:
    """
    Returns SHA-256 of the code in the package and in some of its folders, with the names of files.
    """
    root = Path(__file__).resolve().parent.parent
    paths = [e.path for e in os.scandir(root) if e.name.endswith(".py")]
    for folder in folders:
        for directory, _, names in os.walk(root / folder):
            paths += [os.path.join(directory, n) for n in names if n.endswith((".py", ".mlir"))]
    digest = hashlib.sha256()
    for path in sorted(paths):
        with open(path, "rb") as file:
            data = file.read()
        digest.update(f"{os.path.relpath(path, root)} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()
