"""Values that are checked when a program runs, or of which data decides how much is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ...errors import ModelError
from ...glow_dialects.glow.arithmetic import MaximumOp
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.logic import OrOp


@dataclass(frozen=True)
class Indices:
    """A value with indices in it, and what they may be."""

    value: SSAValue
    low: Sequence[int]
    high: Sequence[int]
    """Bounds of all, or for each place along the last dimension."""
    user: str
    total: int | None = None
    """The sum that they must have."""
    ascending: bool = False
    """Whether none may be smaller than the one before it."""
    what: str | None = None
    """The name of the numbers, in the plural, if they are not indices."""

    def expect(self, known: np.ndarray) -> None:
        """Raises ModelError if these numbers are not what they may be."""
        known = np.atleast_1d(known)
        outside = (known < np.array(self.low)) | (known > np.array(self.high))
        if outside.any():
            first, last = (b[0] if len(b) == 1 else list(b) for b in (self.low, self.high))
            raise ModelError(f"expected indices in {first} to {last}, found {known[outside][0]}")
        if self.total is not None and known.sum() != self.total:
            raise ModelError(f"expected lengths with the sum {self.total}, found {known.sum()}")
        if self.ascending and (falls := np.flatnonzero(np.diff(known) < 0)).size:
            before, after = known[falls[0] : falls[0] + 2]
            raise ModelError(
                f"expected offsets that do not decrease, found {after} behind {before}"
            )


@dataclass(frozen=True)
class Counted:
    """The dimension of a value of which data decides how much is used."""

    axis: int
    count: SSAValue
    """The used size of that dimension, i32[]."""


@dataclass(frozen=True)
class Exceeded:
    """The value that says whether a loop would have had more steps than it may have."""

    value: SSAValue
    """i1[]."""
    loops: str
    """The nodes of the loops."""
    together: ClassVar[type[Node]] = OrOp
    """The operator that makes one value of those of two steps."""
    nothing: ClassVar[int] = False
    """The number of a step that does not take place."""


@dataclass(frozen=True)
class Extremes:
    """The largest ones of indices, then those of `-1 - index`, and what they may be."""

    value: SSAValue
    """i64[2, places], where places is 1 or the size of the last dimension of the indices."""
    ranges: Sequence[Indices]
    together: ClassVar[type[Node]] = MaximumOp
    """The operator that makes one value of those of two steps."""
    nothing: ClassVar[int] = -(2**63)
    """The number of a step that does not take place."""


Verdict: TypeAlias = Exceeded | Extremes
"""A value by which whoever runs the program tells whether its results are valid."""
