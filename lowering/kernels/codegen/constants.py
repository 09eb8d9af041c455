"""The constants of a function, each of which is one operation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....glow_dialects.creation import create
from ...llvm.types import dense_attr, splat_attr
from .types import INDEX


class Constants:
    """Makes constants, which whoever uses them puts in front of everything else."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], Operation] = {}
        self._indices: dict[int, SSAValue] = {}

    @property
    def operations(self) -> Sequence[Operation]:
        return list(self._found.values())

    def index(self, value: int) -> SSAValue:
        found = self._indices.get(value)
        if found is None:
            found = self._indices[value] = self.of(INDEX, value)
        return found

    def of(self, t: Attribute, value: float | Sequence[int | float]) -> SSAValue:
        """Returns a constant scalar or vector of type `t`; one number is repeated in every lane."""
        # the key has text, because -0.0 equals 0.0 and 1 equals 1.0; the operation keeps `t` alive
        key = (id(t), repr(value))
        found = self._found.get(key)
        if found is None:
            attribute = _attribute(t, tuple(value) if isinstance(value, Sequence) else value)
            found = create(arith.ConstantOp, (), (t,), {"value": attribute})
            self._found[key] = found
        (result,) = found.results
        return result


@lru_cache(maxsize=4096)
def _index_attribute(value: int) -> Attribute:
    return IntegerAttr(value, INDEX)


def _attribute(t: Attribute, value: float | tuple[int | float, ...]) -> Attribute:
    if t == INDEX and isinstance(value, int):
        return _index_attribute(value)
    if not isinstance(value, tuple):
        return splat_attr(value, t)
    assert isinstance(t, VectorType)
    return dense_attr(value, t)
