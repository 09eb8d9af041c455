"""
Weights of 8 or 4 bits for products that compute in float.

Constant matrices of products become groups of numbers with a scale and a zero point each, from the
smallest to the largest number of a group and zero (`glow.block_quantized_matmul`). A product with
few rows takes as long as its weights take to read, so it takes less time. No data are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ..errors import QuantizationError
from ..glow_dialects.glow.arithmetic import AddOp
from ..glow_dialects.glow.base import Node
from ..glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ..glow_dialects.glow.narrow_weights import INPUT_WIDTHS, BlockQuantizedMatMulOp
from ..glow_dialects.operator import shape_of
from ..passes.graph.rewriting import Build, replace_node, tensor_nodes
from ..passes.levels import GRAPH
from .dynamic import constant_matrix

BITS: Mapping[str, int] = {"u4": 4, "u8": 8}
DEFAULT_GROUP = 64
_INPUT_BITS = {4: 8, 8: 16}
"""The bits of inputs that products with weights of some bits keep by default."""
_WORD_BYTES = 4
ERROR = "glow.weight_error"
"""
The attribute of a product that is the root of the mean square of the differences of its weights,
relative to that of the weights.
"""


@dataclass(frozen=True)
class WeightQuantization:
    """
    The choices for weights. As text, it is the pass `glow-quantize-weights` with these options,
    which `glow.compile` takes as `quantize`. Raises QuantizationError for wrong ones.
    """

    storage: str = "u4"
    """The storage of weights: `u4` or `u8`."""
    group: int = DEFAULT_GROUP
    """The number of neighbouring numbers of a column that have one scale and zero point."""
    input_bits: int | None = None
    """
    The bits to which kernels may round inputs of products: 8, 16, or 32 for none. By default 8 for
    `u4`, and 16 for `u8`.
    """
    keep_float: tuple[str, ...] = ()
    """The names of results of products that keep their weights."""

    def __post_init__(self) -> None:
        if self.storage not in BITS:
            raise QuantizationError(f"expected weights of u4 or u8, found {self.storage!r}")
        if self.group < 1 or self.group * self.bits % (8 * _WORD_BYTES):
            raise QuantizationError(
                f"expected a group of weights to be a multiple of {8 * _WORD_BYTES // self.bits}, "
                f"found {self.group}"
            )
        if self.input_bits not in (None, *INPUT_WIDTHS):
            raise QuantizationError(f"expected input_bits of 8, 16 or 32, found {self.input_bits}")

    @property
    def bits(self) -> int:
        """The bits of a weight."""
        return BITS[self.storage]

    @property
    def pipeline(self) -> str:
        """The pass with its options."""
        text = f"storage={self.storage} group={self.group}"
        if self.input_bits is not None:
            text += f" input-bits={self.input_bits}"
        if self.keep_float:
            text += f" keep-float={','.join(self.keep_float)}"
        return f"glow-quantize-weights{{{text}}}"


@dataclass
class WeightReport:
    """The products whose weights are quantized."""

    errors: dict[str, float] = field(default_factory=dict)
    """The relative error of the weights of each product, by the name of its result."""
    kept: dict[str, str] = field(default_factory=dict)
    """The reasons why other products keep their weights."""

    def lines(self) -> list[str]:
        """Returns the report as text."""
        made = [f"{name}: weights differ by {error:.2%}" for name, error in self.errors.items()]
        return [*made, *(f"{name} stays float: {why}" for name, why in self.kept.items())]


def quantize_weights(module: ModuleOp, options: WeightQuantization | None = None) -> WeightReport:
    """
    Quantizes the constant matrices of products of f32 in the function @main of `module`, which is
    changed. Raises QuantizationError if a group does not divide the rows of a matrix, and if there
    is no such product.
    """
    options = options or WeightQuantization()
    report = WeightReport()
    made: dict[tuple[SSAValue, bool], _Groups] = {}
    for node in tensor_nodes(module):
        if not isinstance(node, MatMulOp | FullyConnectedOp):
            continue
        name = node.results[0].name_hint or node.name
        matrix = "it is kept in float" if name in options.keep_float else constant_matrix(node)
        if isinstance(matrix, str):
            report.kept[name] = matrix
            continue
        build = Build()
        key = (node.operands[1], _is_turned(node))
        if key not in made:
            made[key] = _Groups(matrix.T, options, name)
        product, error = _product(node, made[key], options, build), made[key].error
        report.errors[name] = error
        replace_node(node, build.ops, product)
    if not report.errors:
        why = "; ".join(f"{n} stays float: {w}" for n, w in report.kept.items())
        why = why or "there are no matrix products with constant weights"
        raise QuantizationError(f"no weights are quantized: {why}")
    return report


def weight_lines(module: ModuleOp) -> list[str]:
    """Returns the relative error of the weights of each product that has quantized ones."""
    lines: list[str] = []
    for op in module.walk():
        error = op.attributes.get(ERROR)
        if isinstance(error, FloatAttr):
            name = op.results[0].name_hint or op.name
            lines.append(f"{name}: weights differ by {error.value.data:.2%}")
    return lines


def _is_turned(node: Node) -> bool:
    return isinstance(node, FullyConnectedOp) or bool(node.call.int("transpose_rhs"))


class _Groups:
    """A matrix [N, K] in groups."""

    def __init__(self, columns: np.ndarray, options: WeightQuantization, name: str):
        count, inner = columns.shape
        if inner % options.group:
            raise QuantizationError(
                f"{name}: a group of {options.group} weights does not divide {inner} rows; choose "
                "another group, or keep the product in float"
            )
        groups = columns.reshape(count, -1, options.group)
        low = np.minimum(groups.min(-1), 0)
        high = np.maximum(groups.max(-1), 0)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise QuantizationError(f"{name}: expected finite weights, found NaN or infinity")
        levels = 2**options.bits - 1
        scales = (high - low) / np.float32(levels)
        scales[scales == 0] = 1
        zeros = np.rint(-low / scales)
        numbers = np.clip(np.rint(groups / scales[..., None]) + zeros[..., None], 0, levels)
        difference = (numbers - zeros[..., None]) * scales[..., None] - groups
        size = float(np.sqrt(np.square(columns, dtype=np.float64).mean()))
        self.error = float(np.sqrt(np.square(difference, dtype=np.float64).mean())) / (size or 1.0)
        stored = numbers.astype(np.uint8)
        if options.bits == 4:
            stored = stored[..., ::2] | stored[..., 1::2] << 4
        self.weights = np.ascontiguousarray(stored)
        self.scales, self.zeros = scales.astype(np.float32), zeros.astype(np.uint8)
        self.values: tuple[SSAValue, ...] | None = None


def _product(
    node: MatMulOp | FullyConnectedOp, groups: _Groups, options: WeightQuantization, build: Build
) -> SSAValue:
    """Returns the product with quantized weights, whose constants products share."""
    if groups.values is None:
        hint = node.operands[1].name_hint or "weights"
        arrays = (groups.weights, groups.scales, groups.zeros)
        names = (hint, f"{hint}.scales", f"{hint}.zero_points")
        groups.values = tuple(map(build.constant, arrays, names))
    width = options.input_bits or _INPUT_BITS[options.bits]
    operands = (node.operands[0], *groups.values)
    product = build(BlockQuantizedMatMulOp, *operands, bits=options.bits, input_bits=width)
    product.owner.attributes[ERROR] = FloatAttr(groups.error, f64)  # pyright: ignore
    if isinstance(node, MatMulOp):
        return product
    return build(AddOp, product, build.broadcast(node.bias, shape_of(product.type)))


@dataclass(frozen=True)
class QuantizeWeightsPass(WeightQuantization, ModulePass):
    """Stores constant matrices of products as numbers of 8 or 4 bits in groups."""

    name = "glow-quantize-weights"
    level = GRAPH

    report: str | None = None
    """A file for the error of the weights of each product, and why others keep theirs."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = quantize_weights(op, self)
        if self.report is not None:
            with open(self.report, "w", encoding="utf-8") as file:
                file.write("\n".join(found.lines()) + "\n")
