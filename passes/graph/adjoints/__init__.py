"""Rules that differentiate operators, by the class of the operator."""

from . import attention, convolution, data_parallel, formula, normalization, pooling, shape
from .registry import ADJOINTS, TANGENTS

__all__ = [
    "ADJOINTS",
    "TANGENTS",
    "attention",
    "convolution",
    "data_parallel",
    "formula",
    "normalization",
    "pooling",
    "shape",
]
