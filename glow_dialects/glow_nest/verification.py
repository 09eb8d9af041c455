"""The rules for all nests."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FixedBitwidthType, IntegerType
from xdsl.utils.exceptions import VerifyException

from ..elements import element_bytes, storage_type
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
    if access.read_as is not None:
        high += element_bytes(access.read_as) - 1
    return low, high


def _verify_range(nest: Nest) -> None:
    """Checks that the range is of a loop of the reduction, and between integers."""
    bounds = nest.range
    if bounds is None:
        return
    if bounds.dim not in nest.reduced:
        raise VerifyException(
            f"expected a range of a loop of the reduction, found one of {bounds.dim.name}"
        )
    own = {*nest.reduced}
    for access in (bounds.first, bounds.end):
        if not isinstance(access.element, IntegerType):
            raise VerifyException(f"expected a range of integers, found {access.element}")
        if not own.isdisjoint(access.place.terms):
            raise VerifyException("expected a range that depends on no loop of the reduction")


def _verify_read_as(nest: Nest) -> None:
    """Checks that only bytes of parameters are read as another type."""
    for access in nest.accesses():
        if access.read_as is None:
            continue
        if element_bytes(access.buffer.element) != 1 or access in nest.writes:
            raise VerifyException(
                f"expected bytes that are read as {access.read_as}, found {access.buffer.element}"
            )


def verify_nest(nest: Nest) -> None:
    _verify_read_as(nest)
    if not nest.writes:
        raise VerifyException("expected a nest that writes")
    if nest.reduction is None:
        if nest.reduced:
            raise VerifyException("expected no reduction loops without a reduction")
        if nest.range is not None:
            raise VerifyException("expected no range without a reduction")
        return
    _verify_range(nest)
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
