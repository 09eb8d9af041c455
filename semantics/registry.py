"""
The table from operators to their numpy meaning, and the way through it.

A meaning is a function `(call, *arrays) -> array` in one file per operator family. Data-parallel
operators need none: their scalar expression is folded over whole arrays. Nor do those that are
stated as a formula, but a meaning made for one is faster. `evaluate` converts results to the
declared dtypes, so a meaning may compute in a wider one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from ..glow_dialects.glow.base import DataParallel, Node
from ..glow_dialects.glow.structured import Structured
from ..glow_dialects.operator import Call, element_of, is_narrow_integer, shape_of
from ..glow_dialects.scalar import fold
from ..table import Table
from .arrays import BFLOAT16, numpy_dtype
from .formula import evaluate_statement
from .numpy_algebra import NumpyAlgebra, compute_dtype, convert

Meaning: TypeAlias = "Callable[..., np.ndarray | tuple[np.ndarray, ...]]"
M = TypeVar("M", bound=Meaning)

_MEANINGS: Table[type[Node], Meaning] = Table("a meaning")


def meaning(*operators: type[Node]) -> Callable[[M], M]:
    """Registers a function `(call, *arrays)` as the meaning of `operators`."""
    return _MEANINGS.entry(*operators)  # pyright: ignore[reportReturnType]


def has_meaning(operator: type[Node]) -> bool:
    """Returns whether `evaluate` can compute an operator."""
    return operator in _MEANINGS or issubclass(operator, DataParallel | Structured)


def evaluate(call: Call, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """
    Returns the results of an operator for `arrays`, which have the shapes and dtypes of
    `call.operands`.

    Results have the dtypes of `call.results` and, if those are tensors, their shapes; they may be
    views of operands. If `call.results` are element types, as in the body of a stacked instruction,
    data-parallel operators work on arrays of any shape. Overflow, division by zero and NaN are
    silent. Raises KeyError for an operator without a meaning.
    """
    with np.errstate(all="ignore"):
        operator = call.operator
        if issubclass(operator, DataParallel) and not operator.depends_on_place(call):
            results = (_fold(operator, call, arrays),)
        elif operator in _MEANINGS:
            found = _MEANINGS[operator](call, *arrays)
            results = found if isinstance(found, tuple) else (found,)
        elif issubclass(operator, Structured):
            results = (evaluate_statement(operator.statement(call), arrays),)
        else:
            raise KeyError(f"{call.operator.name} has no meaning in numpy")
        return tuple(
            _conform(call, array, declared)
            for array, declared in zip(results, call.results, strict=True)
        )


def _fold(operator: type[DataParallel], call: Call, arrays: Sequence[np.ndarray]) -> np.ndarray:
    elements = [element_of(t) for t in call.operands]
    wide = [a.astype(compute_dtype(e), copy=False) for a, e in zip(arrays, elements, strict=True)]
    algebra = NumpyAlgebra(element_of(call.results[0]))
    return fold(operator.scalar(call), wide, algebra)


def _conform(call: Call, array: np.ndarray, declared: object) -> np.ndarray:
    array = convert(array, numpy_dtype(element_of(declared)))  # pyright: ignore
    shape = shape_of(declared)  # pyright: ignore
    assert declared is element_of(declared) or array.shape == shape, (  # pyright: ignore
        f"{call.operator.name} gave shape {array.shape} where {declared} is declared"
    )
    return array


def wide(array: np.ndarray) -> np.ndarray:
    """Returns 16-bit floats as f32, in which they accumulate, and other arrays unchanged."""
    if array.dtype == np.float16 or array.dtype == BFLOAT16:
        return array.astype(np.float32)
    return array


def factors(call: Call, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Returns the first two operands in a dtype whose sums of products are those of the operator: f32
    for 16-bit floats; for narrow integers f64, in which sums of up to 2**21 products are exact, and
    which has a fast matrix product.
    """
    if is_narrow_integer(call.element(0)) and is_narrow_integer(call.element(1)):
        return a.astype(np.float64), b.astype(np.float64)
    return wide(a), wide(b)


def summed(call: Call, products: np.ndarray, addend: np.ndarray | None = None) -> np.ndarray:
    """
    Returns sums of products of `factors`, and an addend that is broadcast; integers wrap around.
    """
    if products.dtype == np.float64 and numpy_dtype(element_of(call.results[0])) == np.int32:
        products = products.astype(np.int64)
    if addend is not None:
        products = products + wide(addend)
    return products
