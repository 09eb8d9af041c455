"""Rules that differentiate operators, by the class of the operator."""

from . import convolution, data_parallel, formula, normalization, shape
from .registry import ADJOINTS, TANGENTS

__all__ = [
    "ADJOINTS",
    "TANGENTS",
    "convolution",
    "data_parallel",
    "formula",
    "normalization",
    "shape",
]
