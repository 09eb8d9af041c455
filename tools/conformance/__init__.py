"""
Cases for every operator: what `glow-test-backend` runs.

Generators of cases are registered by family of operators, in the files of this folder. `plan`
finds those of a backend's claims, `check` runs them through the backend and compares.
"""

from . import (
    blocked,
    dot,
    elementwise,
    embedding,
    formula,
    indexing,
    layout,
    products,
    recurrent,
    resampling,
    rows,
    selection,
    trees,
    windows,
)

__all__ = [
    "blocked",
    "dot",
    "elementwise",
    "embedding",
    "formula",
    "indexing",
    "layout",
    "products",
    "recurrent",
    "resampling",
    "rows",
    "selection",
    "trees",
    "windows",
]
