"""Whole numbers in memory, and lists of chosen elements, whose numbers are visited in blocks."""

from __future__ import annotations

from xdsl.dialects.builtin import i8, i32

from ....glow_dialects.glow.elementwise import X, Y
from ....glow_dialects.glow_nest.affine import Dim, View
from ....glow_dialects.glow_nest.nest import NumberList
from ....glow_dialects.scalar import Expr, convert, select
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
        k.map([dim], view[[dim + done]], [view[[dim]]], X + done)
        done += dim.size
    return view


def flag(condition: Expr) -> Expr:
    """Returns an i8 that is 1 where a condition holds, and otherwise 0."""
    return convert(select(condition, Expr.constant(1, i32), Expr.constant(0, i32)), i8)


def list_blocks(k: Kernel, numbers: NumberList, blocks: int, size: int, order: View) -> NumberList:
    """
    Returns a list of those of `blocks` blocks of `size` places that have numbers of a list; `order`
    has the whole numbers.
    """
    used, p = k.scratch((blocks,), i8), Dim("p", blocks)
    k.map([p], used[[p]], [order[[p]], numbers.count], flag(X * size < Y))
    return k.list_nonzeros(p, used[[p]])
