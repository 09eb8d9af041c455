"""Matrix products."""

from __future__ import annotations

from ....glow_dialects.elements import compute_type
from ....glow_dialects.glow.matrix import FullyConnectedOp, MatMulOp
from ..affine import Dim, View
from ..nest import Combine
from ..primitives import add
from ..registry import Kernel, kernel, total, view_dims

_FEW_TERMS = 256
"""Inner sizes below this do not repay reducing across the lanes of vectors."""
_MANY_ROWS = 16


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
