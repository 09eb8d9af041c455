"""Transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.transposed import TransposedConvolutionOp, transposed_extent
from ....wording import counted
from ..builder import element, rank, shape
from ..node import CONTRIB, OnnxNode, converter
from .windows import spatial_rank, window_lists, window_pads


@converter("ConvTranspose")
def conv_transpose(node: OnnxNode) -> SSAValue:
    return _transposed(node, node.optional(2))


@converter("ConvTransposeWithDynamicPads", domain=CONTRIB)
def conv_transpose_with_pads(node: OnnxNode) -> SSAValue:
    """Converts the same with the padding as an input, which is constant."""
    return _transposed(node, node.optional(3), node.known_ints(2))


def _transposed(node: OnnxNode, b: SSAValue | None, given: Sequence[int] | None = None) -> SSAValue:
    """Returns the transposed convolution of the first inputs with a bias and, if given, padding."""
    x, w = node.input(0), node.input(1)
    n = spatial_rank(rank(x))
    if rank(w) != rank(x):
        raise ModelError(f"expected a filter of rank {rank(x)}, found {w.type}")
    kernel = list(shape(w)[2:])
    if (declared := node.ints("kernel_shape")) and declared != kernel:
        raise ModelError(f"expected a filter of kernel_shape {declared}, found {w.type}")
    strides, dilations = window_lists(node, n, "strides", "dilations")
    added = node.ints("output_padding") or [0] * n
    if len(added) != n or min(added) < 0:
        raise ModelError(f"expected {counted(n, 'value')} from 0 in output_padding, found {added}")
    group = node.attr("group", 1)
    outputs = shape(w)[1] * group
    if b is None:
        b = node.build.splat(0, element(x), [outputs])
    geometry = zip(shape(x)[2:], kernel, strides, dilations, added, strict=True)
    reached = [transposed_extent(*g) + more for *g, more in geometry]
    same = [s * t for s, t in zip(shape(x)[2:], strides, strict=True)]
    pads, missing = _pads(node, reached, same) if given is None else (list(given), [0] * n)
    if len(pads) != 2 * n or min(pads) < 0:
        raise ModelError(f"expected {2 * n} values from 0 in pads, found {pads}")
    return node.build.op(
        TransposedConvolutionOp,
        x,
        w,
        b,
        strides=strides,
        dilations=dilations,
        pads=pads,
        output_padding=[a + m for a, m in zip(added, missing, strict=True)],
        group=group,
    )


def _pads(
    node: OnnxNode, reached: Sequence[int], same: Sequence[int]
) -> tuple[list[int], list[int]]:
    """
    Returns how many results to leave out before and after the `reached` results of each dimension,
    and how many to add to them.

    A given `output_shape`, or `same` with `auto_pad` SAME_UPPER or SAME_LOWER, determines how many
    should be left. If their number is odd, the one that is left out is the last with SAME_UPPER and
    the first otherwise.
    """
    mode = node.attr("auto_pad", "NOTSET")
    n = len(reached)
    wanted = node.ints("output_shape")
    if wanted and len(wanted) != n:
        # the first versions of the operator had examples with all dimensions
        wanted = wanted[-n:] if len(wanted) == n + 2 else wanted
    if wanted and (len(wanted) != n or min(wanted) < 1):
        raise ModelError(f"expected {counted(n, 'size')} in output_shape, found {wanted}")
    if not wanted and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = list(same)
    if not wanted:
        return window_pads(node, reached, [1] * n, [1] * n, [1] * n), [0] * n
    totals = [r - w for r, w in zip(reached, wanted, strict=True)]
    out = [max(0, t) for t in totals]
    small, large = [t // 2 for t in out], [t - t // 2 for t in out]
    pads = [*small, *large] if mode == "SAME_UPPER" else [*large, *small]
    return pads, [max(0, -t) for t in totals]
