"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp, PackedMatMulOp
from ..affine import Affine, Dim, Index, View
from ..nest import Combine, Nest, Reduction
from ..primitives import add
from ..registry import Kernel, kernel, total, view_dims

_FEW_TERMS = 256
"""Inner sizes below this do not repay reducing across the lanes of vectors."""
_MANY_ROWS = 16
_HEAVY_EPILOGUE = 12
"""Epilogues of more operations than this do not run on accumulators in registers, of which a tile
would have to have few, but on results that are still in the nearest cache."""


@kernel(MatMulOp)
def matmul(k: Kernel) -> None:
    """
    `y[b, i, j] = sum(lhs[b, i, t] * rhs[b, t, j])`.

    A right operand that is stored transposed is read along `t`, unless many rows with few terms
    each repay turning it around first.
    """
    lhs, rhs = k.operands
    batch = view_dims(View(lhs.buffer, lhs.shape[:-2], lhs.strides[:-2]), "b")
    if k.call.get("transpose_lhs"):
        lhs = _swapped(lhs)
    if k.call.get("transpose_rhs"):
        rhs = _swapped(rhs)
    terms = lhs.shape[-1]
    if rhs.strides[-1] != 1 and lhs.shape[-2] >= _MANY_ROWS and terms < _FEW_TERMS:
        rhs = _dense(k, rhs)
    i, j, t = Dim("i", lhs.shape[-2]), Dim("j", rhs.shape[-1]), Dim("t", terms)
    element = compute_type(k.result.element)
    reduction = total(Combine.ADD, element, lhs[[*batch, i, t]], rhs[[*batch, t, j]])
    k.reduce([*batch, i, j], [t], reduction, [*batch, i, j])


@kernel(FullyConnectedOp)
def fully_connected(k: Kernel) -> None:
    """`y[i, j] = bias[j] + sum(x[i, t] * weights[j, t])`."""
    x, weights, bias = k.operands
    i, j, t = Dim("i", x.shape[0]), Dim("j", weights.shape[0]), Dim("t", x.shape[1])
    element = compute_type(k.result.element)
    reduction = total(Combine.ADD, element, x[[i, t]], weights[[j, t]])
    k.reduce([i, j], [t], reduction, [i, j], [bias[[j]]], lambda alg, v: [add(alg, v[0], v[1])])


@kernel(PackedMatMulOp)
def packed_matmul(k: Kernel) -> None:
    """
    `y[r, p * width + j] = sum(x[r, t] * weights[p, t, j])`, one panel `p` after the other: a panel
    stays in a near cache until all rows have met it.
    """
    x, weights = k.operands
    panels, _, width = weights.shape
    rest = k.call.int("columns") - (panels - 1) * width
    full = panels if rest == width else panels - 1
    p = Dim("p", full)
    if full:
        with k.repeat(p):
            _panel(k, x, weights, p, width)
    if rest < width:
        _panel(k, x, weights, panels - 1, rest)


def _panel(k: Kernel, x: View, weights: View, p: Dim | int, columns: int) -> None:
    _, inner, width = weights.shape
    rows = view_dims(View(x.buffer, x.shape[:-1], x.strides[:-1]), "r")
    j, t = Dim("j", columns), Dim("t", inner)
    place: list[Index] = [*rows, Affine({}, 0) + j + (p * width)]
    element = compute_type(k.result.element)
    products = total(Combine.ADD, element, x[[*rows, t]], weights[[p, t, j]])
    if k.epilogue_weight <= _HEAVY_EPILOGUE:
        k.reduce([*rows, j], [t], products, place)
        return
    sums = k.scratch([*x.shape[:-1], columns], element)
    _store(k, [*rows, j], [t], products, sums)
    k.finish([*rows, j], place, [sums[[*rows, j]]])


def _store(
    k: Kernel, dims: Sequence[Dim], reduced: Sequence[Dim], reduction: Reduction, target: View
) -> None:
    """`target[dims] = reduction`."""
    write = (target[dims],)
    k.nest(Nest(tuple(dims), write, lambda _, v: v, reduction=reduction, reduced=tuple(reduced)))


def _swapped(view: View) -> View:
    """The same matrices with rows and columns exchanged."""
    order = (*range(view.rank - 2), view.rank - 1, view.rank - 2)
    shape = tuple(view.shape[d] for d in order)
    return View(view.buffer, shape, tuple(view.strides[d] for d in order), view.offset)


def _dense(k: Kernel, view: View) -> View:
    copied = k.scratch(view.shape, view.element)
    dims = view_dims(view)
    k.copy(dims, copied[dims], view[dims])
    return copied
