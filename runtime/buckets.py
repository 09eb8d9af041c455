"""
Buckets: sizes that symbolic dimensions are padded to, so that few programs serve many sizes.

Inputs get zeros behind their own elements, and outputs lose what is behind theirs. That is exact
where masks or causality keep padded elements from the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..errors import GlowError, InputError
from ..interface.output_symbols import unnamed_dimensions
from ..interface.signature import Signature, TensorInfo
from ..interface.symbols import DerivedSize
from ..wording import did_you_mean

BucketSizes: TypeAlias = "str | Sequence[int]"
"""`pow2`, or sizes."""
POWERS = "pow2"
_Shape: TypeAlias = "Sequence[int | None]"
"""The size of each dimension; None for one that is not known."""
_Part: TypeAlias = "tuple[slice, ...]"
_TOLERANCE = 1e-4
"""Of results of padded inputs, relative to the largest number of the output."""
_TOLERANCE_OF_16_BITS = 1e-2


@dataclass(frozen=True)
class Bucket:
    """The sizes that one symbol is padded to."""

    symbol: str
    sizes: tuple[int, ...] = ()
    """In ascending order; none for the powers of two."""
    largest: int | None = None
    """The largest size that the symbol may have."""

    def size_for(self, size: int) -> int:
        """
        Returns the smallest size of the bucket that is not below `size`. Raises InputError if there
        is none.
        """
        if not self.sizes:
            power = 1 << (size - 1).bit_length() if size else 0
            return power if self.largest is None else max(size, min(power, self.largest))
        for found in self.sizes:
            if found >= size:
                return found
        raise InputError(
            f"symbol {self.symbol!r} is {size}, and its largest bucket is {self.sizes[-1]}"
        )


def checked_buckets(
    buckets: BucketSizes | Mapping[str, BucketSizes] | None,
    signature: Signature,
    symbols: Sequence[str],
    largest: Mapping[str, int],
) -> dict[str, Bucket]:
    """
    Returns the bucket of each symbol that has one. `buckets` are sizes by symbol, or the sizes of
    all `symbols`; `largest` are the largest sizes that symbols may have.

    Raises GlowError for what is neither, for unknown symbols, and if outputs of `signature` have
    dimensions that are not known to follow from symbols, because these could not be cut.
    """
    if buckets is None:
        return {}
    given = buckets if isinstance(buckets, Mapping) else dict.fromkeys(symbols, buckets)
    for name in given:
        if name not in symbols:
            raise GlowError(
                f"buckets: no symbol without a size is called {name!r}"
                f"{did_you_mean(name, symbols)}; the symbols are {', '.join(symbols)}"
            )
    if given:
        expect_known_sizes("buckets", signature.outputs, symbols)
    return {name: Bucket(name, _sizes(name, s), largest.get(name)) for name, s in given.items()}


def bucket_of(
    symbol: str, buckets: BucketSizes | Mapping[str, BucketSizes] | None, default: BucketSizes
) -> Bucket:
    """Returns the bucket of one symbol among `buckets`, by `default` if it has none there."""
    given = buckets.get(symbol) if isinstance(buckets, Mapping) else buckets
    return Bucket(symbol, _sizes(symbol, default if given is None else given))


def expect_known_sizes(option: str, outputs: Sequence[TensorInfo], symbols: Sequence[str]) -> None:
    """
    Raises GlowError if a dimension of an output is no number and does not follow from `symbols`,
    because results could not be cut to it.
    """
    for info in outputs:
        unknown = [
            d for d in unnamed_dimensions(info.shape, symbols) if not isinstance(d, DerivedSize)
        ]
        if unknown:
            raise GlowError(
                f"{option}: output {info.name!r} ({info.shape_text}) cannot be cut to its own "
                f"size, because {_dimension(unknown[0])} is not the symbol of an input"
            )


def _dimension(size: object) -> str:
    return "a dimension without a name" if size is None else f"dimension {size!r}"


def _sizes(symbol: str, given: BucketSizes) -> tuple[int, ...]:
    if isinstance(given, str) and given == POWERS:
        return ()
    listed = list(given) if isinstance(given, Iterable) else []
    sizes = [s for s in listed if isinstance(s, int | np.integer) and s >= 1]
    if not sizes or len(sizes) < len(listed):
        raise GlowError(
            f"buckets of symbol {symbol!r}: expected {POWERS!r} or sizes of at least 1, such as "
            f"[16, 64], found {given!r}"
        )
    return tuple(sorted({int(s) for s in sizes}))


class Padding:
    """
    The way from arrays that have some sizes of symbols to larger ones, and back. It serves all
    arrays of these sizes, because a small program runs hardly longer than it takes to find it.
    """

    def __init__(
        self,
        inputs: Sequence[TensorInfo],
        outputs: Sequence[TensorInfo],
        own: Mapping[str, int],
        larger: Mapping[str, int],
    ):
        """`own` are the sizes of symbols that arrays have, `larger` those of the program."""
        self._inputs = [_grown(_shape(info, own), _shape(info, larger)) for info in inputs]
        self._outputs = [_part(_shape(info, own)) for info in outputs]

    def padded(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns inputs with zeros behind their elements."""
        found = list(arrays)
        for i, grown in enumerate(self._inputs):
            if grown is not None:
                shape, part = grown
                found[i] = np.zeros(shape, arrays[i].dtype)
                found[i][part] = arrays[i]
        return found

    def cut(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns outputs without what is beyond the own sizes."""
        each = zip(arrays, self._outputs, strict=True)
        return [np.ascontiguousarray(array[part]) for array, part in each]


def _grown(own: _Shape, larger: _Shape) -> tuple[Sequence[int], _Part] | None:
    """Returns the larger shape of an input, and which part is its own; None if it is all."""
    if own == larger:
        return None
    return [size for size in larger if size is not None], _part(own)


def _part(shape: _Shape) -> _Part:
    return tuple(map(slice, shape))


def _shape(info: TensorInfo, sizes: Mapping[str, int]) -> _Shape:
    """
    Returns the shape of a tensor for `sizes` of symbols; a dimension that does not follow from them
    has none.
    """
    return [_size(d, sizes) for d in info.shape]


def _size(dimension: int | str | None, sizes: Mapping[str, int]) -> int | None:
    if isinstance(dimension, DerivedSize):
        return int(dimension.at(sizes))
    return sizes.get(dimension) if isinstance(dimension, str) else dimension


def expect_same(
    found: Sequence[np.ndarray],
    exact: Sequence[np.ndarray],
    outputs: Sequence[TensorInfo],
    symbols: Sequence[str],
) -> None:
    """
    Raises GlowError unless the results for padded inputs are those for the inputs themselves:
    floats within 1e-4 of the largest number of an output (of 16 bits, within 1e-2), others equal.
    """
    for a, b, info in zip(found, exact, outputs, strict=True):
        if not _is_close(a, b):
            raise GlowError(
                f"buckets: inputs with zeros behind them along {', '.join(map(repr, symbols))} "
                f"give another output {info.name!r}. The network needs a mask that is 0 there; "
                "without one, give buckets to other symbols only"
            )


def _is_close(found: np.ndarray, exact: np.ndarray) -> bool:
    if found.dtype.kind in "iub":
        return bool(np.array_equal(found, exact))
    tolerance = _TOLERANCE_OF_16_BITS if found.dtype.itemsize <= 2 else _TOLERANCE
    a, b = found.astype(np.float64), exact.astype(np.float64)
    largest = np.abs(b[np.isfinite(b)]).max(initial=0)
    return bool(np.allclose(a, b, rtol=0, atol=tolerance * largest, equal_nan=True))
