"""
The `glow_cpu` dialect: graph nodes on the formats in which a CPU stores activations and weights.

`glow-assign-layouts`, `glow-choose-convolutions`, `glow-pack-weights` and
`glow-demote-products-to-bf16` make these nodes of nodes of `glow`: convolutions and pooling on
channels in blocks of a vector register, products with weights in panels, convolution by Winograd's
transforms. They compute what the nodes of `glow` do, and have shape inference and a meaning in
numpy as well; no frontend makes them, and ONNX has no counterpart.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ..glow.base import Node, nodes_of
from . import blocked, dot, narrow_weights, packed, rounded, sparse, winograd

NODES: list[type[Node]] = nodes_of(
    *(blocked, packed, dot, rounded, winograd, sparse, narrow_weights)
)
GLOW_CPU = Dialect("glow_cpu", [*NODES])

__all__ = ["GLOW_CPU", "NODES"]
