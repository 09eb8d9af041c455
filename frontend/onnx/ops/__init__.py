"""One converter for each ONNX operator, a file for each family. Importing this registers all."""

from __future__ import annotations

from . import (  # noqa: F401
    activation,
    arithmetic,
    constant,
    convolution,
    einsum,
    fourier,
    generic,
    indexing,
    integer_products,
    logic,
    matrix,
    normalization,
    ordering,
    plain,
    pooling,
    quantization,
    quantized_operators,
    reduction,
    scatter,
    selection,
    sequences,
    shape,
    training,
    transposed,
)
