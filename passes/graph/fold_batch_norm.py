"""
Folds batch normalisation, and other nodes that scale or shift channels, into the weights before it.

With constant parameters, batch normalisation is `x * factor + offset` with one factor and one
offset for each channel. Sums, differences, products and quotients with a constant that varies only
along the channels are such maps as well; frontends often emit these. A chain of such nodes, each
the only user of the one before, is one such map. It is composed in f64, and then

- becomes part of the convolution (or transposed one), fully connected layer or matrix product
  before it, if the chain is the only user of that and its weights are constant: weights times
  factor, bias times factor plus offset, computed in f64 and rounded once;
- otherwise becomes one product and one sum, if that is fewer nodes or takes the place of a batch
  normalisation. On 16-bit floats these compute in f32, as batch normalisation does.

The chain is folded at its end, so weights are computed once however long it is. Constants have to
be plain: run `glow-fold-constants` before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...glow_dialects.elements import compute_type
from ...glow_dialects.glow.arithmetic import AddOp, MulOp
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.convolution import ConvolutionOp
from ...glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ...glow_dialects.glow.normalization import BatchNormOp
from ...glow_dialects.glow.transposed import TransposedConvolutionOp
from ...glow_dialects.operator import element_of, shape_of
from ...semantics.arrays import constant_of, constant_reader, lazy_constant, numpy_dtype
from ...semantics.numpy_algebra import convert
from ...table import Table
from ..levels import GRAPH
from .channel_affine import CHANNEL, ChannelAffine, Step, step_of
from .lowerings.precision import cast
from .rewriting import Build, check_type, erase_if_dead, failure, replace_node, tensor_nodes

CHUNK = 1 << 16
"""The number of weights that are held as f64 at a time."""

N = TypeVar("N", bound=Node)
Absorb: TypeAlias = Callable[[N, ChannelAffine, Build], "SSAValue | None"]
ABSORBERS: Table[type[Node], Absorb[Any]] = Table("a way to absorb maps")


def absorber(operator: type[N]) -> Callable[[Absorb[N]], Absorb[N]]:
    """
    Registers how `operator` takes a map of its result into its weights; the function
    returns None if it cannot.
    """
    return ABSORBERS.entry(operator)


def scale_rows(weights: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """
    Returns row `i` of `weights` times `factor[i]`, in f64, rounded once to the dtype of `weights`.
    """
    rows = weights.shape[0]
    result = np.empty(weights.shape, weights.dtype)
    step = max(1, CHUNK * rows // max(1, weights.size))
    column = factor.reshape(-1, *[1] * (weights.ndim - 1))
    for i in range(0, rows, step):
        wide = weights[i : i + step].astype(np.float64) * column[i : i + step]
        result[i : i + step] = convert(wide, weights.dtype)
    return result


def fits(weights: np.ndarray, factor: np.ndarray) -> bool:
    """
    Returns whether scaled rows keep their precision. Of the types only f16 has a range so narrow
    that it matters: nothing may overflow, and the largest weight of a row must be far from
    subnormal.
    """
    if weights.dtype != np.float16:
        return True
    rows = np.abs(weights).reshape(len(factor), -1).max(axis=1, initial=0)
    largest = rows.astype(np.float64) * np.abs(factor)
    return bool(((largest == 0) | ((largest > 2.0**-12) & (largest < 65504))).all())


def numbers(build: Build, array: np.ndarray, like: SSAValue, hint: str) -> SSAValue:
    """Returns f64 numbers as a constant with the elements of `like`."""
    element = element_of(like.type)
    return build.constant(convert(array, numpy_dtype(element)), hint, element)


def scaled_weights(
    build: Build, weights: SSAValue, map: ChannelAffine, columns: bool = False
) -> SSAValue | None:
    """
    Returns constant weights with their rows (or columns) scaled. Their bytes are computed when they
    are needed. Returns None if that is not possible.
    """
    read = constant_reader(weights)
    if read is None or not map.scales:
        return None if read is None else weights
    factor, element = map.factor, element_of(weights.type)
    # only f16 weights have to be read
    if element == f16 and not fits(read().T if columns else read(), factor):
        return None

    def scaled() -> np.ndarray:
        with np.errstate(all="ignore"):
            return scale_rows(read().T, factor).T if columns else scale_rows(read(), factor)

    hint = weights.name_hint or "weights"
    return build.add(lazy_constant(shape_of(weights.type), element, hint, scaled))


def changed_bias(build: Build, bias: SSAValue, map: ChannelAffine) -> SSAValue | None:
    array = constant_of(bias)
    if array is None:
        return None
    changed = array.astype(np.float64) * map.factor + map.offset
    return numbers(build, changed, bias, bias.name_hint or "bias")


@absorber(ConvolutionOp)
def convolution(node: ConvolutionOp, map: ChannelAffine, build: Build) -> SSAValue | None:
    """
    Scales row `o` of the filter, which makes output channel `o` for any number of groups.
    """
    if (bias := changed_bias(build, node.bias, map)) is None:
        return None
    weights = scaled_weights(build, node.filter, map)
    return None if weights is None else build.like(node, node.input, weights, bias)


@absorber(TransposedConvolutionOp)
def transposed(node: TransposedConvolutionOp, map: ChannelAffine, build: Build) -> SSAValue | None:
    """
    Scales column `j` of the filter rows of group `i`, which makes output channel `j` of
    that group.
    """
    read, bias = constant_reader(node.filter), changed_bias(build, node.bias, map)
    if read is None or bias is None:
        return None
    group = node.group.value.data
    shape, element = shape_of(node.filter.type), element_of(node.filter.type)
    split = (group, shape[0] // group, shape[1], prod(shape[2:]))

    def by_output() -> np.ndarray:
        return read().reshape(split).swapaxes(1, 2).reshape(len(map.factor), -1)

    if element == f16 and not fits(by_output(), map.factor):
        return None

    def scaled() -> np.ndarray:
        with np.errstate(all="ignore"):
            rows = scale_rows(by_output(), map.factor)
        return rows.reshape(split[0], split[2], split[1], split[3]).swapaxes(1, 2).reshape(shape)

    weights = build.add(lazy_constant(shape, element, node.filter.name_hint or "weights", scaled))
    return build.like(node, node.input, weights, bias)


@absorber(FullyConnectedOp)
def fully_connected(node: FullyConnectedOp, map: ChannelAffine, build: Build) -> SSAValue | None:
    if (bias := changed_bias(build, node.bias, map)) is None:
        return None
    weights = scaled_weights(build, node.weights, map)
    return None if weights is None else build.like(node, node.input, weights, bias)


@absorber(MatMulOp)
def matrix_product(node: MatMulOp, map: ChannelAffine, build: Build) -> SSAValue | None:
    """
    Scales the columns of the right matrix of a product. A sum with the offset remains.
    """
    if len(shape_of(node.result.type)) != 2 or not map.scales:
        return None
    weights = scaled_weights(build, node.rhs, map, columns=not node.transpose_rhs.value.data)
    if weights is None:
        return None
    product = build.like(node, node.lhs, weights)
    return apply_map(build, product, ChannelAffine(np.ones_like(map.factor), map.offset))


def apply_map(build: Build, x: SSAValue, map: ChannelAffine) -> SSAValue:
    """Returns `x * factor + offset`, without factors of 1 and offsets of 0."""
    element, shape = element_of(x.type), shape_of(x.type)
    if map.scales and map.moves:
        x = cast(build, x, compute_type(element))
    column = [shape[CHANNEL]] + [1] * (len(shape) - CHANNEL - 1)
    if map.scales:
        factor = numbers(build, map.factor.reshape(column), x, "factor")
        x = build(MulOp, x, build.broadcast(factor, shape))
    if map.moves:
        offset = numbers(build, map.offset.reshape(column), x, "offset")
        x = build(AddOp, x, build.broadcast(offset, shape))
    return cast(build, x, element)


class Chains:
    """The chains of maps in a graph. Each node is visited once."""

    def __init__(self) -> None:
        self.steps: dict[Node, Step | None] = {}

    def step(self, node: object) -> Step | None:
        if not isinstance(node, Node):
            return None
        if node not in self.steps:
            self.steps[node] = step_of(node)
        return self.steps[node]

    def continues(self, value: SSAValue) -> bool:
        """Returns whether the only user of `value` is a map of it."""
        use = value.get_user_of_unique_use()
        step = self.step(use)
        return step is not None and step.input is value

    def ending_at(self, node: Node) -> list[Step]:
        """Returns the chain whose last node is `node`, first step first; empty if there is none."""
        step = self.step(node)
        if step is None or self.continues(node.results[0]):
            return []
        chain = [step]
        while chain[-1].input.has_one_use() and (before := self.step(chain[-1].input.owner)):
            chain.append(before)
        return chain[::-1]


def fold_chain(chain: list[Step], build: Build) -> SSAValue | None:
    """Returns the result of a chain in fewer or cheaper nodes; None if the chain should stay."""
    map = chain[0].map
    for step in chain[1:]:
        map = map.then(step.map)
    # a quotient by 0 stays in the network, for example
    if not map.is_finite:
        return None
    source = chain[0].input
    absorb = ABSORBERS.get(type(source.owner)) if source.has_one_use() else None
    if absorb is not None:
        absorbed = absorb(source.owner, map, build)
        if absorbed is not None:
            return absorbed
        build.discard()
    has_batch_norm = any(isinstance(step.node, BatchNormOp) for step in chain)
    if has_batch_norm or map.scales + map.moves < len(chain):
        return apply_map(build, source, map)
    return None


def fold_at(node: Node, chains: Chains) -> None:
    """Folds the chain that ends at `node`, if there is one."""
    chain = chains.ending_at(node)
    if not chain:
        return
    build = Build()
    value = fold_chain(chain, build)
    if value is None:
        return
    check_type(node, value)
    operands = list(node.operands)
    replace_node(node, build.ops, value)
    erase_if_dead(operands)


@dataclass(frozen=True)
class FoldBatchNormPass(ModulePass):
    """Folds maps of channels into the weights before them, and combines the others."""

    name = "glow-fold-batch-norm"
    level = GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chains = Chains()
        with np.errstate(all="ignore"):
            for node in tensor_nodes(op):
                try:
                    fold_at(node, chains)
                except (OSError, ValueError) as e:
                    raise failure(node, f"cannot read its constants: {e}") from e
