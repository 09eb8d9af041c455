"""
The meaning of every operator of the graph dialect in numpy.

Importing this package registers the meanings of all families. `evaluate` is the reference that
constant folding uses and against which every other implementation is tested.
"""

from __future__ import annotations

from . import (  # noqa: F401
    attention,
    blocked,
    constant,
    convolution,
    dot,
    embedding,
    indexing,
    matrix,
    narrow_weights,
    normalization,
    pooling,
    quantization,
    recurrent,
    reduction,
    selection,
    shape,
    sparse,
    transposed,
    trees,
    winograd,
)
from .arrays import (
    constant_array,
    constant_of,
    element_type,
    interface_dtype,
    make_constant,
    numpy_dtype,
)
from .registry import evaluate, has_meaning, meaning

__all__ = [
    "constant_array",
    "constant_of",
    "element_type",
    "evaluate",
    "has_meaning",
    "interface_dtype",
    "make_constant",
    "meaning",
    "numpy_dtype",
]
