"""Rules that differentiate operators, by the class of the operator."""

from . import (
    attention,
    control,
    convolution,
    data_parallel,
    formula,
    normalization,
    norms,
    pooling,
    quantization,
    recurrent,
    scatter,
    shape,
)
from .propagation import Parameter, directional, gradients, is_of_floats
from .registry import ADJOINTS, TANGENTS

__all__ = [
    "ADJOINTS",
    "TANGENTS",
    "Parameter",
    "attention",
    "control",
    "convolution",
    "data_parallel",
    "directional",
    "formula",
    "gradients",
    "is_of_floats",
    "normalization",
    "norms",
    "pooling",
    "quantization",
    "recurrent",
    "scatter",
    "shape",
]
