"""The rules for all nests."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.utils.exceptions import VerifyException

from ..elements import storage_type
from .affine import Access
from .content import Content, accesses_of
from .nest import Nest


def verify_bounds(content: Content, names: Sequence[str]) -> None:
    """Checks that all accesses are inside of their buffers; `names` has the names of these."""
    called = dict(zip(content.buffers, names, strict=True))
    for access in accesses_of(content.step):
        if any(d.size == 0 for d in access.place.terms):
            continue
        low, high = reached(access)
        buffer = access.buffer
        if low < buffer.low or high >= buffer.high:
            raise VerifyException(
                f"expected accesses to {called[buffer]} from element {buffer.low} to "
                f"{buffer.high - 1}, found one from {low} to {high}"
            )


def reached(access: Access) -> tuple[int, int]:
    """Returns the lowest and the highest element that an access touches."""
    low = high = access.place.constant
    for dim, stride in access.place.terms.items():
        ends = stride if isinstance(stride, tuple) else (0, stride * (dim.size - 1))
        low, high = low + min(ends), high + max(ends)
    if access.indirect is not None:
        end = access.indirect.stride * max(0, access.indirect.size - 1)
        low, high = low + min(0, end), high + max(0, end)
    return low, high


def verify_nest(nest: Nest) -> None:
    if not nest.writes and (nest.reduction is not None or not nest.operands):
        raise VerifyException("expected a nest that writes, or that has reads to prefetch")
    if nest.reduction is None:
        if nest.reduced:
            raise VerifyException("expected no reduction loops without a reduction")
        return
    reduction = nest.reduction
    if not isinstance(storage_type(reduction.element), FixedBitwidthType):
        raise VerifyException(
            f"expected numbers to reduce, which have an identity, found {reduction.element}"
        )
    if reduction.map is None and len(reduction.reads) not in (1, 2):
        raise VerifyException(
            "expected one read, or two to multiply, or a map, "
            f"found {len(reduction.reads)} without a map"
        )
    if reduction.terms > 1 and not reduction.is_product:
        raise VerifyException("expected terms of a product of two reads")
