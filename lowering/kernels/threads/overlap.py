"""
Tests whether accesses of several threads can meet, by their linear forms.

All answers are safe: an access that cannot be analysed counts as one that meets others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import gcd

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ....glow_dialects.glow_nest.affine import Access, Buffer, Dim
from ....glow_dialects.glow_nest.nest import Listing, Nest, Repeat, RepeatListed, Step

_MOST_PAIRS = 64
"""The most pairs of accesses that are compared; if there are more, they count as meeting."""
_MOST_ELEMENTS = 1 << 24
"""The most elements of a scratch buffer that are followed one by one."""


def nests_of(steps: Iterable[Step]) -> Iterator[Nest]:
    """Yields all nests in order. Lists, and loops over them, yield their accesses as nests."""
    for step in steps:
        if isinstance(step, Listing | RepeatListed):
            yield step.touched
        if isinstance(step, Repeat | RepeatListed):
            yield from nests_of(step.steps)
        elif isinstance(step, Nest):
            yield step


def reads_of(nest: Nest) -> list[Access]:
    """Returns the accesses that a nest reads, including those of indices."""
    return [*nest.reduced_reads, *nest.operands, *nest.index_accesses()]


def may_meet(a: Sequence[Access], b: Sequence[Access], repeated: Dim | None = None) -> bool:
    """
    Returns whether an access of `a` and one of `b` may touch the same element for any values of
    loop variables; with `repeated`, for different values of it only.
    """
    pairs = [(x, y) for x in a for y in b if x.buffer is y.buffer]
    if len(pairs) > _MOST_PAIRS and repeated is None:
        return True
    return not all(
        _disjoint(x, y) or (repeated is not None and _apart(x, y, repeated)) for x, y in pairs
    )


def _terms(access: Access) -> list[tuple[int, int]] | None:
    """
    Returns the stride and size of each dimension that matters; None for accesses that are not
    linear.
    """
    if access.indirect is not None:
        return None
    terms = []
    for dim, stride in access.place.terms.items():
        if isinstance(stride, tuple) or stride < 0:
            return None
        if stride and dim.size > 1:
            terms.append((stride, dim.size))
    return terms


def _disjoint(a: Access, b: Access) -> bool:
    """
    Returns whether accesses differ in some digit of their place, written in the mixed base of their
    strides. The digits are unique if none can carry into the next.
    """
    terms = (_terms(a), _terms(b))
    if terms[0] is None or terms[1] is None:
        return False
    levels = sorted({1, *(s for t in terms for s, _ in t or ())}, reverse=True)
    boxes = []
    for access, own in zip((a, b), terms, strict=True):
        rest, box = access.place.constant, []
        if rest < 0:
            return False
        for level in levels:
            digit, rest = divmod(rest, level)
            box.append((digit, digit + sum(n - 1 for s, n in own or () if s == level)))
        below = 0
        for level, (_, high) in zip(reversed(levels), reversed(box), strict=True):
            if below >= level:
                return False
            below += high * level
        boxes.append(box)
    return any(x[1] < y[0] or y[1] < x[0] for x, y in zip(*boxes, strict=True))


def _apart(a: Access, b: Access, dim: Dim) -> bool:
    """
    Returns whether accesses for different values of `dim` are apart: steps of `dim` are longer than
    the reach of smaller strides, and altogether stay below the larger strides. Places that differ
    by these alone are equal here.
    """
    step = a.stride(dim)
    if not isinstance(step, int) or step <= 0 or b.stride(dim) != step:
        return False
    reaches, beyond = [], 0
    for access in (a, b):
        if access.indirect is not None:
            return False
        least = most = 0
        for other, stride in access.place.terms.items():
            if other is dim:
                continue
            if isinstance(stride, int) and abs(stride) > step:
                beyond = gcd(beyond, stride)
                continue
            reached = stride if isinstance(stride, tuple) else (0, stride * (other.size - 1))
            least, most = least + min(reached), most + max(reached)
        reaches.append((access.place.constant, least, most))
    places = [(at % beyond if beyond else at, low, high) for at, low, high in reaches]
    width = max(at + high for at, _, high in places) - min(at + low for at, low, _ in places)
    return width < step and (not beyond or step * (dim.size - 1) + width < beyond)


# what is written before it is read


def is_self_contained(steps: Sequence[Step], buffer: Buffer, without: Repeat | None = None) -> bool:
    """
    Returns whether steps, except `without`, read only elements of a scratch buffer that they wrote
    before, and not those that `without` may have written since.
    """
    if buffer.high > _MOST_ELEMENTS:
        return False
    return _is_followed(steps, buffer, np.zeros(buffer.high, bool), without)


def _is_followed(
    steps: Sequence[Step], buffer: Buffer, written: np.ndarray, without: Repeat | None
) -> bool:
    """
    Returns the same where some elements were `written` before, and adds those that the steps write.
    """
    for step in steps:
        if without is not None and step is without:
            _mark((a for n in nests_of([step]) for a in n.writes), buffer, written, False)
            continue
        if isinstance(step, Repeat):
            followed = _is_followed(step.steps, buffer, written, without)
        else:
            followed = _follow(step if isinstance(step, Nest) else step.touched, buffer, written)
        if followed and isinstance(step, RepeatListed):
            # a list may be empty, so that nothing is written
            followed = _is_followed(step.steps, buffer, written.copy(), without)
        if not followed:
            return False
    return True


def _mark(writes: Iterable[Access], buffer: Buffer, written: np.ndarray, value: bool) -> None:
    """Adds to `written` what may be written, or takes it away."""
    for access in writes:
        if access.buffer is buffer:
            for view in _elements(access, written):
                view[...] = value


def _follow(nest: Nest, buffer: Buffer, written: np.ndarray) -> bool:
    for access in reads_of(nest):
        if access.buffer is buffer and not all(v.all() for v in _elements(access, written)):
            return False
    # which elements an index names is not known
    _mark((a for a in nest.writes if a.indirect is None), buffer, written, True)
    return True


def _elements(access: Access, array: np.ndarray) -> Iterator[np.ndarray]:
    """Yields the elements that an access may touch, as views: one for each entry of its tables."""
    plain = [(d.size, s) for d, s in access.place.terms.items() if isinstance(s, int) and s]
    if access.indirect is not None:
        plain.append((access.indirect.size, access.indirect.stride))
    tables = [s for s in access.place.terms.values() if isinstance(s, tuple)]
    for offsets in product(*tables):
        start = access.place.constant + sum(offsets)
        start += sum((n - 1) * s for n, s in plain if s < 0)
        shape = [n for n, _ in plain]
        if 0 in shape:
            continue
        assert start >= 0
        assert start + sum((n - 1) * abs(s) for n, s in plain) < array.size
        yield as_strided(array[start:], shape, [abs(s) for _, s in plain])
