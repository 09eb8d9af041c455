"""Whole numbers in memory, for what computes with the values of loop variables."""

from __future__ import annotations

from xdsl.dialects.builtin import i32

from ....glow_dialects.glow_nest.affine import Dim, View
from ....glow_dialects.scalar import Expr
from ..registry import Kernel


def whole_numbers(k: Kernel, count: int) -> View:
    """
    Returns an array i32 of `count` whole numbers from 0. Each part of it is a copy of the parts
    before, with an offset.
    """
    view = k.scratch((count,), i32)
    k.map((), view[[0]], (), Expr.constant(0, i32))
    done = 1
    while done < count:
        dim = Dim("i", min(done, count - done))
        k.map([dim], view[[dim + done]], [view[[dim]]], Expr.argument(0) + done)
        done += dim.size
    return view
